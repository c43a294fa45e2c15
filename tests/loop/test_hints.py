"""Hints: given only where a queue says so, recorded on the label, blind for a share, and weighed afterwards."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotate.loop.hints import effects
from annotate.loop.label import claim, submit
from annotate.models import Label, Person, PRMVersion, Queue, QueueItem, StepScore
from tests.factories import AnnotatorFactory, PRMVersionFactory, QueueFactory
from tests.loop.labelling import labels_of_one, make_item, rate_all

pytestmark = pytest.mark.django_db


def queue(**more: object) -> Queue:
    return QueueFactory.create(**{"hints": True, "blind_share": 0.0} | more)


def scored(item: QueueItem, *p_bad: float, prm: PRMVersion | None = None) -> QueueItem:
    for step, p in zip(item.solution.steps.all(), p_bad, strict=True):
        StepScore.objects.create(step=step, prm=prm or item.prm, p_bad=p, p_okay=0, p_great=1 - p)
    return item


@pytest.mark.parametrize(
    ("p_bad", "hint"), [((0.1, 0.7, 0.9, 0.2), 1), ((0.1, 0.5, 0.4, 0.2), -1), ((0.9, 0, 0, 0), 0)]
)
def test_the_hint_is_the_first_step_the_prm_calls_bad(
    p_bad: tuple[float, ...], hint: int, ada: Person
) -> None:
    scored(make_item(queue=queue()), *p_bad)
    work = claim(person=ada)
    assert work.hint == hint
    label = Label.objects.get()
    assert (label.hinted, label.hint) == (True, hint)
    assert claim(person=ada).hint == hint


def test_the_prm_that_gives_the_hint_cuts_at_its_own_threshold(ada: Person) -> None:
    item = make_item(queue=queue())
    PRMVersion.objects.update(report={"metrics": {"threshold": 0.2}})
    scored(item, 0.1, 0.3, 0.9, 0.1)
    assert claim(person=ada).hint == 1


def test_no_hint_is_given_or_kept_where_the_queue_gives_none(ada: Person) -> None:
    scored(make_item(queue=queue(hints=False)), 0.9, 0.9, 0.9, 0.9)
    assert claim(person=ada).hint is None
    label = Label.objects.get()
    assert (label.hinted, label.hint) == (None, None)


def test_a_blind_label_shows_nothing_and_keeps_the_guess(ada: Person) -> None:
    scored(make_item(queue=queue(blind_share=1.0)), 0.1, 0.9, 0.1, 0.1)
    assert claim(person=ada).hint is None
    label = Label.objects.get()
    assert (label.hinted, label.hint) == (False, 1)


def test_about_a_fifth_is_blind_by_default() -> None:
    assert Queue().blind_share == 0.2
    where = queue(blind_share=0.2)
    for person in AnnotatorFactory.create_batch(60):
        scored(make_item(queue=where), 0.1, 0.9, 0.1, 0.1)
        claim(person=person)
    assert 2 <= Label.objects.filter(hinted=False).count() <= 28


def test_a_solution_nobody_scored_has_no_hint(ada: Person) -> None:
    make_item(queue=queue())
    assert claim(person=ada).hint is None
    assert Label.objects.get().hinted is False


def test_the_version_promoted_last_gives_the_hint(ada: Person) -> None:
    item = scored(make_item(queue=queue()), 0.9, 0.1, 0.1, 0.1)
    newer = PRMVersionFactory.create(number=99, status="retired", promoted_at=timezone.now())
    scored(item, 0.1, 0.1, 0.9, 0.1, prm=newer)
    scored(item, 0.1, 0.1, 0.1, 0.9, prm=PRMVersionFactory.create(number=100))
    assert claim(person=ada).hint == 2


def test_what_hints_change_is_told_side_by_side() -> None:
    assert effects() is None
    queue()
    followed = labels_of_one((1, -1), (1, -1))
    blind = labels_of_one((1, 1, 1, 1), (1, -1))
    Label.objects.filter(pk__in=[one.pk for one in followed]).update(hinted=True, hint=1, total_time=1000)
    Label.objects.filter(pk__in=[one.pk for one in blind]).update(hinted=False, hint=1, total_time=3000)
    Label.objects.filter(pk=blind[0].pk).update(agrees_with_gold=True)
    found = effects()
    assert found
    hinted, without = found
    assert (hinted.labels, hinted.as_guessed, hinted.with_error, hinted.pairs, hinted.same) == (2, 2, 2, 1, 1)
    assert (without.labels, without.as_guessed, without.with_error) == (2, 1, 1)
    assert (without.pairs, without.same, without.gold, without.gold_agreed) == (1, 0, 1, 1)
    assert (hinted.milliseconds, without.milliseconds) == (1000, 3000)
    assert (hinted.steps, hinted.bad, without.steps, without.bad) == (4, 2, 6, 1)


def test_a_label_given_up_says_nothing_of_hints(ada: Person) -> None:
    scored(make_item(queue=queue()), 0.1, 0.9, 0.1, 0.1)
    work = rate_all(ada, claim(person=ada), 1)
    submit(person=ada, item=work.item, finish_reason="give_up", comment="x")
    assert effects() is None
