"""Disputes: both labels side by side, the decision in one click or step by step."""

from __future__ import annotations

import re
from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.models import Gold, Label, Person, StepRating
from tests.loop.labelling import labels_of_one

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
        assert f'<a href="/labels/{label.pk}/">{label.annotator.username}</a></th>' in page
    assert 'name="rating-0" value="1" checked' in page
    assert 'name="rating-1" value="1" checked' not in page
    assert "1 solution waits for a decision" in as_manager.get("/quality/").content.decode()
    listed = as_manager.get("/quality/disputes/").content.decode()
    assert f"{one.annotator.username}: step 2" in listed
    assert f"{other.annotator.username}: none" in listed


def test_a_decision_leads_to_the_next_dispute_and_the_last_one_to_the_list(as_manager: Client) -> None:
    one, other = (labels_of_one((1, -1), (1, 1, 1, 1))[0] for _ in range(2))

    def decide(label: Label) -> str:
        return as_manager.post(reverse("dispute_decide", args=[label.solution_id]), {"label": label.pk}).url

    assert decide(other) == reverse("dispute", args=[one.solution_id])
    assert decide(one) == reverse("disputes")


def test_what_labels_say_beside_their_ratings_stands_under_their_names(as_manager: Client) -> None:
    one, other = labels_of_one((1, -1), (1, 1, -1))
    path = reverse("dispute", args=[one.solution_id])
    assert "What they say of it" not in as_manager.get(path).content.decode()
    Label.objects.filter(pk=one.pk).update(progress=2, critique="Five is <b>no</b> sum of $x$.")
    Label.objects.filter(pk=other.pk).update(progress=0)
    beside = partial(StepRating.objects.create, label=one, step_index=1)
    beside(source="critique", text="It forgot to carry.", rating=0)
    beside(option=1, text="So it is six.", rating=1)
    beside(option=2, text="So it is ten.", rating=-1, flagged=True)
    beside(step_index=2, source="human", text="I would add first.")
    page = as_manager.get(path).content.decode()
    said = page[page.index("What they say of it") :]
    first, second = (section.split("</section>")[0] for section in said.split("<section")[1:])
    first = " ".join(re.sub(r"<(?!math)[^>]*>", " ", first).split())
    assert f"{one.annotator.username} first error: step 2" in first
    assert "How far it got most of the way" in first
    assert "What is wrong Five is &lt;b&gt;no&lt;/b&gt; sum of <math" in first
    assert "What the model said is wrong It forgot to carry. ○ okay" in first
    assert "for step 2: So it is six. ✓ great" in first
    assert "for step 2: So it is ten. ✕ bad ? unsure" in first
    assert "for step 3: I would add first. written by them" in first
    assert other.annotator.username in second
    assert "not at all" in second
    assert "What is wrong" not in second


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
