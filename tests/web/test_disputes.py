"""Disputes: both labels side by side, the decision in one click or step by step."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.models import Gold, Label, Person
from tests.loop.test_adjudicate import labels_of_one

pytestmark = pytest.mark.django_db


def test_only_managers_see_and_decide(as_annotator: Client) -> None:
    label, _ = labels_of_one((1, -1), (1, 1, 1, 1))
    for path in (reverse("disputes"), reverse("dispute", args=[label.solution_id])):
        assert as_annotator.get(path).status_code == 403
    assert as_annotator.post(reverse("dispute_decide", args=[label.solution_id])).status_code == 403


def test_both_labels_stand_side_by_side_and_agreement_is_filled_in(as_manager: Client) -> None:
    one, other = labels_of_one((1, -1), (1, 1, 1, 1))
    page = as_manager.get(reverse("dispute", args=[one.solution_id])).content.decode()
    for label in (one, other):
        assert f'<th scope="col">{label.annotator.username}</th>' in page
    assert 'name="rating-0" value="1" checked' in page
    assert 'name="rating-1" value="1" checked' not in page
    assert "1 solution waits for a decision" in as_manager.get("/quality/").content.decode()
    listed = as_manager.get("/quality/disputes/").content.decode()
    assert f"{one.annotator.username}: step 2" in listed
    assert f"{other.annotator.username}: none" in listed


def test_one_click_decides_as_one_of_them_has_it(as_manager: Client, manager: Person) -> None:
    _, other = labels_of_one((1, -1), (1, 1, 1, 1))
    as_manager.post(reverse("dispute_decide", args=[other.solution_id]), {"label": other.pk})
    decision = Label.objects.get(adjudicates=True)
    assert (decision.annotator, decision.finish_reason) == (manager, "solution")
    listed = as_manager.get("/quality/disputes/").content.decode()
    assert "0 solutions" in listed
    as_manager.post(reverse("gold_make", args=[decision.pk]), {"accepted": "-1"})
    assert Gold.objects.get().source == decision


def test_a_decision_of_ones_own_keeps_the_marks_when_one_is_missing(as_manager: Client) -> None:
    label, _ = labels_of_one((1, -1), (1, 1, 1, 1))
    path = reverse("dispute_decide", args=[label.solution_id])
    answer = as_manager.post(path, {"rating-0": "0", "rating-1": "1"})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "Step 3 is not rated yet." in page
    assert 'name="rating-0" value="0" checked' in page
    assert as_manager.post(path, {"rating-0": "0", "rating-1": "1", "rating-2": "-1"}).status_code == 302
    again = as_manager.post(path, {"label": label.pk})
    assert "decided already" in again.content.decode()
    assert Label.objects.filter(adjudicates=True).count() == 1


def test_the_list_costs_the_same_queries_however_many(as_manager: Client) -> None:
    labels_of_one((1, -1), (1, 1, 1, 1))
    as_manager.get("/quality/disputes/")
    with CaptureQueriesContext(connection) as few:
        as_manager.get("/quality/disputes/")
    for _ in range(4):
        labels_of_one((1, -1), (1, 1, 1, 1))
    with CaptureQueriesContext(connection) as many:
        as_manager.get("/quality/disputes/")
    assert len(few) == len(many)
