"""My work: a person's own labels, counted and shown again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.loop import label as verbs
from annotate.models import Person
from tests.factories import AnnotatorFactory, QueueItemFactory

pytestmark = pytest.mark.django_db


def make_item(**more: Any) -> None:
    QueueItemFactory.create(solution__steps=["one", "two", "three", "four"], **more)


def test_my_work_counts_mine_and_nobody_elses(as_annotator: Client, annotator: Person) -> None:
    for person in (annotator, AnnotatorFactory.create()):
        for _ in range(2):
            make_item()
            work = verbs.claim(person=person)
            verbs.rate(person=person, item=work.item, step_index=0, rating=-1)
            verbs.submit(person=person, item=work.item)
    annotator.labels.filter(pk=annotator.labels.first().pk).update(
        submitted_at=timezone.now() - timedelta(days=3), total_time=90_000
    )
    annotator.labels.filter(pk=annotator.labels.last().pk).update(total_time=30_000)
    response = as_annotator.get("/work/")
    assert [figures for _, figures in response.context["spans"]] == [
        {"annotator__username": "ada", "solutions": 1, "milliseconds": 30_000.0, "steps": 1},
        {"annotator__username": "ada", "solutions": 2, "milliseconds": 60_000.0, "steps": 2},
    ]
    assert "1:00 a solution (median)" in response.content.decode()
    assert len(response.context["page"]) == 2


def test_my_work_is_empty_before_the_first_label(as_annotator: Client) -> None:
    html = as_annotator.get("/work/").content.decode()
    assert "Rate your first solution" in html
    assert "– a solution" in html


def test_a_label_of_mine_is_shown_as_given_and_others_are_not_found(
    as_annotator: Client, annotator: Person
) -> None:
    labels = []
    for person in (annotator, AnnotatorFactory.create()):
        make_item()
        work = verbs.claim(person=person)
        verbs.rate(person=person, item=work.item, step_index=0, rating=1)
        labels.append(
            verbs.submit(person=person, item=work.item, finish_reason="give_up", comment="stuck here")
        )
    mine, other = (reverse("work_label", args=[label.pk]) for label in labels)
    html = as_annotator.get(mine).content.decode()
    assert "✓ great" in html
    assert html.count("not rated") == 3
    assert "stuck here" in html
    assert as_annotator.get(other).status_code == 404
