"""What is a matter of policy is a setting; its default says nothing that many would dispute."""

from __future__ import annotations

import pytest

from prm_backend.grading import GraderPool, GradingPolicy, Outcome, grade

# By case: a pair that differs in it alone, and what the default says.
CASES = {
    "rounded": ("0.333", "\\frac{1}{3}", "undecided"),
    "percent_as_share": ("10\\%", "0.1", "undecided"),
    "percent_dropped": ("10", "10\\%", "correct"),
    "unreduced": ("\\frac{2}{4}", "\\frac{1}{2}", "correct"),
    "unit_converted": ("100 cm", "1 m", "correct"),
    "unit_dropped": ("12", "12 cm", "correct"),
    "unit_guessed": ("50 cents", "0.5", "undecided"),
    "other_base": ("101_2", "5", "undecided"),
    "other_brackets": ("(1, 2)", "1, 2", "undecided"),
    "scaled_ratio": ("1:2", "2:4", "undecided"),
}


def test_every_case_is_tested():
    assert list(CASES) == list(GradingPolicy.__dataclass_fields__)


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("case", CASES)
def test_each_case_is_what_the_policy_says(case, outcome):
    answer, gold, default = CASES[case]
    with GraderPool(size=1, policy=GradingPolicy(**{case: outcome})) as pool:
        assert pool.grade(answer, gold).outcome is outcome
    with GraderPool(size=1) as pool:
        assert pool.grade(answer, gold).outcome == default
        assert pool._workers._started == []


def test_computer_algebra_follows_the_policy_too():
    assert grade("3.14", "\\pi", policy=GradingPolicy(rounded=Outcome.CORRECT)).outcome == "correct"
    assert grade("3.14", "\\pi", policy=GradingPolicy(rounded=Outcome.WRONG)).outcome == "wrong"
    assert grade("3.14", "\\pi").outcome == "undecided"


def test_a_policy_never_makes_other_numbers_right():
    everything = GradingPolicy(**dict.fromkeys(CASES, Outcome.CORRECT))
    for answer, gold in (
        ("0.334", "\\frac{1}{3}"),
        ("11\\%", "0.1"),
        ("100 cm", "2 m"),
        ("101_2", "6"),
        ("3:2", "2:4"),
    ):
        assert grade(answer, gold, policy=everything).outcome == "wrong"


def test_an_unreduced_fraction_is_a_matter_of_the_answer_and_not_of_the_gold_one():
    strict = GradingPolicy(unreduced=Outcome.WRONG)
    assert grade("\\frac{4}{2}", "2", policy=strict).outcome == "wrong"
    assert grade("0.5", "\\frac{2}{4}", policy=strict).outcome == "correct"
    assert grade("\\frac{2}{4}", "\\frac{2}{4}", policy=strict).outcome == "correct"


def test_a_case_within_a_list_decides_the_list():
    assert grade("2, 0.333", "\\frac{1}{3}, 2").outcome == "undecided"
    assert (
        grade("2, 0.333", "\\frac{1}{3}, 2", policy=GradingPolicy(rounded=Outcome.CORRECT)).outcome
        == "correct"
    )


def test_a_policy_is_read_from_words():
    assert GradingPolicy.parse("") == GradingPolicy()
    assert GradingPolicy.parse("rounded=correct, unreduced = wrong") == GradingPolicy(
        rounded=Outcome.CORRECT, unreduced=Outcome.WRONG
    )
    for wrong in ("rounded", "rounded=yes", "round=correct", "rounded=correct;unreduced=wrong"):
        with pytest.raises(ValueError, match=r"must say|is no case"):
            GradingPolicy.parse(wrong)
