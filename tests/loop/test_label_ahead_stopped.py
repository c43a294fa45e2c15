"""What was fetched ahead while managers pause, retire, reassign: not seen yet, it is nobody's to finish."""

from __future__ import annotations

import pytest

from annotate.loop.inbox import retire_problem
from annotate.loop.label import claim, fetch_ahead, rate, release, submit, submit_and_claim
from annotate.loop.overlap import spread
from annotate.loop.people import deactivate
from annotate.loop.queues import pause_queue, resume_queue
from annotate.loop.reassign import NotReassigned, reassign
from annotate.loop.work import Work
from annotate.models import Concern, Label, Person, QualityPolicy, Queue, QueueItem
from tests.factories import GoldFactory, ManagerFactory, QueueFactory, QueueItemFactory
from tests.loop.labelling import begin_two, give_up, in_hand, make_item, rate_all, ratings_of

pytestmark = pytest.mark.django_db


def test_after_a_pause_comes_nothing_that_was_not_begun(ada: Person) -> None:
    work, following = begin_two(ada)
    queue = Queue.objects.get()
    pause_queue(queue=queue)
    assert in_hand(ada) == {False: work.item}
    _label, after = give_up(ada, work.item)
    assert after is None
    resume_queue(queue=queue)
    assert claim(person=ada).item == following.item


def test_what_was_rated_can_be_finished_after_a_pause_though_its_page_was_left(ada: Person) -> None:
    work, _following = begin_two(ada)
    rate(person=ada, item=work.item, step_index=0, rating=1)
    pause_queue(queue=Queue.objects.get())
    release(person=ada, item=work.item)
    assert claim(person=ada).item == work.item
    give_up(ada, work.item)
    assert claim(person=ada) is None


def test_a_rating_of_what_a_page_showed_as_the_pause_came_is_kept(ada: Person) -> None:
    work, following = begin_two(ada)
    pause_queue(queue=Queue.objects.get())
    give_up(ada, work.item)
    rate(person=ada, item=following.item, step_index=0, rating=1)
    assert ratings_of(Label.objects.drafts().get()) == [(0, 1)]
    assert claim(person=ada).item == following.item


def test_a_retired_problem_is_not_handed_out_though_it_was_fetched(ada: Person) -> None:
    work, following = begin_two(ada)
    problem = QueueItem.objects.get(pk=following.item).solution.problem
    concern = Concern.objects.create(kind="problem", problem=problem, label=Label.objects.drafts().first())
    retire_problem(concern=concern, by=ManagerFactory.create())
    assert in_hand(ada) == {False: work.item}
    _label, after = give_up(ada, work.item)
    assert after.item not in (work.item, following.item)


def test_what_was_fetched_can_be_given_to_another(ada: Person, ben: Person) -> None:
    work, following = begin_two(ada)
    reassign(item=following.item, to=ben)
    assert in_hand(ben) == {False: following.item}
    _label, after = give_up(ada, work.item)
    assert after.item not in (work.item, following.item)


def test_who_only_has_one_fetched_is_given_another_before_it(ada: Person, ben: Person) -> None:
    work, following = begin_two(ada)
    submit(person=ada, item=work.item, finish_reason="give_up", comment="no idea")
    given = claim(person=ben)
    reassign(item=given.item, to=ada)
    assert in_hand(ada) == {False: given.item, True: following.item}
    with pytest.raises(NotReassigned):
        reassign(item=following.item, to=ada)


def test_nobody_is_given_a_copy_of_what_they_have_in_hand(ada: Person, ben: Person) -> None:
    queue = QueueFactory.create(overlap=2)
    QueueItemFactory.create_batch(2, queue=queue)
    spread(queue=queue)
    work = claim(person=ada)
    following = fetch_ahead(person=ada, item=work.item)
    submit(person=ada, item=work.item, finish_reason="give_up", comment="no idea")
    ahead = QueueItem.objects.get(pk=following.item)
    copy = QueueItem.objects.get(solution=ahead.solution, leased_by=None)
    with pytest.raises(NotReassigned, match="in hand"):
        reassign(item=copy.pk, to=ada)


def test_who_stops_labelling_holds_nothing(ada: Person) -> None:
    begin_two(ada)
    deactivate(person=ada, by=ManagerFactory.create())
    assert in_hand(ada) == {}


def test_who_is_paused_by_gold_holds_nothing_that_was_fetched(ada: Person, ben: Person) -> None:
    QualityPolicy(gold_every=1, agreement_bar=0.6).save()
    GoldFactory.create_batch(4, accepted=[-1])
    make_item()
    after: Work | None = claim(person=ada)
    for _ in range(3):
        assert after is not None
        fetch_ahead(person=ada, item=after.item)
        rate_all(ada, after, -1)
        _label, after = submit_and_claim(person=ada, item=after.item)
    assert after is None
    assert in_hand(ada) == {}
