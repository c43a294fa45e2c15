"""The loop's own verbs by script: rounds, versions, retrain, jobs, progress, the labels as a file."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.http import StreamingHttpResponse
from rest_framework.test import APIClient

from annotate.loop.label import claim, rate, submit
from annotate.loop.snapshot import write_labels
from annotate.models import Job, Label, PRMStatus, PRMVersion, Round
from tests.factories import (
    AnnotatorFactory,
    JobFactory,
    PRMVersionFactory,
    ProblemFactory,
    QueueItemFactory,
    RoundFactory,
    ServingPRMFactory,
    SnapshotFactory,
)

pytestmark = pytest.mark.django_db


def post(client: APIClient, path: str, body: Any = None) -> Any:
    return client.post(f"/api/{path}/", body or {}, format="json")


def test_a_round_is_started_with_what_the_body_says_and_the_defaults_for_the_rest(manager: APIClient) -> None:
    ProblemFactory.create_batch(3)
    response = post(
        manager, "rounds", {"problems": 2, "samples_per_problem": 5, "temperature": 0.5, "quota": 2}
    )
    assert response.status_code == 201
    round_ = Round.objects.get()
    assert response.json()["number"] == round_.number == 1
    assert (round_.places.count(), round_.samples_per_problem, round_.temperature, round_.quota) == (
        2,
        5,
        0.5,
        2,
    )
    assert round_.wrong_share == 0.8
    assert round_.started_by is not None
    assert Job.objects.filter(kind="generate").exists()
    assert (
        manager.get("/api/rounds/1/").json()
        == manager.get("/api/rounds/").json()["results"][0]
        == response.json()
    )


def test_a_second_round_while_one_runs_is_refused_in_words(manager: APIClient) -> None:
    ProblemFactory.create()
    post(manager, "rounds")
    response = post(manager, "rounds")
    assert response.json()["code"] == "round_refused"
    assert "still runs" in response.json()["detail"]
    assert Round.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "at_fault"),
    [
        ({"problems": 0}, "problems"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": 0}, "body"),
        ({"top_p": 2}, "top_p"),
        ({"prompt_template": "no place"}, "body"),
        ({"control_share": 1.5}, "control_share"),
        ({"generator": "openai:http://169.254.169.254/#m"}, "generator"),
        ({"force": True}, "force"),
        ({"number": 99}, "number"),
        ({"started_by": 1}, "started_by"),
    ],
)
def test_a_round_that_makes_no_sense_or_takes_liberties_is_refused(
    manager: APIClient, body: dict[str, Any], at_fault: str
) -> None:
    ProblemFactory.create()
    response = post(manager, "rounds", body)
    assert response.status_code == 400
    assert list(response.json()["fields"]) == [at_fault]
    assert not Round.objects.exists()


def test_a_version_is_promoted_and_rolled_back_with_a_reason(manager: APIClient) -> None:
    old = ServingPRMFactory.create(number=0)
    new = PRMVersionFactory.create(
        number=1, snapshot=SnapshotFactory.create(), report={"metrics": {"auc": 0.9}}
    )
    shown = manager.get("/api/versions/1/").json()
    assert shown["report"] == {"metrics": {"auc": 0.9}}
    assert shown["snapshot"] == new.snapshot.sha256
    assert "checkpoint" not in shown

    response = post(manager, "versions/1/promote", {"reason": "I trust it more"})
    assert (response.status_code, response.json()["status"]) == (200, "promoted")
    assert "I trust it more" in response.json()["decision"]
    assert PRMVersion.objects.serving() == new
    assert [v["number"] for v in manager.get("/api/versions/?status=promoted").json()["results"]] == [1]

    assert post(manager, "versions/roll-back", {"to": 7}).status_code == 409
    response = post(manager, "versions/roll-back", {"reason": "it got worse", "to": 0})
    assert response.json()["number"] == 0
    assert PRMVersion.objects.serving() == old
    again = post(manager, "versions/roll-back")
    assert again.status_code in (400, 409)
    assert "no earlier PRM" in again.json()["detail"]


def test_a_candidate_is_rejected_and_only_a_candidate(manager: APIClient) -> None:
    ServingPRMFactory.create(number=0)
    PRMVersionFactory.create(number=1)
    assert post(manager, "versions/1/reject", {"reason": "no"}).json()["status"] == PRMStatus.REJECTED
    refused = post(manager, "versions/0/reject")
    assert refused.status_code in (400, 409)
    assert "is no candidate" in refused.json()["detail"]
    assert post(manager, "versions/7/promote").status_code == 404
    assert post(manager, "versions/0/promote", {"status": "promoted"}).status_code == 400


def test_two_requests_to_retrain_are_one_job(manager: APIClient) -> None:
    first, second = post(manager, "retrain"), post(manager, "retrain")
    assert first.status_code == second.status_code == 202
    assert first.json()["id"] == second.json()["id"] == Job.objects.get().pk
    shown = manager.get(f"/api/jobs/{first.json()['id']}/").json()
    assert (shown["status"], shown["done"], shown["total"]) == ("queued", 0, 0)
    assert "token" not in shown


def test_jobs_are_listed_cancelled_and_tried_again(manager: APIClient) -> None:
    job = JobFactory.create(kind="retrain")
    JobFactory.create(kind="grade")
    listed = manager.get("/api/jobs/?kind=retrain&status=queued").json()["results"]
    assert [row["id"] for row in listed] == [job.pk]
    assert post(manager, f"jobs/{job.pk}/cancel").json()["status"] == "cancelled"
    again = post(manager, f"jobs/{job.pk}/retry")
    assert (again.status_code, again.json()["status"]) == (202, "queued")
    assert (
        post(manager, f"jobs/{again.json()['id']}/retry").json()["detail"].endswith("nothing to try again.")
    )


def test_progress_counts_what_waits_at_each_stage(manager: APIClient) -> None:
    QueueItemFactory.create_batch(2)
    RoundFactory.create()
    answer = manager.get("/api/progress/").json()
    assert answer["waiting"]["label"] == 2
    assert answer["serving"] == PRMVersion.objects.serving().number  # type: ignore[union-attr]
    assert {state["queue"]: state["alive"] for state in answer["workers"]} == {"quick": 0, "model": 0}


def test_the_labels_are_streamed_as_the_very_bytes_of_the_export(manager: APIClient) -> None:
    QueueItemFactory.create_batch(3)
    for person in AnnotatorFactory.create_batch(3):
        work = claim(person=person)
        assert work is not None
        rate(person=person, item=work.item, step_index=0, rating=-1)
        submit(person=person, item=work.item)
    response = manager.get("/api/labels/export/")
    assert isinstance(response, StreamingHttpResponse)
    assert response["Content-Type"].startswith("application/jsonl")
    assert "attachment" in response["Content-Disposition"]
    expected = io.BytesIO()
    write_labels(labels=Label.objects.all(), stream=expected)
    streamed = b"".join(response.streaming_content)  # type: ignore[arg-type]
    assert streamed == expected.getvalue()
    assert [json.loads(line)["label"]["finish_reason"] for line in streamed.splitlines()] == [
        "found_error"
    ] * 3
