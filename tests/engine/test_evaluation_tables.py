"""The tables of a step evaluation: what the report page draws."""

from __future__ import annotations

import pytest

from prm_backend.evaluation.steps import evaluate_steps
from prm_backend.types import LabelledSolution, StepProbs, Unscorable


def _one(*judged: tuple[StepProbs, int]) -> dict[str, list[list[float]]]:
    steps = tuple(f"step {i}" for i in range(len(judged)))
    label = LabelledSolution("p", steps, tuple(rating for _, rating in judged))
    return evaluate_steps([[probs for probs, _ in judged]], [label]).tables


def test_the_confusion_counts_what_was_given_against_what_was_most_probable() -> None:
    tables = _one(
        (StepProbs(0.1, 0.2, 0.7), 1), (StepProbs(0.1, 0.6, 0.3), 1), (StepProbs(0.8, 0.1, 0.1), -1)
    )
    assert tables["confusion"] == [[1, 0, 0], [0, 0, 0], [0, 1, 1]]


def test_reliability_has_a_row_for_each_tenth_that_is_not_empty() -> None:
    tables = _one(
        (StepProbs(0.12, 0.0, 0.88), 1), (StepProbs(0.18, 0.0, 0.82), 0), (StepProbs(1.0, 0.0, 0.0), -1)
    )
    assert tables["reliability"] == [[pytest.approx(0.15), 0.0, 2.0], [1.0, 1.0, 1.0]]


def test_the_rows_of_reliability_add_up_to_the_calibration_error() -> None:
    judged = [
        (StepProbs(p, 0.0, 1 - p), -1 if i % 3 == 0 else 1) for i, p in enumerate((0.05, 0.4, 0.45, 0.97))
    ]
    labels = [LabelledSolution("p", ("s",), (rating,)) for _, rating in judged]
    report = evaluate_steps([[probs] for probs, _ in judged], labels)
    rows = report.tables["reliability"]
    error = sum(n * abs(p - share) for p, share, n in rows) / sum(n for *_, n in rows)
    assert report.metrics["calibration_error"] == pytest.approx(error)


def test_nothing_judged_draws_nothing() -> None:
    label = LabelledSolution("p", ("s",), (1,))
    assert evaluate_steps([Unscorable("too long")], [label]).tables == {}
