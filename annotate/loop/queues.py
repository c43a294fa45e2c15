"""Queues: made, changed and paused by managers; which one rounds fill; problems put into one. Hands out nothing."""

from __future__ import annotations

import random

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.draft import NOBODY
from annotate.loop.overlap import spread
from annotate.models import Problem, Queue, QueueItem, Way


class QueueRefused(PlumblineError):
    """The queue cannot be like that."""


def default_queue() -> Queue:
    """The queue that rounds fill; where none does yet, the one named "default", made if need be."""
    chosen = Queue.objects.filter(takes_rounds=True).first()
    if chosen is None:
        chosen = Queue.objects.exclude(way=Way.STEP_BY_STEP).get_or_create(name="default")[0]
        take_rounds(queue=chosen)
    return chosen


@transaction.atomic
def save_queue(*, queue: Queue) -> Queue:
    """Write a new or changed queue. Labels keep the way they were begun in.

    What it holds already is copied for as many people as it now wants. Raises QueueRefused for what does not go
    together: a queue of problems holds no solutions and the other way
    round, so neither becomes the other once something is in it.
    """
    grows = queue.way == Way.STEP_BY_STEP
    if queue.asks_further and queue.way != Way.FIRST_ERROR:
        raise QueueRefused(
            _(
                "Only where rating ends at the first error can more be asked there: choose “up to the first error”."
            )
        )
    if grows and queue.takes_rounds:
        raise QueueRefused(_("Rounds bring whole solutions: first let them fill another queue."))
    if grows and queue.hints:
        raise QueueRefused(_("Step by step there is no whole solution to give a hint on."))
    if queue.hints and not queue.blind_share:
        raise QueueRefused(_("Hints sway people: without a blind share nobody could tell by how much."))
    if queue.asks_judge and not settings.JUDGE:
        raise QueueRefused(_("There is no judge model to ask: set JUDGE where Plumbline is started."))
    if queue.pk is not None and queue.items.filter(problem__isnull=grows).exists():
        solutions = _("%(queue)s holds solutions. Make another queue for this way of labelling.")
        problems = _(
            "%(queue)s holds problems, whose solutions grow step by step. Make another queue for this way of labelling."
        )
        raise QueueRefused((solutions if grows else problems) % {"queue": queue})
    queue.save()
    spread(queue=queue)
    return queue


@transaction.atomic
def take_rounds(*, queue: Queue) -> None:
    """From now on rounds fill this queue and no other. Raises QueueRefused for a queue of problems."""
    if queue.way == Way.STEP_BY_STEP:
        raise QueueRefused(
            _("%(queue)s grows solutions step by step: rounds bring whole ones.") % {"queue": queue}
        )
    Queue.objects.filter(takes_rounds=True).exclude(pk=queue.pk).update(takes_rounds=False)
    Queue.objects.filter(pk=queue.pk).update(takes_rounds=True)


@transaction.atomic
def put_problems(*, queue: Queue, problems: int) -> int:
    """Put that many problems, of those no round and no queue has had yet, into a step-by-step queue; returns how many.

    Raises QueueRefused for another kind of queue, or where no such problem is left.
    """
    queue = Queue.objects.select_for_update().get(pk=queue.pk)  # two clicks at once take different problems
    if queue.way != Way.STEP_BY_STEP:
        raise QueueRefused(_("%(queue)s takes whole solutions, and rounds bring those.") % {"queue": queue})
    untouched = Problem.objects.untouched().filter(queue_items__isnull=True).order_by("pk")
    taken = list(untouched.values_list("pk", flat=True)[:problems])
    if not taken:
        raise QueueRefused(_("No untouched problem with a known answer is left. Import some first."))
    keys = [random.random() for _ in taken]
    QueueItem.objects.bulk_create(
        QueueItem(
            queue=queue,
            problem_id=pk,
            copy=copy,
            strategy="untouched problem",
            random_key=key,
            priority=key,
        )
        for pk, key in zip(taken, keys, strict=True)
        for copy in range(queue.overlap if key < queue.overlap_share else 1)
    )
    return len(taken)


@transaction.atomic
def pause_queue(*, queue: Queue) -> None:
    """Hand out nothing new, not what was fetched ahead either; what is in people's hands can be finished."""
    Queue.objects.filter(pk=queue.pk, paused_at__isnull=True).update(paused_at=timezone.now())
    QueueItem.objects.fetched_ahead().filter(queue=queue).update(**NOBODY)


def resume_queue(*, queue: Queue) -> None:
    Queue.objects.filter(pk=queue.pk).update(paused_at=None)
