"""From step scores to one score a solution. Pure arithmetic: knows no model and no rows.

A step's score is s = p(great) + p(okay): neutral counts as positive, which the paper found best
(Lightman et al., "Let's Verify Step by Step", appendix F).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from prm_backend.types import SolutionScores, StepProbs, Unscorable

T = TypeVar("T")

# How far a sum of rounded probabilities may stray from its true value and still count as rounding.
TOLERANCE = 1e-6
_SMALLEST = sys.float_info.min


def step_score(probs: StepProbs) -> float:
    """s = p(great) + p(okay), in [0, 1]. ValueError where `probs` is no distribution over the three ratings."""
    _check(probs.bad, "p(bad)")
    _check(probs.okay, "p(okay)")
    _check(probs.great, "p(great)")
    if abs(math.fsum(probs) - 1) > TOLERANCE:
        raise ValueError(f"a step's probabilities must sum to 1, these sum to {math.fsum(probs)}: {probs}")
    return _check(probs.okay + probs.great, "p(okay) + p(great)")


def numbers(steps: Sequence[T] | Unscorable, probs: Callable[[T], Iterable[float]]) -> list[T] | Unscorable:
    """What a model says of a solution's steps; Unscorable where one of a step's `probs` is no number.

    NaN is neither above a threshold nor below it, so a solution would pass for one without an error.
    """
    if isinstance(steps, Unscorable):
        return steps
    for number, step in enumerate(steps, start=1):
        if any(map(math.isnan, probs(step))):
            return Unscorable(f"the model gave no number for step {number}")
    return list(steps)


def aggregate(probs: Sequence[StepProbs]) -> SolutionScores:
    """Aggregate a solution's step probabilities. ValueError where there is none, or one is no distribution."""
    return aggregate_scores([step_score(p) for p in probs])


def aggregate_scores(scores: Sequence[float]) -> SolutionScores:
    """Aggregate step scores in [0, 1]: product as a log-sum, minimum, mean and last.

    A score of exactly 0 enters the logarithm as the smallest normal float, so `log_product` stays finite: it can be
    ordered and written as JSON. ValueError where `scores` is empty or holds NaN or a value outside [0, 1].
    """
    if not scores:
        raise ValueError("no step scores to aggregate: a solution has at least one step")
    checked = [_check(score, f"score of step {i}") for i, score in enumerate(scores, start=1)]
    log_product = math.fsum(math.log(max(score, _SMALLEST)) for score in checked)
    return SolutionScores(
        log_product=log_product,
        product=math.exp(log_product),
        minimum=min(checked),
        mean=min(max(math.fsum(checked) / len(checked), min(checked)), max(checked)),
        last=checked[-1],
    )


def _check(value: float, what: str) -> float:
    """The value, clipped to [0, 1] where rounding left it a hair outside; further out, or NaN, is refused."""
    if not -TOLERANCE <= value <= 1 + TOLERANCE:  # NaN compares false, so it ends here too
        raise ValueError(f"{what} must lie in [0, 1], got {value}")
    return min(max(float(value), 0.0), 1.0)
