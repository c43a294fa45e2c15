"""The label stage's leases, with one or two people: who is handed what, and what a late act still may."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotate.errors import LeaseLost, NotYourItem
from annotate.loop.label import claim, flag, heartbeat, rate, release, submit, undo
from annotate.loop.take import free_expired
from annotate.models import Label, Person, QueueItem
from tests.factories import QueueFactory, QueueItemFactory
from tests.loop.labelling import begin, expire, holds, make_item, rate_all, ratings_of

pytestmark = pytest.mark.django_db

# What is handed out


def test_nothing_waits_and_nothing_is_handed_out(ada: Person) -> None:
    assert claim(person=ada) is None


def test_the_highest_priority_comes_first(ada: Person) -> None:
    make_item(priority=1.0)
    best = make_item(priority=2.0)
    assert claim(person=ada).item == best.pk


def test_a_claimed_item_is_leased_with_a_token_and_an_end(ada: Person, settings: Any) -> None:
    work = begin(ada)
    item = QueueItem.objects.get()
    assert holds(ada, item)
    assert (item.lease_token, item.lease_expires_at) == (work.token, work.lease_expires_at)
    left = item.lease_expires_at - timezone.now()
    assert timedelta(0) < left <= timedelta(seconds=settings.LEASE_SECONDS)


def test_a_second_tab_shows_the_same_item(ada: Person) -> None:
    make_item()
    work = begin(ada)
    assert claim(person=ada).item == work.item
    assert QueueItem.objects.leased().count() == 1


def test_two_people_never_get_the_same_item(ada: Person, ben: Person) -> None:
    work = begin(ada)
    assert claim(person=ben) is None
    other = make_item()
    assert claim(person=ben).item == other.pk != work.item


def test_an_expired_lease_is_free_for_others(ada: Person, ben: Person) -> None:
    work = begin(ada)
    expire(work.item)
    assert claim(person=ben).item == work.item


def test_an_expired_lease_nobody_took_is_still_the_persons(ada: Person) -> None:
    work = begin(ada)
    make_item(priority=9.0)
    expire(work.item)
    assert claim(person=ada).item == work.item


def test_what_a_person_began_and_gave_back_comes_first_again_with_its_ratings(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1)
    assert release(person=ada, item=work.item, token=work.token)
    make_item(priority=9.0)
    again = claim(person=ada)
    assert again.item == work.item
    assert [step.rating for step in again.steps] == [1, None, None, None]


def test_a_person_is_never_handed_what_they_have_labelled(ada: Person, ben: Person) -> None:
    work = rate_all(ada, begin(ada), -1)
    submit(person=ada, item=work.item)
    elsewhere = QueueFactory.create(name="again")
    again = QueueItemFactory.create(queue=elsewhere, solution=QueueItem.objects.get().solution)
    assert claim(person=ada) is None
    assert claim(person=ben).item == again.pk


def test_a_paused_queue_hands_out_nothing_new_but_lets_work_be_finished(ada: Person, ben: Person) -> None:
    work = begin(ada)
    make_item()
    item = QueueItem.objects.get(pk=work.item)
    item.queue.paused_at = timezone.now()
    item.queue.save()
    assert claim(person=ben) is None
    assert claim(person=ada).item == work.item
    rate_all(ada, work, -1)
    assert submit(person=ada, item=work.item).finish_reason == "found_error"
    assert claim(person=ada) is None


# Leases


def test_a_late_submit_is_accepted_when_nobody_took_the_item(ada: Person, ben: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    make_item(priority=9.0)
    expire(work.item)
    assert claim(person=ben).item != work.item
    assert free_expired() == 1  # as the sweep does
    assert not holds(ada, QueueItem.objects.get(pk=work.item))
    assert submit(person=ada, item=work.item).finish_reason == "found_error"


def test_a_late_rating_takes_the_lease_again(ada: Person) -> None:
    work = begin(ada)
    release(person=ada, item=work.item)
    rate(person=ada, item=work.item, step_index=0, rating=1)
    assert holds(ada, QueueItem.objects.get())


def test_when_somebody_else_holds_the_item_the_draft_is_kept(ada: Person, ben: Person) -> None:
    work = rate_all(ada, begin(ada), 1)
    expire(work.item)
    claim(person=ben)
    for late in (
        lambda: rate(person=ada, item=work.item, step_index=1, rating=-1),
        lambda: submit(person=ada, item=work.item, finish_reason="give_up", comment="x"),
        lambda: heartbeat(person=ada, item=work.item),
    ):
        with pytest.raises(LeaseLost, match="kept"):
            late()
    assert ratings_of(Label.objects.get(annotator=ada)) == [(0, 1)]


def test_when_somebody_else_finished_the_item_the_draft_is_kept(ada: Person, ben: Person) -> None:
    work = rate_all(ada, begin(ada), 1)
    expire(work.item)
    claim(person=ben)
    rate_all(ben, work, -1)
    submit(person=ben, item=work.item)
    with pytest.raises(LeaseLost, match="finished"):
        submit(person=ada, item=work.item)
    assert ratings_of(Label.objects.drafts().get()) == [(0, 1)]
    assert claim(person=ada) is None


def test_a_heartbeat_keeps_the_lease(ada: Person) -> None:
    work = begin(ada)
    QueueItem.objects.update(lease_expires_at=timezone.now() + timedelta(seconds=5))
    until = heartbeat(person=ada, item=work.item)
    assert QueueItem.objects.get().lease_expires_at == until > timezone.now() + timedelta(seconds=60)


def test_a_page_left_late_does_not_release_what_a_newer_page_claimed(ada: Person) -> None:
    old = begin(ada)
    new = claim(person=ada)
    assert not release(person=ada, item=old.item, token=old.token)
    assert holds(ada, QueueItem.objects.get())
    assert release(person=ada, item=new.item, token=new.token)


def test_somebody_elses_item_looks_like_no_item(ada: Person, ben: Person) -> None:
    work = begin(ada)
    for act in (
        lambda item: rate(person=ben, item=item, step_index=0, rating=1),
        lambda item: flag(person=ben, item=item, step_index=0, unsure=True),
        lambda item: undo(person=ben, item=item),
        lambda item: submit(person=ben, item=item),
        lambda item: heartbeat(person=ben, item=item),
    ):
        for item in (work.item, 10**9):
            with pytest.raises(NotYourItem, match="not begun"):
                act(item)
    assert not release(person=ben, item=work.item)
    assert holds(ada, QueueItem.objects.get())


def test_a_tab_left_behind_saves_without_taking_a_second_lease(ada: Person, ben: Person) -> None:
    first = begin(ada)
    release(person=ada, item=first.item)
    claim(person=ben)  # ben holds the first item …
    other = make_item()
    assert claim(person=ada).item == other.pk
    release(person=ben, item=first.item)  # … and gives it back
    rate(person=ada, item=first.item, step_index=0, rating=1)
    assert QueueItem.objects.get(leased_by=ada).pk == other.pk


def test_a_claim_asks_item_after_item_however_long_the_queue(ada: Person) -> None:
    """A join over the whole queue, misjudged, took eight seconds with a million items."""
    item = make_item()
    free = QueueItem.objects.next_for(ada, item.queue, item.queue.holds)
    plan = free.values("pk")[:1].explain()
    assert "Anti Join" not in plan
    assert plan.count("SubPlan") >= 4
