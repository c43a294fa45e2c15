"""A manager takes an item out of somebody's hands: who may get it, and that ratings are kept."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotate.errors import LeaseLost
from annotate.loop.label import claim, rate, submit
from annotate.loop.reassign import NotReassigned, reassign
from annotate.models import Label, Person, QualityPolicy, QueueItem
from tests.factories import AnnotatorFactory, GoldFactory, ManagerFactory, QueueItemFactory
from tests.loop.labelling import begin, expire, holds, make_item, rate_all, ratings_of

pytestmark = pytest.mark.django_db


def test_what_is_given_to_another_is_what_they_get_next(ada: Person, ben: Person) -> None:
    work = rate_all(ada, begin(ada), 1)
    make_item(priority=9.0)
    reassign(item=work.item, to=ben)
    assert claim(person=ben).item == work.item
    with pytest.raises(LeaseLost):
        rate(person=ada, item=work.item, step_index=1, rating=1)
    assert ratings_of(Label.objects.get(annotator=ada)) == [(0, 1)]
    assert claim(person=ada).item != work.item


def test_what_is_taken_back_is_free_for_everybody(ada: Person, ben: Person) -> None:
    work = begin(ada)
    reassign(item=work.item, to=None)
    assert claim(person=ben).item == work.item


def test_it_goes_to_nobody_who_cannot_have_it(ada: Person, ben: Person) -> None:
    done = rate_all(ada, begin(ada), -1)
    submit(person=ada, item=done.item)
    copy = QueueItemFactory.create(solution=QueueItem.objects.get(pk=done.item).solution, copy=1)
    assert claim(person=ben).item == copy.pk
    for item, to, why in (
        (done.item, ben, "finished"),
        (copy.pk, ada, "has labelled"),
        (copy.pk, ManagerFactory.create(), "does not label"),
        (copy.pk, AnnotatorFactory.create(suspended_at=timezone.now()), "does not label"),
    ):
        with pytest.raises(NotReassigned, match=why):
            reassign(item=item, to=to)
    assert holds(ben, QueueItem.objects.get(pk=copy.pk))


def test_who_has_another_in_hand_is_given_no_second(ada: Person, ben: Person) -> None:
    held = begin(ben)
    begin(ada)
    with pytest.raises(NotReassigned, match="one at a time"):
        reassign(item=held.item, to=ada)
    assert holds(ben, QueueItem.objects.get(pk=held.item))


def test_gold_is_taken_back_but_given_to_nobody_else(ada: Person, ben: Person) -> None:
    QualityPolicy(gold_every=1).save()
    GoldFactory.create()
    make_item()
    work = claim(person=ada)
    with pytest.raises(NotReassigned, match="one person"):
        reassign(item=work.item, to=ben)
    reassign(item=work.item, to=None)
    assert claim(person=ada).item == work.item


def test_what_was_given_is_kept_for_a_day_and_then_free(ada: Person, ben: Person) -> None:
    work = begin(ada)
    reassign(item=work.item, to=ben)
    assert claim(person=ada) is None
    expire(work.item)
    assert claim(person=ada).item == work.item
