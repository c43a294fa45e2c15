"""The enqueue stage: of each problem's scored solutions some become queue items, with the whole reason why.

And the order of what is open, which follows the serving PRM. The rule itself is prm_backend.selection's.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate.loop.overlap import spread
from annotate.loop.queues import default_queue
from annotate.models import PRMVersion, Queue, QueueItem, RoundProblem, Solution, SolutionScore
from prm_backend.selection.choose import choose
from prm_backend.types import Arm, Choice, Outcome, Progress, ProgressCallback, SelectionCandidate, silent

UNIFORM_SHARE_WITHOUT_LABELS = 0.5  # a PRM that knows no human label chooses hardly better than chance


def enqueue(*, places: Sequence[RoundProblem], prm: PRMVersion, progress: ProgressCallback = silent) -> int:
    """Choose from each place's solutions by `prm`'s scores and queue them; returns how many items.

    Writes once: a place that was chosen from meanwhile is left alone. New items stand among each other in `prm`'s
    order; `reorder` finds their place among the others.
    """
    progress(Progress(0, len(places), f"choosing from {len(places)} problems"))
    queue = default_queue()
    made = _enqueue(places, prm, queue)
    progress(Progress(len(places), len(places), f"{made} solutions queued from {len(places)} problems"))
    return made


@transaction.atomic
def _enqueue(places: Sequence[RoundProblem], prm: PRMVersion, queue: Queue) -> int:
    unchosen = RoundProblem.objects.filter(chosen_at__isnull=True).order_by("pk").select_for_update()
    waiting = set(unchosen.filter(pk__in=[place.pk for place in places]).values_list("pk", flat=True))
    # One place a problem: two rounds may hold the same text, and the second must see what the first chose.
    ours = list({place.problem_id: place for place in reversed(places) if place.pk in waiting}.values())
    candidates = _candidates(ours, prm)
    share = UNIFORM_SHARE_WITHOUT_LABELS if prm.outcome_only else 0.0
    items: list[QueueItem] = []
    for place in ours:
        chosen = choose(
            candidates[place.round_id, place.problem_id],
            config=place.round.selection,
            uniform_share=share,
            seed=f"{place.round.seed}/{place.problem_id}",
        )
        items += [_item(choice, place, queue, prm) for choice in chosen]
    scores = sorted(item.score for item in items if item.score is not None)
    for item in items:
        if item.arm != Arm.CONTROL and item.score is not None:
            item.priority = bisect_left(scores, item.score) / len(scores)
    QueueItem.objects.bulk_create(items)
    if queue.overlap > 1:
        spread(queue=queue, solutions=[item.solution_id for item in items if item.solution_id is not None])
    RoundProblem.objects.filter(pk__in=[place.pk for place in ours]).update(chosen_at=timezone.now())
    return len(items)


def _candidates(
    places: Sequence[RoundProblem], prm: PRMVersion
) -> dict[tuple[int, int], list[SelectionCandidate]]:
    """By (round, problem): the scored solutions that reach an answer, identical texts once.

    A text of which any copy is labelled, queued or in somebody's hands is no candidate.
    """
    copies = Solution.objects.filter(
        problem=OuterRef("solution__problem"), text_hash=OuterRef("solution__text_hash")
    )
    queued = copies.filter(queue_items__isnull=False)
    labelled = copies.filter(labels__isnull=False)
    here = Q()
    for place in places:
        here |= Q(solution__round=place.round_id, solution__problem=place.problem_id)
    scored = SolutionScore.objects.filter(here, prm=prm, unscorable="", solution__answer__isnull=False)
    free = scored.exclude(Exists(queued)).exclude(Exists(labelled)).order_by("solution")
    rows = free.values_list(
        "solution__round",
        "solution__problem",
        "solution__text_hash",
        "solution",
        "solution__outcome",
        "log_product",
    )
    distinct: dict[tuple[int, int], dict[str, SelectionCandidate]] = defaultdict(dict)
    for round_id, problem_id, text_hash, pk, outcome, score in rows if places else ():
        assert outcome is not None  # scored ones were graded before
        assert score is not None  # the unscorable have no log_product and are left out above
        candidate = SelectionCandidate(pk, score, Outcome(outcome))
        distinct[round_id, problem_id].setdefault(text_hash, candidate)
    return defaultdict(list, {key: list(texts.values()) for key, texts in distinct.items()})


def _item(choice: Choice, place: RoundProblem, queue: Queue, prm: PRMVersion) -> QueueItem:
    key = random.Random(f"{place.round.seed}/{choice.id}").random()
    return QueueItem(
        queue=queue,
        solution_id=choice.id,
        arm=choice.arm,
        strategy=choice.strategy,
        rank=choice.rank,
        score=choice.score,
        propensity=choice.propensity,
        prm=prm,
        random_key=key,
        priority=key,
    )


def wholly_scored(prm: PRMVersion) -> QuerySet[Queue]:
    """Queues of which `prm` has scored (or refused) everything that is open: it can order them."""
    waiting = QueueItem.objects.open().filter(queue=OuterRef("pk"), solution__isnull=False, gold__isnull=True)
    unscored = waiting.exclude(solution__scores__prm=prm)
    return Queue.objects.filter(~Exists(unscored)).order_by("pk")


def out_of_order(prm: PRMVersion) -> QuerySet[Queue]:
    """What waits for `reorder`: queues that `prm` could order and another PRM did."""
    return wholly_scored(prm).filter(~Q(ordered_by=prm) | Q(ordered_by__isnull=True))


# The rule's arms stand at their percent rank by score, the control arm at its random key: both are spread over
# [0, 1], so the arms interleave in proportion. Rows in somebody's hands are not touched.
_REORDER = """
with ranked as (
    select item.id, case when item.arm = %(control)s then item.random_key else percent_rank() over (
        partition by item.arm = %(control)s order by score.log_product nulls first, item.id desc
    ) end as priority
    from annotate_queueitem item
    left join annotate_solutionscore score on score.solution_id = item.solution_id and score.prm_id = %(prm)s
    where item.queue_id = %(queue)s and item.done_at is null and item.leased_by_id is null
)
update annotate_queueitem item set priority = ranked.priority from ranked
where item.id = ranked.id and item.priority <> ranked.priority
    and item.done_at is null and item.leased_by_id is null
"""


@transaction.atomic
def reorder(*, queue: Queue, prm: PRMVersion) -> int:
    """Order what is open and free by `prm`'s scores, in one statement; returns how many items moved."""
    with connection.cursor() as cursor:
        cursor.execute(_REORDER, {"control": Arm.CONTROL.value, "prm": prm.pk, "queue": queue.pk})
        moved: int = cursor.rowcount
    Queue.objects.filter(pk=queue.pk).update(ordered_by=prm)
    return moved
