"""Wilson's interval against published values, and where it could go wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prm_backend.evaluation.intervals import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe (1998), table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_published_intervals_come_out(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


def test_without_a_trial_everything_is_possible() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(0, 500), st.integers(0, 500))
def test_the_share_lies_inside_and_the_interval_within_0_and_1(successes: int, misses: int) -> None:
    trials = successes + misses
    low, high = wilson(successes, trials)
    assert 0 <= low <= high <= 1
    if trials:
        assert low <= successes / trials <= high


@pytest.mark.parametrize("nonsense", [(-1, 3), (4, 3)])
def test_what_is_no_share_is_refused(nonsense: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson(*nonsense)
