"""Do people who label the same solutions say the same? Krippendorff's alpha and Cohen's kappa, with intervals.

Sources: K. Krippendorff, "Content Analysis" (alpha, for any number of people and missing ratings, by the package
`krippendorff`); J. Cohen 1960 (kappa, for two people, by scikit-learn). Where a coefficient is undefined it is None
and `why` says why: there is no number to be had from nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import krippendorff
import numpy as np
import numpy.typing as npt
from sklearn.metrics import cohen_kappa_score

from prm_backend.types import Rating, first_error

RATINGS = tuple(sorted(rating.value for rating in Rating))
RESAMPLES = 1000
_MOST_PAIRS = 50
_FEWEST = 10  # solutions below which resampling them says nothing

Counts = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Matrices = npt.NDArray[np.float64]  # (n, values, values)


@dataclass(frozen=True)
class Opinion:
    """One person's ratings of one solution by step; None where a step is not rated, as after the first error."""

    person: Hashable
    solution: Hashable
    ratings: tuple[int | None, ...]

    @property
    def first_error(self) -> int:
        return first_error(self.ratings)


@dataclass(frozen=True)
class Coefficient:
    """`low` and `high`: 95 % by resampling solutions, None with too few. `units` are those two people have rated."""

    value: float | None
    low: float | None = None
    high: float | None = None
    units: int = 0
    solutions: int = 0
    why: str = ""


@dataclass(frozen=True)
class PairAgreement:
    people: tuple[Hashable, Hashable]
    kappa: Coefficient


def step_alpha(opinions: Sequence[Opinion]) -> Coefficient:
    """Alpha on step ratings, ordinal: bad and great are further apart than bad and okay. A unit is a step."""
    tables = []
    for several in _by_solution(opinions):
        longest = max(len(opinion.ratings) for opinion in several)
        table = np.zeros((longest, len(RATINGS)), dtype=np.int64)
        for opinion in several:
            for i, rating in enumerate(opinion.ratings):
                if rating is not None:
                    table[i, RATINGS.index(rating)] += 1
        tables.append(table)
    return _alpha(tables, RATINGS, "ordinal", "step rating")


def first_error_alpha(opinions: Sequence[Opinion]) -> Coefficient:
    """Alpha on the first error's index, nominal: the right step or another. A unit is a solution."""
    several = _by_solution(opinions)
    domain = sorted({opinion.first_error for group in several for opinion in group})
    tables = []
    for group in several:
        table = np.zeros((1, len(domain)), dtype=np.int64)
        for opinion in group:
            table[0, domain.index(opinion.first_error)] += 1
        tables.append(table)
    return _alpha(tables, domain, "nominal", "first error")


def pairwise_kappa(opinions: Sequence[Opinion]) -> list[PairAgreement]:
    """Cohen's kappa on the steps that two people have both rated, for the pairs that share the most steps."""
    shared: dict[tuple[Hashable, Hashable], list[list[tuple[int, int]]]] = defaultdict(list)
    for group in _by_solution(opinions):
        for one, other in combinations(sorted(group, key=lambda opinion: str(opinion.person)), 2):
            both = zip(one.ratings, other.ratings, strict=False)
            steps = [(a, b) for a, b in both if a is not None and b is not None]
            if steps:
                shared[one.person, other.person].append(steps)
    found = [PairAgreement(people, _kappa(solutions)) for people, solutions in shared.items()]
    return sorted(found, key=lambda pair: -pair.kappa.units)[:_MOST_PAIRS]


def _by_solution(opinions: Sequence[Opinion]) -> list[list[Opinion]]:
    """The opinions of each solution that at least two people have."""
    groups: dict[Hashable, list[Opinion]] = defaultdict(list)
    for opinion in opinions:
        groups[opinion.solution].append(opinion)
    return [group for group in groups.values() if len({opinion.person for opinion in group}) > 1]


def _alpha(
    tables: list[Counts], domain: Sequence[int], level: Literal["ordinal", "nominal"], what: str
) -> Coefficient:
    """`tables[i]` counts, for each unit of solution i, how many people gave each value of the domain."""
    tables = [
        table[table.sum(axis=1) > 1] for table in tables
    ]  # what one alone rated says nothing of agreement
    tables = [table for table in tables if len(table)]
    if not tables:
        return Coefficient(None, why=f"no {what} is given by two people yet")
    counts = np.concatenate(tables)
    if (counts.sum(axis=0) > 0).sum() < 2:
        return Coefficient(
            None, None, None, len(counts), len(tables), f"every {what} two people gave is the same one"
        )
    value = float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))
    parts = np.stack([_coincidences(table) for table in tables])
    low, high = _interval(parts, lambda drawn: alphas(drawn, ordinal=level == "ordinal"))
    return Coefficient(value, low, high, len(counts), len(tables))


def _kappa(solutions: list[list[tuple[int, int]]]) -> Coefficient:
    pairs = [pair for steps in solutions for pair in steps]
    if len({rating for pair in pairs for rating in pair}) < 2:
        why = "both gave one and the same rating throughout"
        return Coefficient(None, None, None, len(pairs), len(solutions), why)
    value = float(cohen_kappa_score(*zip(*pairs, strict=True), labels=RATINGS))
    parts = np.zeros((len(solutions), len(RATINGS), len(RATINGS)))
    for part, steps in zip(parts, solutions, strict=True):
        for one, other in steps:
            part[RATINGS.index(one), RATINGS.index(other)] += 1
    low, high = _interval(parts, kappas)
    return Coefficient(value, low, high, len(pairs), len(solutions))


# The packages give each value. An interval takes hundreds, and coincidences of solutions add up: so those of all
# resamples are one product of matrices, and the same formulas are applied to them at once.


def alphas(coincidences: Matrices, *, ordinal: bool) -> Values:
    """Alpha of each of several coincidence matrices, shape (n, values, values); NaN where undefined."""
    given = coincidences.sum(axis=2)
    if ordinal:
        middle = given.cumsum(axis=1) - given / 2
        distances = (middle[:, :, None] - middle[:, None, :]) ** 2
    else:
        distances = np.broadcast_to(1 - np.eye(given.shape[1]), coincidences.shape)
    observed = (coincidences * distances).sum(axis=(1, 2))
    expected = (given[:, :, None] * given[:, None, :] * distances).sum(axis=(1, 2)) / (given.sum(axis=1) - 1)
    return 1 - observed / np.where(expected > 0, expected, np.nan)


def kappas(confusions: Matrices) -> Values:
    """Kappa of each of several confusion matrices, shape (n, values, values); NaN where undefined."""
    total = confusions.sum(axis=(1, 2))
    agreed = np.trace(confusions, axis1=1, axis2=2) / total
    by_chance = (confusions.sum(axis=1) * confusions.sum(axis=2)).sum(axis=1) / total**2
    return 1 - (1 - agreed) / np.where(by_chance < 1, 1 - by_chance, np.nan)


def _coincidences(table: Counts) -> Values:
    weighted = table / (table.sum(axis=1, keepdims=True) - 1)
    return weighted.T @ table - np.diag(weighted.sum(axis=0))


def _interval(
    parts: Matrices, formula: Callable[[Matrices], Values]
) -> tuple[float, float] | tuple[None, None]:
    """The middle 95 % over resampled solutions, whose steps hang together; `parts` is one matrix a solution."""
    n = len(parts)
    if n < _FEWEST:
        return None, None
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    values = formula((drawn @ parts.reshape(n, -1)).reshape(RESAMPLES, *parts.shape[1:]))
    low, high = np.nanpercentile(values, (2.5, 97.5))
    return float(low), float(high)
