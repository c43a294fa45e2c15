"""Agreement between people: published values, what is undefined and why, and intervals that mean something."""

from __future__ import annotations

import random

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from prm_backend.evaluation.agreement import (
    Coefficient,
    Opinion,
    alphas,
    first_error_alpha,
    kappas,
    pairwise_kappa,
    step_alpha,
)


def opinions(*solutions: dict[str, tuple[int | None, ...]]) -> list[Opinion]:
    """Each solution as person → ratings."""
    return [
        Opinion(person, solution, ratings)
        for solution, people in enumerate(solutions)
        for person, ratings in people.items()
    ]


def noisy(n: int, noise: float, seed: int = 0) -> list[Opinion]:
    """Two people, solutions of four steps; the second says something else with probability `noise`."""
    dice = random.Random(seed)
    found = []
    for _ in range(n):
        one = tuple(dice.choice((-1, 0, 1)) for _ in range(4))
        other = tuple(dice.choice((-1, 0, 1)) if dice.random() < noise else rating for rating in one)
        found.append({"ada": one, "ben": other})
    return opinions(*found)


def test_alpha_on_steps_is_what_the_ordinal_formula_gives_by_hand() -> None:
    """alpha = 1 - (n - 1) · Σ o d² / Σ n n d² (Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011)."""
    found = step_alpha(opinions({"ada": (-1, -1, 0, 1, 1), "ben": (-1, 0, 0, 1, 1)}))
    # 10 ratings: bad 3, okay 3, great 4; so bad is 3 from okay, okay 3.5 from great, bad 6.5 from great
    expected = 1 - 9 * (2 * 3**2) / (2 * (3 * 3 * 3**2 + 3 * 4 * 3.5**2 + 3 * 4 * 6.5**2))
    assert found.value == pytest.approx(expected)
    assert (found.units, found.solutions) == (5, 1)


def test_bad_against_great_counts_more_than_bad_against_okay() -> None:
    near = step_alpha(opinions({"ada": (-1, 0, 1, 1, 0, -1), "ben": (0, 0, 1, 1, 0, -1)}))
    far = step_alpha(opinions({"ada": (-1, 0, 1, 1, 0, -1), "ben": (1, 0, 1, 1, 0, -1)}))
    assert near.value is not None
    assert far.value is not None
    assert near.value > far.value


def test_a_first_error_is_the_right_one_or_another_however_near() -> None:
    near = first_error_alpha(opinions({"a": (1, -1), "b": (1, 1, -1)}, {"a": (-1,), "b": (-1,)}))
    far = first_error_alpha(opinions({"a": (1, -1), "b": (1,) * 8 + (-1,)}, {"a": (-1,), "b": (-1,)}))
    assert near.value == pytest.approx(far.value)


def test_kappa_is_cohens_for_each_pair_on_the_steps_both_rated() -> None:
    # po = 3/4; ada: 2 bad, 2 great; ben: 1 bad, 3 great; pe = 2/4·1/4 + 2/4·3/4 = 1/2
    pairs = pairwise_kappa(opinions({"ben": (-1, 1, 1, 1, None), "ada": (-1, -1, 1, 1, 0), "cleo": (None,)}))
    assert [pair.people for pair in pairs] == [("ada", "ben")]
    assert pairs[0].kappa.value == pytest.approx(0.5)
    assert pairs[0].kappa.units == 4


@pytest.mark.parametrize("coefficient", [step_alpha, first_error_alpha])
def test_without_two_people_on_one_solution_there_is_no_number(coefficient: object) -> None:
    for nothing in (opinions(), opinions({"ada": (1, -1)}, {"ben": (1, 1)})):
        found: Coefficient = coefficient(nothing)  # type: ignore[operator]
        assert found.value is None
        assert "two people yet" in found.why
    assert pairwise_kappa(opinions({"ada": (1, -1)})) == []


def test_one_person_twice_is_no_agreement() -> None:
    twice = [Opinion("ada", 1, (1, -1)), Opinion("ada", 1, (1, -1))]
    assert step_alpha(twice).value is None


def test_where_all_say_the_same_always_it_is_undefined_and_not_perfect() -> None:
    same = opinions(*[{"ada": (1, 1), "ben": (1, 1)}] * 12)
    for found in (step_alpha(same), first_error_alpha(same), pairwise_kappa(same)[0].kappa):
        assert (found.value, found.low, found.high) == (None, None, None)
        assert "same" in found.why


def test_perfect_agreement_is_one_and_chance_is_about_zero() -> None:
    assert step_alpha(noisy(60, 0.0)).value == 1.0
    chance = step_alpha(noisy(200, 1.0))
    assert chance.value == pytest.approx(0, abs=0.1)
    assert chance.low is not None
    assert chance.high is not None
    assert chance.low < 0 < chance.high


def test_the_interval_holds_the_value_shrinks_with_more_and_is_the_same_each_time() -> None:
    few, many = step_alpha(noisy(20, 0.4)), step_alpha(noisy(200, 0.4))
    for found in (few, many):
        assert found.low is not None
        assert found.high is not None
        assert found.value is not None
        assert found.low < found.value < found.high
    assert few.high - few.low > many.high - many.low
    assert step_alpha(noisy(20, 0.4)) == few


def test_too_few_solutions_have_no_interval() -> None:
    found = step_alpha(noisy(9, 0.5))
    assert found.value is not None
    assert (found.low, found.high) == (None, None)


def test_what_one_person_rated_alone_does_not_inflate_agreement() -> None:
    base = {"ada": (1, -1, None, None), "ben": (1, 1, 1, 1)}
    assert step_alpha(opinions(base)).units == 2
    alone = opinions(base, *[{"ada": (1, 1, 1, 1)}] * 20)
    assert step_alpha(alone) == step_alpha(opinions(base))


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=12), st.booleans())
def test_the_formula_of_the_resamples_is_the_packages(units: list[list[int]], ordinal: bool) -> None:
    counts = np.array([unit for unit in units if sum(unit) > 1], dtype=np.int64).reshape(-1, 3)
    if (counts.sum(axis=0) > 0).sum() < 2:
        return
    level = "ordinal" if ordinal else "nominal"
    expected = krippendorff.alpha(value_counts=counts, value_domain=[-1, 0, 1], level_of_measurement=level)
    weights = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidences = weights.T @ counts - np.diag(weights.sum(axis=0))
    assert alphas(coincidences[None], ordinal=ordinal)[0] == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=30))
def test_so_is_that_of_kappa(pairs: list[tuple[int, int]]) -> None:
    if len({rating for pair in pairs for rating in pair}) < 2:
        return
    confusion = np.zeros((1, 3, 3))
    for one, other in pairs:
        confusion[0, one, other] += 1
    expected = cohen_kappa_score(*zip(*pairs, strict=True), labels=[0, 1, 2])
    assert kappas(confusion)[0] == pytest.approx(expected)


@given(st.lists(st.lists(st.sampled_from([-1, 0, 1, None]), min_size=1, max_size=5), min_size=2, max_size=6))
def test_the_order_of_people_changes_nothing(ratings: list[list[int | None]]) -> None:
    people = {f"p{i}": tuple(given) for i, given in enumerate(ratings)}
    back = dict(reversed(people.items()))
    for coefficient in (step_alpha, first_error_alpha):
        one, other = coefficient(opinions(people)), coefficient(opinions(back))
        assert (one.value is None) == (other.value is None)
        if one.value is not None:
            assert one.value == pytest.approx(other.value)
            assert one.value <= 1
