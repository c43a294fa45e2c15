"""One problem from end to end: sample solutions, score them, choose one. Any generator, any PRM."""

from __future__ import annotations

from dataclasses import dataclass

from prm_backend.reward.aggregation import aggregate
from prm_backend.search.best_of_n import best_of_n
from prm_backend.search.voting import Vote, majority_vote
from prm_backend.types import Generator, Sample, Sampling, StepProbs, StepScorer, Unscorable


@dataclass(frozen=True)
class Solved:
    """`best` is the solution the PRM likes most, None where it could score none; `scored[i]` belongs to `samples[i]`.

    `majority` counts every answer once, `weighted` by its solution's score; None where no solution has an answer.
    """

    samples: tuple[Sample, ...]
    scored: tuple[list[StepProbs] | Unscorable, ...]
    best: Sample | None
    majority: Vote | None
    weighted: Vote | None


def solve(
    problem: str,
    *,
    generator: Generator,
    scorer: StepScorer,
    n: int = 16,
    sampling: Sampling | None = None,
    seed: int = 0,
    by: str = "log_product",
) -> Solved:
    """Draw `n` solutions and choose: the best by a PRM's score, beside what a vote says. Raises as the two do."""
    sampling = sampling or Sampling()
    [samples] = generator.sample([problem], n=n, sampling=sampling, seed=seed)
    solutions = [sample.steps for sample in samples]
    scored = scorer.score([problem] * n, solutions, segmentation=sampling.segmentation)
    chosen = best_of_n(scored, by=by)
    answers = [sample.answer for sample in samples]
    weights = [0.0 if isinstance(probs, Unscorable) else aggregate(probs).product for probs in scored]
    return Solved(
        samples=tuple(samples),
        scored=tuple(scored),
        best=None if chosen is None else samples[chosen],
        majority=majority_vote(answers),
        weighted=majority_vote(answers, weights=weights),
    )
