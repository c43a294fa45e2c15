"""ProcessBench's figure: is the first wrong step found exactly (Zheng et al., arXiv 2412.06559)? Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from prm_backend.evaluation.steps import rank_auc
from prm_backend.types import StepProbs, Unscorable

_THRESHOLDS = 400


@dataclass(frozen=True)
class ProcessBench:
    """`f1` is the harmonic mean of the exact-index accuracies on erroneous and on correct samples.

    An unscorable sample counts as missed. `threshold_from` says where the threshold comes from: "given", or "tuned
    on the same samples", which flatters the figure a little.
    """

    f1: float
    error_accuracy: float
    correct_accuracy: float
    threshold: float
    threshold_from: str
    first_error_auc: float | None  # of min step score, erroneous against correct; needs no threshold
    samples: int
    unscorable: int


def processbench(
    scored: Sequence[Sequence[StepProbs] | Unscorable],
    first_errors: Sequence[int],
    *,
    threshold: float | None = None,
) -> ProcessBench:
    """Judge step scores s = p(okay) + p(great); the first step with s < threshold is the predicted error.

    `first_errors[i]` is the 0-based index of sample i's first wrong step, -1 for none. Without a threshold the best
    on these very samples is taken. ValueError unless there are both erroneous and correct samples.
    """
    if len(scored) != len(first_errors):
        raise ValueError(f"{len(scored)} scored samples but {len(first_errors)} first errors")
    if all(e >= 0 for e in first_errors) or all(e < 0 for e in first_errors):
        raise ValueError("F1 needs both erroneous and correct samples")
    scores = [None if isinstance(s, Unscorable) else [p.okay + p.great for p in s] for s in scored]
    chosen = tune_threshold(scores, first_errors) if threshold is None else threshold
    on_errors, on_correct = _accuracies(scores, first_errors, chosen)
    known = [(min(s), e) for s, e in zip(scores, first_errors, strict=True) if s]
    return ProcessBench(
        f1=_harmonic(on_errors, on_correct),
        error_accuracy=on_errors,
        correct_accuracy=on_correct,
        threshold=chosen,
        threshold_from="tuned on the same samples" if threshold is None else "given",
        first_error_auc=rank_auc([-low for low, _ in known], [e >= 0 for _, e in known]),
        samples=len(scores),
        unscorable=scores.count(None),
    )


def tune_threshold(scores: Sequence[Sequence[float] | None], first_errors: Sequence[int]) -> float:
    """The threshold with the best F1 among the quantiles of all step scores; the lowest of equals."""
    values = sorted({score for solution in scores if solution for score in solution})
    if not values:
        raise ValueError("no sample could be scored")
    borders = [(a + b) / 2 for a, b in pairwise(values)] or values
    stride = max(1, len(borders) // _THRESHOLDS)
    return max(borders[::stride], key=lambda t: _harmonic(*_accuracies(scores, first_errors, t)))


def _accuracies(
    scores: Sequence[Sequence[float] | None], first_errors: Sequence[int], threshold: float
) -> tuple[float, float]:
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for solution, first_error in zip(scores, first_errors, strict=True):
        found = None if solution is None else next((i for i, s in enumerate(solution) if s < threshold), -1)
        hits[first_error >= 0].append(found == first_error)
    return sum(hits[True]) / len(hits[True]), sum(hits[False]) / len(hits[False])


def _harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b else 0.0
