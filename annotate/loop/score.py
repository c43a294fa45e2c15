"""The score stage: a PRM version's opinion of every step, and of the whole solution. Orders and chooses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from django.db import transaction

from annotate.models import PRMVersion, Solution, SolutionScore, Step, StepScore
from prm_backend.reward.aggregation import aggregate
from prm_backend.types import Progress, ProgressCallback, StepProbs, StepScorer, Unscorable, silent

NO_STEPS = Unscorable("the solution has no steps")


def score(
    *,
    solutions: Sequence[Solution],
    prm: PRMVersion,
    scorer: StepScorer,
    progress: ProgressCallback = silent,
) -> int:
    """Write `prm`'s scores of the solutions' steps, or why it refuses a solution; returns how many solutions.

    `scorer` is `prm`'s model. Writes once: a score that is there already stays. Prefetch `steps`.
    """
    progress(Progress(0, len(solutions), f"scoring {len(solutions)} solutions with {prm}"))
    steps = {solution.pk: list(solution.steps.all()) for solution in solutions}
    asked = [solution for solution in solutions if steps[solution.pk]]
    found = scorer.score(
        [solution.problem.text for solution in asked],
        [[step.text for step in steps[solution.pk]] for solution in asked],
    )
    results: dict[int, list[StepProbs] | Unscorable] = {solution.pk: NO_STEPS for solution in solutions}
    results |= {solution.pk: result for solution, result in zip(asked, found, strict=True)}
    _write(prm, steps, results)
    progress(Progress(len(solutions), len(solutions), f"{len(solutions)} solutions scored with {prm}"))
    return len(solutions)


@transaction.atomic
def _write(
    prm: PRMVersion, steps: dict[int, list[Step]], results: dict[int, list[StepProbs] | Unscorable]
) -> None:
    """In the order of the ids: two workers at the same solutions then wait for each other and do not deadlock."""
    step_scores: list[StepScore] = []
    solution_scores: list[SolutionScore] = []
    for pk, result in sorted(results.items()):
        solution_scores.append(_solution_score(pk, prm, result))
        if solution_scores[-1].unscorable or isinstance(result, Unscorable):
            continue
        step_scores += [
            StepScore(step=step, prm=prm, p_bad=probs.bad, p_okay=probs.okay, p_great=probs.great)
            for step, probs in zip(steps[pk], result, strict=True)
        ]
    StepScore.objects.bulk_create(step_scores, ignore_conflicts=True)
    SolutionScore.objects.bulk_create(solution_scores, ignore_conflicts=True)


def _solution_score(pk: int, prm: PRMVersion, result: list[StepProbs] | Unscorable) -> SolutionScore:
    if isinstance(result, Unscorable):
        return SolutionScore(solution_id=pk, prm=prm, unscorable=result.reason)
    try:
        return SolutionScore(solution_id=pk, prm=prm, **asdict(aggregate(result)))
    except ValueError as error:  # no probabilities (NaN): one odd solution must not hold up the others
        return SolutionScore(solution_id=pk, prm=prm, unscorable=str(error))
