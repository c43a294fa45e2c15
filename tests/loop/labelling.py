"""A person at work, for tests of the label stage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotate.loop.label import claim, fetch_ahead, rate, submit, submit_and_claim
from annotate.loop.overlap import spread
from annotate.loop.work import Work
from annotate.models import Concern, Label, Person, Problem, QualityPolicy, Queue, QueueItem
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    ProblemFactory,
    QueueFactory,
    QueueItemFactory,
)

STEPS = ["I add one.", "That makes 5.", "I check it.", "So it is 5.\n\n# Answer\n\n5"]


def make_item(**more: Any) -> QueueItem:
    return QueueItemFactory.create(solution__steps=STEPS, **more)


def begin(person: Person, **more: Any) -> Work:
    make_item(**more)
    work = claim(person=person)
    assert work is not None
    return work


def rate_all(person: Person, work: Work, *ratings: int) -> Work:
    for index, rating in enumerate(ratings):
        work = rate(person=person, item=work.item, step_index=index, rating=rating)
    return work


def expire(item: int) -> None:
    QueueItem.objects.filter(pk=item).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def ratings_of(label: Label) -> list[tuple[int, int | None]]:
    return list(label.ratings.values_list("step_index", "rating"))


def policy(**more: Any) -> QualityPolicy:
    """The policy there is, with these changes."""
    current = QualityPolicy.current()
    for name, value in more.items():
        setattr(current, name, value)
    current.save()
    return current


def labelled(person: Person, *ratings: int, **more: Any) -> Label:
    """What waits for the person, rated so far and submitted."""
    work = claim(person=person)
    assert work is not None
    rate_all(person, work, *ratings)
    return submit(person=person, item=work.item, **more)


def begin_two(person: Person) -> tuple[Work, Work]:
    """What the person rates, and what was fetched ahead of it; a third item waits."""
    for _ in range(3):
        make_item()
    work = claim(person=person)
    following = fetch_ahead(person=person, item=work.item)
    assert following is not None
    return work, following


def holds(person: Person, item: QueueItem) -> bool:
    return item.done_at is None and item.leased_by_id == person.pk


def in_hand(person: Person) -> dict[bool, int]:
    return dict(QueueItem.objects.leased().filter(leased_by=person).values_list("ahead", "pk"))


def give_up(person: Person, item: int) -> tuple[Label, Work | None]:
    return submit_and_claim(person=person, item=item, finish_reason="give_up", comment="no idea")


def label(
    person: Person, ratings: Sequence[int] = (-1,), *, held_out: bool = False, finish: str = ""
) -> Label:
    """Somebody rates a solution of two steps, as far as `ratings` go, and submits it."""
    problem = ProblemFactory(held_out=held_out)
    QueueItemFactory(solution=GradedSolutionFactory(problem=problem, steps=("one", "two")), priority=1)
    return labelled(person, *ratings, finish_reason=finish, comment="stuck" if finish else "")


def labels_of_one(*ratings: tuple[int, ...]) -> list[Label]:
    """One solution of four steps, labelled by so many people."""
    queue = Queue.objects.first() or QueueFactory.create()
    queue.overlap = len(ratings)
    queue.save()
    make_item(queue=queue)
    spread(queue=queue)
    return [labelled(AnnotatorFactory.create(), *given) for given in ratings]


def raised(kind: str, problem: Problem | None = None, step_index: int | None = None) -> Concern:
    solution = GradedSolutionFactory.create(**({"problem": problem} if problem else {}))
    label = Label.objects.create(
        problem=solution.problem, solution=solution, annotator=AnnotatorFactory.create(), question={}
    )
    return Concern.objects.create(
        kind=kind, label=label, problem=label.problem, text="?", step_index=step_index
    )
