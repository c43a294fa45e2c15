"""Gold over HTTP: made in two clicks, corrected, and never to be told from other work."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.models import Gold, Label, Person, QueueItem
from tests.factories import GoldFactory, QueueItemFactory
from tests.loop.labelling import labelled, policy
from tests.web.labelling import HTMX

pytestmark = pytest.mark.django_db
STEPS = ["One.", "Two is three.", "So 3."]


def test_two_clicks_make_gold_of_a_label(as_manager: Client, annotator: Person) -> None:
    QueueItemFactory.create(solution__steps=STEPS)
    label = labelled(annotator, 1, -1)
    page = as_manager.get("/quality/gold/").content.decode()
    link = re.search(r'href="([^"]+)" aria-label="Make gold of label', page)
    assert link
    form = as_manager.get(link[1]).content.decode()
    assert 'value="1" checked' in form
    assert 'value="0" checked' not in form
    answer = as_manager.post(link[1], {"accepted": ["1"], "explanation": "Two is two."}, follow=True)
    assert "Gold" in answer.content.decode()
    gold = Gold.objects.get()
    assert (gold.accepted, gold.source, gold.screens) == ([1], label, False)
    assert "Make gold of label" not in as_manager.get("/quality/gold/").content.decode()


def test_gold_without_a_step_is_refused_with_the_form_kept(as_manager: Client, annotator: Person) -> None:
    QueueItemFactory.create(solution__steps=STEPS)
    path = reverse("gold_make", args=[labelled(annotator, -1).pk])
    for data in ({}, {"accepted": ["7"]}, {"accepted": ["x"]}, {"accepted": ["--1", "9" * 5000]}):
        answer = as_manager.post(path, data)
        assert answer.status_code == 400
        assert 'role="alert"' in answer.content.decode()
    assert not Gold.objects.exists()


def shape(html: str) -> list[str]:
    """The tags with their attributes' names, and no text: what a page looks like from outside."""
    body = html[html.index('<div id="work"') :]
    return [
        re.sub(r'="[^"]*"', "", tag) for tag in re.findall(r"<[^>]+>", body) if not tag.startswith("<math")
    ]


def test_a_gold_page_has_the_same_shape_headers_and_length_of_ids(as_annotator: Client) -> None:
    QueueItemFactory.create(solution__steps=STEPS)
    QueueItemFactory.create(solution__steps=STEPS)
    ordinary = as_annotator.get("/label/")
    item = QueueItem.objects.exclude(leased_by=None).get()
    as_annotator.post(
        reverse("label_submit", args=[item.pk]), {"finish_reason": "give_up", "comment": "x"}, headers=HTMX
    )
    QueueItem.objects.filter(leased_by__isnull=False).update(leased_by=None)
    Label.objects.drafts().delete()
    GoldFactory.create(solution__steps=STEPS)
    policy(gold_every=1)
    golden = as_annotator.get("/label/")
    assert QueueItem.objects.get(leased_by__isnull=False).gold
    a, b = ordinary.content.decode(), golden.content.decode()
    assert shape(a) == shape(b)
    assert set(ordinary.headers) == set(golden.headers)
    assert "gold" not in b.lower()


def test_a_gold_answer_looks_like_any_other_in_my_work(as_annotator: Client, annotator: Person) -> None:
    policy(gold_every=1)
    QueueItemFactory.create(solution__steps=STEPS)
    GoldFactory.create(solution__steps=STEPS, accepted=[0], explanation="the-explanation")
    label = labelled(annotator, 1, -1)
    assert label.gold
    for path in ("/work/", reverse("work_label", args=[label.pk]), "/screening/"):
        page = as_annotator.get(path).content.decode()
        assert "gold" not in page.lower()
        assert "the-explanation" not in page


def test_a_gold_is_corrected_or_withdrawn_and_the_manager_told_what_followed(
    as_manager: Client, annotator: Person
) -> None:
    policy(gold_every=1)
    golds = GoldFactory.create_batch(3, accepted=[-1], solution__steps=STEPS)
    QueueItemFactory.create_batch(4)
    for _ in range(3):
        labelled(annotator, -1)
    at = reverse("gold_correct", args=[golds[0].pk])
    assert 'value="-1" checked' in as_manager.get(at).content.decode()
    refused = as_manager.post(at, {"accepted": ["7"]})
    assert refused.status_code == 400
    assert "There is no step 8" in refused.content.decode()
    said = as_manager.post(at, {"accepted": ["0", "1"]}, follow=True).content.decode()
    assert "1 answer judged anew. Paused no more: " in said
    Person.objects.filter(pk=annotator.pk).update(suspended_at=timezone.now(), suspension="x")
    assert "would not pause them" in as_manager.get("/quality/").content.decode()
    as_manager.post(at, {"withdraw": "1"})
    golds[0].refresh_from_db()
    assert golds[0].retired_at is not None


def test_lists_show_formulas_as_formulas_and_pages_markdown_as_annotators_see_it(
    as_manager: Client, annotator: Person
) -> None:
    text = "Find $\\frac{1}{2}$ of it, where " + "it is all there is and " * 9 + "$\\frac{3}{4}$."
    QueueItemFactory.create(solution__steps=["**One.**", "Two."], solution__problem__text=text)
    label = labelled(annotator, 1, -1)
    listed = as_manager.get("/quality/gold/").content.decode()
    assert "<mfrac>" in listed
    assert "frac{" not in listed
    page = as_manager.get(reverse("gold_make", args=[label.pk])).content.decode()
    assert "<strong>One.</strong>" in page
