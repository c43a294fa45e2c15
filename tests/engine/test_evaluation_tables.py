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


def _solution(n_steps: int, first_error: int = -1, **groups: str) -> LabelledSolution:
    ratings = tuple(-1 if i == first_error else 1 for i in range(n_steps))
    return LabelledSolution("p", ("s",) * n_steps, ratings, groups=tuple(groups.items()))


def _slices(*labels: LabelledSolution) -> dict[str, list[dict[str, float | int | str | None]]]:
    """As a PRM sees them that calls no step wrong."""
    return evaluate_steps([[StepProbs(0.1, 0.0, 0.9)] * len(one.steps) for one in labels], labels).slices


def test_figures_are_told_by_length_and_the_parts_add_up() -> None:
    rows = _slices(_solution(2), _solution(3, 1), _solution(7), _solution(30))["length"]
    assert [(row["name"], row["solutions"]) for row in rows] == [("1–3", 2), ("7–10", 1), ("11 or more", 1)]
    assert [row["first_error_accuracy_at_threshold"] for row in rows] == [0.5, 1.0, 1.0]
    assert sum(int(row["steps"] or 0) for row in rows) == 2 + 2 + 7 + 30


def test_figures_are_told_by_group_and_what_has_none_is_told_apart() -> None:
    found = _slices(
        _solution(1, subject="Algebra"), _solution(2, 0, subject="Geometry", level="3"), _solution(1)
    )
    assert [row["name"] for row in found["subject"]] == ["Algebra", "Geometry", "others"]
    assert [(row["name"], row["bad_steps"]) for row in found["level"]] == [("3", 1), ("others", 0)]


def test_of_very_many_groups_the_largest_are_told() -> None:
    labels = [_solution(1, source=f"s{i:03}") for i in range(50)] + [_solution(1, source="s049")]
    rows = _slices(*labels)["source"]
    assert len(rows) == 21
    assert ("s049", 2) in [(row["name"], row["solutions"]) for row in rows]
    assert (rows[-1]["name"], rows[-1]["solutions"]) == ("others", 30)
