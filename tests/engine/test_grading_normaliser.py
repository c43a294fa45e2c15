"""What our own grader decides without a computer algebra, and what it leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prm_backend.grading.normalise import normaliser_opinion
from prm_backend.types import Outcome

SAME = [
    ("72", "72"),
    ("1,000", "1000"),
    ("1 000", "1000"),
    ("40,\\!000", "40000"),
    ("14{,}916", "14916"),
    ("\\$3.50", "3.5"),
    ("$12$", "12"),
    ("€5", "5"),
    ("-7", "−7"),
    (".4", "0.4"),
    ("3.", "3"),
    ("\\frac{1}{2}", "0.5"),
    ("\\dfrac12", "1/2"),
    ("-\\frac{3}{4}", "\\frac{-3}{4}"),
    ("3\\frac{1}{2}", "\\frac{7}{2}"),
    ("3 1/2", "3.5"),
    ("0.\\overline{3}", "\\frac{1}{3}"),
    ("1.2 \\times 10^{5}", "120000"),
    ("2^{10}", "1024"),
    ("50\\%", "50"),
    ("28 percent", "28\\%"),
    ("12 apples", "12"),
    ("12 apples", "12 apple"),
    ("15\\mbox{ cm}^2", "15"),
    ("15 square cm", "15\\text{ cm}^2"),
    ("100 cm", "1 m"),
    ("90 minutes", "1.5 hours"),
    ("50 cents", "0.5 dollars"),
    ("90^\\circ", "90"),
    ("5 sec", "5 seconds"),
    ("5 dozen", "5"),
    ("x=1 or x=2", "2, 1"),
    ("sin(x)", "\\sin (x)"),
    ("90 degrees", "90^\\circ"),
    ("x = 5", "5"),
    ("\\text{Monday}", "monday"),
    ("the circle", "Circle."),
    ("(A)", "A"),
    ("\\textbf{(B)}", "B"),
    ("1, 2", "2, 1"),
    ("\\{1, 2\\}", "2 and 1"),
    ("(1, \\frac{9}{2})", "(1, 4.5)"),
    ("\\left[ 0, 1 \\right)", "[0,1)"),
    ("(p,q) = (3,2)", "(3,2)"),
    ("x = -5, y = 3", "-5, 3"),
    ("2516_8", "2516_{8}"),
    ("10:30", "10:30"),
    ("\\emptyset", "\\{\\}"),
    ("x^2+1", "$ x^{2} + 1 $"),
]
OTHER = [
    ("72", "73"),
    ("1", "-1"),
    ("100 cm", "1 cm"),
    ("5\\text{ cm}", "5\\text{ m}"),
    ("5 kg", "5 km"),
    ("\\text{odd}", "even"),
    ("C", "D"),
    ("(1,2)", "(2,1)"),
    ("[1,2]", "(1,2)"),
    ("1, 2", "1, 3"),
    ("1, 2", "1, 2, 3"),
    ("0, 1, 4", "4"),
    ("x=1, y=2", "x=1, y=3"),
    ("(2, 4)", "2"),
    ("204_5", "204_6"),
    ("12:00", "1:00"),
    ("50\\%", "60\\%"),
]
UNKNOWN = [
    ("0.333", "\\frac{1}{3}"),
    ("10\\%", "0.1"),
    ("1,2", "(1,2)"),
    ("12 apples", "12 pears"),
    ("2, 5", "p=5, q=2"),
    ("2x", "x+x"),
    ("\\sqrt{2}", "1.41"),
    ("ab", "ba"),
    ("x = 5", "y = 5"),
    ("1011_2", "11"),
    ("1:2", "2:4"),
    ("1000,99", "1000.99"),
    ("2, 2", "2"),
    ("2 million dollars", "2,000,000"),
    ("50 cents", "0.5"),
    ("3 more than x", "3"),
    ("2-3/4", "2.75"),
]


@pytest.mark.parametrize(("answer", "gold"), SAME)
def test_answers_that_mean_the_same_are_correct_either_way_round(answer, gold):
    for opinion, _ in (normaliser_opinion(answer, gold), normaliser_opinion(gold, answer)):
        assert opinion.outcome is Outcome.CORRECT, opinion


@pytest.mark.parametrize(("answer", "gold"), OTHER)
def test_plain_answers_that_differ_are_wrong_and_that_is_final(answer, gold):
    for opinion, final in (normaliser_opinion(answer, gold), normaliser_opinion(gold, answer)):
        assert opinion.outcome is Outcome.WRONG, opinion
        assert final


@pytest.mark.parametrize(("answer", "gold"), UNKNOWN)
def test_what_depends_on_a_policy_or_on_algebra_is_undecided_with_a_reason(answer, gold):
    for opinion, _ in (normaliser_opinion(answer, gold), normaliser_opinion(gold, answer)):
        assert opinion.outcome is Outcome.UNDECIDED, opinion
        assert opinion.reason


@given(st.fractions(max_denominator=10**6), st.fractions(max_denominator=10**6))
def test_fractions_are_compared_exactly(a, b):
    opinion, final = normaliser_opinion(
        f"\\frac{{{a.numerator}}}{{{a.denominator}}}", f"{b.numerator}/{b.denominator}"
    )
    assert opinion.outcome is (Outcome.CORRECT if a == b else Outcome.WRONG)
    assert final


@given(st.integers())
def test_thousands_marks_change_nothing(n):
    assert normaliser_opinion(f"{n:,}", str(n))[0].outcome is Outcome.CORRECT


@given(
    st.text(max_size=60) | st.text(alphabet="\\frac{}()[]1,2;:=^_xandAB. %$", max_size=60),
    st.text(max_size=20),
)
def test_nothing_makes_it_raise_and_every_text_equals_itself(answer, gold):
    normaliser_opinion(answer, gold)
    if answer.strip():
        assert normaliser_opinion(answer, answer)[0].outcome is Outcome.CORRECT


def test_brackets_nested_beyond_reason_are_undecided():
    opinion, final = normaliser_opinion("(1," * 600 + "1" + ")" * 600, "1")
    assert opinion.outcome is Outcome.UNDECIDED
    assert not final


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        *("(", "{", "1,", "\\frac", "\\text{", "a ", "1 000 ", "^{", "x=", "and ", "\\left(", "1:"),
        *("1 km/", "(A) ", "[[1],", "1.234.", "10:3 a"),
    ],
)
def test_it_stays_fast_on_hostile_repetition(piece):
    normaliser_opinion(piece * (2000 // len(piece)), "1")
