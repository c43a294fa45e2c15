"""What a person is given next: what they hold, what they began, the next free item, or gold in its place.

And what they will be given after that, fetched ahead by the same rules while they rate.

Every try is a single compare-and-swap. Gold takes as many queries as any other item, so that its time tells nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotate.loop.draft import LEASE, NOBODY, lease_end, new_lease
from annotate.loop.screening import next_question
from annotate.models import (
    Change,
    Given,
    Gold,
    Instructions,
    Label,
    Person,
    QualityPolicy,
    Queue,
    QueueItem,
    Statement,
    StepRating,
    Way,
    write,
)

SCREENING_GENERATION = -1  # PRM800K's


@dataclass(frozen=True)
class Taken:
    """An item leased to a person, and the PRM800K generation that a label begun on it belongs to."""

    item: QueueItem
    generation: int | None


def _held_by() -> QuerySet[QueueItem]:
    return QueueItem.objects.open().filter(leased_by=Given("person"), ahead=Given("ahead"))


def _begun_by() -> QuerySet[QueueItem]:
    """In the order they were begun: where both were given back, what was rated comes before what was fetched ahead.

    What was seen at the most is not gone on with where nothing new is handed out.
    """
    drafts = Label.objects.at_hand().filter(annotator=Given("person"), queue_item=OuterRef("pk")).order_by()
    begun = Label.objects.at_hand().filter(annotator=Given("person"))
    free = QueueItem.objects.open().filter(leased_by=None, pk__in=begun.values("queue_item"))
    rated = StepRating.objects.filter(label__annotator=Given("person"), label__queue_item=OuterRef("pk"))
    handed_out = QueueItem.objects.handed_out().filter(pk=OuterRef("pk"))
    free = free.filter(Exists(rated) | Exists(handed_out))
    return free.order_by(Subquery(drafts.values("pk")[:1]))


def _free(kind: str) -> QuerySet[QueueItem]:
    return QueueItem.objects.next_for(Given("person"), Given("queue"), kind)


def _first(items: QuerySet[QueueItem]) -> QuerySet[QueueItem]:
    """For UPDATE … WHERE id = (SELECT … LIMIT 1 FOR UPDATE SKIP LOCKED): nobody waits, nobody gets it twice."""
    return QueueItem.objects.filter(pk=Subquery(items.select_for_update(skip_locked=True).values("pk")[:1]))


def _running() -> QuerySet[Queue]:
    return Queue.objects.filter(paused_at=None).order_by("id")


def _with_rules() -> QuerySet[QueueItem]:
    """What the person holds or has ahead, with all that a draft is begun with; `rules`: the newest instructions."""
    rules = Instructions.objects.order_by("-number").values("pk")[:1]
    held = _held_by().select_related("queue", "gold", "solution__problem", "solution__round")
    return held.annotate(**{"rules": Subquery(rules)})


_POLICY = Statement(lambda: QualityPolicy.objects.order_by("pk")[:1])
_RENEW = Change(_held_by, **LEASE)
# Makes what was ahead the one in hand, or keeps that as it is; the token stays, since a page has it already.
_PROMOTE = Change(_held_by, ahead=False, lease_expires_at=Given("until"))
_GO_ON = Change(lambda: _first(_begun_by()), **LEASE)
_GO_ON_SCREENING = Change(lambda: _first(_begun_by().filter(gold__screens=True).order_by("id")), **LEASE)
_BEGUN_WAY = Statement(lambda: _begun_by().values_list("queue__way")[:1])
_RUNNING = Statement(_running)
_LEASE_FREE = {
    "solution": Change(lambda: _first(_free("solution")), **LEASE),
    "problem": Change(lambda: _first(_free("problem")), **LEASE),
}
# Locked, so that a page that is left at this moment gives back what is fetched for it, too.
_IN_HAND = Statement(
    lambda: QueueItem.objects.leased().filter(leased_by=Given("person")).select_for_update().order_by("ahead")
)
_ANY_PROBLEM = Statement(lambda: _free("problem").values_list("pk")[:1])
_IN_PLACE_OF = Statement(lambda: _free("solution").values_list("solution__round__number", flat=True)[:1])
_GOLD = Statement(lambda: Gold.objects.mixed_in().next_for(Given("person"))[:1])
_HELD = Statement(_with_rules)


def take(person: Person) -> Taken | None:
    """Lease one item to the person; None where nothing waits for them. Raises IntegrityError in a race of two tabs."""
    if person.suspended_at is not None:
        return None
    if _RENEW.run(person=person.pk, **new_lease(person.pk)):
        return _held(person)
    policy = _POLICY.first()
    screens = policy if policy is not None and policy.screens(person) else None
    if screens is not None:
        return _once_more(lambda: _screening_question(person, screens))
    if _PROMOTE.run(person=person.pk, ahead=True, until=lease_end()):
        return _held(person)
    return _once_more(lambda: _next(person, policy))


def take_ahead(person: Person, item: int) -> Taken | None:
    """Lease to the person, beside `item` that they have in hand, what `take` will give them after it; None as there.

    None, too, for who is being screened, where the item is not in their hands, and where a solution comes that grows:
    the model would be asked to write for it. Raises as `take` does.
    """
    if person.suspended_at is not None:
        return None
    held = {one.ahead: one for one in _IN_HAND.all(person=person.pk)}
    live = {ahead for ahead, one in held.items() if (one.lease_expires_at or timezone.now()) > timezone.now()}
    policy = _POLICY.first()
    if False not in live or held[False].pk != item or (policy is not None and policy.screens(person)):
        return None
    taken: Taken | None
    if True in held:
        if True not in live:
            _RENEW.run(person=person.pk, **new_lease(person.pk, ahead=True))
        taken = _held(person, ahead=True)
    else:
        taken = _once_more(lambda: _next(person, policy, ahead=True))
    if taken is None:
        return None
    if True not in live:
        # What is in hand never runs out first: the sweep would leave its person what comes after it alone.
        _PROMOTE.run(person=person.pk, ahead=False, until=lease_end())
    # One that grows was in hand when another was taken back.
    return None if taken.item.queue.way == Way.STEP_BY_STEP else taken


def _once_more(what: Callable[[], Taken | None]) -> Taken | None:
    """The sweep frees what ran out, every half minute; here that is one query the more only where nothing is left."""
    return what() or (what() if free_expired() else None)


@transaction.atomic
def free_expired() -> int:
    """Take back the items whose lease ran out; how many."""
    # SKIP LOCKED here too: two people who free the same leases in different order would deadlock.
    stale = QueueItem.objects.expired().select_for_update(skip_locked=True)
    return QueueItem.objects.filter(pk__in=stale.values("pk")).update(**NOBODY)


def _next(person: Person, policy: QualityPolicy | None, *, ahead: bool = False) -> Taken | None:
    """Lease what nobody holds: what was begun, gold that is due, what is free. Nothing step by step `ahead`."""
    if ahead:
        for (way,) in _BEGUN_WAY.rows(person=person.pk):
            if way == Way.STEP_BY_STEP:
                return None
    if _GO_ON.run(person=person.pk, **new_lease(person.pk, ahead=ahead)):
        return _held(person, ahead=ahead)
    gold = _gold_due(person, policy)
    # Queue by queue, as the index of free items is; paused ones are left out once, here.
    for queue in _RUNNING.all():
        if gold is not None and queue.way != Way.STEP_BY_STEP:
            # In the place of an item, never where there is none, and passing for its generation.
            for (in_place_of,) in _IN_PLACE_OF.rows(person=person.pk, queue=queue.pk):
                _lease_gold(person, gold, queue, ahead=ahead)
                return _held(person, in_place_of, ahead=ahead)
        elif ahead and queue.way == Way.STEP_BY_STEP:
            if _ANY_PROBLEM.rows(person=person.pk, queue=queue.pk):
                return None
        elif _LEASE_FREE[queue.holds].run(
            person=person.pk, queue=queue.pk, **new_lease(person.pk, ahead=ahead)
        ):
            return _held(person, ahead=ahead)
    return None


def _held(person: Person, round_number: int | None = None, *, ahead: bool = False) -> Taken:
    """What the person has in hand now, or next; gold passes for an item of that round."""
    item = _HELD.first(person=person.pk, ahead=ahead)
    assert item is not None  # leased a moment ago, in this transaction
    if item.gold is not None and item.gold.screens:
        return Taken(item, SCREENING_GENERATION)
    if item.gold is None and item.solution is not None and item.solution.round is not None:
        round_number = item.solution.round.number
    return Taken(item, None if round_number is None else round_number - 1)  # PRM800K counts phase 2 from 0


def _screening_question(person: Person, policy: QualityPolicy) -> Taken | None:
    if not _GO_ON_SCREENING.run(person=person.pk, **new_lease(person.pk)):
        gold = next_question(person, policy)
        queue = _running().exclude(way=Way.STEP_BY_STEP).first()
        if gold is None or queue is None:
            return None
        _lease_gold(person, gold, queue)
    return _held(person)


def _lease_gold(person: Person, gold: Gold, queue: Queue, *, ahead: bool = False) -> None:
    """Make a gold item, leased to the one person who is ever given it."""
    item = QueueItem(
        queue=queue,
        solution_id=gold.solution_id,
        gold=gold,
        strategy="gold",
        random_key=random.random(),
        priority=0,
        **new_lease(person.pk, ahead=ahead),
    )
    write(item)


def _gold_due(person: Person, policy: QualityPolicy | None) -> Gold | None:
    """The gold to give in place of the next item, if any: one in every `gold_every` items, where nobody can tell."""
    if policy is None or not policy.gold_every:
        return None
    gold = _GOLD.first(person=person.pk)
    if gold is None:
        return None
    block, place = divmod(gold.begun, policy.gold_every)
    secret = salted_hmac("gold", f"{person.pk}/{block}").hexdigest()
    return gold if place == int(secret, 16) % policy.gold_every else None
