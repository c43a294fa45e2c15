"""Best-of-N: the solution that a PRM scores highest (Lightman et al., "Let's Verify Step by Step", section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from prm_backend.reward.aggregation import aggregate
from prm_backend.types import SolutionScores, StepProbs, Unscorable

# What a solution may be judged by; the log of the product orders as the product does and never underflows.
SCORES = tuple(field.name for field in fields(SolutionScores))

Scored = Sequence[Sequence[StepProbs] | Unscorable]


def best_of_n(scored: Scored, *, by: str = "log_product") -> int | None:
    """Which of the solutions to take, by index; the first of equals, None where none could be scored.

    `scored` is what a StepScorer's `score` gives, `by` one of SCORES.

    >>> sure, unsure = StepProbs(0.1, 0.0, 0.9), StepProbs(0.5, 0.1, 0.4)
    >>> best_of_n([[sure, unsure], [sure, sure], Unscorable("too long")])
    1
    """
    order = rank(scored, by=by)
    return order[0] if order else None


def rank(scored: Scored, *, by: str = "log_product") -> list[int]:
    """The solutions that could be scored, best first, by index. ValueError for a score that there is not."""
    if by not in SCORES:
        raise ValueError(f"there is no score {by!r}; there are {', '.join(SCORES)}")
    scores = {
        index: getattr(aggregate(probs), by)
        for index, probs in enumerate(scored)
        if not isinstance(probs, Unscorable)
    }
    return sorted(scores, key=lambda index: (-scores[index], index))
