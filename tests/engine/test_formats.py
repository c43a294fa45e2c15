"""Step labels in other tools' formats: what a format can hold comes back equal, the rest is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prm_backend.text.stepwise import TAG, Neutral
from prm_backend.types import LabelledSolution, Rating
from tests.engine.formats import read_back, solutions, written


@settings(max_examples=40)
@given(solutions())
def test_step_labels_come_back_equal_up_to_the_first_error(solution: LabelledSolution) -> None:
    row, lost = written("step-labels", solution)
    found = read_back("step-labels", row)
    end = solution.first_error + 1 or len(solution.steps)
    assert (found.problem, found.steps, found.id) == (solution.problem, solution.steps, solution.id)
    assert found.ratings[:end] == solution.ratings[:end]
    assert set(found.ratings[end:]) <= {None}
    after = sum(rating is not None for rating in solution.ratings[end:])
    assert lost == ({"ratings after the first error": after} if after else {})


@settings(max_examples=40)
@given(solutions(), st.floats(0.1, 5))
def test_ratings_that_all_count_come_back_whole(solution: LabelledSolution, weight: float) -> None:
    copied = replace(solution, ratings=(-1,) * len(solution.steps), outcome_only=True, weight=weight)
    for whole in (copied, replace(solution, beyond_error=True, context=1)):
        row, lost = written("step-labels", whole)
        assert (read_back("step-labels", row), lost) == (whole, {})


@pytest.mark.parametrize("name", ["trl", "math-shepherd"])
@settings(max_examples=40)
@given(solution=solutions(), neutral=st.sampled_from(Neutral))
def test_formats_with_two_labels_keep_every_rated_step_and_count_what_they_drop(
    name: str, solution: LabelledSolution, neutral: Neutral
) -> None:
    ends = [None, Rating.OKAY] if neutral == Neutral.CUT else [None]
    if solution.ratings[0] in ends:
        with pytest.raises(ValueError, match="first step has no rating"):
            written(name, solution, neutral)
        return
    row, lost = written(name, solution, neutral)
    found = read_back(name, row)
    kept = len(found.steps)
    assert (found.problem, found.steps) == (solution.problem, solution.steps[:kept])
    assert kept == next((i for i, r in enumerate(solution.ratings) if r in ends), len(solution.steps))
    meant = {1: 1, -1: -1, 0: 1 if neutral == Neutral.GOOD else -1}
    assert list(found.ratings) == [meant[r] for r in solution.ratings[:kept] if r is not None]
    assert lost["ids"] == 1
    assert lost["steps without a rating, and those after them"] == len(solution.steps) - kept
    assert lost[f"neutral ratings, written as {neutral}"] == solution.ratings[:kept].count(0)


@pytest.mark.parametrize("name", ["trl", "math-shepherd"])
def test_that_ratings_after_the_first_error_count_is_said_to_be_lost(name: str) -> None:
    whole = LabelledSolution("p", ("a", "b", "c"), (1, -1, 1), beyond_error=True)
    row, lost = written(name, whole)
    assert (whole.supervised_steps, read_back(name, row).supervised_steps) == (3, 2)
    assert lost == {"that ratings after the first error count, too": 1}
    for same in (replace(whole, ratings=(1, 1, -1)), replace(whole, beyond_error=False)):
        assert written(name, same)[1] == {}


@settings(max_examples=40)
@given(solutions())
def test_processbench_keeps_the_first_error_or_refuses_to_guess_it(solution: LabelledSolution) -> None:
    before = solution.ratings[: solution.first_error] if solution.first_error >= 0 else solution.ratings
    if None in before:
        with pytest.raises(ValueError, match="nobody knows"):
            written("processbench", solution)
        return
    row, _ = written("processbench", solution)
    assert row["label"] == solution.first_error
    assert read_back("processbench", row).first_error == solution.first_error


@settings(max_examples=40)
@given(solutions())
def test_prm800k_keeps_every_rating(solution: LabelledSolution) -> None:
    row, lost = written("prm800k", solution)
    found = read_back("prm800k", row)
    assert (found.problem, found.steps) == (solution.problem, solution.steps)
    assert found.ratings == solution.ratings  # those after the error go under the key `plumbline`
    assert any("labeler is made of it" in what for what in lost)


def test_neutral_is_nobodys_guess() -> None:
    neutral = LabelledSolution("p", ("a", "b"), (1, 0))
    for name in ("trl", "math-shepherd"):
        with pytest.raises(ValueError, match=r"say what they are \(--neutral\)"):
            written(name, neutral, None)


MATH_SHEPHERD = {
    "input": f"How many? Step 1: He has 2. {TAG}\nStep 2: He has $2*2=4$. {TAG}\nStep 3: So 4. {TAG}",
    "label": "How many? Step 1: He has 2. +\nStep 2: He has $2*2=4$. -\nStep 3: So 4. +",
    "task": "GSM8K",
}


def test_math_shepherds_own_rows_are_read_and_come_out_as_they_were() -> None:
    found = read_back("math-shepherd", MATH_SHEPHERD)
    assert found.problem == "How many?"
    assert found.steps == ("He has 2.", "He has $2*2=4$.", "So 4.")
    assert found.ratings == (1, -1, 1)
    assert written("math-shepherd", found)[0] | {"task": "GSM8K"} == MATH_SHEPHERD


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("math-shepherd", {"input": "p Step 1: a", "label": "p Step 1: a"}, "a text with ки after each step"),
        ("math-shepherd", MATH_SHEPHERD | {"label": "How many? Step 1: He has 3. +"}, "part in step 1"),
        (
            "math-shepherd",
            {"input": f"p Step 1: a {TAG}", "label": "p Step 1: a ?"},
            r"must be \+ or -, got '\?'",
        ),
        ("math-shepherd", {"input": f"p a {TAG}", "label": "p a +"}, "no ' Step 1: '"),
        ("trl", {"prompt": "p", "completions": ["a"], "labels": [1]}, r"labels\[0\] must be true or false"),
        (
            "trl",
            {"prompt": "p", "completions": ["a"], "labels": []},
            "number of labels must be that of the steps",
        ),
        ("trl", {"prompt": None, "completions": ["a"], "labels": [True]}, "prompt must be a text"),
    ],
)
def test_a_row_that_is_none_is_refused_with_the_place(name: str, row: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_back(name, row)
