"""Every sort of answer that the product promises to compare; and the kinds that have a grader of their own."""

from __future__ import annotations

from fractions import Fraction

import pytest

from prm_backend.grading import AnswerKind, Gold, GraderPool, Tolerance, grade_solution
from prm_backend.text.steps import extract_answer

C, W, U = "correct", "wrong", "undecided"


@pytest.fixture(scope="module")
def graders():
    with GraderPool(size=1) as pool:
        yield pool


COMPARISONS = [
    # nobody can tell whether the letter is a unit, or the item said twice a root said twice
    ("\\sqrt{11}m", "\\sqrt{11}", U), ("5\\pi h", "5\\pi", U), ("4,9,9", "4,9", U), ("(4,9,9)", "(4,9)", W),
    ("\\begin{pmatrix}0.667\\\\5\\end{pmatrix}", "\\begin{pmatrix}2/3\\\\5\\end{pmatrix}", U),
    ("\\begin{pmatrix}4\\\\9\\end{pmatrix}", "(4,9)", U), ("4", "\\begin{pmatrix}4\\\\9\\end{pmatrix}", W),
    ("5\\log_2 3", "\\log_2 243", C), ("3\\sin2x", "6\\sin x\\cos x", C), ("y2", "2y", U),
    ("\\begin{pmatrix}4&9\\end{pmatrix}", "\\begin{pmatrix}4\\\\9\\end{pmatrix}", W),
    # conditions that all or one must hold; a constant's name; a decimal that rounds; one of several
    ("t<-4 and t>6", "t<-4 or t>6", U), ("x^2+K", "x^2+C", U), ("2.6457513111", "\\sqrt7", U),
    ("2.6457513110", "\\sqrt7", U), ("-3.1415926535", "-\\pi", U), ("4,50 €", "4.5", U),
    ("2.6457513110645905905016157536", "\\sqrt7", U), ("2.6457513110645905905016157538", "\\sqrt7", W),
    ("2.6457513112", "\\sqrt7", W), ("t = 2.646", "\\sqrt7", U), ("8\\text{ or 9}", "8", U),
    ("\\text{Yes}", "\\text{Yes, it is}", U), ("\\text{C, E}", "\\text{C}", W),
    ("\\text{Ann}", "\\text{Ann and Ben}", W),
    # numbers
    ("1,234,567", "1234567", C), ("1.234.567", "1234567", C), ("3\\frac12", "3.5", C),
    ("1.5\\cdot10^{-3}", "0.0015", C),
    ("0.333...", "1/3", C), ("0.1\\overline{6}", "\\frac16", C), ("0.(142857)", "1/7", C),
    ("0.1666\\ldots", "1/6", C),
    ("0.333...", "0.34", W), ("\\$1,250.00", "1250", C), ("25 per cent", "25\\%", C), ("2^{10}", "1000", W),
    # units
    ("5 km/h", "5", C), ("5 miles per hour", "5 miles/hour", C), ("5 km/h", "6 km/h", W),
    ("5\\,\\mathrm{m/s}", "5", C),
    ("2 hours 30 minutes", "2.5 hours", C), ("5 feet 6 inches", "66 inches", C), ("5 feet 6 inches", "65 inches", W),
    # degrees
    ("45°", "45", C), ("45^{\\circ}", "45 degrees", C), ("30^\\circ", "60^\\circ", W), ("180^\\circ", "\\pi", C),
    ("90^\\circ", "\\frac{\\pi}{3}", W), ("x=45°", "45^\\circ", C),
    # ±
    ("1\\pm\\sqrt{2}", "1+\\sqrt2, 1-\\sqrt2", C), ("\\pm 2", "2,-2", C), ("x=\\pm 4", "-4,4", C),
    ("\\pm2", "\\pm3", W),
    ("\\frac{-1\\pm\\sqrt5}{2}", "\\frac{-1+\\sqrt{5}}{2}, \\frac{-1-\\sqrt{5}}{2}", C), ("\\pm 3", "3", W),
    # sets, lists, tuples
    ("\\{1,2,3\\}", "\\{3,2,1\\}", C), ("\\{1,2\\}", "\\{1,3\\}", W), ("1 and 2", "2 and 1", C),
    ("(1,2)", "(2,1)", W),
    ("(1,2),(3,4)", "(3,4),(1,2)", C), ("(1,2),(3,4)", "(3,4),(2,1)", W), ("\\{x,y\\}", "\\{y,x\\}", C),
    # intervals and unions
    ("x \\le 3", "(-\\infty,3]", C), ("[2,5)", "2 \\le x < 5", C), ("x > 2", "2 < x", C), ("x>2", "x>3", W),
    ("(-\\infty,-1)\\cup(1,\\infty)", "x<-1 \\text{ or } x>1", C),
    ("(-\\infty,-1)\\cup(1,\\infty)", "x<-1 or x>2", W),
    ("(1,2)\\cup(3,4)", "(3,4)\\cup(1,2)", C), ("(1,2)\\cup(3,4)", "(1,2)\\cup(3,5)", W),
    ("[0,1]\\cup[1,2]", "[0,2]", C),
    ("x>1, x<5", "(1,5)", U),
    # equations up to a factor, named assignments
    ("y=2x+3", "2x - y + 3 = 0", C), ("4x+6y=10", "2x+3y=5", C), ("x+y=1", "x+y=2", W), ("-x+y=1", "x-y=-1", C),
    ("x^2+y^2=4", "2x^2+2y^2=8", C), ("f(x)=x^2", "x^2", C), ("x=5", "5", C), ("a=3,b=4", "b=4,a=3", C),
    ("x=3", "x=4", W),
    # matrices
    ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{bmatrix}1&2\\\\3&4\\end{bmatrix}", C),
    ("[[1,2],[3,4]]", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", C),
    ("[[1,2],[3,4]]", "\\begin{pmatrix}1&2\\\\3&5\\end{pmatrix}", W),
    ("\\left(\\begin{array}{cc}1&2\\\\3&4\\end{array}\\right)", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", C),
    # bases
    ("101_2", "101_{2}", C), ("1A_{16}", "1a_{16}", C), ("101_2", "110_2", W), ("0x1F", "1F_{16}", C),
    ("101_2", "101", U),
    ("101_2", "7", W), ("24_{10}", "24", C),
    # times of day
    ("10:30 a.m.", "10:30 AM", C), ("14:30", "2:30 PM", C), ("7 PM", "7:00 p.m.", C), ("3:05", "3:06", W),
    ("7 PM", "7 AM", W), ("2:30", "2:30 PM", U), ("3:30", "2:30 PM", W), ("12:15 AM", "0:15", C),
    # text and choices
    ("\\text{Yes}", "yes", C), ("no", "yes", W), ("True", "\\text{true}", C), ("B", "(B)", C), ("(B) 12", "B", C),
    ("B. 12", "(B)", C), ("\\textbf{(B) }12", "B", C), ("Option B", "B", C), ("(B) 12", "C", W), ("(B) 12", "12", C),
    ("(B) 12", "13", U), ("(a)", "a", C),
    # expressions
    ("\\ln 2", "\\log 2", U), ("\\log_2 8", "3", C), ("\\sin^2 x+\\cos^2 x", "1", C), ("\\binom{5}{2}", "10", C),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold", "outcome"), COMPARISONS)
def test_what_the_product_promises_to_compare(graders, answer, gold, outcome):
    verdict = graders.grade(answer, gold)
    assert verdict.outcome == outcome, verdict


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So 4.\n\n# Answer\n\n42", "42"),
        ("\\boxed{1}, no: \\boxed{\\frac{\\sqrt{3}}{\\{1\\}}}", "\\frac{\\sqrt{3}}{\\{1\\}}"),
        ("The answer is 3.5.", "3.5"),
        ("48 + 24 = 72.\n#### 1,234", "1,234"),
        ("The correct option is (C).", "C"),
        ("So the correct choice is D, as said.", "D"),
        ("Therefore, option B is correct.", "B"),
        ("Option A is correct? No: option (D) is the right one.", "D"),
        ("The answer is (B) 12.", "(B) 12"),
        ("Options A and B are good.", None),
        ("We add 2 and 2.", None),
    ],
)
def test_the_answer_is_found_wherever_solutions_state_it(text, answer):
    assert extract_answer(text) == answer


def number(answer: str, tolerance: str) -> Gold:
    return Gold(answer, AnswerKind.NUMBER, Tolerance.parse(tolerance))


@pytest.mark.parametrize(
    ("answer", "gold", "outcome"),
    [
        ("9.8", number("9.81", "0.01"), C),
        ("9.79", number("9.81", "0.01"), W),
        ("9.7", number("9.81", "2 %"), C),
        ("9.7", number("9.81", "1%"), W),
        ("-9.7", number("-9.81", "2 %"), C),
        ("3.14", number("\\pi", "0.01"), C),
        ("3.1", number("\\pi", "0.01"), W),
        ("\\frac{22}{7}", number("\\pi", "0.1 %"), C),
        ("981 cm", number("9.8 m", "0.02"), C),
        ("981 m", number("9.8 m", "0.02"), W),
        ("many", number("9.8", "0.02"), U),
        ("0.33", Gold("1/3", AnswerKind.NUMBER), W),
        ("B", Gold("b", AnswerKind.CHOICE), C),
        ("(b)", Gold("B", AnswerKind.CHOICE), C),
        ("B) the dog", Gold("B", AnswerKind.CHOICE), C),
        ("C", Gold("B", AnswerKind.CHOICE), W),
        ("the dog", Gold("B", AnswerKind.CHOICE), U),
        ("B", Gold("the dog", AnswerKind.CHOICE), U),
        ("  the  Battle of Hastings. ", Gold("battle of hastings", AnswerKind.TEXT), C),
        ("1066", Gold("1067", AnswerKind.TEXT), W),
        ("Ångström", Gold("ångström", AnswerKind.TEXT), C),
        ("Paris", Gold("London", AnswerKind.TEXT), W),
        ("Isaac Newton", Gold("Newton", AnswerKind.TEXT), U),
    ],
)
def test_each_kind_of_answer_has_its_own_rule(graders, answer, gold, outcome):
    verdict = graders.grade(answer, gold)
    assert verdict.outcome == outcome, verdict
    assert verdict.reason


def test_a_solution_is_graded_by_its_kind_of_answer():
    code = Gold(kind=AnswerKind.CODE, tests=("assert f(1) == 2",))
    assert grade_solution("So:\n```python\ndef f(x): return x + 1\n```\nI am sure.", code).outcome == C
    assert grade_solution("I do not know.", code).reason == "no answer"
    assert grade_solution("The answer is (C).", Gold("C", AnswerKind.CHOICE)).outcome == C


@pytest.mark.parametrize("text", ["", "%", "-1", "1/2", "nan", "inf", "1 m", ".", "1e400", "9" * 50])
def test_a_tolerance_that_makes_no_sense_is_refused(text):
    with pytest.raises(ValueError, match="a tolerance is a number"):
        Tolerance.parse(text)


def test_a_tolerance_is_exact_and_says_what_it_is():
    assert Tolerance.parse("0.1") == Tolerance(Fraction(1, 10))
    assert str(Tolerance.parse("0.5 %")) == "0.5 %"
    assert Tolerance.parse(str(Tolerance.parse("0.0000001"))) == Tolerance(Fraction(1, 10**7))
    assert Tolerance.parse("0.1").allows(found=Fraction("0.4"), expected=Fraction("0.3"))
