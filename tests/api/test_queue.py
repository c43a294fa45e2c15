"""Labelling by script: the same items, fields and refusals as on the page."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from annotate.loop.queues import put_problems
from annotate.models import Label, QueueItem, Way
from tests.factories import (
    GradedSolutionFactory,
    ProblemFactory,
    QueueFactory,
    QueueItemFactory,
    SolutionScoreFactory,
)
from tests.loop.proposing import work_off

pytestmark = pytest.mark.django_db


def post(client: APIClient, path: str, body: Any = None) -> Any:
    return client.post(f"/api/queue/{path}/", body, format="json")


def test_an_annotator_labels_a_solution_from_next_to_submit(ada: APIClient) -> None:
    solution = GradedSolutionFactory.create(text="I count.\nThat is four.\nDone.")
    QueueItemFactory.create(solution=solution)
    work = post(ada, "next").json()
    assert [step["text"] for step in work["steps"]] == ["I count.", "That is four.", "Done."]
    assert (work["next_open"], work["finish"]) == (0, None)

    item = work["item"]
    post(ada, f"{item}/rate", {"step_index": 0, "rating": 1, "active_ms": 1})
    work = post(ada, f"{item}/rate", {"step_index": 1, "rating": -1, "unsure": True}).json()
    assert (work["next_open"], work["finish"]) == (None, "found_error")
    assert work["steps"][1]["unsure"] is True
    assert work["steps"][2]["after_error"] is True

    answer = post(ada, f"{item}/submit", {"finish_reason": "found_error"}).json()
    assert answer["label"]["finish_reason"] == "found_error"
    assert answer["next"] is None
    label = Label.objects.submitted().get()
    assert list(label.ratings.values_list("rating", "flagged", "chosen")) == [
        (1, None, True),
        (-1, True, False),
    ]
    assert post(ada, "next").status_code == 204


def test_submit_brings_the_next_item_where_it_is_asked_for(ada: APIClient) -> None:
    items = QueueItemFactory.create_batch(2)
    assert post(ada, "next").json()["item"] == items[0].pk
    post(ada, f"{items[0].pk}/rate", {"step_index": 0, "rating": -1})
    answer = post(ada, f"{items[0].pk}/submit", {"claim_next": True}).json()
    assert answer["next"]["item"] == items[1].pk


def test_ratings_can_be_undone_flagged_changed_and_the_lease_kept_and_given_back(ada: APIClient) -> None:
    item = QueueItemFactory.create()
    post(ada, "next")
    post(ada, f"{item.pk}/rate", {"step_index": 0, "rating": 1})
    assert post(ada, f"{item.pk}/undo").json()["steps"][0]["rating"] is None
    assert post(ada, f"{item.pk}/flag", {"step_index": 0, "unsure": True}).json()["steps"][0]["unsure"]
    until = post(ada, f"{item.pk}/heartbeat").json()["lease_expires_at"]
    assert until > timezone.now().isoformat()
    assert post(ada, f"{item.pk}/release", {}).status_code == 204
    item.refresh_from_db()
    assert item.leased_by is None


def test_no_score_gold_grade_or_other_label_is_ever_sent_to_an_annotator(
    ada: APIClient, ben: APIClient
) -> None:
    problem = ProblemFactory.create(text="How many?", answer="3", solution="THE-REFERENCE")
    solution = GradedSolutionFactory.create(
        problem=problem, text="I count.\nDone.", grade_reason="THE-GRADE", generator="THE-GENERATOR"
    )
    item = QueueItemFactory.create(solution=solution, strategy="THE-STRATEGY", score=-0.123456)
    SolutionScoreFactory.create(solution=solution, prm=item.prm, log_product=-0.123456, product=0.654321)
    post(ben, "next")
    post(ben, f"{item.pk}/rate", {"step_index": 0, "rating": 0})
    post(ben, f"{item.pk}/release", {})

    seen = [post(ada, "next")]
    seen.append(post(ada, f"{item.pk}/rate", {"step_index": 0, "rating": 1}))
    seen.append(post(ada, f"{item.pk}/rate", {"step_index": 1, "rating": -1}))
    seen.append(post(ada, f"{item.pk}/submit", {"claim_next": True}))
    for response in seen:
        text = response.content.decode()
        for secret in (
            "THE-",
            "0.123",
            "0.654",
            "score",
            "gold",
            "arm",
            "control",
            "propensity",
            "outcome",
            "ben",
        ):
            assert secret not in text
    assert set(seen[0].json()) == {
        "item",
        "way",
        "token",
        "lease_expires_at",
        "generation",
        "problem",
        "guess",
        "hint",  # null where the queue gives none
        "steps",
        "proposed",
        "asks_further",
        "progress",
        "critique",
        "active_ms",
        "next_open",
        "finish",
    }
    assert [step["rating"] for step in seen[0].json()["steps"]] == [None, None]


def test_an_item_somebody_else_holds_looks_like_one_that_does_not_exist(
    ada: APIClient, ben: APIClient
) -> None:
    item = QueueItemFactory.create()
    post(ada, "next")
    calls = {
        "rate": {"step_index": 0, "rating": 1},
        "flag": {"step_index": 0, "unsure": True},
        "undo": {},
        "heartbeat": None,
        "submit": {},
    }
    for verb, body in calls.items():
        theirs = post(ben, f"{item.pk}/{verb}", body)
        none = post(ben, f"{item.pk + 999}/{verb}", body)
        assert theirs.status_code == none.status_code == 404
        assert theirs.json() == none.json()
        assert theirs.json()["code"] == "not_your_item"


def test_nobody_can_release_or_renew_the_lease_of_another(ada: APIClient, ben: APIClient) -> None:
    item = QueueItemFactory.create()
    token = post(ada, "next").json()["token"]
    before = QueueItem.objects.values("leased_by", "lease_token", "lease_expires_at").get()
    assert post(ben, f"{item.pk}/release", {"token": token}).status_code == 204
    assert post(ben, f"{item.pk}/heartbeat").status_code == 404
    assert QueueItem.objects.values("leased_by", "lease_token", "lease_expires_at").get() == before


def test_a_lease_lost_and_a_label_submitted_twice_are_conflicts_that_say_so(
    ada: APIClient, ben: APIClient
) -> None:
    item = QueueItemFactory.create()
    post(ada, "next")
    QueueItem.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    post(ben, "next")
    lost = post(ada, f"{item.pk}/rate", {"step_index": 0, "rating": 1})
    assert (lost.status_code, lost.json()["code"]) == (409, "lease_lost")
    assert "Your ratings are kept" in lost.json()["detail"]
    post(ben, f"{item.pk}/rate", {"step_index": 0, "rating": -1})
    assert post(ben, f"{item.pk}/submit").status_code == 200
    twice = post(ben, f"{item.pk}/submit")
    assert (twice.status_code, twice.json()["code"]) == (409, "already_submitted")


@pytest.mark.parametrize(
    ("body", "code", "at_fault"),
    [
        ({"step_index": 0, "rating": 2}, "invalid", "rating"),
        ({"step_index": 0, "rating": "great"}, "invalid", "rating"),
        ({"step_index": 0, "rating": None}, "invalid", "rating"),
        ({"step_index": -1, "rating": 1}, "invalid", "step_index"),
        ({"step_index": 10**30, "rating": 1}, "invalid", "step_index"),
        ({"step_index": 0, "rating": 1, "active_ms": -5}, "invalid", "active_ms"),
        ({"rating": 1}, "invalid", "step_index"),
        ({"step_index": 99, "rating": 1}, "invalid_rating", None),
        ([1, 2], "invalid", "body"),
        ("text", "invalid", "body"),
    ],
)
def test_a_rating_that_makes_no_sense_is_refused_with_the_key_at_fault(
    ada: APIClient, body: Any, code: str, at_fault: str | None
) -> None:
    item = QueueItemFactory.create()
    post(ada, "next")
    response = post(ada, f"{item.pk}/rate", body)
    assert response.status_code == 400
    assert response.json()["code"] == code
    assert response.json()["detail"]
    if at_fault:
        assert list(response.json()["fields"]) == [at_fault]


def test_keys_an_endpoint_does_not_know_are_refused_so_nothing_can_be_assigned_past_it(
    ada: APIClient,
) -> None:
    item = QueueItemFactory.create()
    post(ada, "next")
    for extra in ("annotator", "label", "chosen", "rated_at", "text", "score", "item"):
        response = post(ada, f"{item.pk}/rate", {"step_index": 0, "rating": 1, extra: 1})
        assert response.status_code == 400
        assert list(response.json()["fields"]) == [extra]
    response = post(ada, f"{item.pk}/submit", {"submitted_at": "2020-01-01T00:00:00Z", "total_time": 1})
    assert sorted(response.json()["fields"]) == ["submitted_at", "total_time"]
    assert not Label.objects.submitted().exists()


def test_half_a_surrogate_pair_in_a_key_or_a_choice_is_a_refusal_and_not_a_crash(ada: APIClient) -> None:
    item = QueueItemFactory.create()
    post(ada, "next")
    for body in ('{"\\ud800": 1}', '{"finish_reason": "\\ud800"}', '{"comment": "\\ud800"}'):
        response = ada.post(f"/api/queue/{item.pk}/submit/", body, content_type="application/json")
        assert (response.status_code, response.json()["code"]) == (400, "invalid")


def test_a_script_cannot_claim_more_time_than_passed(ada: APIClient) -> None:
    item = QueueItemFactory.create()
    post(ada, "next")
    work = post(ada, f"{item.pk}/rate", {"step_index": 0, "rating": -1, "active_ms": 2**53}).json()
    assert work["active_ms"] < 60_000


def test_a_paused_queue_hands_out_nothing_new(ada: APIClient) -> None:
    item = QueueItemFactory.create()
    item.queue.paused_at = timezone.now()
    item.queue.save()
    assert post(ada, "next").status_code == 204


def test_hostile_text_comes_as_data(ada: APIClient) -> None:
    text = '</script><script>alert(1)</script>\n=HYPERLINK("http://evil")\n\\frac{'
    QueueItemFactory.create(solution=GradedSolutionFactory.create(text=text))
    response = post(ada, "next")
    assert response["Content-Type"] == "application/json"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert [s["text"] for s in json.loads(response.content)["steps"]] == text.split("\n")


def test_a_solution_grows_step_by_step_over_the_api_too(ada: APIClient) -> None:
    ProblemFactory.create(text="How many?")
    put_problems(queue=QueueFactory.create(way=Way.STEP_BY_STEP, options=3), problems=1)
    work = ada.post("/api/queue/next/").json()
    assert work["proposed"]["options"] == []
    assert work["proposed"]["waiting"]["state"] == "no worker"
    for step in range(2):
        work_off()
        options = ada.post("/api/queue/next/").json()["proposed"]["options"]
        for option in options:
            body = {"step_index": option["index"], "rating": 1}
            work = ada.post(f"/api/queue/{work['item']}/rate/", body, format="json").json()
        chosen = {"step_index": step, "option": 0}
        work = ada.post(f"/api/queue/{work['item']}/choose/", chosen, format="json").json()
        assert len(work["steps"]) == step + 1
    assert ada.post(f"/api/queue/{work['item']}/again/").json()["proposed"]["step_index"] == 2
    written = {"step_index": 2, "text": "So it is 3.\n\n# Answer\n\n3"}
    work = ada.post(f"/api/queue/{work['item']}/write/", written, format="json").json()
    assert work["finish"] == "solution"
    assert ada.post(f"/api/queue/{work['item']}/submit/", {}, format="json").status_code == 200


def test_what_is_sent_late_changes_nothing_that_is_newer(ada: APIClient) -> None:
    item = QueueItemFactory.create()
    post(ada, "next")
    post(ada, f"{item.pk}/rate", {"step_index": 0, "rating": 1})
    late = {"step_index": 0, "rating": -1, "given_at": (timezone.now() - timedelta(hours=1)).isoformat()}
    assert post(ada, f"{item.pk}/rate", late).json()["steps"][0]["rating"] == 1
    assert post(ada, f"{item.pk}/rate", late | {"given_at": "yesterday"}).status_code == 400


def test_an_item_is_skipped_disputed_and_taken_back(ada: APIClient, ben: APIClient) -> None:
    first, second = QueueItemFactory.create_batch(2)
    post(ada, "next")
    assert post(ada, f"{first.pk}/dispute", {"text": "It is 7."}).status_code == 204
    assert post(ada, f"{first.pk}/dispute", {"text": ""}).status_code == 400
    assert post(ada, f"{first.pk}/skip", {}).status_code == 204
    assert post(ada, "next").json()["item"] == second.pk
    post(ada, f"{second.pk}/rate", {"step_index": 0, "rating": -1})
    post(ada, f"{second.pk}/submit", {})
    assert post(ben, f"{second.pk}/take-back").status_code == 404
    again = post(ada, f"{second.pk}/take-back").json()
    assert (again["item"], again["steps"][0]["rating"]) == (second.pk, -1)
    assert not Label.objects.submitted().exists()
    assert post(ada, f"{second.pk}/take-back").status_code == 404
    assert post(ada, f"{10**30}/take-back").status_code == 404  # a number that no column holds
