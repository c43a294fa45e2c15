"""What the loop is doing: the QuerySets' own counts, what holds it up, and who works. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Aggregate, Count, F, Max, Q, QuerySet, Value
from django.utils.translation import ngettext

from annotate.loop.bootstrap import bootstrap_state
from annotate.models import (
    Job,
    Label,
    PRMVersion,
    Problem,
    QueueItem,
    Round,
    RoundProblem,
    Solution,
    Worker,
)
from prm_backend.types import Outcome

WORKER_QUEUES = ("quick", "model")


@dataclass(frozen=True)
class LoopCounts:
    """How many wait at each stage, named as the stages are; `serving` is the PRM that scores and chooses.

    Without a PRM, `score` counts the graded solutions that wait for the first one, and `enqueue` is 0.
    """

    serving: PRMVersion | None
    untouched: int
    generate: int
    grade: int
    score: int
    enqueue: int
    label: int
    leased: int
    labelled: int
    untrained: int
    promote: int


@dataclass(frozen=True)
class WorkersState:
    """Whether anybody works on one of the broker's queues; `seen_at` is the last sign of life, None without any."""

    queue: str
    alive: int
    seen_at: datetime | None

    def __str__(self) -> str:
        if self.alive:
            words = ngettext("%(queue)s: %(n)s worker", "%(queue)s: %(n)s workers", self.alive)
            return words % {"queue": self.queue, "n": self.alive}
        if self.seen_at is None:
            return f"no {self.queue} worker yet"
        return f"no {self.queue} worker since {self.seen_at:%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True)
class RoundStanding:
    """How far a round has come; `chosen_by` is the number of the newest PRM that chose one of its items."""

    round: Round
    problems: int
    solutions: int
    right: int
    decided: int
    open: int
    done: int
    chosen_by: int | None


def loop_counts() -> LoopCounts:
    """Two queries: the serving PRM, and every count at once."""
    prm = PRMVersion.objects.serving()
    graded = Solution.objects.filter(outcome__isnull=False)
    waiting: dict[str, QuerySet] = {
        "untouched": Problem.objects.untouched(),
        "generate": RoundProblem.objects.short_of_solutions(),
        "grade": Solution.objects.ungraded(),
        "score": Solution.objects.unscored_by(prm) if prm else graded.open(),
        "enqueue": RoundProblem.objects.ready_to_choose(prm) if prm else RoundProblem.objects.none(),
        "label": QueueItem.objects.open().of_live_problems(),
        "leased": QueueItem.objects.leased(),
        "labelled": Label.objects.submitted(),
        "untrained": Label.objects.untrained(),
        "promote": PRMVersion.objects.candidates(),
    }
    return LoopCounts(serving=prm, **_counts(waiting))


def round_standings(*, latest: int) -> list[RoundStanding]:
    """The latest rounds, newest first. Four queries, each one pass over the rounds' rows."""
    rounds = list(Round.objects.order_by("-number")[:latest])
    places = _by_round(RoundProblem.objects.filter(round__in=rounds), "round", problems=Count("pk"))
    samples = _by_round(
        Solution.objects.filter(round__in=rounds),
        "round",
        solutions=Count("pk"),
        right=Count("pk", filter=Q(outcome=Outcome.CORRECT)),
        decided=Count("pk", filter=Q(outcome__in=(Outcome.CORRECT, Outcome.WRONG))),
    )
    items = _by_round(
        QueueItem.objects.chosen().filter(solution__round__in=rounds),
        "solution__round",
        open=Count("pk", filter=Q(done_at__isnull=True)),
        done=Count("pk", filter=Q(done_at__isnull=False)),
        chosen_by=Max("prm__number"),
    )
    nothing = dict.fromkeys(("problems", "solutions", "right", "decided", "open", "done"), 0)
    return [
        RoundStanding(
            round=one,
            **{"chosen_by": None, **nothing}
            | places.get(one.pk, {})
            | samples.get(one.pk, {})
            | items.get(one.pk, {}),
        )
        for one in rounds
    ]


def summary() -> str:
    """One line for a terminal: what waits, what runs, what failed, and who is missing."""
    counts = loop_counts()
    words = [
        f"{getattr(counts, stage)} to {stage}" for stage in ("generate", "grade", "score", "enqueue", "label")
    ]
    prm = f"PRM {counts.serving}" if counts.serving else _without_a_prm()
    parts = [", ".join(words), f"{counts.labelled} labels", prm]
    parts += [str(job) + (f": {job.message}" if job.message else "") for job in Job.objects.active()[:3]]
    parts += [str(state) for state in workers_state() if not state.alive]
    return " · ".join(parts)


def workers_state() -> list[WorkersState]:
    """One entry for each of the broker's queues, in one query."""
    workers = list(Worker.objects.order_by("-seen_at")[:1000])
    alive = set(Worker.objects.alive().values_list("pk", flat=True))
    states = []
    for queue in WORKER_QUEUES:
        here = [worker for worker in workers if queue in worker.queues.split(",")]
        seen_at = here[0].seen_at if here else None
        states.append(WorkersState(queue, sum(worker.pk in alive for worker in here), seen_at))
    return states


def _without_a_prm() -> str:
    state = bootstrap_state()
    return f"no PRM yet: it waits for {state.waiting_for}" if state.waiting_for else "no PRM yet"


def _counts(waiting: dict[str, QuerySet]) -> dict[str, int]:
    counted: Iterable[QuerySet] = (
        rows.order_by().values(stage=Value(stage)).annotate(n=Count("pk")) for stage, rows in waiting.items()
    )
    first, *rest = counted
    found = dict(first.union(*rest, all=True).values_list("stage", "n"))
    return {stage: found.get(stage, 0) for stage in waiting}


def _by_round(rows: QuerySet, by: str, **counts: Aggregate) -> dict[int, dict[str, Any]]:
    found = rows.order_by().values(of=F(by)).annotate(**counts)
    return {row.pop("of"): row for row in found}
