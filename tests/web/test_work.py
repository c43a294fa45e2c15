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


@pytest.fixture
def ada() -> Person:
    return AnnotatorFactory.create(username="ada")


@pytest.fixture
def page(ada: Person) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def make_item(**more: Any) -> None:
    QueueItemFactory.create(solution__steps=["one", "two", "three", "four"], **more)


def test_my_work_counts_mine_and_nobody_elses(page: Client, ada: Person) -> None:
    for person in (ada, AnnotatorFactory.create()):
        for _ in range(2):
            make_item()
            work = verbs.claim(person=person)
            verbs.rate(person=person, item=work.item, step_index=0, rating=-1)
            verbs.submit(person=person, item=work.item)
    ada.labels.filter(pk=ada.labels.first().pk).update(
        submitted_at=timezone.now() - timedelta(days=3), total_time=90_000
    )
    ada.labels.filter(pk=ada.labels.last().pk).update(total_time=30_000)
    response = page.get("/work/")
    assert [figures for _, figures in response.context["spans"]] == [
        {"annotator__username": "ada", "solutions": 1, "milliseconds": 30_000.0, "steps": 1},
        {"annotator__username": "ada", "solutions": 2, "milliseconds": 60_000.0, "steps": 2},
    ]
    assert "1:00 a solution (median)" in response.content.decode()
    assert len(response.context["page"]) == 2


def test_my_work_is_empty_before_the_first_label(page: Client) -> None:
    html = page.get("/work/").content.decode()
    assert "Rate your first solution" in html
    assert "– a solution" in html


def test_a_label_of_mine_is_shown_as_given_and_others_are_not_found(page: Client, ada: Person) -> None:
    labels = []
    for person in (ada, AnnotatorFactory.create()):
        make_item()
        work = verbs.claim(person=person)
        verbs.rate(person=person, item=work.item, step_index=0, rating=1)
        labels.append(
            verbs.submit(person=person, item=work.item, finish_reason="give_up", comment="stuck here")
        )
    mine, other = (reverse("work_label", args=[label.pk]) for label in labels)
    html = page.get(mine).content.decode()
    assert "✓ great" in html
    assert html.count("not rated") == 3
    assert "stuck here" in html
    assert page.get(other).status_code == 404
