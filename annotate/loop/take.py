"""What a person is given next: what they hold, what they began, the next free item, or gold in its place.

Every try is a single compare-and-swap. Gold takes as many queries as any other item, so that its time tells nothing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet, Subquery
from django.utils.crypto import salted_hmac

from annotate.loop.draft import NOBODY, new_lease
from annotate.loop.screening import next_question
from annotate.models import Gold, Person, QualityPolicy, Queue, QueueItem, Way

SCREENING_GENERATION = -1  # PRM800K's


@dataclass(frozen=True)
class Taken:
    """An item leased to a person, and the PRM800K generation that a label begun on it belongs to."""

    item: QueueItem
    generation: int | None


def take(person: Person) -> Taken | None:
    """Lease one item to the person; None where nothing waits for them. Raises IntegrityError in a race of two tabs."""
    if person.suspended_at is not None:
        return None
    if QueueItem.objects.open().filter(leased_by=person).update(**new_lease(person)):
        return _held(person)
    policy = QualityPolicy.objects.first()
    # The sweep frees what ran out, every half minute; here that is one query the more only where nothing is left.
    return _next(person, policy) or (_next(person, policy) if free_expired() else None)


@transaction.atomic
def free_expired() -> int:
    """Take back the items whose lease ran out; how many."""
    # SKIP LOCKED here too: two people who free the same leases in different order would deadlock.
    stale = QueueItem.objects.expired().select_for_update(skip_locked=True)
    return QueueItem.objects.filter(pk__in=stale.values("pk")).update(**NOBODY)


def _next(person: Person, policy: QualityPolicy | None) -> Taken | None:
    begun = QueueItem.objects.open().filter(
        leased_by=None, pk__in=person.labels.at_hand().values("queue_item")
    )
    if policy is not None and policy.screens(person):
        return _screening_question(person, policy, begun.filter(gold__screens=True))
    if _lease_first(person, begun.order_by("-priority", "id")):
        return _held(person)
    gold = _gold_due(person, policy)
    # Queue by queue, as the index of free items is; paused ones are left out once, here.
    for queue in Queue.objects.filter(paused_at=None).order_by("id"):
        free = QueueItem.objects.next_for(person, queue)
        if gold is not None and queue.way != Way.STEP_BY_STEP:
            # In the place of an item, never where there is none, and passing for its generation.
            for in_place_of in free.values_list("solution__round__number", flat=True)[:1]:
                _lease_gold(person, gold, queue)
                return _held(person, in_place_of)
        elif _lease_first(person, free):
            return _held(person)
    return None


def _held(person: Person, round_number: int | None = None) -> Taken:
    """What the person has in hand now; gold passes for an item of that round."""
    held = QueueItem.objects.open().filter(leased_by=person)
    item = held.select_related("queue", "gold", "solution__problem", "solution__round").get()
    if item.gold is not None and item.gold.screens:
        return Taken(item, SCREENING_GENERATION)
    if item.gold is None and item.solution is not None and item.solution.round is not None:
        round_number = item.solution.round.number
    return Taken(item, None if round_number is None else round_number - 1)  # PRM800K counts phase 2 from 0


def _screening_question(person: Person, policy: QualityPolicy, begun: QuerySet[QueueItem]) -> Taken | None:
    if not _lease_first(person, begun.order_by("id")):
        gold = next_question(person, policy)
        queue = Queue.objects.filter(paused_at=None).exclude(way=Way.STEP_BY_STEP).order_by("id").first()
        if gold is None or queue is None:
            return None
        _lease_gold(person, gold, queue)
    return _held(person)


def _lease_gold(person: Person, gold: Gold, queue: Queue) -> None:
    """Make a gold item, leased to the one person who is ever given it."""
    QueueItem.objects.create(
        queue=queue,
        solution_id=gold.solution_id,
        gold=gold,
        strategy="gold",
        random_key=random.random(),
        priority=0,
        **new_lease(person),
    )


def _lease_first(person: Person, items: QuerySet[QueueItem]) -> bool:
    """UPDATE … WHERE id = (SELECT … LIMIT 1 FOR UPDATE SKIP LOCKED): nobody waits, nobody gets it twice."""
    first = items.select_for_update(skip_locked=True).values("pk")[:1]
    return bool(QueueItem.objects.filter(pk=Subquery(first)).update(**new_lease(person)))


def _gold_due(person: Person, policy: QualityPolicy | None) -> Gold | None:
    """The gold to give in place of the next item, if any: one in every `gold_every` items, where nobody can tell."""
    if policy is None or not policy.gold_every:
        return None
    gold = Gold.objects.mixed_in().next_for(person).first()
    if gold is None:
        return None
    block, place = divmod(gold.begun, policy.gold_every)
    secret = salted_hmac("gold", f"{person.pk}/{block}").hexdigest()
    return gold if place == int(secret, 16) % policy.gold_every else None
