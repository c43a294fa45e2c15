"""What waits for a worker: every stage's own question, asked after each job and again by the periodic sweep.

So the loop needs no message to survive: a stage with something waiting and no job gets a job.
"""

from __future__ import annotations

from collections.abc import Callable

from annotate.loop import jobs, presence, proposals
from annotate.loop.agreement import agreement_due
from annotate.loop.bootstrap import bootstrap_state
from annotate.loop.enqueue import out_of_order
from annotate.loop.retrain import retrain_due
from annotate.models import Measurement, PRMVersion, RoundProblem, Solution


def _to_generate() -> bool:
    """One worker samples and trains. Nothing reaches a person before a PRM serves: what leads there goes first."""
    if PRMVersion.objects.serving() is None and any(map(_calls, ("grade", "bootstrap", "promote"))):
        return False
    return RoundProblem.objects.short_of_solutions().exists()


def _to_score() -> bool:
    prm = PRMVersion.objects.serving()
    return prm is not None and Solution.objects.unscored_by(prm).exists()


def _to_enqueue() -> bool:
    prm = PRMVersion.objects.serving()
    if prm is None:
        return False
    return RoundProblem.objects.ready_to_choose(prm).exists() or out_of_order(prm).exists()


def _to_benchmark() -> bool:
    """Figures can wait until what people get next is scored."""
    return Measurement.objects.waiting().exists() and not _to_score()


# In loop order. retrain is missing: it works on one snapshot, so only the snapshot stage asks for it.
WAITING: dict[str, Callable[[], bool]] = {
    "generate": _to_generate,
    "grade": lambda: Solution.objects.ungraded().exists(),
    "bootstrap": lambda: bootstrap_state().due,
    "score": _to_score,
    "enqueue": _to_enqueue,
    "agreement": agreement_due,
    "snapshot": retrain_due,
    "benchmark": _to_benchmark,
    "promote": lambda: PRMVersion.objects.candidates().filter(decision="").exists(),
}


def call(*stages: str) -> None:
    """Queue a job for each of these stages that has something waiting, unless it failed lately or was cancelled."""
    for stage in stages:
        if _calls(stage):
            jobs.enqueue_job(stage)


def _calls(stage: str) -> bool:
    return jobs.held_until(stage) is None and WAITING[stage]()


def sweep() -> None:
    """Heal what was lost: jobs of dead workers, messages that never came, stages nobody called."""
    jobs.reap()
    jobs.send_again()
    call(*WAITING)
    jobs.forget_done(*WAITING, proposals.KIND)
    presence.forget_gone()
