"""Queues: rounds fill one, what does not go together is refused, problems go into step-by-step ones once."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.loop.enqueue import enqueue
from annotate.loop.queues import (
    QueueRefused,
    default_queue,
    pause_queue,
    put_problems,
    resume_queue,
    save_queue,
    take_rounds,
)
from annotate.models import Queue, QueueItem, RoundProblem, Way
from tests.factories import (
    ProblemFactory,
    QueueFactory,
    QueueItemFactory,
    RoundProblemFactory,
    SolutionScoreFactory,
)

pytestmark = pytest.mark.django_db


def grown(**more: Any) -> Queue:
    return QueueFactory.create(name="grown", way=Way.STEP_BY_STEP, **more)


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed() -> None:
    item = QueueItemFactory(queue=default_queue())
    pause_queue(queue=item.queue)
    assert not QueueItem.objects.free().exists()
    resume_queue(queue=item.queue)
    assert QueueItem.objects.free().get() == item


def test_rounds_fill_the_queue_a_manager_names_and_no_other() -> None:
    assert default_queue().name == "default"
    hard = QueueFactory.create(name="hard")
    take_rounds(queue=hard)
    assert default_queue() == hard
    assert Queue.objects.get(takes_rounds=True) == hard
    score = SolutionScoreFactory.create()
    place = RoundProblem.objects.get(problem=score.solution.problem)
    enqueue(places=[place], prm=score.prm)
    assert QueueItem.objects.get().queue == hard


def test_rounds_never_fill_a_queue_of_problems() -> None:
    with pytest.raises(QueueRefused, match="step by step"):
        take_rounds(queue=grown())


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"way": Way.EVERY_STEP, "asks_further": True}, "Only where rating ends at the first error"),
        ({"way": Way.STEP_BY_STEP, "takes_rounds": True}, "let them fill another queue"),
        ({"way": Way.STEP_BY_STEP, "hints": True}, "no whole solution"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(QueueRefused, match=reason):
        save_queue(queue=Queue(name="odd", **fields))
    assert not Queue.objects.exists()


def test_a_queue_that_holds_something_keeps_its_kind() -> None:
    solutions = QueueItemFactory.create().queue
    solutions.way = Way.STEP_BY_STEP
    with pytest.raises(QueueRefused, match="default holds solutions"):
        save_queue(queue=solutions)
    solutions.way = Way.EVERY_STEP
    assert save_queue(queue=solutions).way == Way.EVERY_STEP
    queue = grown()
    ProblemFactory.create()
    put_problems(queue=queue, problems=1)
    queue.way = Way.FIRST_ERROR
    with pytest.raises(QueueRefused, match="grown holds problems"):
        save_queue(queue=queue)


def test_hints_need_a_blind_share() -> None:
    queue = QueueFactory.create(hints=True, blind_share=0.0)
    with pytest.raises(QueueRefused, match="blind share"):
        save_queue(queue=queue)
    queue.blind_share = 0.2
    assert save_queue(queue=queue).hints


def test_a_queue_that_wants_more_people_makes_the_copies_at_once() -> None:
    queue = QueueItemFactory.create().queue
    queue.overlap = 3
    save_queue(queue=queue)
    assert list(queue.items.order_by("copy").values_list("copy", flat=True)) == [0, 1, 2]


def test_untouched_problems_go_into_a_step_by_step_queue_once_each() -> None:
    queue = grown(overlap=2)
    fresh = ProblemFactory.create_batch(3)
    RoundProblemFactory.create()
    ProblemFactory.create(answer=None)
    assert put_problems(queue=queue, problems=2) == 2
    assert put_problems(queue=queue, problems=9) == 1
    items = QueueItem.objects.order_by("problem", "copy").values_list("problem", "copy", "solution")
    assert list(items) == [(problem.pk, copy, None) for problem in fresh for copy in (0, 1)]
    with pytest.raises(QueueRefused, match="No untouched problem"):
        put_problems(queue=queue, problems=1)


def test_problems_go_into_no_queue_of_whole_solutions() -> None:
    ProblemFactory.create()
    with pytest.raises(QueueRefused, match="rounds bring those"):
        put_problems(queue=QueueFactory.create(), problems=1)
