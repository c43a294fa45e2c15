"""The label stage with real threads on PostgreSQL: never two live leases, never a lost or doubled label."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Count, F
from django.utils import timezone

from annotate.errors import AlreadySubmitted, LeaseLost
from annotate.loop.label import claim, fetch_ahead, rate, release, submit, submit_and_claim
from annotate.loop.overlap import spread
from annotate.models import Label, Person, QualityPolicy, QueueItem, StepRating
from tests.factories import AnnotatorFactory, GoldFactory, QueueFactory, QueueItemFactory

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE, ITEMS = 8, 20


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Run each act in a thread of its own, all begun together; their results, in order."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=20)
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def people(n: int) -> list[Person]:
    return AnnotatorFactory.create_batch(n)


def leased_once() -> bool:
    held = QueueItem.objects.leased().values("leased_by", "ahead").annotate(n=Count("pk"))
    return all(row["n"] == 1 for row in held)


def in_no_more_hands_than(overlap: int) -> bool:
    held = QueueItem.objects.leased().values("solution").annotate(n=Count("pk"))
    return all(row["n"] <= overlap for row in held)


def test_two_people_at_once_get_two_copies_and_a_third_waits() -> None:
    queue = QueueFactory.create(overlap=2)
    QueueItemFactory.create(queue=queue)
    spread(queue=queue)
    works = at_once(*(lambda p=person: claim(person=p) for person in people(PEOPLE)))
    got = [work.item for work in works if work is not None]
    assert len(got) == len(set(got)) == 2
    assert Label.objects.values("annotator").distinct().count() == 2


def test_two_tabs_of_one_person_are_given_one_gold_item() -> None:
    QualityPolicy(gold_every=1).save()
    QueueItemFactory.create()
    GoldFactory.create_batch(3)
    ada = AnnotatorFactory.create()
    works = at_once(*(lambda: claim(person=ada) for _ in range(PEOPLE)))
    assert len({work.item for work in works}) == 1
    assert Label.objects.get().gold is not None
    assert QueueItem.objects.filter(gold__isnull=False).count() == 1


def test_eight_people_claiming_at_once_get_eight_items() -> None:
    QueueItemFactory.create_batch(ITEMS)
    works = at_once(*(lambda p=person: claim(person=p) for person in people(PEOPLE)))
    assert len({work.item for work in works}) == PEOPLE
    assert QueueItem.objects.leased().count() == PEOPLE


def test_eight_people_after_three_items_share_them_and_nobody_waits() -> None:
    QueueItemFactory.create_batch(3)
    begin = time.monotonic()
    works = at_once(*(lambda p=person: claim(person=p) for person in people(PEOPLE)))
    assert time.monotonic() - begin < 10
    got = [work.item for work in works if work is not None]
    assert len(got) == len(set(got)) == 3


def test_many_tabs_of_one_person_show_one_item() -> None:
    QueueItemFactory.create_batch(ITEMS)
    ada = AnnotatorFactory.create()
    works = at_once(*(lambda: claim(person=ada) for _ in range(PEOPLE)))
    assert len({work.item for work in works}) == 1
    assert QueueItem.objects.leased().count() == 1
    assert Label.objects.count() == 1


def test_many_tabs_of_one_person_fetch_one_item_ahead() -> None:
    QueueItemFactory.create_batch(ITEMS)
    ada = AnnotatorFactory.create()
    work = claim(person=ada)
    fetched = at_once(*(lambda: fetch_ahead(person=ada, item=work.item) for _ in range(PEOPLE)))
    assert len({following.item for following in fetched} - {work.item}) == 1
    assert QueueItem.objects.leased().count() == Label.objects.count() == 2


def test_what_is_fetched_while_another_tab_submits_is_in_hand_or_next() -> None:
    ada = AnnotatorFactory.create()
    QueueItemFactory.create_batch(3 * ITEMS)
    for done in range(1, ITEMS):
        work = claim(person=ada)
        (label, following), _fetched, _again = at_once(
            lambda item=work.item: submit_and_claim(
                person=ada, item=item, finish_reason="give_up", comment="too long"
            ),
            *(lambda item=work.item: fetch_ahead(person=ada, item=item) for _ in range(2)),
        )
        assert Label.objects.submitted().count() == done
        assert label.queue_item_id == work.item
        assert leased_once()
        assert following.item == QueueItem.objects.leased().get(ahead=False).pk


def test_an_expired_lease_goes_to_one_of_those_who_come_for_it() -> None:
    QueueItemFactory.create()
    ada, *others = people(PEOPLE)
    claim(person=ada)
    QueueItem.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    works = at_once(*(lambda p=person: claim(person=p) for person in others))
    assert len([work for work in works if work is not None]) == 1


def test_a_late_submit_and_a_new_claim_leave_one_label() -> None:
    """Whoever is first: the submit ends the item, or the claim makes the submit say that it came too late."""
    for _ in range(10):
        item = QueueItemFactory.create(solution__steps=["one step"])
        ada, ben = people(2)
        rate(person=ada, item=claim(person=ada).item, step_index=0, rating=-1)
        release(person=ada, item=item.pk)

        def late(ada: Person = ada, item: QueueItem = item) -> bool:
            try:
                submit(person=ada, item=item.pk)
            except LeaseLost:
                return False
            return True

        submitted, work = at_once(late, lambda ben=ben: claim(person=ben))
        assert submitted == (work is None)
        assert Label.objects.submitted().filter(queue_item=item).count() == int(submitted)
        QueueItem.objects.filter(pk=item.pk).update(done_at=timezone.now(), leased_by=None)


def test_a_double_submit_makes_one_label() -> None:
    QueueItemFactory.create(solution__steps=["one step"])
    ada = AnnotatorFactory.create()
    work = claim(person=ada)
    rate(person=ada, item=work.item, step_index=0, rating=-1)

    def twice() -> bool:
        try:
            submit(person=ada, item=work.item)
        except AlreadySubmitted:
            return False
        return True

    assert sorted(at_once(twice, twice, twice)) == [False, False, True]
    assert Label.objects.count() == StepRating.objects.count() == 1


def test_a_submit_that_goes_on_stands_whatever_another_tab_takes_meanwhile() -> None:
    ada = AnnotatorFactory.create()
    QueueItemFactory.create_batch(3 * ITEMS)
    for done in range(1, ITEMS):
        work = claim(person=ada)
        assert work is not None
        release(person=ada, item=work.item)  # so both tabs take a new item, and one of them is the second
        (label, following), other = at_once(
            lambda item=work.item: submit_and_claim(
                person=ada, item=item, finish_reason="give_up", comment="too long"
            ),
            lambda: claim(person=ada),
        )
        assert Label.objects.submitted().count() == done
        assert label.queue_item_id == work.item
        assert leased_once()
        held = QueueItem.objects.leased().get().pk
        assert following.item == held
        assert other.item in (held, work.item)
        release(person=ada, item=held)


@pytest.mark.parametrize("overlap", [1, 2])
def test_a_busy_day_loses_and_doubles_nothing(overlap: int) -> None:
    """Eight people label twenty solutions, with tabs left, leases run out and work given back on the way."""
    queue = QueueFactory.create(overlap=overlap)
    QueueItemFactory.create_batch(ITEMS, queue=queue, solution__steps=["first", "second"])
    spread(queue=queue)
    stop = time.monotonic() + 60

    def labels(person: Person, dice: random.Random) -> list[int]:
        done: list[int] = []
        while time.monotonic() < stop:
            work = claim(person=person)
            assert leased_once()
            assert in_no_more_hands_than(overlap)
            if work is None:
                if not QueueItem.objects.open().exists():
                    break
                time.sleep(0.01)
                continue
            try:
                rate(person=person, item=work.item, step_index=0, rating=1)
                if dice.random() < 0.7:
                    fetch_ahead(person=person, item=work.item)
                    assert leased_once()
                    assert in_no_more_hands_than(overlap)
                fate = dice.random()
                if fate < 0.2:
                    release(person=person, item=work.item, token=work.token)
                elif fate < 0.4:
                    QueueItem.objects.filter(pk=work.item, leased_by=person).update(
                        lease_expires_at=timezone.now() - timedelta(seconds=1)
                    )
                else:
                    rate(person=person, item=work.item, step_index=1, rating=-1)
                    submit_and_claim(person=person, item=work.item)
                    done.append(work.item)
            except LeaseLost:
                continue
        return done

    acts = [lambda p=p, seed=seed: labels(p, random.Random(seed)) for seed, p in enumerate(people(PEOPLE))]
    told = Counter(item for done in at_once(*acts) for item in done)
    assert set(told.values()) == {1}
    assert set(told) == set(QueueItem.objects.values_list("pk", flat=True))
    finished = Label.objects.submitted()
    assert finished.count() == ITEMS * overlap
    by_solution = finished.values("solution").annotate(n=Count("annotator", distinct=True))
    assert {row["n"] for row in by_solution} == {overlap}
    assert set(finished.annotate(n=Count("ratings")).values_list("n", flat=True)) == {2}
    assert not QueueItem.objects.filter(done_at=None).exists()
    assert not finished.exclude(queue_item__done_at__gte=F("created_at")).exists()
