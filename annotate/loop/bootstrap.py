"""Version 0: a first PRM trained on outcomes alone, so that round 1 has something to score with.

Each step takes its solution's grade. No human has judged any of it, and everything that shows this version says so.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q
from django.utils.translation import gettext as _

from annotate.loop.train import Trainer, current_inputs, train_version
from annotate.models import PRMVersion, RoundProblem, Solution, Step
from annotate.models.solution import SolutionQuerySet
from prm_backend.types import LabelledSolution, Outcome, ProgressCallback, Rating, silent

MOST = 1000  # solutions; more would keep people waiting for their first item
_RATING = {Outcome.CORRECT.value: Rating.GREAT, Outcome.WRONG.value: Rating.BAD}


@dataclass(frozen=True)
class BootstrapState:
    """How far the solutions are that version 0 needs; `waiting_for` is "" where it can be trained."""

    correct: int
    wrong: int
    waiting_for: str

    @property
    def due(self) -> bool:
        return not self.waiting_for


def decided_solutions() -> SolutionQuerySet:
    """What version 0 learns from: graded right or wrong, with steps, on problems that are not held out."""
    return Solution.objects.filter(
        Exists(Step.objects.filter(solution=OuterRef("pk"))),
        outcome__in=list(_RATING),
        round__isnull=False,
        problem__held_out=False,
    )


def bootstrap_state() -> BootstrapState:
    """Due while there is no PRM, once there are enough graded solutions of both kinds, or no more will come."""
    if PRMVersion.objects.exists():
        return BootstrapState(0, 0, _("its promotion"))
    counts = decided_solutions().aggregate(
        correct=Count("pk", filter=Q(outcome=Outcome.CORRECT)),
        wrong=Count("pk", filter=Q(outcome=Outcome.WRONG)),
    )
    correct, wrong = counts["correct"], counts["wrong"]
    found, wanted = correct + wrong, settings.BOOTSTRAP_SOLUTIONS
    more = RoundProblem.objects.short_of_solutions().exists() or Solution.objects.ungraded().exists()
    if not more:
        nothing = _("a round with right or wrong solutions: there is nothing to learn from")
        return BootstrapState(correct, wrong, "" if found else nothing)
    if found < wanted:
        waiting = _("%(found)s of %(wanted)s solutions graded right or wrong")
        return BootstrapState(correct, wrong, waiting % {"found": found, "wanted": wanted})
    if not (correct and wrong):
        wrong_one = _("a wrong solution, or the end of the round: there is none so far")
        right_one = _("a right solution, or the end of the round: there is none so far")
        return BootstrapState(correct, wrong, wrong_one if correct else right_one)
    return BootstrapState(correct, wrong, "")


def bootstrap(*, trainer: Trainer, progress: ProgressCallback = silent) -> PRMVersion:
    """Train version 0 on the first `MOST` decided solutions. A version of the same inputs is returned as it is."""
    solutions = decided_solutions().order_by("pk").select_related("problem").prefetch_related("steps")[:MOST]
    labelled = [_labelled(solution) for solution in solutions]
    outcomes = "\n".join(f"{solution.pk} {solution.outcome}" for solution in solutions)
    inputs = current_inputs(f"outcomes:{hashlib.sha256(outcomes.encode()).hexdigest()}")
    return inputs.version() or train_version(
        inputs=inputs, train=labelled, held_out=(), snapshot=None, trainer=trainer, progress=progress
    )


def _labelled(solution: Solution) -> LabelledSolution:
    steps = tuple(step.text for step in solution.steps.all())
    rating = _RATING[solution.outcome or ""]
    return LabelledSolution(
        problem=solution.problem.text,
        steps=steps,
        ratings=(int(rating),) * len(steps),
        outcome_only=True,
        id=f"solution {solution.pk}",
    )
