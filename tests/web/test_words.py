"""Durations and counts as people say them."""

from __future__ import annotations

import pytest

from annotate.web.words import about, compact, minutes, share_of


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (1234, "1,234"),
        (99_999, "99,999"),
        (123_456, "123k"),
        (999_999, "999k"),
        (1_250_000, "1.2M"),
    ],
)
def test_a_count_fits_its_tile(count: int, shown: str) -> None:
    assert compact(count) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(None, "–"), (0, "0:00"), (59_600, "1:00"), (108_000, "1:48"), (3_600_000, "60:00")],
)
def test_a_working_time_is_minutes_and_seconds(milliseconds: float | None, shown: str) -> None:
    assert minutes(milliseconds) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(1, "10 s"), (44, "40 s"), (200, "3 min"), (7300, "2 h")])
def test_a_time_left_is_no_more_exact_than_it_is_known(seconds: float, shown: str) -> None:
    assert about(seconds) == shown


def test_a_share_of_nothing_is_a_dash() -> None:
    assert (share_of(1, 3), share_of(0, 0)) == ("33 %", "–")
