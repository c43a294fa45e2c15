"""A person at work, for tests of the label stage."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotate.loop.label import claim, fetch_ahead, rate, submit, submit_and_claim
from annotate.loop.work import Work
from annotate.models import Label, Person, QualityPolicy, QueueItem
from tests.factories import QueueItemFactory

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


def ask(gold_every: int = 1, **more: Any) -> QualityPolicy:
    policy = QualityPolicy.current()
    for name, value in {"gold_every": gold_every, **more}.items():
        setattr(policy, name, value)
    policy.save()
    return policy


def labelled(person: Person, *ratings: int) -> Label:
    work = rate_all(person, claim(person=person), *ratings)
    return submit(person=person, item=work.item)


def begin_two(person: Person) -> tuple[Work, Work]:
    """What the person rates, and what was fetched ahead of it; a third item waits."""
    for _ in range(3):
        make_item()
    work = claim(person=person)
    following = fetch_ahead(person=person, item=work.item)
    assert following is not None
    return work, following


def in_hand(person: Person) -> dict[bool, int]:
    return dict(QueueItem.objects.leased().filter(leased_by=person).values_list("ahead", "pk"))


def give_up(person: Person, item: int) -> tuple[Label, Work | None]:
    return submit_and_claim(person=person, item=item, finish_reason="give_up", comment="no idea")
