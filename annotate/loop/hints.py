"""Hints: the PRM's guess of the first error, shown where a queue says so but for a blind share; what they change."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any

from django.db.models import Count, F, Q

from annotate.models import Label, QueueItem, StepRating, StepScore
from annotate.models.label import TOLD, LabelQuerySet, Median
from prm_backend.evaluation.steps import first_above
from prm_backend.types import Rating, threshold_or_even

_LATEST = 5000  # labels whose agreement with each other is looked at


def hint_for(item: QueueItem) -> dict[str, Any]:
    """`hinted` and `hint` of a label that is begun on the item; nothing where its queue gives no hints.

    The guess is kept for blind labels, too, so that both can be compared with it. A solution that no PRM has scored
    has none.
    """
    if not item.queue.hints or item.solution_id is None:
        return {}
    guess = _first_error(item.solution_id)
    return {"hint": guess, "hinted": guess is not None and random.random() >= item.queue.blind_share}


def _first_error(solution: int) -> int | None:
    """As the PRM promoted last of those that scored the solution has it, at its own threshold; -1 for none."""
    scores = StepScore.objects.filter(step__solution=solution).order_by(
        F("prm__promoted_at").desc(nulls_last=True), "prm", "step__index"
    )
    told = scores.values_list("prm", "prm__report__metrics__threshold", "p_bad")
    for (_, threshold), steps in groupby(told, key=itemgetter(0, 1)):
        return first_above((p_bad for *_, p_bad in steps), threshold_or_even(threshold))
    return None


@dataclass(frozen=True)
class Side:
    """Labels made with a hint, or those made blind in the same queues. Counts, and milliseconds as a median.

    `pairs` are two of these labels on one solution, `same` those that name the same first error.
    """

    labels: int = 0
    milliseconds: float | None = None
    with_error: int = 0
    as_guessed: int = 0
    gold: int = 0
    gold_agreed: int = 0
    steps: int = 0
    bad: int = 0
    pairs: int = 0
    same: int = 0


def effects() -> tuple[Side, Side] | None:
    """What labels say with a hint and without one; None before any was made in a queue with hints. Four queries."""
    labels = Label.objects.submitted().filter(hinted__isnull=False, finish_reason__in=TOLD)
    told = labels.with_first_error().order_by().values("hinted")
    sides: dict[bool, dict[str, Any]] = {True: {}, False: {}}
    for row in told.annotate(
        labels=Count("pk"),
        milliseconds=Median("total_time"),
        with_error=Count("pk", filter=Q(first_error__gte=0)),
        as_guessed=Count("pk", filter=Q(first_error=F("hint"))),
        gold=Count("pk", filter=Q(agrees_with_gold__isnull=False)),
        gold_agreed=Count("pk", filter=Q(agrees_with_gold=True)),
    ):
        side: dict[str, Any] = {**row}
        sides[side.pop("hinted")] |= side
    rated = StepRating.objects.filter(label__in=labels, option=0, rating__isnull=False).order_by()
    bad = Count("pk", filter=Q(rating=Rating.BAD))
    for counted in rated.values("label__hinted").annotate(steps=Count("pk"), bad=bad):
        side = {**counted}
        sides[side.pop("label__hinted")] |= side
    for hinted, agreed in _pairs(labels).items():
        sides[hinted] |= agreed
    return (Side(**sides[True]), Side(**sides[False])) if any(sides.values()) else None


def _pairs(labels: LabelQuerySet) -> dict[bool, dict[str, int]]:
    latest = labels.teaching().filter(solution__isnull=False).with_first_error().order_by("-submitted_at")
    groups: dict[tuple[int | None, bool | None], list[int]] = defaultdict(list)
    for label in latest.only("solution", "hinted")[:_LATEST]:
        groups[label.solution_id, label.hinted].append(label.first_error)
    found: dict[bool, dict[str, int]] = {}
    for (_, hinted), first_errors in groups.items():
        side = found.setdefault(bool(hinted), {"pairs": 0, "same": 0})
        for one, other in combinations(first_errors, 2):
            side["pairs"] += 1
            side["same"] += one == other
    return found
