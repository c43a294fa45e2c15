"""The quality programme for scripts: gold, disputes and the inbox for managers; keys for who labels."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from annotate.loop.concerns import dispute
from annotate.loop.label import rate, submit
from annotate.models import Concern, Gold, Label, Person, QualityPolicy
from tests.factories import AnnotatorFactory, GoldFactory, ManagerFactory
from tests.loop.labelling import STEPS, begin, labelled, make_item

pytestmark = pytest.mark.django_db


@pytest.fixture
def cleo(db: None) -> Person:
    return AnnotatorFactory.create(username="cleo")


def ids(client: APIClient, path: str) -> Any:
    response = client.get(f"/api/{path}")
    return (
        [row["id"] for row in response.json()["results"]]
        if response.status_code == 200
        else response.status_code
    )


def test_gold_is_made_of_a_label_corrected_retired_used_again_and_withdrawn(
    manager: APIClient, cleo: Person
) -> None:
    make_item()
    label = labelled(cleo, 1, -1)
    [row] = manager.get("/api/labels/").json()["results"]
    assert (row["id"], row["annotator"], row["first_error"]) == (label.pk, "cleo", 1)
    body = {"label": label.pk, "accepted": [1, 2], "explanation": "It is 4."}
    made = manager.post("/api/gold/", body, format="json")
    assert made.status_code == 201
    gold = made.json()
    assert (gold["accepted"], gold["steps"], gold["source"]) == ([1, 2], STEPS, label.pk)
    again = manager.post("/api/gold/", body, format="json")
    assert (again.status_code, again.json()["detail"]) == (400, "This solution is gold already.")
    assert manager.post("/api/gold/", {**body, "label": 999}, format="json").status_code == 400
    at = f"/api/gold/{gold['id']}/"
    assert manager.post(at + "correct/", {"accepted": [4]}, format="json").status_code == 400
    then = manager.post(at + "correct/", {"accepted": [-1]}, format="json")
    assert then.json() == {"answers": 0, "resumed": [], "refused": []}
    assert manager.post(at + "retire/").json()["retired_at"]
    assert (ids(manager, "gold/?retired=true"), ids(manager, "gold/?retired=false")) == ([gold["id"]], [])
    assert manager.post(at + "use/").json()["retired_at"] is None
    manager.post(at + "withdraw/")
    assert Gold.objects.get().retired_at is not None


def test_a_dispute_is_listed_with_its_labels_and_decided_once(manager: APIClient, cleo: Person) -> None:
    solution = make_item(copy=0).solution
    make_item(copy=1, solution=solution)
    one, other = labelled(cleo, 1, -1), labelled(AnnotatorFactory.create(), 1, 1, 1, 1)
    [row] = manager.get("/api/disputes/").json()["results"]
    assert (row["id"], row["steps"]) == (solution.pk, STEPS)
    assert [(label["id"], label["first_error"]) for label in row["labels"]] == [(one.pk, 1), (other.pk, -1)]
    assert row["labels"][0]["ratings"] == [{"index": 0, "rating": 1}, {"index": 1, "rating": -1}]
    at = f"/api/disputes/{solution.pk}/"
    assert manager.get(at).json() == row
    stranger = labelled_elsewhere(cleo)
    for body in ({}, {"label": one.pk, "ratings": [1]}, {"label": stranger.pk}, {"ratings": [1, 1]}):
        assert manager.post(at + "decide/", body, format="json").status_code == 400, body
    made = manager.post(at + "decide/", {"ratings": [1, 0, -1]}, format="json")
    assert (made.status_code, made.json()["first_error"], made.json()["adjudicates"]) == (201, 2, True)
    late = manager.post(at + "decide/", {"label": one.pk}, format="json")
    assert (late.status_code, late.json()["code"]) == (409, "not_decidable")
    assert ids(manager, "disputes/") == []
    assert manager.post("/api/disputes/999999/decide/", {"ratings": [1]}, format="json").status_code == 404


def labelled_elsewhere(person: Person) -> Label:
    make_item()
    return labelled(person, -1)


def test_a_concern_is_answered_by_one_act(manager: APIClient, cleo: Person) -> None:
    work = begin(cleo)
    dispute(person=cleo, item=work.item, text="The model is right.")
    rate(person=cleo, item=work.item, step_index=0, rating=-1, flagged=True)
    submit(person=cleo, item=work.item)
    rows = manager.get("/api/concerns/?open=true").json()["results"]
    assert [row["kind"] for row in rows] == ["unsure", "answer"]
    assert (rows[1]["text"], rows[1]["annotator"]) == ("The model is right.", "cleo")
    unsure, wrong = (f"/api/concerns/{row['id']}/" for row in rows)
    assert manager.post(unsure + "reply/", {"reply": " "}, format="json").status_code == 400
    assert (
        manager.post(unsure + "reply/", {"reply": "It is fine."}, format="json").json()["action"] == "replied"
    )
    fixed = manager.post(wrong + "fix-answer/", {"answer": "77"}, format="json").json()
    assert (fixed["answer"], fixed["action"]) == ("77", "answer_fixed")
    late = manager.post(wrong + "retire-problem/", {}, format="json")
    assert (late.status_code, late.json()["code"]) == (409, "answered")
    assert ids(manager, "concerns/?open=true") == []
    assert len(ids(manager, "concerns/?kind=answer")) == 1
    assert Concern.objects.open().count() == 0


@pytest.mark.parametrize(
    "path",
    [
        "gold/?source__annotator__password__startswith=a",
        "gold/?retired_at__isnull=true",
        "labels/?annotator__username__startswith=c",
        "labels/?annotator__password=x",
        "disputes/?labels__annotator__password__startswith=a",
        "concerns/?label__annotator__password__startswith=a",
        "concerns/?resolved_at__isnull=true",
    ],
)
def test_filters_are_words_of_their_own_never_look_ups(manager: APIClient, path: str) -> None:
    response = manager.get(f"/api/{path}")
    assert response.status_code == 400
    assert "Unknown" in response.json()["detail"]


def test_lists_cost_the_same_queries_however_long(manager: APIClient, django_assert_num_queries: Any) -> None:
    for n in (1, 3):
        GoldFactory.create_batch(n)
        for _ in range(n):
            solution = make_item().solution
            for ratings in ((-1,), (1, 1, 1, 1)):
                make_item(copy=len(ratings), solution=solution)
                labelled(AnnotatorFactory.create(), *ratings)
        with django_assert_num_queries(9):
            for path in ("gold/", "labels/", "concerns/"):
                assert manager.get(f"/api/{path}").status_code == 200


def test_ones_keys_are_read_and_chosen(ada: APIClient, ben: APIClient) -> None:
    keys = ada.get("/api/keys/").json()
    assert (keys["bad"], keys["submit"]) == ("1", "Enter")
    chosen = ada.put("/api/keys/", {"bad": "x", "zoom": " "}, format="json")
    assert (chosen.status_code, chosen.json()["bad"], chosen.json()["zoom"]) == (200, "x", "Space")
    twice = ada.put("/api/keys/", {"bad": "x", "great": "x"}, format="json")
    assert (twice.status_code, twice.json()["code"]) == (400, "bad_keys")
    assert ada.put("/api/keys/", {"person": 2}, format="json").status_code == 400
    assert ada.get("/api/keys/").json()["bad"] == "x"
    assert ben.get("/api/keys/").json()["bad"] == "1"


def test_the_policy_is_read_and_what_is_named_of_it_is_changed(manager: APIClient) -> None:
    before = manager.get("/api/quality/policy/").json()
    assert before["agreement_window"] == QualityPolicy.current().agreement_window
    then = manager.patch("/api/quality/policy/", {"screening": True, "gold_every": 12}, format="json")
    assert then.status_code == 200
    assert then.json() == before | {"screening": True, "gold_every": 12}
    assert manager.get("/api/quality/policy/").json() == then.json()
    assert QualityPolicy.objects.get().gold_every == 12
    off = manager.patch("/api/quality/policy/", {"screening": False}, format="json").json()
    assert off == then.json() | {"screening": False}


@pytest.mark.parametrize(
    "wrong",
    [
        {"agreement_bar": 2},
        {"admission_bar": -0.1},
        {"agreement_window": 500},
        {"agreement_window": 2},
        {"screening_items": 0},
        {"gold_every": -1},
        {"gold_every": 40_000},
        {"undo_seconds": 10**12},
    ],
)
def test_what_the_page_refuses_of_a_policy_the_api_refuses_in_the_same_words(
    manager: APIClient, wrong: dict[str, float]
) -> None:
    (name,) = wrong
    before = manager.get("/api/quality/policy/").json()
    refused = manager.patch("/api/quality/policy/", wrong | {"screening": True}, format="json")
    assert refused.status_code == 400
    client = Client()
    client.force_login(ManagerFactory.create())
    page = client.post("/quality/policy/", before | wrong)
    assert page.status_code == 400
    assert refused.json()["fields"] == {name: page.context["form"].errors[name]}
    assert manager.get("/api/quality/policy/").json() == before


def test_a_policy_takes_no_other_key_and_no_other_type(manager: APIClient) -> None:
    for wrong in ({"bar": 1}, {"id": 2}, {"agreement_bar": "high"}, {"gold_every": None}, [1]):
        assert manager.patch("/api/quality/policy/", wrong, format="json").status_code == 400, wrong


def test_standings_tell_agreement_pace_and_who_is_paused_and_why(
    manager: APIClient, cleo: Person, django_assert_max_num_queries: Any
) -> None:
    QualityPolicy(gold_every=1).save()
    make_item()
    GoldFactory.create_batch(3, accepted=[3])
    for _ in range(3):
        labelled(cleo, -1)
    AnnotatorFactory.create(username="dan")
    with django_assert_max_num_queries(7):
        first, second = manager.get("/api/quality/standings/").json()
    cleo.refresh_from_db()
    assert (first["username"], first["labels"], first["below_bar"]) == ("cleo", 3, True)
    gold = first["gold"]
    assert (gold["agreed"], gold["answers"], gold["share"], gold["low"]) == (0, 3, 0.0, 0.0)
    assert 0.5 < gold["high"] < 0.6
    assert first["suspended_at"]
    assert first["suspension"] == cleo.suspension != ""
    assert isinstance(first["median_ms"], float)
    assert second == {
        "username": "dan",
        "labels": 0,
        "median_ms": None,
        "gold": {"agreed": 0, "answers": 0, "share": None, "low": 0.0, "high": 1.0},
        "below_bar": False,
        "suspended_at": None,
        "suspension": "",
        "screened": False,
        "screenings": 0,
    }
