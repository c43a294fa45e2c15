"""How well step scores agree with step labels. Pure arithmetic over probabilities and ratings."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from prm_backend.config import taught
from prm_backend.types import (
    EVEN,
    NEWLINE,
    LabelledSolution,
    Rating,
    Report,
    StepProbs,
    StepScorer,
    Unscorable,
    first_error,
)

RATINGS = (Rating.BAD, Rating.OKAY, Rating.GREAT)
_BINS = 10
_LENGTHS = ((1, 3), (4, 6), (7, 10), (11, 10**9))  # steps of a whole solution
_MOST_GROUPS = 20  # of a kind; the rest are told together
_SLICED = (
    "solutions",
    "steps",
    "bad_steps",
    "log_likelihood",
    "auc",
    "balanced_accuracy_at_threshold",
    "first_error_accuracy_at_threshold",
)

Figures = dict[str, float | int | None]


class _Judged(NamedTuple):
    """A solution with the probabilities and ratings of its supervised steps, those behind its context."""

    label: LabelledSolution
    steps: list[tuple[StepProbs, int]]

    @property
    def first_error(self) -> int:
        return first_error(rating for _, rating in self.steps)


def evaluate_steps(
    scored: Sequence[Sequence[StepProbs] | Unscorable],
    labels: Sequence[LabelledSolution],
    *,
    threshold: float = EVEN,
    neutral: str = "okay",
) -> Report:
    """Judge `scored[i]` by the supervised steps of `labels[i]`: a StepProbs for each step behind its context.

    Extra scores are not looked at; context is not judged.

    A step is called wrong where p(bad) > 0.5, and, for the figures `_at_threshold`, where p(bad) > `threshold`, the
    PRM's own: where few steps are bad, hardly one is more likely bad than not, and 0.5 finds none of them. `neutral` is
    what a rating of 0 was to the PRM (`PRMConfig.neutral`): one that learnt no "okay" is not asked how likely it is.

    Metrics, None where the labels cannot tell:
      solutions, steps, human_steps   what was judged; human_steps leaves out ratings copied from grades
      bad_steps                       of them, those rated -1
      unscorable                      solutions left out because the PRM refused them
      log_likelihood, base_log_likelihood
                                      mean log p(what the rating teaches) a step; and of always predicting the labels'
                                      own shares; comparable among PRMs of the same `neutral`
      step_accuracy, majority_accuracy, balanced_accuracy
                                      bad or not; always guessing the commoner; mean of both recalls
      auc                             P(a bad step has a higher p(bad) than another), ties half
      macro_auc                       the mean over the ratings that occur of one against the rest
      rating_accuracy                 the most probable of the three ratings
      first_error_accuracy, error_accuracy, correct_accuracy
                                      the first step called wrong is exactly the first error, or neither exists;
                                      over all solutions, over those with an error, over those without
      first_error_f1                  ProcessBench's: harmonic mean of the last two, at the threshold
      calibration_error               of p(bad), in ten bins of equal width (ECE)
    Tables, left out where nothing was judged:
      confusion     [given][predicted] counts of ratings, in the order of RATINGS; predicted is the most probable
      confusion_at_threshold          the same, where bad is predicted above the threshold
      reliability   a row a bin of p(bad) that is not empty: mean p(bad), share of bad steps, number of steps
    Slices: by "length", the number of steps of the solution, and by each kind of its `groups`, a row of some of these
    metrics for each part.
    ValueError where a solution has fewer scores than supervised steps.
    """
    judged: list[_Judged] = []
    unscorable = 0
    for probs, solution in zip(scored, labels, strict=True):
        steps = solution.supervised_steps - solution.context
        if isinstance(probs, Unscorable):
            unscorable += 1
            continue
        if len(probs) < steps:
            raise ValueError(f"{len(probs)} scores for {steps} supervised steps (id {solution.id!r})")
        ratings = [rating for rating in solution.ratings[solution.context :][:steps] if rating is not None]
        if ratings:
            judged.append(_Judged(solution, list(zip(probs, ratings, strict=False))))
    pairs = [pair for one in judged for pair in one.steps]
    metrics = _figures(judged, threshold, neutral) | {
        "human_steps": sum(len(one.steps) for one in judged if not one.label.outcome_only),
        "unscorable": unscorable,
        "threshold": threshold,
    }
    notes = (f"{unscorable} held-out solutions could not be scored",) if unscorable else ()
    tables = _tables(pairs, threshold) if pairs else {}
    return Report(metrics, notes=notes, tables=tables, slices=_slices(judged, threshold, neutral))


def judge(
    scorer: StepScorer,
    labels: Sequence[LabelledSolution],
    *,
    segmentation: str = NEWLINE,
    threshold: float = EVEN,
    neutral: str = "okay",
) -> Report:
    """`evaluate_steps` by a scorer, which reads each solution up to its last supervised step, as in training.

    `segmentation` says how the labels' steps were cut; ValueError from a PRM that was trained on others.
    """
    prefixes = [label.steps[: label.supervised_steps] for label in labels]
    problems = [label.problem for label in labels]
    found = scorer.score(problems, prefixes, segmentation=segmentation)
    scored = [
        probs if isinstance(probs, Unscorable) else probs[label.context :]
        for probs, label in zip(found, labels, strict=True)
    ]
    return evaluate_steps(scored, labels, threshold=threshold, neutral=neutral)


def first_above(p_bad: Iterable[float], threshold: float) -> int:
    """The 0-based index of the first step called wrong, -1 for none."""
    return next((i for i, p in enumerate(p_bad) if p > threshold), -1)


def rank_auc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """P(a positive's score exceeds a negative's), ties counting half; None where there are not both."""
    positives = [s for s, p in zip(scores, positive, strict=True) if p]
    negatives = sorted(s for s, p in zip(scores, positive, strict=True) if not p)
    if not positives or not negatives:
        return None
    wins = sum(bisect_left(negatives, s) + bisect_right(negatives, s) for s in positives)
    return wins / (2 * len(positives) * len(negatives))


def _figures(judged: Sequence[_Judged], threshold: float, neutral: str) -> Figures:
    pairs = [pair for one in judged for pair in one.steps]
    at_threshold = _decisions(judged, threshold)
    found, clean = at_threshold["error_accuracy"], at_threshold["correct_accuracy"]
    return {
        "solutions": len(judged),
        **_step_figures(pairs),
        **_likelihoods(pairs, neutral),
        **_decisions(judged, EVEN),
        **{f"{name}_at_threshold": value for name, value in at_threshold.items()},
        "first_error_f1": None if found is None or clean is None else harmonic(found, clean),
    }


def _decisions(judged: Sequence[_Judged], threshold: float) -> Figures:
    """What is right where each step is called wrong above the threshold."""
    hits: dict[bool, list[bool]] = {True: [], False: []}  # by whether the step is bad
    exact: dict[bool, list[bool]] = {True: [], False: []}  # by whether the solution has an error
    for one in judged:
        for probs, rating in one.steps:
            hits[rating == Rating.BAD].append((probs.bad > threshold) == (rating == Rating.BAD))
        found = first_above((probs.bad for probs, _ in one.steps), threshold)
        exact[one.first_error >= 0].append(found == one.first_error)
    return {
        "step_accuracy": _mean([*hits[True], *hits[False]]),
        "balanced_accuracy": _mean_of_all([_mean(hits[True]), _mean(hits[False])]),
        "first_error_accuracy": _mean([*exact[True], *exact[False]]),
        "error_accuracy": _mean(exact[True]),
        "correct_accuracy": _mean(exact[False]),
    }


def _step_figures(pairs: Sequence[tuple[StepProbs, int]]) -> Figures:
    bad = [rating == Rating.BAD for _, rating in pairs]
    p_bad = [probs.bad for probs, _ in pairs]
    counts = Counter(rating for _, rating in pairs)
    aucs = [
        rank_auc([probs[rating + 1] for probs, _ in pairs], [r == rating for _, r in pairs])
        for rating in RATINGS
        if counts[rating]
    ]
    return {
        "steps": len(pairs),
        "bad_steps": sum(bad),
        "majority_accuracy": max(sum(bad), len(bad) - sum(bad)) / len(bad) if bad else None,
        "auc": rank_auc(p_bad, bad),
        "macro_auc": _mean_of_all(aucs),
        "rating_accuracy": _mean(
            [max(RATINGS, key=lambda r: probs[r + 1]) == rating for probs, rating in pairs]
        ),
        "calibration_error": _calibration_error(p_bad, bad),
    }


def _likelihoods(pairs: Sequence[tuple[StepProbs, int]], neutral: str) -> Figures:
    known = [(probs, meant) for probs, rating in pairs if (meant := taught(rating, neutral)) is not None]
    shares = [count / len(known) for count in Counter(meant for _, meant in known).values()]
    return {
        "log_likelihood": _mean([math.log(max(probs[m + 1], sys.float_info.min)) for probs, m in known]),
        "base_log_likelihood": math.fsum(s * math.log(s) for s in shares) if known else None,
    }


def _slices(
    judged: Sequence[_Judged], threshold: float, neutral: str
) -> dict[str, list[dict[str, float | int | str | None]]]:
    lengths = [
        (f"{low}–{high}" if high < _LENGTHS[-1][1] else f"{low} or more",
         [one for one in judged if low <= len(one.label.steps) <= high])
        for low, high in _LENGTHS
    ]  # fmt: skip
    parts = {"length": [(name, some) for name, some in lengths if some]}
    for kind in dict.fromkeys(kind for one in judged for kind, _ in one.label.groups):
        parts[kind] = _by_group(judged, kind)
    return {
        kind: [{"name": name, **{k: v for k, v in _figures(some, threshold, neutral).items() if k in _SLICED}}
               for name, some in rows]
        for kind, rows in parts.items() if rows
    }  # fmt: skip


def _by_group(judged: Sequence[_Judged], kind: str) -> list[tuple[str, list[_Judged]]]:
    """The solutions of each group of that kind, by name; what is in none of the largest comes last, together."""
    groups: dict[str, list[_Judged]] = {}
    for one in judged:
        groups.setdefault(dict(one.label.groups).get(kind, ""), []).append(one)
    largest = sorted((name for name in groups if name), key=lambda name: (-len(groups[name]), name))
    kept = sorted(largest[:_MOST_GROUPS])
    others = [one for name, some in groups.items() if name not in kept for one in some]
    return [(name, groups[name]) for name in kept] + ([("others", others)] if others else [])


def harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b else 0.0


def _tables(pairs: Sequence[tuple[StepProbs, int]], threshold: float) -> dict[str, list[list[float]]]:
    bins = _bins([probs.bad for probs, _ in pairs], [rating == Rating.BAD for _, rating in pairs])
    reliability = [
        [math.fsum(p for p, _ in rows) / len(rows), sum(b for _, b in rows) / len(rows), float(len(rows))]
        for _, rows in sorted(bins.items())
    ]
    return {
        "confusion": _confusion(pairs, lambda probs: max(range(len(RATINGS)), key=lambda i: probs[i])),
        "confusion_at_threshold": _confusion(
            pairs, lambda probs: 0 if probs.bad > threshold else 1 + (probs.great > probs.okay)
        ),
        "reliability": reliability,
    }


def _confusion(
    pairs: Sequence[tuple[StepProbs, int]], predict: Callable[[StepProbs], int]
) -> list[list[float]]:
    counts = [[0.0] * len(RATINGS) for _ in RATINGS]
    for probs, rating in pairs:
        counts[rating + 1][predict(probs)] += 1
    return counts


def _calibration_error(p_bad: Sequence[float], bad: Sequence[bool]) -> float | None:
    gaps = [abs(sum(p for p, _ in rows) - sum(b for _, b in rows)) for rows in _bins(p_bad, bad).values()]
    return sum(gaps) / len(bad) if bad else None


def _bins(p_bad: Sequence[float], bad: Sequence[bool]) -> dict[int, list[tuple[float, bool]]]:
    """The steps by tenth of p(bad); empty tenths are missing."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for p, is_bad in zip(p_bad, bad, strict=True):
        bins.setdefault(min(int(p * _BINS), _BINS - 1), []).append((p, is_bad))
    return bins


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """None where any is missing: a balanced figure out of one side would mislead."""
    known = [value for value in values if value is not None]
    return _mean(known) if len(known) == len(values) else None
