"""What comes next, fetched ahead while a person rates: theirs for one lease, and it changes nothing of what comes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotate.errors import LeaseLost
from annotate.loop.label import claim, fetch_ahead, heartbeat, rate, release, submit_and_claim
from annotate.loop.overlap import spread
from annotate.loop.second_thoughts import skip, take_back
from annotate.loop.take import free_expired
from annotate.models import Label, Person, QualityPolicy, Queue, QueueItem, Way
from tests.factories import (
    AnnotatorFactory,
    GoldFactory,
    ProblemFactory,
    QueueFactory,
    QueueItemFactory,
)
from tests.loop.labelling import begin_two, expire, give_up, in_hand, make_item, ratings_of

pytestmark = pytest.mark.django_db


# What is fetched


def test_what_is_fetched_ahead_is_what_comes_next(ada: Person, ben: Person) -> None:
    work, following = begin_two(ada)
    assert in_hand(ada) == {False: work.item, True: following.item}
    assert claim(person=ada).item == work.item
    assert claim(person=ben).item not in (work.item, following.item)
    _label, after = give_up(ada, work.item)
    assert (after.item, after.token) == (
        following.item,
        following.token,
    )  # the page that fetched it may give it back
    assert in_hand(ada) == {False: following.item}
    assert after.lease_expires_at > following.lease_expires_at


def test_asked_again_it_is_the_same_one_and_its_lease_runs_on(ada: Person) -> None:
    work, following = begin_two(ada)
    soon = timezone.now() + timedelta(seconds=5)
    QueueItem.objects.filter(ahead=True).update(lease_expires_at=soon)
    for act in (
        lambda: fetch_ahead(person=ada, item=work.item),
        lambda: heartbeat(person=ada, item=work.item),
        lambda: claim(person=ada),
        lambda: heartbeat(person=ada, item=following.item),
        lambda: rate(person=ada, item=following.item, step_index=0, rating=1),
    ):
        act()
        ahead = QueueItem.objects.get(ahead=True)
        assert (ahead.pk, ahead.lease_token, ahead.lease_expires_at) == (
            following.item,
            following.token,
            soon,
        )
    assert QueueItem.objects.leased().count() == 2


def test_it_runs_out_like_any_lease_and_goes_to_who_comes_for_it(ada: Person, ben: Person) -> None:
    work, following = begin_two(ada)
    expire(following.item)
    rate(person=ada, item=work.item, step_index=0, rating=-1)
    assert free_expired() == 1
    assert not QueueItem.objects.filter(ahead=True).exists()
    assert claim(person=ben).item == following.item
    _label, after = give_up(ada, work.item)
    assert after.item not in (work.item, following.item)
    with pytest.raises(LeaseLost):
        rate(person=ada, item=following.item, step_index=0, rating=1)


def test_what_is_in_hand_does_not_run_out_before_what_comes_after_it(ada: Person) -> None:
    make_item()
    make_item()
    work = claim(person=ada)
    QueueItem.objects.filter(pk=work.item).update(lease_expires_at=timezone.now() + timedelta(seconds=5))
    fetch_ahead(person=ada, item=work.item)  # and then the browser crashes
    ends = dict(QueueItem.objects.leased().values_list("ahead", "lease_expires_at"))
    assert ends[False] >= ends[True]
    assert QueueItem.objects.get(pk=work.item).lease_token == work.token


def test_one_that_ran_out_and_that_nobody_took_is_fetched_anew(ada: Person) -> None:
    work, following = begin_two(ada)
    expire(following.item)
    again = fetch_ahead(person=ada, item=work.item)
    assert again.item == following.item
    assert again.token != following.token
    assert again.lease_expires_at > timezone.now()


def test_its_time_does_not_run_and_a_rating_has_a_row_to_go_to(ada: Person) -> None:
    _work, following = begin_two(ada)
    draft = Label.objects.get(queue_item=following.item)
    assert (draft.total_time, draft.submitted_at) == (0, None)
    rate(person=ada, item=following.item, step_index=0, rating=1)  # whatever became of the submit before it
    assert ratings_of(draft) == [(0, 1)]


def test_nothing_is_fetched_for_a_page_that_shows_another_item(ada: Person, ben: Person) -> None:
    work, following = begin_two(ada)
    assert fetch_ahead(person=ada, item=following.item) is None
    assert fetch_ahead(person=ben, item=work.item) is None
    release(person=ada, item=work.item)
    assert fetch_ahead(person=ada, item=work.item) is None
    assert not QueueItem.objects.leased().exists()


def test_what_ran_out_in_hand_is_not_fetched_as_what_comes_after_it(ada: Person) -> None:
    make_item()
    work = claim(person=ada)
    expire(work.item)
    assert fetch_ahead(person=ada, item=work.item) is None
    assert claim(person=ada).item == work.item


def test_nothing_is_fetched_where_nothing_is_left(ada: Person) -> None:
    make_item()
    assert fetch_ahead(person=ada, item=claim(person=ada).item) is None


def test_what_others_let_run_out_is_fetched_where_nothing_else_is_left(ada: Person, ben: Person) -> None:
    make_item()
    make_item()
    left = claim(person=ben)
    work = claim(person=ada)
    expire(left.item)
    assert fetch_ahead(person=ada, item=work.item).item == left.item


def test_a_paused_queue_is_fetched_from_no_more(ada: Person) -> None:
    make_item()
    make_item()
    work = claim(person=ada)
    Queue.objects.update(paused_at=timezone.now())
    assert fetch_ahead(person=ada, item=work.item) is None


def test_who_may_not_go_on_has_nothing_fetched(ada: Person) -> None:
    for _ in range(2):
        make_item()
    work = claim(person=ada)
    ada.suspended_at = timezone.now()
    assert fetch_ahead(person=ada, item=work.item) is None
    ada.suspended_at = None
    QualityPolicy(screening=True).save()
    assert fetch_ahead(person=ada, item=work.item) is None
    ada.admitted_at = timezone.now()
    assert fetch_ahead(person=ada, item=work.item) is not None


def test_who_is_screened_meanwhile_answers_the_screening_first(ada: Person) -> None:
    work, following = begin_two(ada)
    QualityPolicy(screening=True, screening_items=1).save()
    gold = GoldFactory.create(screens=True)
    _label, after = give_up(ada, work.item)
    assert Label.objects.get(queue_item=after.item).gold == gold
    assert in_hand(ada) == {False: after.item, True: following.item}


def test_another_copy_of_what_a_person_rates_is_not_fetched(ada: Person, ben: Person) -> None:
    queue = QueueFactory.create(overlap=3)
    first = QueueItemFactory.create(queue=queue)
    spread(queue=queue)
    work = claim(person=ada)
    assert fetch_ahead(person=ada, item=work.item) is None
    other = QueueItemFactory.create(queue=queue, priority=-1)
    assert fetch_ahead(person=ada, item=work.item).item == other.pk
    assert claim(person=ben).item != work.item
    assert QueueItem.objects.leased().filter(solution=first.solution).count() == 2


@pytest.mark.parametrize("begun", [False, True])
def test_a_solution_that_grows_is_not_fetched_nor_passed_over(begun: bool, ada: Person) -> None:
    make_item()
    work = claim(person=ada)
    grows = QueueFactory.create(name="grows", way=Way.STEP_BY_STEP)
    grown = QueueItemFactory.create(queue=grows, solution=None, problem=ProblemFactory.create())
    if begun:
        release(person=ada, item=work.item)
        Queue.objects.exclude(pk=grows.pk).update(paused_at=timezone.now())
        Label.objects.filter(annotator=ada).update(skipped_at=timezone.now())
        release(person=ada, item=claim(person=ada).item)
        Label.objects.filter(annotator=ada).update(skipped_at=None)
        Queue.objects.update(paused_at=None)
        assert claim(person=ada).item == work.item
        make_item()
    assert fetch_ahead(person=ada, item=work.item) is None
    _label, after = give_up(ada, work.item)
    assert after.item == grown.pk


# Given back, put aside, taken back


def test_a_page_that_is_left_gives_both_back_and_the_one_that_was_rated_comes_first(ada: Person) -> None:
    work, following = begin_two(ada)
    QueueItem.objects.filter(pk=following.item).update(priority=9)
    assert not release(person=ada, item=work.item, token=following.token)
    assert len(in_hand(ada)) == 2
    assert release(person=ada, item=work.item, token=claim(person=ada).token)
    assert in_hand(ada) == {}
    again = claim(person=ada)
    assert again.item == work.item
    assert fetch_ahead(person=ada, item=again.item).item == following.item


def test_a_page_that_shows_what_was_fetched_gives_that_back(ada: Person) -> None:
    work, following = begin_two(ada)
    assert release(person=ada, item=following.item, token=following.token)  # its submit is still on the way
    assert in_hand(ada) == {False: work.item}
    _label, after = give_up(ada, work.item)
    assert after.item == following.item


def test_after_what_is_put_aside_comes_what_was_fetched(ada: Person) -> None:
    work, following = begin_two(ada)
    skip(person=ada, item=work.item)
    assert claim(person=ada).item == following.item
    assert in_hand(ada) == {False: following.item}


def test_after_a_submit_taken_back_the_other_comes_next_again(ada: Person) -> None:
    work, following = begin_two(ada)
    label, after = give_up(ada, work.item)
    third = fetch_ahead(person=ada, item=after.item)
    rate(person=ada, item=third.item, step_index=0, rating=1)
    take_back(person=ada, label=label.pk)
    assert in_hand(ada) == {False: work.item, True: following.item}
    assert fetch_ahead(person=ada, item=work.item).item == following.item
    _label, after = give_up(ada, work.item)
    assert after.item == following.item
    _label, after = give_up(ada, following.item)
    assert after.item == third.item
    assert after.steps[0].rating == 1


def test_one_that_grows_waits_while_another_is_taken_back_but_no_page_is_sent_it(ada: Person) -> None:
    make_item()
    label, _none = give_up(ada, claim(person=ada).item)
    grows = QueueFactory.create(name="grows", way=Way.STEP_BY_STEP)
    grown = QueueItemFactory.create(queue=grows, solution=None, problem=ProblemFactory.create())
    claim(person=ada)
    take_back(person=ada, label=label.pk)
    assert in_hand(ada) == {False: label.queue_item_id, True: grown.pk}
    assert fetch_ahead(person=ada, item=label.queue_item_id) is None
    assert give_up(ada, label.queue_item_id)[1].item == grown.pk


def test_a_refused_submit_leaves_both_and_what_was_rated_of_either(ada: Person) -> None:
    work, following = begin_two(ada)
    rate(person=ada, item=work.item, step_index=0, rating=1)
    with pytest.raises(Exception, match="Step 2 is not rated"):
        submit_and_claim(person=ada, item=work.item)
    rate(person=ada, item=following.item, step_index=0, rating=-1)
    assert claim(person=ada).item == work.item
    label, after = submit_and_claim(person=ada, item=following.item)  # pressed before the refusal was read
    assert label.finish_reason == "found_error"
    assert after.item == work.item


# Gold


def test_gold_stands_at_the_same_places_fetched_ahead_or_not() -> None:
    QualityPolicy(gold_every=4, agreement_bar=0).save()
    for _ in range(30):
        make_item()
    GoldFactory.create_batch(6)
    ada = AnnotatorFactory.create()

    def sequence(fetches: bool) -> list[Any]:
        """The golds met at each of twelve places, else None; all undone afterwards."""
        met = []
        work = claim(person=ada)
        for _ in range(12):
            if fetches:
                fetch_ahead(person=ada, item=work.item)
            label, work = give_up(ada, work.item)
            met.append(label.gold_id)
        Label.objects.all().delete()
        QueueItem.objects.filter(gold__isnull=False).delete()
        QueueItem.objects.update(done_at=None, leased_by=None, ahead=False)
        return met

    plain, ahead = sequence(fetches=False), sequence(fetches=True)
    assert plain == ahead
    assert sum(gold is not None for gold in plain) == 3
