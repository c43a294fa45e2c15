"""Aggregation: the figures of the issue, the refusals, and what holds for every list of scores."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prm_backend.reward.aggregation import aggregate, aggregate_scores, step_score
from prm_backend.types import StepProbs

scores = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("steps", "product"),
    [([0.98, 0.91, 0.12], 0.107), ([0.94, 0.92, 0.90], 0.778), ([0.99, 0.40, 0.96], 0.380)],
)
def test_the_three_candidates_have_the_products_of_the_paper_rule(steps: list[float], product: float) -> None:
    assert aggregate_scores(steps).product == pytest.approx(product, abs=5e-4)


def test_neutral_counts_as_positive() -> None:
    found = aggregate([StepProbs(bad=0.1, okay=0.3, great=0.6), StepProbs(bad=0.5, okay=0.5, great=0.0)])
    assert found.product == pytest.approx(0.45)
    assert found.minimum == found.last == pytest.approx(0.5)
    assert found.mean == pytest.approx(0.7)
    assert found.log_product == pytest.approx(math.log(0.45))


def test_no_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one step"):
        aggregate_scores([])
    with pytest.raises(ValueError, match="at least one step"):
        aggregate([])


@pytest.mark.parametrize("bad", [-0.01, 1.01, math.nan, math.inf, -math.inf])
def test_a_score_outside_the_unit_interval_is_refused_and_its_step_named(bad: float) -> None:
    with pytest.raises(ValueError, match=r"step 2 must lie in \[0, 1\]"):
        aggregate_scores([0.5, bad])


def test_rounding_a_hair_above_one_is_clipped() -> None:
    assert aggregate_scores([1 + 1e-9]).product == 1.0
    assert step_score(StepProbs(bad=0.0, okay=0.3 + 1e-8, great=0.7)) == 1.0


@pytest.mark.parametrize(
    "probs", [StepProbs(0.2, 0.2, 0.2), StepProbs(0.5, 0.5, 0.5), StepProbs(-0.5, 0.5, 1.0)]
)
def test_what_is_no_distribution_is_refused(probs: StepProbs) -> None:
    with pytest.raises(ValueError, match=r"must sum to 1|must lie in"):
        aggregate([probs])


def test_a_score_of_zero_keeps_the_logarithm_finite() -> None:
    found = aggregate_scores([0.0, 0.0, 1.0])
    assert math.isfinite(found.log_product)
    assert found.product == 0.0


def test_long_solutions_stay_apart_where_their_products_underflow() -> None:
    better, worse = aggregate_scores([0.1] * 400), aggregate_scores([0.09] * 400)
    assert better.product == worse.product == 0.0
    assert better.log_product > worse.log_product


@given(scores)
def test_every_aggregate_lies_between_the_product_and_one(values: list[float]) -> None:
    found = aggregate_scores(values)
    slack = 1e-9
    assert found.log_product <= 0
    assert 0 <= found.product <= found.minimum + slack
    assert found.minimum <= found.mean <= max(values)
    assert found.product == pytest.approx(math.prod(values), rel=1e-6, abs=1e-300)
    assert found.last == values[-1]


@given(scores, st.randoms())
def test_the_order_of_steps_changes_only_the_last_score(values: list[float], random) -> None:
    shuffled = random.sample(values, len(values))
    a, b = aggregate_scores(values), aggregate_scores(shuffled)
    assert (a.product, a.minimum, a.mean) == (b.product, b.minimum, b.mean)


@given(scores, st.floats(0, 1))
def test_another_step_never_raises_the_product_or_the_minimum(values: list[float], more: float) -> None:
    before, after = aggregate_scores(values), aggregate_scores([*values, more])
    assert after.log_product <= before.log_product
    assert after.minimum <= before.minimum
