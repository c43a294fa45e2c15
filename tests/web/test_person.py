"""A person's labels, for managers: listed, read one by one, beside what gold and others say."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotate.loop.concerns import raise_concerns
from annotate.loop.gold import make_gold
from annotate.models import Label, Person
from tests.loop.labelling import labelled, labels_of_one, make_item, policy

pytestmark = pytest.mark.django_db


def test_only_managers_read_what_others_labelled(as_annotator: Client) -> None:
    label, _ = labels_of_one((1, -1), (1, 1, 1, 1))
    for path in (f"/people/{label.annotator_id}/", f"/labels/{label.pk}/"):
        assert as_annotator.get(path).status_code == 403


def test_a_person_is_a_click_away_wherever_they_are_listed(as_manager: Client, annotator: Person) -> None:
    link = f'<a href="/people/{annotator.pk}/">{annotator.username}</a>'
    for path in ("/people/", "/quality/"):
        assert link in as_manager.get(path).content.decode()
    assert "Nothing submitted yet." in as_manager.get(f"/people/{annotator.pk}/").content.decode()


def test_the_labels_of_one_person_are_listed_and_a_draft_is_not(
    as_manager: Client, annotator: Person
) -> None:
    make_item()
    label = labelled(annotator, 1, 1, -1)
    labels_of_one((1, -1), (1, 1, 1, 1))
    draft = Label.objects.exclude(annotator=annotator).first()
    Label.objects.filter(pk=draft.pk).update(submitted_at=None)
    response = as_manager.get(f"/people/{annotator.pk}/")
    assert [row.pk for row in response.context["page"]] == [label.pk]
    assert "an error\n (3)" in response.content.decode()
    assert as_manager.get(f"/labels/{draft.pk}/").status_code == 404


def test_missed_gold_is_told_and_can_be_looked_at_alone(
    as_manager: Client, manager: Person, annotator: Person
) -> None:
    source, _ = labels_of_one((1, -1), (1, -1))
    gold = make_gold(label=source, accepted=[1], by=manager)
    policy(gold_every=1)
    make_item()
    missed = labelled(annotator, 1, 1, 1, 1)
    assert missed.gold == gold
    labelled(annotator, -1)
    page = f"/people/{annotator.pk}/"
    assert "gold missed (1 of 1)" in as_manager.get(page).content.decode()
    assert [row.pk for row in as_manager.get(f"{page}?only=missed").context["page"]] == [missed.pk]
    shown = as_manager.get(f"/labels/{missed.pk}/").content.decode()
    assert "misses gold" in shown
    assert f'<a href="/quality/gold/{gold.pk}/">first error: step 2' in shown
    assert "Make gold" not in shown
    answers = as_manager.get(f"/quality/gold/{gold.pk}/").content.decode()
    assert f'<a href="/labels/{missed.pk}/">{annotator.username}</a>' in answers


def test_a_label_leads_to_whoever_else_rated_the_solution_and_to_what_was_noticed(as_manager: Client) -> None:
    one, other = labels_of_one((1, -1), (1, 1, 1, 1))
    raise_concerns(one, [0])
    shown = as_manager.get(f"/labels/{one.pk}/").content.decode()
    assert f'<a href="/labels/{other.pk}/">{other.annotator.username}</a>' in shown
    assert f'<a href="{reverse("dispute", args=[one.solution_id])}">side by side</a>' in shown
    assert f'<a href="{reverse("concern", args=[one.concerns.get().pk])}">unsure of step 1' in shown
    assert reverse("gold_make", args=[one.pk]) in shown
