"""Overlap: k people label one solution, no person twice, whatever tabs, drafts, leases and managers do."""

from __future__ import annotations

import pytest
from django.db.models import Count

from annotate.loop.enqueue import enqueue
from annotate.loop.label import claim, release, submit
from annotate.loop.overlap import spread
from annotate.loop.queues import put_problems
from annotate.models import Label, Person, Queue, QueueItem, RoundProblem
from tests.factories import (
    AnnotatorFactory,
    ProblemFactory,
    QueueFactory,
    QueueItemFactory,
    RoundFactory,
    ServingPRMFactory,
    SnapshotFactory,
    SolutionScoreFactory,
)
from tests.loop.labelling import expire, make_item, rate_all, ratings_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def queue() -> Queue:
    return QueueFactory.create(overlap=2)


def spread_out(queue: Queue, overlap: int = 2, share: float = 1.0) -> int:
    queue.overlap, queue.overlap_share = overlap, share
    queue.save()
    return spread(queue=queue)


def finish(person: Person, item: int) -> Label:
    rate_all(person, claim(person=person), -1)
    return submit(person=person, item=item)


def test_two_people_label_one_solution_and_a_third_gets_nothing(
    queue: Queue, ada: Person, ben: Person
) -> None:
    item = make_item(queue=queue)
    spread(queue=queue)
    first, second = claim(person=ada), claim(person=ben)
    assert first.item != second.item
    assert claim(person=AnnotatorFactory.create()) is None
    for person, work in ((ada, first), (ben, second)):
        rate_all(person, work, -1)
        submit(person=person, item=work.item)
    assert set(Label.objects.values_list("solution", "annotator")) == {
        (item.solution_id, ada.pk),
        (item.solution_id, ben.pk),
    }


def test_nobody_is_given_a_copy_of_what_they_labelled(queue: Queue, ada: Person) -> None:
    item = make_item(queue=queue)
    spread(queue=queue)
    finish(ada, claim(person=ada).item)
    assert claim(person=ada) is None
    assert QueueItem.objects.open().filter(solution=item.solution).count() == 1


def test_two_tabs_of_one_person_show_one_copy(queue: Queue, ada: Person) -> None:
    make_item(queue=queue)
    spread(queue=queue)
    assert claim(person=ada).item == claim(person=ada).item
    assert Label.objects.count() == 1


def test_a_draft_whose_copy_went_to_somebody_else_goes_on_on_another(
    queue: Queue, ada: Person, ben: Person
) -> None:
    make_item(queue=queue)
    work = rate_all(ada, claim(person=ada), 1, 0)
    expire(work.item)
    assert claim(person=ben).item == work.item
    spread(queue=queue)
    again = claim(person=ada)
    assert again.item != work.item
    assert [step.rating for step in again.steps] == [1, 0, None, None]
    assert Label.objects.filter(annotator=ada).count() == 1


def test_an_overlap_raised_later_asks_others_for_what_is_labelled_already(
    ada: Person, ben: Person, queue: Queue
) -> None:
    item = make_item(queue=queue)
    finish(ada, claim(person=ada).item)
    assert claim(person=ben) is None
    assert spread_out(queue, overlap=3) == 2
    assert claim(person=ada) is None
    assert QueueItem.objects.get(pk=claim(person=ben).item).solution == item.solution


def test_spreading_twice_makes_each_copy_once(queue: Queue) -> None:
    make_item(queue=queue)
    assert spread_out(queue, 3) == 2
    assert spread_out(queue, 3) == 0
    assert sorted(QueueItem.objects.values_list("copy", flat=True)) == [0, 1, 2]
    assert len(set(QueueItem.objects.values_list("priority", "score", "arm", "prm"))) == 1


def test_a_lowered_overlap_takes_back_what_nobody_began_and_no_more(
    queue: Queue, ada: Person, ben: Person
) -> None:
    make_item(queue=queue)
    spread_out(queue, 4)
    finish(ada, claim(person=ada).item)
    work = rate_all(ben, claim(person=ben), 1)
    release(person=ben, item=work.item)
    spread_out(queue, 1)
    kept = set(QueueItem.objects.filter(copy__gt=0).values_list("pk", flat=True))
    assert kept <= set(Label.objects.values_list("queue_item", flat=True))
    assert ratings_of(Label.objects.drafts().get()) == [(0, 1)]
    assert QueueItem.objects.filter(copy=0).exists()


def test_a_share_is_stable_and_grows_without_changing_its_mind(queue: Queue) -> None:
    QueueItemFactory.create_batch(60, queue=queue)

    def shared() -> set[int]:
        return set(QueueItem.objects.filter(copy=1).values_list("solution", flat=True))

    spread_out(queue, 2, share=0.3)
    some = shared()
    assert 5 < len(some) < 35
    spread_out(queue, 2, share=0.3)
    assert shared() == some
    spread_out(queue, 2, share=0.6)
    more = shared()
    assert some < more
    spread_out(queue, 2, share=0.3)
    assert shared() == some


def test_a_round_fills_a_queue_with_copies() -> None:
    QueueFactory.create(overlap=2)
    prm = ServingPRMFactory(snapshot=SnapshotFactory())
    SolutionScoreFactory(
        prm=prm, solution__round=RoundFactory(quota=1), solution__problem=ProblemFactory.create()
    )
    places = list(RoundProblem.objects.ready_to_choose(prm).select_related("round"))
    assert enqueue(places=places, prm=prm) == 1
    assert list(QueueItem.objects.order_by("copy").values_list("copy", "propensity", "prm")) == [
        (0, 1.0, prm.pk),
        (1, 1.0, prm.pk),
    ]


def test_copies_of_a_retired_problem_are_not_handed_out(queue: Queue, ada: Person) -> None:
    item = make_item(queue=queue)
    problem = item.solution.problem
    problem.retired_at = item.created_at
    problem.save()
    assert spread_out(queue, 3) == 0
    assert claim(person=ada) is None


def test_a_solution_that_grows_is_copied_and_withdrawn_as_well() -> None:
    queue = QueueFactory.create(way="step_by_step", name="grown")
    ProblemFactory.create_batch(8)
    put_problems(queue=queue, problems=8)
    assert spread_out(queue, 3) == 16
    assert spread_out(queue, 3) == 0
    assert set(queue.items.values("problem").annotate(n=Count("copy")).values_list("n", flat=True)) == {3}
    spread_out(queue, 1)
    assert queue.items.count() == 8
