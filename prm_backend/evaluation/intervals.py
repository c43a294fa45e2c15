"""Confidence intervals of shares. Plain arithmetic, so that a web process can ask at every submit."""

from __future__ import annotations

import math
from typing import NamedTuple


class Interval(NamedTuple):
    low: float
    high: float


def wilson(successes: int, trials: int, z: float = 1.96) -> Interval:
    """The score interval of a share (Wilson 1927), 95 % by default; (0, 1) without a trial.

    Unlike the textbook interval it stays within [0, 1] and is honest with few trials. Raises ValueError where
    `successes` is not within 0 and `trials`.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no share")
    if trials == 0:
        return Interval(0.0, 1.0)
    share, spread = successes / trials, z * z / trials
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    # At the ends the formula gives the ends themselves; rounding must not put the share outside.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if successes == trials else min(1.0, centre + half))
