"""ProcessBench's figure: is the first wrong step found exactly (Zheng et al., arXiv 2412.06559)? Pure arithmetic."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from prm_backend.evaluation.steps import harmonic, rank_auc
from prm_backend.types import LabelledSolution, StepProbs, Unscorable

_THRESHOLDS = 400
_RESAMPLES = 1000

Scored = Sequence[Sequence[StepProbs] | Unscorable]
Scores = Sequence[Sequence[float] | None]  # of the steps of each sample; None where it could not be scored


@dataclass(frozen=True)
class ProcessBench:
    """`f1` is the harmonic mean of the exact-index accuracies on erroneous and on correct samples.

    `low` and `high` are its middle 95 % over resampled samples, at the same threshold. An unscorable sample counts as
    missed. `threshold_from` says where the threshold comes from: "given", "tuned on the same samples", which flatters
    the figure a little, or "tuned on one half for the other", which does not; then it is the mean of both.
    """

    f1: float
    low: float
    high: float
    error_accuracy: float
    correct_accuracy: float
    threshold: float
    threshold_from: str
    first_error_auc: float | None  # of min step score, erroneous against correct; needs no threshold
    samples: int
    erroneous: int
    unscorable: int


class Difference(NamedTuple):
    """Of two F1; `low` and `high` are its middle 95 % over resampled samples."""

    f1: float
    low: float
    high: float


def processbench(
    scored: Scored, first_errors: Sequence[int], *, threshold: float | None = None
) -> ProcessBench:
    """Judge step scores s = p(okay) + p(great); the first step with s < threshold is the predicted error.

    `first_errors[i]` is the 0-based index of sample i's first wrong step, -1 for none. Without a threshold the best
    on these very samples is taken. ValueError unless there are both erroneous and correct samples.
    """
    scores = _scores(scored, first_errors)
    chosen = tune_threshold(scores, first_errors) if threshold is None else threshold
    told = "tuned on the same samples" if threshold is None else "given"
    return _judge(scores, first_errors, [chosen] * len(scores), told)


def crossed(scored: Scored, first_errors: Sequence[int], problems: Sequence[str]) -> ProcessBench | None:
    """As `processbench`, where each half of the problems is judged by the threshold that is best on the other.

    Which half a problem is in depends on its text alone. None where a half lacks erroneous or correct samples.
    """
    scores = _scores(scored, first_errors)
    halves = [
        hashlib.sha256(problem.encode("utf-8", "surrogatepass")).digest()[0] % 2 for problem in problems
    ]
    tuned = []
    for half in (0, 1):
        others = [i for i, own in enumerate(halves) if own != half]
        if len({first_errors[i] >= 0 for i in others}) < 2 or not any(scores[i] for i in others):
            return None
        tuned.append(tune_threshold([scores[i] for i in others], [first_errors[i] for i in others]))
    return _judge(scores, first_errors, [tuned[half] for half in halves], "tuned on one half for the other")


def compared(
    one: Scored,
    other: Scored,
    first_errors: Sequence[int],
    *,
    thresholds: tuple[float, float] | None = None,
) -> Difference:
    """F1 of `one` less that of `other` on the very same samples, by a paired bootstrap (Efron and Tibshirani, 1993).

    Thresholds as in `processbench`: without, each has the one that is best for it. Two intervals that touch may still
    belong to a difference that is sure, since both miss the same hard samples. ValueError as there.
    """
    both = [_scores(scored, first_errors) for scored in (one, other)]
    chosen = thresholds or [tune_threshold(scores, first_errors) for scores in both]
    hits = np.array(
        [_hits(scores, first_errors, [t] * len(scores)) for scores, t in zip(both, chosen, strict=True)]
    )
    erroneous = np.array(first_errors) >= 0
    random = np.random.default_rng(0)
    means = []
    for side in (erroneous, ~erroneous):
        found = hits[:, side]
        drawn = random.integers(found.shape[1], size=(_RESAMPLES, found.shape[1]))
        means.append(np.column_stack([found.mean(axis=1), found[:, drawn].mean(axis=2)]))
    f1 = _harmonics(*means)
    difference = f1[0] - f1[1]  # that of the samples themselves comes first
    low, high = np.percentile(difference[1:], (2.5, 97.5))
    return Difference(float(difference[0]), float(low), float(high))


def fit_threshold(scored: Scored, labels: Sequence[LabelledSolution]) -> float | None:
    """The p(bad) above which to call a step wrong, by the best F1 on labels; None where these cannot tell."""
    known = [
        ([1 - probs.bad for probs in found], label.first_error)
        for found, label in zip(scored, labels, strict=True)
        if found and not isinstance(found, Unscorable)
    ]
    if len({first_error >= 0 for _, first_error in known}) < 2:
        return None
    return 1 - tune_threshold([scores for scores, _ in known], [first_error for _, first_error in known])


def tune_threshold(scores: Scores, first_errors: Sequence[int]) -> float:
    """The threshold with the best F1 among the quantiles of all step scores; the lowest of equals."""
    values = sorted({score for solution in scores if solution for score in solution})
    if not values:
        raise ValueError("no sample could be scored")
    borders = [(a + b) / 2 for a, b in pairwise(values)] or values
    stride = max(1, len(borders) // _THRESHOLDS)

    def f1(threshold: float) -> float:
        return harmonic(*_accuracies(_hits(scores, first_errors, [threshold] * len(scores)), first_errors))

    return max(borders[::stride], key=f1)


def _scores(scored: Scored, first_errors: Sequence[int]) -> Scores:
    if len(scored) != len(first_errors):
        raise ValueError(f"{len(scored)} scored samples but {len(first_errors)} first errors")
    if all(e >= 0 for e in first_errors) or all(e < 0 for e in first_errors):
        raise ValueError("F1 needs both erroneous and correct samples")
    return [None if isinstance(s, Unscorable) else [p.okay + p.great for p in s] for s in scored]


def _judge(
    scores: Scores, first_errors: Sequence[int], thresholds: Sequence[float], told: str
) -> ProcessBench:
    hits = _hits(scores, first_errors, thresholds)
    on_errors, on_correct = _accuracies(hits, first_errors)
    low, high = _interval(hits, first_errors)
    known = [(min(s), e) for s, e in zip(scores, first_errors, strict=True) if s]
    return ProcessBench(
        f1=harmonic(on_errors, on_correct),
        low=low,
        high=high,
        error_accuracy=on_errors,
        correct_accuracy=on_correct,
        threshold=sum(set(thresholds)) / len(set(thresholds)),
        threshold_from=told,
        first_error_auc=rank_auc([-low for low, _ in known], [e >= 0 for _, e in known]),
        samples=len(scores),
        erroneous=sum(e >= 0 for e in first_errors),
        unscorable=sum(s is None for s in scores),
    )


def _hits(scores: Scores, first_errors: Sequence[int], thresholds: Sequence[float]) -> list[bool]:
    hits = []
    for solution, first_error, threshold in zip(scores, first_errors, thresholds, strict=True):
        found = None if solution is None else next((i for i, s in enumerate(solution) if s < threshold), -1)
        hits.append(found == first_error)
    return hits


def _accuracies(hits: Sequence[bool], first_errors: Sequence[int]) -> tuple[float, float]:
    by_side: dict[bool, list[bool]] = {True: [], False: []}
    for hit, first_error in zip(hits, first_errors, strict=True):
        by_side[first_error >= 0].append(hit)
    return sum(by_side[True]) / len(by_side[True]), sum(by_side[False]) / len(by_side[False])


def _interval(hits: Sequence[bool], first_errors: Sequence[int]) -> tuple[float, float]:
    """Each side resampled by itself, as ProcessBench's figure knows no proportion of the two."""
    random = np.random.default_rng(0)
    sides = [
        [h for h, e in zip(hits, first_errors, strict=True) if (e >= 0) == side] for side in (True, False)
    ]
    drawn = [random.binomial(len(side), sum(side) / len(side), _RESAMPLES) / len(side) for side in sides]
    low, high = np.percentile(_harmonics(*drawn), (2.5, 97.5))
    return float(low), float(high)


def _harmonics(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As `harmonic`, of each pair; 0 where both are."""
    total = a + b
    return 2 * a * b / np.where(total > 0, total, 1)
