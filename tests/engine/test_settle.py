"""Several labels of one solution: a decision, else a majority, else each with its part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prm_backend.evaluation.settle import settle


@pytest.mark.parametrize(
    ("first_errors", "decided", "weights"),
    [
        ([2], [], [1]),
        ([2, 2], [], [0.5, 0.5]),
        ([2, 3], [], [0.5, 0.5]),
        ([2, 2, 3], [], [0.5, 0.5, 0]),
        ([-1, 2, -1, -1], [], [1 / 3, 0, 1 / 3, 1 / 3]),
        ([2, 2, 3, 3], [], [0.25] * 4),
        ([2, 2, 3], [2], [0, 0, 1]),
        ([2, 3, 4], [0, 2], [0, 0, 1]),
    ],
)
def test_a_decision_stands_alone_then_a_majority_then_everybody(
    first_errors: list[int], decided: list[int], weights: list[float]
) -> None:
    marks = [i in decided for i in range(len(first_errors))]
    assert settle(first_errors, marks) == pytest.approx(weights)


def test_no_label_says_nothing() -> None:
    assert settle([], []) == []


@given(st.lists(st.tuples(st.integers(-1, 4), st.booleans()), min_size=1, max_size=9))
def test_a_solution_weighs_one_however_many_labelled_it(labels: list[tuple[int, bool]]) -> None:
    weights = settle([first for first, _ in labels], [decision for _, decision in labels])
    assert sum(weights) == pytest.approx(1)
    assert min(weights) >= 0


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="2 first errors but 1"):
        settle([1, 2], [True])
