"""How well step scores agree with step labels. Pure arithmetic over probabilities and ratings."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence

from prm_backend.types import NEWLINE, LabelledSolution, Rating, Report, StepProbs, StepScorer, Unscorable

RATINGS = (Rating.BAD, Rating.OKAY, Rating.GREAT)
_BINS = 10


def evaluate_steps(
    scored: Sequence[Sequence[StepProbs] | Unscorable], labels: Sequence[LabelledSolution]
) -> Report:
    """Judge `scored[i]`, a StepProbs a step, by the supervised steps of `labels[i]`; extra scores are not looked at.

    Metrics, None where the labels cannot tell:
      solutions, steps, human_steps   what was judged; human_steps leaves out ratings copied from grades
      unscorable                      solutions left out because the PRM refused them
      log_likelihood, base_log_likelihood
                                      mean log p(rating) a step; and of always predicting the labels' own shares
      step_accuracy, majority_accuracy, balanced_accuracy
                                      bad or not, by p(bad) > 0.5; always guessing the commoner; mean of both recalls
      auc                             P(a bad step has a higher p(bad) than another), ties half
      macro_auc                       the mean over the ratings that occur of one against the rest
      rating_accuracy                 the most probable of the three ratings
      first_error_accuracy, error_accuracy, correct_accuracy
                                      the first step with p(bad) > 0.5 is exactly the first error, or neither exists;
                                      over all solutions, over those with an error, over those without
      calibration_error               of p(bad), in ten bins of equal width (ECE)
    Tables, left out where nothing was judged:
      confusion     [given][predicted] counts of ratings, in the order of RATINGS; predicted is the most probable
      reliability   a row a bin of p(bad) that is not empty: mean p(bad), share of bad steps, number of steps
    ValueError where a solution has fewer scores than supervised steps.
    """
    pairs: list[tuple[StepProbs, int]] = []
    exact: dict[bool, list[bool]] = {True: [], False: []}  # by whether the solution has an error
    human_steps = unscorable = 0
    for probs, solution in zip(scored, labels, strict=True):
        steps = solution.supervised_steps
        if isinstance(probs, Unscorable):
            unscorable += 1
            continue
        if len(probs) < steps:
            raise ValueError(f"{len(probs)} scores for {steps} supervised steps (id {solution.id!r})")
        if steps == 0:
            continue
        ratings = [rating for rating in solution.ratings[:steps] if rating is not None]
        pairs += zip(probs, ratings, strict=False)
        human_steps += 0 if solution.outcome_only else steps
        found = next((i for i, p in enumerate(probs[:steps]) if p.bad > 0.5), -1)
        exact[solution.first_error >= 0].append(found == solution.first_error)
    metrics: dict[str, float | int | None] = {
        "solutions": len(exact[True]) + len(exact[False]),
        "steps": len(pairs),
        "human_steps": human_steps,
        "unscorable": unscorable,
        "first_error_accuracy": _mean([*exact[True], *exact[False]]),
        "error_accuracy": _mean(exact[True]),
        "correct_accuracy": _mean(exact[False]),
    }
    notes = (f"{unscorable} held-out solutions could not be scored",) if unscorable else ()
    return Report(metrics | _step_metrics(pairs), notes=notes, tables=_tables(pairs) if pairs else {})


def judge(scorer: StepScorer, labels: Sequence[LabelledSolution], *, segmentation: str = NEWLINE) -> Report:
    """`evaluate_steps` by a scorer, which reads each solution up to its last supervised step, as in training.

    `segmentation` says how the labels' steps were cut; ValueError from a PRM that was trained on others.
    """
    prefixes = [label.steps[: label.supervised_steps] for label in labels]
    problems = [label.problem for label in labels]
    return evaluate_steps(scorer.score(problems, prefixes, segmentation=segmentation), labels)


def rank_auc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """P(a positive's score exceeds a negative's), ties counting half; None where there are not both."""
    positives = [s for s, p in zip(scores, positive, strict=True) if p]
    negatives = sorted(s for s, p in zip(scores, positive, strict=True) if not p)
    if not positives or not negatives:
        return None
    wins = sum(bisect_left(negatives, s) + bisect_right(negatives, s) for s in positives)
    return wins / (2 * len(positives) * len(negatives))


def _step_metrics(pairs: Sequence[tuple[StepProbs, int]]) -> dict[str, float | int | None]:
    bad = [rating == Rating.BAD for _, rating in pairs]
    p_bad = [probs.bad for probs, _ in pairs]
    hits = [(p > 0.5) == is_bad for p, is_bad in zip(p_bad, bad, strict=True)]
    recalls = [_mean([hit for hit, b in zip(hits, bad, strict=True) if b == side]) for side in (True, False)]
    counts = Counter(rating for _, rating in pairs)
    aucs = [
        rank_auc([probs[rating + 1] for probs, _ in pairs], [r == rating for _, r in pairs])
        for rating in RATINGS
        if counts[rating]
    ]
    logs = [math.log(max(probs[rating + 1], sys.float_info.min)) for probs, rating in pairs]
    shares = [count / len(pairs) for count in counts.values()]
    return {
        "log_likelihood": _mean(logs),
        "base_log_likelihood": math.fsum(s * math.log(s) for s in shares) if pairs else None,
        "step_accuracy": _mean(hits),
        "majority_accuracy": max(sum(bad), len(bad) - sum(bad)) / len(bad) if bad else None,
        "balanced_accuracy": _mean_of_all(recalls),
        "auc": rank_auc(p_bad, bad),
        "macro_auc": _mean_of_all(aucs),
        "rating_accuracy": _mean(
            [max(RATINGS, key=lambda r: probs[r + 1]) == rating for probs, rating in pairs]
        ),
        "calibration_error": _calibration_error(p_bad, bad),
    }


def _tables(pairs: Sequence[tuple[StepProbs, int]]) -> dict[str, list[list[float]]]:
    confusion = [[0.0] * len(RATINGS) for _ in RATINGS]
    for probs, rating in pairs:
        confusion[rating + 1][max(range(len(RATINGS)), key=lambda i: probs[i])] += 1
    bins = _bins([probs.bad for probs, _ in pairs], [rating == Rating.BAD for _, rating in pairs])
    reliability = [
        [math.fsum(p for p, _ in rows) / len(rows), sum(b for _, b in rows) / len(rows), float(len(rows))]
        for _, rows in sorted(bins.items())
    ]
    return {"confusion": confusion, "reliability": reliability}


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
