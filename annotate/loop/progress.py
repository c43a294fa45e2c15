"""What the loop is doing: the QuerySets' own counts, what holds it up, and who works. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet, Value

from annotate.loop.bootstrap import bootstrap_state
from annotate.models import (
    Job,
    Label,
    PRMVersion,
    Problem,
    QueueItem,
    RoundProblem,
    Solution,
    Worker,
)

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
            return f"{self.queue}: {self.alive} worker" + ("s" if self.alive > 1 else "")
        if self.seen_at is None:
            return f"no {self.queue} worker yet"
        return f"no {self.queue} worker since {self.seen_at:%Y-%m-%d %H:%M:%S}"


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
        "label": QueueItem.objects.open(),
        "leased": QueueItem.objects.leased(),
        "labelled": Label.objects.submitted(),
        "untrained": Label.objects.untrained(),
        "promote": PRMVersion.objects.candidates(),
    }
    return LoopCounts(serving=prm, **_counts(waiting))


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
