"""The starter's problems: true, readable, the same for the same seed, and never shared between the seeds we use."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

import pytest

from prm_backend.generators.starter.problems import (
    HELD_OUT_SEED,
    KINDS,
    SAMPLE_SEED,
    SHARDS,
    TRAINING_SEED,
    StarterProblem,
    make_problems,
)
from prm_backend.text.steps import extract_answer, join_steps, split_steps

PROBLEMS = make_problems(1200, TRAINING_SEED)
FORMULA = re.compile(r"\$([^$]*)\$")
FRACTION = re.compile(r"\\frac\{(\d+)\}\{(\d+)\}")


def value(expression: str) -> Fraction | None:
    """The exact value of a side of an equation; None where it holds a letter."""
    plain = FRACTION.sub(r"\1/\2", expression).replace("\\times", "*").replace("\\div", "/")
    if not re.fullmatch(r"[\d\s*/+-]+", plain):
        return None
    total = Fraction(0)
    for sign, term in re.findall(r"([+-]?)\s*((?:[^+-])+)", plain):
        product = Fraction(1)
        for operator, factor in re.findall(r"([*/]?)\s*(\d+)", term):
            product = product / int(factor) if operator == "/" else product * int(factor)
        total += -product if sign == "-" else product
    return total


def test_every_equation_in_every_step_is_true() -> None:
    checked = 0
    for problem in PROBLEMS:
        for step in problem.solution_steps:
            for formula in FORMULA.findall(step):
                sides = [v for side in formula.split("=") if (v := value(side)) is not None]
                assert len(set(sides)) <= 1, (problem, formula)
                checked += len(sides) > 1
    assert checked > 2 * len(PROBLEMS)


def test_the_last_formula_of_a_solution_ends_in_its_answer() -> None:
    for problem in PROBLEMS:
        last = FORMULA.findall(problem.solution_steps[-1])[-1]
        assert value(last.split("=")[-1]) == int(problem.answer), problem


def test_the_steps_are_the_lines_of_the_text_and_the_answer_is_taken_out_of_it() -> None:
    for problem in PROBLEMS:
        text = join_steps(problem.solution_steps)
        assert split_steps(text) == problem.solution_steps
        assert extract_answer(text) == problem.answer
        assert text.endswith(f"\n\n# Answer\n\n{problem.answer}")


def test_a_solution_has_two_to_six_steps() -> None:
    assert {len(problem.solution_steps) for problem in PROBLEMS} <= {2, 3, 4, 5, 6}


def test_the_kinds_have_equal_shares() -> None:
    assert len(KINDS) >= 12
    assert set(Counter(problem.kind for problem in PROBLEMS).values()) == {len(PROBLEMS) // len(KINDS)}


def test_the_same_seed_gives_the_same_problems_and_a_longer_list_begins_alike() -> None:
    assert make_problems(300, TRAINING_SEED) == PROBLEMS[:300]


def test_no_two_problems_of_a_list_read_alike() -> None:
    assert len({problem.problem for problem in PROBLEMS}) == len(PROBLEMS)


@pytest.mark.parametrize("seed", [SAMPLE_SEED, HELD_OUT_SEED, TRAINING_SEED + 3 + SHARDS])
def test_seeds_of_another_shard_share_no_text(seed: int) -> None:
    ours = {problem.problem for problem in PROBLEMS}
    assert not ours & {problem.problem for problem in make_problems(1200, seed)}


def test_the_english_has_no_singular_slips() -> None:
    wrong = re.compile(r"\b1 (?:hours|weeks|days|dollars|metres)\b|\bA [aeiou]|\s{2}|\s[.,?]|\$\$| 0 ")
    for problem in PROBLEMS:
        assert not wrong.search(problem.problem), problem
        assert "\n" not in problem.problem
        assert problem.problem.endswith(("?", "."))


def test_numbers_stay_small_and_positive() -> None:
    for problem in PROBLEMS:
        assert 0 < int(problem.answer) < 1000, problem


def test_asking_for_more_than_there_is_is_refused_by_kind() -> None:
    with pytest.raises(ValueError, match=r"only .* problems of kind"):
        make_problems(100_000, TRAINING_SEED)


def test_a_problem_is_what_a_page_and_a_trainer_need() -> None:
    first = PROBLEMS[0]
    assert isinstance(first, StarterProblem)
    assert first.kind in KINDS
