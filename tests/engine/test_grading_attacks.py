"""Pairs that a grader may take for the same and that are not: none of them is ever called correct."""

from __future__ import annotations

import pytest

from prm_backend.grading import GraderPool

DIFFERENT = [
    ("-7", "7"), ("10", "1"), ("1/2", "2/1"), ("100", "1000"), ("10,000", "1000"), ("25,000", "25"),
    ("2,500", "2.5"), ("1,23,456", "123457"), ("12.5%", "25%"), ("45%", "54%"), ("\\$12", "\\$21"),
    ("5 \\frac{2}{3}", "5.66"), ("3\\frac12", "\\frac{3}{2}"), ("1\\frac{1}{2}", "\\frac{1}{2}"),
    ("0.\\overline{12}", "0.12"), ("0.\\overline{3}", "0.3"), ("0.\\overline{6}", "\\frac{3}{5}"),
    ("2.5\\cdot 10^{3}", "250"), ("10^3", "10^2"), ("5 cm", "5 m"), ("5 cm^3", "5 cm^2"), ("2 kg", "2 g"),
    ("1 mile", "1 km"), ("25 students", "24 students"), ("5 feet", "5 inches"), ("4\\pi \\text{ cm}", "16\\pi"),
    ("\\{1,2\\}", "\\{1,2,3\\}"), ("(1,2)", "(1,3)"), ("(1,2)", "(1,2,0)"), ("2, 3, 5, 7", "2,3,5"),
    ("(a,b)", "(b,a)"), ("\\{2,4\\}", "\\{2,5\\}"), ("[0,1]", "0<x<1"), ("(0,1)", "[0,1)"), ("(2,5)", "(2,6)"),
    ("x>2", "x\\ge 2"), ("[1,2] \\cup [3,4]", "[1,2]\\cup[3,5]"), ("(0,\\infty)", "x>=0"),
    ("(-1, 0) \\cup (0, 1)", "(-1,1)"), ("y=2x+1", "y=2x-1"), ("x^2+y^2=25", "x^2+y^2=5"), ("x=5", "x=-5"),
    ("y = x^2", "x = y^2"), ("a_n=2n+1", "2n-1"), ("x=3, y=4", "x=4, y=3"), ("x = 2 or x = 3", "x=2 or x=4"),
    ("x=2", "x=2 or x=3"), ("(x,y) = (3,4)", "(4,3)"),
    ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{pmatrix}1&3\\\\2&4\\end{pmatrix}"),
    ("\\begin{bmatrix}1\\\\0\\end{bmatrix}", "\\begin{bmatrix}0\\\\1\\end{bmatrix}"), ("1101_2", "1101_3"),
    ("1101_2", "1110_2"), ("1000_7", "1001_7"), ("\\pm 3", "\\pm 4"), ("\\pm 3", "-3"),
    ("2\\pm\\sqrt{3}", "2+\\sqrt{3}"), ("45^\\circ", "60^\\circ"), ("30°C", "30°F"), ("57^\\circ", "75^\\circ"),
    ("3:30 PM", "3:30 AM"), ("3:30", "3:31"), ("12:00 PM", "12:00 AM"), ("9:45 am", "9:45 pm"), ("Yes", "No"),
    ("even", "odd"), ("Monday", "Tuesday"), ("increasing", "decreasing"), ("A", "B"), ("A, C", "A, D"),
    ("True", "False"), ("\\text{yes}", "1"), ("\\text{east}", "west"), ("circle", "ellipse"),
    ("parallel", "perpendicular"), ("\\sqrt{2}", "\\sqrt{3}"), ("\\sqrt{50}", "2\\sqrt{5}"),
    ("\\sqrt{4}", "-2"), ("\\sqrt{5}-2", "2-\\sqrt{5}"), ("2^{100}", "2^{99}"), ("-2^2", "4"), ("x^6", "x^5"),
    ("10^{100}", "10^{10}"), ("\\sin x", "\\cos x"), ("\\ln 2", "\\ln 3"), ("3+4i", "3-4i"), ("2i", "2"),
    ("-i", "i"), ("x^2+2x+1", "x^2+2x-1"), ("(x-1)^3", "(1-x)^3"), ("2xy", "2x+y"),
    ("4x^3-12x^2+9x", "x(2x+3)^2"), ("x^2 + 5x + 6", "(x+2)(x+4)"), ("\\binom{10}{3}", "\\binom{10}{4}"),
    ("6!", "6"), ("10!", "9!"), ("-∞", "\\infty"), ("12", "12 1/2"), ("2", "2x"), ("x", "2x"), ("3", "3i"),
    ("5", "5\\sqrt{2}"), ("\\pi", "3"), ("\\pi", "3\\pi"), ("2", "2\\pi"), ("10", "10!"), ("3,4", "34"),
    ("1,2", "12"), ("1.5", "15"), ("1/3", "0.3"), ("7", "-7"), ("(2,3)", "(3,2)"),
    ("\\frac{2}{3}", "\\frac{3}{2}"), ("6", "\\frac{6}{5}"), ("x+1", "x-1"), ("2^5", "5^2"),
    ("\\frac{1}{2}", "12"), ("a", "b"), ("3:4", "4:3"), ("1:2:3", "1:2:4"), ("0.1", "0.01"),
    ("-\\frac{3}{4}", "\\frac{3}{4}"), ("\\sqrt{3}", "3"), ("x=1", "x=1,2"), ("(1,2)", "12"),
    ("0", "\\emptyset"), ("0", "no solution"), ("1e-3", "0.01"), ("1.0001", "1"), ("99.9", "100"),
    ("3.14", "22/7"), ("1000000", "1000001"), ("\\frac{355}{113}", "\\pi"), ("100000000001", "100000000002"),
    ("x^2 y", "x y^2"), ("(x+1)(x-1)", "(x+1)"), ("2x+3y", "3x+2y"), ("\\frac{a}{b}", "\\frac{b}{a}"),
    ("[1,2]", "(1,2]"), ("1/0", "0"), ("\\infty", "-\\infty"), ("5x/y", "5"), ("5 x/y", "5"), ("5 a/b", "5"),
    ("2 pi", "2"), ("2 e", "2"), ("3 sin", "3"), ("3 min", "3 max"), ("4 max", "4"), ("7 mod 3", "7"),
    ("10 choose 3", "10"), ("5 factorial", "5"), ("2 thousand", "2"), ("5 percent of x", "5"),
    ("12 over 5", "12"), ("4 squared", "4"), ("4 cubed", "4"), ("5 less", "5"), ("half of 12", "12"),
    ("12 or more", "12"), ("at least 5", "5"), ("more than 5", "5"), ("less than 5", "5"),
    ("5 remainder 2", "5"), ("5 R 2", "5"), ("5 r 2", "5"), ("5 or 6", "5"), ("x > 5", "5"), ("not 5", "5"),
    ("-5 or 5", "5"), ("5+", "5"), ("5 - x", "5"), ("500%", "5"), ("5 million", "5"), ("5k", "5"),
    ("1/2 x", "1/2"), ("1/2x", "1/2"), ("0.5 x", "0.5"), ("2 sqrt 3", "2"), ("2 root 3", "2"), ("3^x", "3"),
    ("3 x 4 matrix", "12"), ("2 feet", "2 yards"), ("5 ft 6 in", "5.6 ft"), ("twice 5", "5"),
    ("6 hundred", "6"), ("1 third", "1"), ("two thirds", "2"), ("3 quarters", "3/4 of 3"), ("3 halves", "3"),
    ("5 tens", "5"), ("5:00", "5"), ("10^x", "10"), ("5 degrees", "5 radians"), ("5 degrees", "5 rad"),
    ("2 thirds", "2"), ("3 fourths", "3"), ("5 less than x", "5"), ("5 times x", "5"), ("5 plus x", "5"),
    ("5 per x", "5"), ("5 and a half", "5"), ("5 point 2", "5"), ("5 negative", "5"), ("minus 5", "5"),
    ("negative 5", "5"), ("5 units squared less", "5"), ("5 \\text{ choose } 2", "5"),
    ("5 \\text{ squared}", "5"), ("5\\text{ and }6", "5"), ("5\\text{ or more}", "5"),
    ("5 \\text{ factorial}", "5"), ("5 \\text{ thousand}", "5"), ("5 \\text{ times } x", "5"),
    ("5\\text{ mod }7", "5 mod 8"), ("5\\pmod 7", "5 \\pmod 8"), ("5\\pmod{7}", "12"),
    ("3\\text{ remainder }1", "3"), ("\\frac{1}{2}\\text{ or }2", "2"), ("(5)", "-5"), ("5i", "5"), ("5j", "5"),
    ("5 i", "5"), ("\\vec{5}", "-5"), ("|5|", "-5"), ("\\overline{5}", "-5"), ("1.5", "1,5,0"), ("3,14", "314"),
    ("1,2", "2,1,1"), ("2,2,3", "2,3,3"), ("\\{1,2\\},\\{3\\}", "\\{1,2,3\\}"), ("(1,2),(3,4)", "(1,2,3,4)"),
    ("(1,2),(3,4)", "1,2,3,4"), ("[1,2),(3,4]", "[1,2]"), ("x=1,y=2", "x=2,y=1"), ("a=1,b=2", "(2,1)"),
    ("x=1", "x=-1"), ("y=x+1", "y=x"), ("y=x^2", "y=-x^2"), ("x=y", "x=-y"), ("x+y=0", "x-y=0"),
    ("x^2=4", "x=2"), ("x^2=4", "2"), ("|x|=2", "2"), ("x<2", "x>2"), ("x\\le2", "x<2"), ("0<x<1", "0<x<2"),
    ("x\\ne 2", "2"), ("x\\ne 2", "x=2"), ("x \\in \\{1,2\\}", "[1,2]"), ("(1,2)\\cup(2,3)", "(1,3)"),
    ("[1,2)\\cup(2,3]", "[1,3]"), ("(-\\infty,\\infty)", "(0,\\infty)"), ("\\mathbb{Z}", "\\mathbb{R}"),
    ("\\mathbb{N}", "\\mathbb{Z}"), ("\\emptyset", "\\{0\\}"), ("\\emptyset", "\\{\\emptyset\\}"),
    ("\\frac{x+1}{x}", "x"), ("\\frac{x+1}{x}", "1+x"), ("e^x", "e^{-x}"), ("\\ln x", "\\log_{10} x"),
    ("\\log_2 x", "\\log_3 x"), ("\\sin x", "-\\sin x"), ("\\sin^2x", "\\sin x^2"), ("\\sin(2x)", "2\\sin x"),
    ("\\sqrt{x^2}", "-x"), ("(x^2)^{1/2}", "-x"), ("x^{2y}", "x^{2}y"), ("x^2y", "x^{2y}"),
    ("2^{x+1}", "2^x+1"), ("\\sqrt{x+1}", "\\sqrt{x}+1"), ("\\frac{1}{x+1}", "\\frac{1}{x}+1"),
    ("1/2x", "1/(2x)"), ("ab", "a+b"), ("a^b", "b^a"), ("\\binom{n}{k}", "\\binom{k}{n}"), ("n!", "(n+1)!"),
    ("10^{-9}", "10^{-10}"), ("10^{-12}", "0"), ("1+10^{-12}", "1"),
    ("\\frac{1}{10^{20}}", "\\frac{1}{10^{21}}"), ("\\pi+10^{-11}", "\\pi"), ("e^{\\pi}", "\\pi^e"),
    ("e^{\\pi\\sqrt{163}}", "262537412640768744"), ("\\frac{22}{7}", "\\pi"),
    ("\\sqrt{2}+\\sqrt{3}", "\\sqrt{5}"), ("\\sqrt{2}+\\sqrt{3}", "\\pi"), ("0.99999999999", "1"),
    ("2^{1000}", "2^{1001}"), ("2^{1000}+1", "2^{1000}"), ("100!", "101!"), ("\\sin 1", "\\sin 1^\\circ"),
    ("\\sin 30", "\\frac12"), ("30", "\\frac{\\pi}{6}"), ("A", "ab"), ("A and B", "A"), ("A", "A or B"),
    ("(A),(B)", "(B),(C)"), ("yes", "no"), ("true", "not true"), ("not true", "true"), ("no", "no solution"),
    ("odd", "not odd"), ("\\text{not even}", "even"), ("Alice and Bob", "Alice"), ("Alice", "Alice and Bob"),
    ("The red ball", "The blue ball"), ("non-isosceles", "isosceles"), ("Monday", "Friday"), ("3 PM", "3 AM"),
    ("3:00", "3:30"), ("15:00", "5:00 PM"), ("12 AM", "12 PM"), ("January 5", "January 6"),
    ("5 January", "5 March"), ("Jan 5, 2020", "Jan 5, 2021"), ("5/6", "6/5"), ("1 : 2", "2 : 1"),
    ("1:2", "1:3"), ("1/2:1/3", "2:3"), ("101_2", "101_3"), ("101_2", "5_3"), ("12_3", "12"), ("0x10", "10"),
    ("A_{16}", "B_{16}"), ("5 cm", "5 inches"), ("5 kg", "5 lb"), ("5 m^2", "5 m"), ("5 hours", "5 minutes"),
    ("5 dollars", "5 cents"), ("\\$5", "5 cents"), ("5 euros", "5 dollars"), ("5 cats", "5 dogs"),
    ("5 red", "5 blue"), ("50 mph", "50 km/h"), ("5 m/s", "5 m/s^2"), ("5 km", "5 mi"), ("1 hour", "60"),
    ("0.5 m", "5 cm"), ("5 sq cm", "5 cm"), ("5 °C", "5 °F"), ("5°", "5 rad"), ("90°", "90 rad"),
    ("5 N", "5 J"), ("5\\text{ N}", "5\\text{ J}"), ("100 g", "100 kg"),
    ("\\begin{pmatrix}1&2\\end{pmatrix}", "\\begin{pmatrix}2&1\\end{pmatrix}"),
    ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1&2\\end{pmatrix}"),
    ("\\begin{vmatrix}1&2\\\\3&4\\end{vmatrix}", "2"), ("\\begin{pmatrix}1&0\\\\0&1\\end{pmatrix}", "1"),
    ("\\begin{pmatrix}1&0\\\\0&-1\\end{pmatrix}", "\\begin{pmatrix}1&0\\\\0&1\\end{pmatrix}"),
    ("-\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"),
    ("2\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"), ("1+2i", "1-2i"),
    ("1+2i", "2+i"), ("2i", "-2i"), ("i", "1"), ("\\sqrt{-4}", "2"), ("\\sqrt{-4}", "-2i"),
    ("e^{i\\pi/2}", "-i"), ("|1+i|", "1+i"), ("\\overline{1+i}", "1+i"), ("\\pm 2", "2"), ("\\pm 2", "\\pm 2i"),
    ("2\\pm1", "3"), ("1\\pm\\sqrt{2}", "1\\pm\\sqrt{3}"), ("1\\pm\\sqrt{2}", "-1\\pm\\sqrt{2}"),
    ("x=2\\text{ or }3", "x=2"), ("x=2,3", "x=2,4"), ("n=1,2,\\ldots", "n=1,2"), ("1,2,3,\\ldots", "1,2,3"),
    ("1,2,\\ldots,10", "1,2,10"), ("2,4,6,...", "2,4,6"), ("3k", "3"), ("3k+1", "3k+2"), ("2\\pi k", "2\\pi"),
    ("\\frac{\\pi}{2}+k\\pi", "\\frac{\\pi}{2}"), ("\\frac{\\pi}{2}+2k\\pi", "\\frac{\\pi}{2}+k\\pi"),
    ("x^2+C", "x^2"), ("x^2+C", "x^3+C"), ("Ce^{x}", "Ce^{2x}"), ("0.\\overline{12}", "0.1\\overline{2}"),
    ("0.3\\overline{12}", "0.\\overline{312}"), ("0.333", "0.\\overline{3}3"), ("1.\\overline{9}", "1.9"),
    ("3\\frac{1}{2}", "3\\cdot\\frac12"), ("3\\frac{1}{2}", "\\frac{3}{2}"), ("2\\frac{3}{4}", "\\frac{6}{4}"),
    ("-3\\frac12", "-2.5"), ("1.5e3", "1.5"), ("1.5e3", "15000"), ("1,5", "15"), ("1.000", "1000.0"),
    ("1.234", "1234"), ("10,00", "1000"), ("12,34", "1234"), ("1 2", "12"), ("1 000", "1"), ("1'5", "15"),
    ("4\\pi\\text{ cm}", "4\\pi\\text{ m}"), ("4\\pi cm", "4\\pi cm^2"), ("x^2 or y", "x^2"),
    ("\\sqrt{2} or more", "\\sqrt{2}"), ("1,2,3", "123"), ("1,234", "1.234"), ("1.234", "1,234"),
    ("1 and 1/2", "1/2"), ("5C2", "5"), ("C_2", "2"), ("2C", "2"), ("P(2,3)", "6"), ("2A3", "6"), ("x_2", "2"),
    ("x^2", "2"), ("x²", "2x"), ("10²", "102"), ("2⁻¹", "2"), ("√2+1", "\\sqrt{3}"), ("∛8", "8/3"),
    ("1/2", "0.5x"), ("5/6 less", "5/6"), ("about 5", "6"), ("minus 3", "3"), ("negative 3", "3"),
    ("5 = x", "4"), ("f(2) = 3", "2"), ("y' = 2x", "y = 2x"), ("x = 5 cm", "5 m"), ("|x|<1", "|x|<2"),
    ("x>2", "2x>5"), ("x>0", "x^2>0"), ("x\\ge0", "x>0"), ("x = 1", "x = 1, y = 2"), ("x=1,y=2", "(x,y)=(2,1)"),
    ("\\ln(x+y)", "\\ln x+\\ln y"), ("\\log x", "\\log y"), ("\\ln x", "\\ln(x+1)"),
    ("\\sqrt{x}", "\\sqrt{-x}"), ("\\ln(-x)", "\\ln x"), ("\\sqrt{1-x}", "\\sqrt{x-1}"),
    ("\\sin 30^\\circ", "\\sin 30"), ("2\\sin 15^\\circ", "2\\sin 15"), ("101 base 2", "101_3"),
    ("(101)_2", "(101)_3"), ("twelve", "20"), ("One", "two"), ("3 to 1", "1:3"), ("noon", "12:00 AM"),
    ("DNE", "exists"), ("all real numbers", "all integers"), ("\\mathbb{R}", "(-\\infty, 0)"), ("1'000", "1"),
    ("\\overline{z}", "z"), ("2x=4", "4"), ("x^2=4", "4"), ("x/2=4", "4"), ("3x=12", "12"),
    ("\\sqrt{x}=3", "3"), ("2x+1", "1"), ("sqrt12", "2"), ("√12", "2"), ("sqrt 12", "2"),
    ("n = 5 \\text{ or } 6", "5"), ("x=5 (or 6)", "5"), ("5 (or 6)", "5"), ("5 \\text{ less than } 6", "5"),
    ("\\text{not }5", "5"), ("\\text{no }5", "5"), ("1/2 of 12", "1/2"), ("2 times 3", "2"),
    ("f'(x)=5", "f(x)=5"), ("f'(x)", "f(x)"), ("x'", "x"), ("a_1", "a_2"), ("a_{12}", "a_{21}"), ("A^T", "A"),
    ("A^{-1}", "A"), ("\\int x dx", "x"), ("x \\equiv 3 \\pmod 5", "x \\equiv 3 \\pmod 7"), ("5!", "5"),
    ("\\text{5 or 6}", "5"), ("(2, 3)", "2.3"), ("3a", "3"), ("3 a", "3"), ("3 b", "3"), ("5^\\circ 30'", "5"),
    ("1\\text{ hour }30\\text{ minutes}", "1"), ("2 weeks 3 days", "2"), ("6 ft 2 in", "6"),
    ("3 \\text{ R } 2", "3"), ("12 and 13", "12"), ("12 \\& 13", "12"), ("12/13", "12"), ("12;13", "12"),
    ("12 13", "12"), ("10 - 3 = 7", "10"), ("2 < 3", "3"), ("7+C", "7"), ("7 + \\epsilon", "7"),
    ("O(n)", "O(n^2)"), ("\\Theta(n)", "n"), ("P(A)", "P(B)"), ("P(A|B)", "P(B|A)"),
    ("\\angle ABC", "\\angle ACB"), ("\\triangle ABC", "\\triangle ABD"), ("AB = CD", "AB"), ("x:y=1:2", "2:1"),
    ("1-i\\sqrt{3}", "1+i\\sqrt3"), ("\\log_2(x+1)", "\\log_2 x + 1"), ("\\arctan(1/2)", "\\arctan 2"),
    ("\\tan^{-1}x", "\\frac{1}{\\tan x}"), ("\\sin^{-1}x", "\\frac{1}{\\sin x}"), ("2\\sin x", "\\sin 2x"),
    ("\\cos x\\sin y", "\\sin x\\cos y"), ("sin x", "cos x"), ("ex", "e^x"),
    ("\\begin{pmatrix}1\\\\2\\end{pmatrix}^T", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"),
    ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}^{-1}", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"),
    ("√2.5", "\\sqrt{2}"), ("2C_1", "2"), ("x^2C_1", "2"), ("\\frac{a}{2}b", "\\frac{a}{2b}"),
    ("1/x+1", "\\frac{1}{x+1}"), ("2^n+1", "2^{n+1}"), ("f^{-1}(x)=x/2", "2x"), ("\\$2", "x+3"),
    ("\\$675", "10+5\\sqrt3"), ("\\$20", "-20"), ("x^2 = 9", "3"), ("a+b", "7"), ("9.8 m/s^2", "9.8 m/s"),
    ("30 mph", "30 kph"),
    ("6 doubled", "6"), ("6 in total", "7"), ("1 out of 6", "1"), ("4 of 5", "4"), ("99,5%", "99"), ("6 ± 1", "6"),
]  # fmt: skip


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[str, str], str]:
    """Of all pairs, both ways round."""
    pairs = [*DIFFERENT, *((gold, answer) for answer, gold in DIFFERENT)]
    with GraderPool(size=1) as graders:
        return {
            pair: f"{found.outcome} ({found.reason})"
            for pair, found in zip(pairs, graders.grade_many(pairs), strict=True)
        }


@pytest.mark.parametrize(("answer", "gold"), DIFFERENT)
def test_another_answer_is_never_called_correct(verdicts, answer, gold):
    for pair in ((answer, gold), (gold, answer)):
        assert not verdicts[pair].startswith("correct"), verdicts[pair]


def test_most_of_them_are_called_wrong_rather_than_left_to_people(verdicts):
    wrong = sum(verdict.startswith("wrong") for verdict in verdicts.values())
    assert wrong > 0.7 * len(verdicts)
