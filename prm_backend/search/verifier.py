"""A layered verifier: executable facts, then the PRM, then people. The first layer that decides is believed.

What runs or computes outranks what a model thinks, and people are asked last because their time is dear.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from prm_backend.grading import Gold, GraderPool
from prm_backend.reward.aggregation import aggregate
from prm_backend.text.steps import join_steps
from prm_backend.types import GraderOpinion, Outcome, Rating, StepScorer, Unscorable, Verdict

Layer = Callable[[str, Sequence[str]], Verdict]  # of a problem and a solution's steps


def verify(problem: str, steps: Sequence[str], layers: Sequence[Layer]) -> Verdict:
    """Ask the layers in order until one decides; the opinions of all that were asked are kept.

    >>> unsure = lambda problem, steps: Verdict(Outcome.UNDECIDED, "no answer")
    >>> rated = people(lambda problem, steps: [1, 1, -1])
    >>> verdict = verify("1 + 1?", ["One.", "And one.", "Three."], [unsure, rated])
    >>> str(verdict.outcome), verdict.reason
    ('wrong', 'step 3 is rated bad')
    """
    started = time.monotonic()
    asked: list[Verdict] = []
    for layer in layers:
        asked.append(layer(problem, steps))
        if asked[-1].outcome is not Outcome.UNDECIDED:
            break
    outcome = asked[-1].outcome if asked else Outcome.UNDECIDED
    decided = outcome is not Outcome.UNDECIDED
    reason = asked[-1].reason if decided else "; ".join(verdict.reason for verdict in asked)
    opinions = tuple(opinion for verdict in asked for opinion in verdict.opinions)
    return Verdict(outcome, reason or "nobody was asked", opinions, (time.monotonic() - started) * 1000)


def facts(gold: Gold | str, graders: GraderPool) -> Layer:
    """The final answer compared with the gold one, or the program run against its tests."""
    return lambda problem, steps: graders.grade_solutions([(join_steps(steps), gold)])[0]


def prm(scorer: StepScorer, *, wrong_below: float, correct_from: float) -> Layer:
    """The product of the steps' scores: wrong below one threshold, correct from another, undecided between.

    Both are a matter of the PRM and of what a mistake costs, so there is no default. ValueError if they cross.
    """
    if not 0 <= wrong_below <= correct_from <= 1:
        raise ValueError(
            f"0 <= wrong_below <= correct_from <= 1 must hold, got {wrong_below} and {correct_from}"
        )

    def layer(problem: str, steps: Sequence[str]) -> Verdict:
        [scored] = scorer.score([problem], [steps])
        if isinstance(scored, Unscorable):
            return _said(scorer.name, Outcome.UNDECIDED, f"cannot be scored: {scored.reason}")
        score = aggregate(scored).product
        reason = f"scored {score:.3f}"
        if score < wrong_below:
            return _said(scorer.name, Outcome.WRONG, reason)
        return _said(scorer.name, Outcome.CORRECT if score >= correct_from else Outcome.UNDECIDED, reason)

    return layer


def people(ratings_of: Callable[[str, Sequence[str]], Sequence[int | None] | None]) -> Layer:
    """What a person rated (one rating a step, None where there is none): bad makes it wrong, all rated else right."""

    def layer(problem: str, steps: Sequence[str]) -> Verdict:
        ratings = ratings_of(problem, steps)
        for number, rating in enumerate(ratings or (), start=1):
            if rating == Rating.BAD:
                return _said("people", Outcome.WRONG, f"step {number} is rated bad")
            if rating is None:
                return _said("people", Outcome.UNDECIDED, f"step {number} is not rated")
        if not ratings or len(ratings) < len(steps):
            return _said("people", Outcome.UNDECIDED, "waits for a person")
        return _said("people", Outcome.CORRECT, "no step is rated bad")

    return layer


def _said(by: str, outcome: Outcome, reason: str) -> Verdict:
    return Verdict(outcome, reason, (GraderOpinion(by, outcome, reason),))
