"""One answer in two spellings is the same answer, whichever of them is the gold one."""

from __future__ import annotations

import pytest

from prm_backend.grading import GraderPool

SAME = [
    # what ends in a letter that is a unit elsewhere
    ("7-7m", "7(1-m)"), ("4\\pi a h", "4\\pi ah"), ("6\\pi cm", "6\\pi"), ("2\\sqrt{7}ft", "2\\sqrt7"),
    ("5\\sqrt3\\text{ m}", "5\\sqrt3"),
    # upright constants, functions by their names, brackets for braces
    ("\\mathrm{e}^{4}+1", "e^4+1"), ("6-5\\mathrm{i}", "6-5i"), ("\\operatorname{arctan}(3)", "\\arctan 3"),
    ("abs(y-4)", "|y-4|"), ("sinh(y)", "\\sinh y"), ("3^((m+1)/4)", "3^{(m+1)/4}"), ("sqrt(3(z+1))", "\\sqrt{3z+3}"),
    ("\\langle 3,5\\rangle", "(3,5)"), ("⌊m/3⌋", "\\lfloor m/3\\rfloor"), ("∑_{j=1}^{m} j", "\\sum_{j=1}^{m} j"),
    ("4\\frac{1}{3}\\pi", "\\frac{13\\pi}{3}"),
    ("3⁄8", "3/8"), ("\\sqrt{\\frac{1}{z}}", "\\frac{1}{\\sqrt z}"), ("\\text{cis}(90^\\circ)", "i"), ("No!", "no"),
    ("\\{4,9,9\\}", "\\{4,9\\}"), ("\\frac{PQ}{RS}=\\frac{3}{8}", "\\frac38"), ("PQ:RS = 3:8", "3:8"),
    # numbers
    ("42", "42"), ("0", "0.0"), ("007", "7"), ("+5", "5"), ("3.0", "3"), ("-0", "0"), ("12.50", "12.5"),
    ("-\\frac{1}{2}", "-0.5"), ("\\frac{-1}{-2}", "1/2"), ("1e3", "1000"),
    # thousands
    ("1,000", "1000"), ("12,345,678", "12345678"), ("1.000.000", "1000000"), ("12.345.678,90", "12345678.90"),
    ("1,00,000", "100000"), ("12,34,567", "1234567"), ("1 234 567", "1234567"), ("1\\,234\\,567", "1234567"),
    ("1'000'000", "1000000"), ("1{,}000", "1000"), ("1\\,000", "1000"), ("10,000", "10000"),
    ("1,234.5", "1234.5"), ("1.234,5", "1234.5"), ("1~000~000", "1000000"), ("1_000_000", "1000000"),
    # percent
    ("50%", "50\\%"), ("50 percent", "50%"), ("50", "50%"), ("33\\frac{1}{3}\\%", "33 1/3 %"),
    ("12.5 \\%", "12.5"), ("5 per cent", "5%"), ("$20\\%$", "20%"), ("20\\text{ percent}", "20\\%"),
    ("20\\text{%}", "20\\%"), ("66.67%", "66.67"),
    # currency
    ("$5", "5"), ("\\$5.00", "5"), ("5 dollars", "\\$5"), ("€12.50", "12.5"), ("£3", "3"),
    ("\\$5 million", "\\$5,000,000"), ("5 million", "\\$5,000,000"), ("\\$2.5 billion", "\\$2500 million"),
    ("\\$5\\text{ thousand}", "5000 dollars"), ("\\$1,234.56", "1234.56"), ("5 USD", "5"), ("USD 5", "5"),
    ("12 euros", "12"), ("50 cents", "\\$0.50"),
    ("50¢", "50 cents"), ("\\$0.50", "50 cents"), ("₹500", "500"), ("Rs. 500", "500"), ("-\\$5", "-5"),
    ("5 \\text{ yuan}", "5"), ("$5.25$", "5.25"), ("$-$5", "-5"), ("500 yen", "500"),
    # mixed
    ("3\\frac{1}{2}", "3.5"), ("3 1/2", "7/2"), ("3\\tfrac12", "3.5"), ("-2\\frac{1}{4}", "-2.25"),
    ("1 3/4", "1.75"), ("3½", "3.5"), ("2¾", "11/4"), ("1⅓", "4/3"), ("⅔", "2/3"), ("⅝", "0.625"),
    ("3-1/2", "2.5"), ("5 \\frac{2}{3}", "17/3"), ("4 and 1/2", "4.5"), ("3+\\frac{1}{2}", "3.5"), ("1/2", "½"),
    ("-3½", "-3.5"),
    # repeating
    ("0.\\overline{3}", "1/3"), ("0.1\\overline{6}", "1/6"), ("0.\\bar{3}", "1/3"), ("0.333\\ldots", "1/3"),
    ("0.(3)", "1/3"), ("0.\\overline{142857}", "1/7"), ("0.\\dot{3}", "1/3"), ("0.\\overline{9}", "1"),
    ("0.\\overline{12}", "12/99"), ("1.\\overline{27}", "14/11"), ("0.3\\overline{0}", "0.3"),
    ("0.666...", "2/3"), ("0.\\dot{1}\\dot{8}", "2/11"), ("2.1\\overline{36}", "47/22"),
    # scientific
    ("1.2e5", "120000"), ("1.2\\times10^5", "120000"), ("3 \\times 10^{-4}", "0.0003"), ("3·10^4", "30000"),
    ("6.02 × 10²³", "6.02e23"), ("1.5E-3", "0.0015"), ("10^6", "1000000"), ("10^{-3}", "0.001"),
    ("2.5 x 10^3", "2500"), ("2.5*10^3", "2500"), ("4.0 \\times 10^8", "400000000"),
    ("1.0\\times 10^{5}", "10^5"), ("9\\times10^{3}", "9000"), ("1 \\times 10^{3} \\text{ m}", "1000 m"),
    # units
    ("5 cm", "5"), ("100 cm", "1 m"), ("12 inches", "1 foot"), ("3 hours", "180 minutes"), ("3 hr", "3 hours"),
    ("60 mph", "60 miles per hour"), ("60 km/h", "60 \\text{ km/h}"),
    ("5\\text{ cm}^2", "5 square centimeters"), ("5 cm²", "5 cm^2"), ("5 sq ft", "5 ft^2"), ("10 m/s", "10"),
    ("10 m/s", "10 \\text{ m}/\\text{s}"), ("5 units", "5"), ("5 square units", "5"), ("2 kg", "2000 g"),
    ("3.5 liters", "3500 mL"), ("7 days", "1 week"), ("16 oz", "1 lb"), ("5\\ \\mathrm{cm}", "5 cm"),
    ("5 \\textrm{ meters}", "5"), ("12 people", "12"), ("9.8 m/s^2", "9.8"), ("9.8\\text{ m/s}^2", "9.8 m/s^2"),
    ("1000 m", "1 km"), ("30 min", "1/2 hour"), ("3 m^2", "30000 cm^2"), ("4\\pi \\text{ cm}^2", "4\\pi"),
    ("4\\pi", "4\\pi \\text{ square inches}"), ("\\sqrt{3} \\text{ m}", "\\sqrt{3}"),
    ("2\\sqrt{5}\\text{ units}", "2\\sqrt5"),
    # sets
    ("\\{1,2,3\\}", "\\{3,1,2\\}"), ("{1,2,3}", "\\{1,2,3\\}"), ("1, 2, 3", "3, 2, 1"), ("1,2 and 3", "1,2,3"),
    ("1, 2, or 3", "1, 2, 3"), ("\\emptyset", "\\varnothing"), ("∅", "\\{\\}"),
    ("\\left\\{ 1, 2 \\right\\}", "{2, 1}"), ("\\{a,b\\}", "\\{b,a\\}"), ("(3, -1)", "(3,−1)"),
    ("(1/2, 3)", "(0.5, 3)"), ("1;2;3", "1,2,3"), ("\\{-1, \\sqrt{2}\\}", "\\{\\sqrt{2}, -1\\}"),
    ("\\mathbb{R}", "(-\\infty,\\infty)"), ("\\mathbb{R}", "all real numbers"),
    ("\\{0, \\pm 1\\}", "\\{-1,0,1\\}"), ("\\text{1 and 2}", "1,2"), ("{2}", "2"),
    ("(1, 2), (3, 4)", "{(1,2),(3,4)}"),
    # intervals
    ("(0,1)", "0<x<1"), ("[0,1]", "0\\le x\\le 1"), ("(-\\infty,3)", "x<3"), ("x\\geq 2", "[2,\\infty)"),
    ("(-∞, 2) ∪ (3, ∞)", "(-\\infty,2)\\cup(3,\\infty)"),
    ("x<2 \\text{ or } x>3", "(-\\infty,2)\\cup(3,\\infty)"), ("x < 2 or x > 3", "x>3 or x<2"),
    ("2>x>0", "(0,2)"), ("x\\in(1,3)", "(1,3)"), ("x \\in [1,3]", "1 \\leq x \\leq 3"), ("-1<x<1", "|x|<1"),
    ("|x|<2", "(-2,2)"), ("|x|>2", "(-\\infty,-2)\\cup(2,\\infty)"),
    ("\\mathbb{R}\\setminus\\{0\\}", "(-\\infty,0)\\cup(0,\\infty)"),
    ("x \\ne 0", "(-\\infty,0)\\cup(0,\\infty)"), ("(1,\\infty)", "x>1"), ("(1, +\\infty)", "(1,\\infty)"),
    ("0 < x", "x > 0"), ("y>3", "(3,\\infty)"), ("[-3,3]", "|x| \\le 3"), ("k > 5", "5 < k"),
    ("[2, 5)", "2 ≤ x < 5"), ("x \\leq -1 \\text{ or } x \\geq 1", "(-\\infty,-1]\\cup[1,\\infty)"),
    # equations
    ("y=2x+1", "2x-y+1=0"), ("2y=4x+2", "y=2x+1"), ("x^2+y^2=25", "y^2+x^2=25"), ("x=5", "5"), ("n = 12", "12"),
    ("f(x)=2x", "2x"), ("x+y=3", "3=x+y"), ("y-3=2(x-1)", "y=2x+1"), ("\\frac{x}{2}+\\frac{y}{3}=1", "3x+2y=6"),
    ("(x-1)^2+(y+2)^2=9", "x^2+y^2-2x+4y-4=0"), ("A=5", "5"), ("x - 2 = 0", "x = 2"), ("x = 2", "2 = x"),
    ("S = 100", "100"), ("a_n = 2n+1", "2n+1"), ("y = mx + b", "y = b + mx"), ("P(x) = x^2 - 1", "(x-1)(x+1)"),
    ("x=3, y=4", "y=4, x=3"), ("x = 2 or x = 3", "2, 3"), ("x = 2 or x = 3", "x=2,3"),
    ("x=2, x=3", "x = 3 \\text{ or } x = 2"), ("x = \\pm 2", "x=2 or x=-2"), ("(x,y)=(3,4)", "x=3, y=4"),
    ("m\\angle A = 30^\\circ", "30"), ("\\text{Area} = 12", "12"), ("AB = 5", "5"), ("|AB|=5", "5"),
    ("x_1=2, x_2=3", "2, 3"), ("E = mc^2", "mc^2"), ("\\theta = 60^\\circ", "60^\\circ"),
    ("k=\\frac{3}{2}", "1.5"), ("3 = x", "3"), ("0 = 3x - y", "y=3x"),
    # matrices
    ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{bmatrix} 1 & 2 \\\\ 3 & 4 \\end{bmatrix}"),
    ("[[1,2],[3,4]]", "[[1,2],[3,4]]"),
    ("\\begin{pmatrix}1/2\\\\3\\end{pmatrix}", "\\begin{pmatrix}0.5\\\\3\\end{pmatrix}"),
    ("\\begin{vmatrix}1&2\\\\3&4\\end{vmatrix}", "-2"),
    ("\\begin{array}{cc}1&2\\\\3&4\\end{array}", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"),
    ("\\begin{pmatrix}1&2\\\\3&4\\\\\\end{pmatrix}", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"),
    ("\\left[\\begin{matrix}1&2\\\\3&4\\end{matrix}\\right]", "\\begin{bmatrix}1&2\\\\3&4\\end{bmatrix}"),
    ("\\begin{pmatrix}x&0\\\\0&x\\end{pmatrix}", "x\\begin{pmatrix}1&0\\\\0&1\\end{pmatrix}"),
    # bases
    ("1101_2", "1101_{2}"), ("ABC_{16}", "abc_{16}"), ("101_{\\text{two}}", "101_2"), ("(101)_2", "101_2"),
    ("13_{10}", "13"), ("77_8", "77_{eight}"), ("0b101", "101_2"), ("0x1f", "1F_{16}"),
    ("101\\text{ (base 2)}", "101_2"), ("101 base 2", "101_2"), ("1\\,101_2", "1101_2"),
    # plus or minus
    ("\\pm 3", "3,-3"), ("±3", "\\pm 3"), ("\\pm 3", "\\{3,-3\\}"), ("\\pm\\sqrt{2}", "\\sqrt{2}, -\\sqrt{2}"),
    ("2\\pm\\sqrt{3}", "2+\\sqrt{3},2-\\sqrt{3}"), ("1 \\pm 2i", "1+2i, 1-2i"), ("x=\\pm 5", "\\pm 5"),
    ("\\frac{3\\pm\\sqrt{5}}{2}", "\\frac{3+\\sqrt5}{2},\\frac{3-\\sqrt5}{2}"), ("+/-3", "\\pm 3"),
    ("\\mp 3", "\\pm 3"), ("\\pm 1, \\pm 2", "-2,-1,1,2"), ("3, -3", "±3"),
    # degrees
    ("90^\\circ", "90°"), ("90 degrees", "90^{\\circ}"), ("120", "120^\\circ"), ("30\\degree", "30^\\circ"),
    ("30^{\\circ}\\text{C}", "30°C"), ("98.6 °F", "98.6"), ("45 deg", "45^\\circ"),
    # times
    ("3:30 PM", "3:30 p.m."), ("15:30", "3:30 PM"), ("3:30", "3:30"), ("12:00 PM", "noon"), ("7 AM", "7:00 AM"),
    ("3:30\\text{ p.m.}", "3:30 PM"), ("08:05", "8:05"), ("2 hours and 30 minutes", "150 minutes"),
    ("2 h 30 min", "2.5 hours"), ("1 hour 15 minutes", "1.25 hours"), ("90 seconds", "1 minute 30 seconds"),
    ("midnight", "12:00 AM"),
    # text
    ("yes", "Yes"), ("\\text{True}", "true"), ("\\text{Alice}", "Alice"), ("the red one", "red one"),
    ("isosceles triangle", "Isosceles Triangle."), ("\\textbf{Yes}", "yes"),
    ("no solution", "\\text{no solution}"), ("A", "A"), ("(C)", "C"), ("C)", "C"), ("C.", "C"), ("c", "C"),
    ("Option D", "(D)"), ("\\textbf{(E)}", "E"), ("\\textbf{(E)}\\ 12", "E"), ("(E) 12", "12"),
    ("A, C", "A and C"), ("A, C", "C, A"), ("\\mathrm{B}", "B"), ("none of these", "None of these"),
    ("undefined", "\\text{undefined}"), ("DNE", "does not exist"),
    # surds
    ("\\sqrt{12}", "2\\sqrt{3}"), ("\\sqrt{8}", "2\\sqrt{2}"), ("\\frac{1}{\\sqrt{2}}", "\\frac{\\sqrt{2}}{2}"),
    ("√2", "\\sqrt{2}"), ("2√3", "\\sqrt{12}"), ("sqrt(5)", "\\sqrt5"), ("\\sqrt[3]{8}", "2"),
    ("\\sqrt{2}+\\sqrt{3}", "\\sqrt{3}+\\sqrt{2}"), ("5^{1/2}", "\\sqrt{5}"),
    ("\\sqrt{3+2\\sqrt{2}}", "1+\\sqrt{2}"), ("\\sqrt{50}", "5\\sqrt{2}"),
    ("3\\sqrt{2}/2", "\\frac{3}{\\sqrt{2}}"), ("\\sqrt{4}", "2"), ("\\sqrt[3]{16}", "2\\sqrt[3]{2}"),
    ("2^{1/3}", "\\sqrt[3]{2}"), ("cbrt(8)", "2"), ("√(3)/2", "\\frac{\\sqrt{3}}{2}"),
    ("sqrt3/2", "\\frac{\\sqrt3}{2}"), ("\\frac{5\\sqrt{3}}{3}", "\\frac{5}{\\sqrt3}"),
    ("\\sqrt{5}-2", "\\frac{1}{\\sqrt{5}+2}"), ("∛27", "3"),
    # powers
    ("2^3", "8"), ("2^{10}", "1024"), ("2^10", "1024"), ("2**3", "8"), ("x^2", "x²"),
    ("x^{-1}", "\\frac{1}{x}"), ("e^2", "e^{2}"), ("e^{x}", "\\exp(x)"), ("4^3", "2^6"), ("(-2)^3", "-8"),
    ("-2^2", "-4"), ("a^{m+n}", "a^m a^n"), ("x^{1/2}", "\\sqrt{x}"), ("(x^2)^3", "x^6"), ("2^{-3}", "0.125"),
    ("3^4 \\cdot 5", "405"), ("2^{2^3}", "256"), ("7!", "5040"),
    # functions
    ("\\sin^2 x", "1-\\cos^2 x"), ("\\sin 2x", "2\\sin x\\cos x"), ("\\cos 2x", "1-2\\sin^2 x"),
    ("\\tan x", "\\frac{\\sin x}{\\cos x}"), ("\\sin 30^\\circ", "\\frac12"), ("\\cos(\\pi/3)", "0.5"),
    ("\\arctan 1", "\\frac{\\pi}{4}"), ("\\tan^{-1}(1)", "\\pi/4"), ("\\sin^{-1} 1", "\\frac{\\pi}{2}"),
    ("\\ln e^2", "2"), ("\\ln 4", "2\\ln 2"), ("\\log_{10} 100", "2"), ("\\log_2 8", "3"),
    ("\\log 6", "\\log 2+\\log 3"), ("\\ln(1/2)", "-\\ln 2"), ("\\sec x", "1/\\cos x"), ("sin(x)", "\\sin{x}"),
    ("\\sin x \\cos x", "\\frac{1}{2}\\sin 2x"), ("\\log_3 9", "2"), ("\\log_2 3", "\\frac{\\ln 3}{\\ln 2}"),
    ("\\tan 45^\\circ", "1"), ("\\cos^{2}\\theta", "1-\\sin^2\\theta"), ("\\arcsin\\frac12", "\\frac{\\pi}{6}"),
    ("\\sin(x+\\pi)", "-\\sin x"), ("\\log_{2}{5}", "\\log_2 5"), ("\\ln|x|+C", "\\ln|x| + C"),
    ("\\sinh x", "\\frac{e^x-e^{-x}}{2}"),
    # complex
    ("3+4i", "4i+3"), ("i", "\\sqrt{-1}"), ("i^2", "-1"), ("(1+i)^2", "2i"),
    ("-1+\\sqrt{3}i", "2e^{2\\pi i/3}"), ("e^{i\\pi}", "-1"), ("\\frac{1}{i}", "-i"),
    ("3+4\\mathrm{i}", "3+4i"), ("5+0i", "5"), ("|3+4i|", "5"),
    ("\\cos\\frac{\\pi}{3}+i\\sin\\frac{\\pi}{3}", "\\frac12+\\frac{\\sqrt3}{2}i"),
    ("\\frac{1}{2} + \\frac{1}{2}i", "\\frac{1+i}{2}"), ("2 + 3 i", "2+3i"),
    # polynomials
    ("(x+1)^2", "x^2+2x+1"), ("x^2-1", "(x-1)(x+1)"), ("(x+1)(x+2)", "x^2+3x+2"), ("x^2+2x", "x(x+2)"),
    ("3x^2-x", "-x+3x^2"), ("2(x+y)", "2x+2y"), ("(x-1)^2", "(1-x)^2"), ("x^3-8", "(x-2)(x^2+2x+4)"),
    ("a^2-b^2", "(a-b)(a+b)"), ("x*y", "y*x"), ("xy", "yx"), ("x(x+1)/2", "\\frac{x^2+x}{2}"),
    ("\\frac{n(n+1)}{2}", "\\frac{n^2+n}{2}"), ("-(x-3)", "3-x"), ("x\\cdot y", "xy"),
    ("4x^3-12x^2+9x", "x(2x-3)^2"), ("(3x-1)(x+4)", "(x+4)(3x-1)"), ("\\frac{1}{x+1}", "(x+1)^{-1}"),
    # factorials, permutations and combinations
    ("\\binom{5}{2}", "10"), ("{5 \\choose 2}", "10"), ("5!", "120"), ("_5C_2", "10"), ("C(5,2)", "10"),
    ("{}_5P_2", "20"), ("P(5,2)", "20"), ("10!/(5!5!)", "252"), ("\\frac{10!}{5!5!}", "252"),
    ("5! \\cdot 2", "240"), ("\\binom{10}{3}", "\\binom{10}{7}"), ("4!+1", "25"), ("\\dbinom{6}{3}", "20"),
    ("^{5}C_{2}", "10"), ("nCr(5,2)", "10"), ("\\dfrac{8!}{4!4!}", "\\binom{8}{4}"), ("n!", "n(n-1)!"),
    ("5P2", "20"), ("5C2", "10"), ("100!", "99! \\cdot 100"),
    # what LaTeX and Unicode make of it
    ("\\dfrac{1}{2}", "\\tfrac12"), ("\\left(1,2\\right)", "(1,2)"), ("\\mathrm{5}", "5"), ("\\text{5}", "5"),
    ("5\\!", "5"), ("5\\,", "5"), ("~5~", "5"), ("\\boxed{5}", "5"), ("\\boxed{\\boxed{5}}", "5"),
    ("$$5$$", "5"), ("\\(5\\)", "5"), ("\\[5\\]", "5"), ("\\displaystyle\\frac{1}{2}", "1/2"),
    ("\\frac12", "1/2"), ("\\frac1{2}", "1/2"), ("\\frac{1}2", "1/2"), ("5.", "5"), (" 5 ", "5"), ("5\n", "5"),
    ("**5**", "5"), ("\\textbf{5}", "5"), ("\\mathbf{x}", "x"), ("\\cfrac{1}{3}", "1/3"), ("{5}", "5"),
    ("{\\frac{1}{2}}", "0.5"), ("\\frac { 1 } { 2 }", "1/2"), ("5\\\\", "5"), ("\\ 5", "5"), ("5\\quad", "5"),
    ("\\bigl(1,2\\bigr)", "(1,2)"), ("x\\, =\\, 5", "5"), ("1 \\over 2", "1/2"), ("{1 \\over 2}", "1/2"),
    ("\\sfrac{1}{2}", "1/2"), ("\\nicefrac{1}{2}", "1/2"), ("\\frac{\\pi}{2}", "π/2"), ("2 \\pi", "2π"),
    ("−5", "-5"), ("5 × 3", "15"), ("3÷2", "1.5"), ("x²+1", "x^2+1"), ("x₁", "x_1"), ("∞", "\\infty"),
    ("√(x+1)", "\\sqrt{x+1}"), ("\\frac{3}{4} ", "3/4."), ("\\color{red}{5}", "5"),
    ("\\text{The answer is }5", "5"), ("\\fbox{5}", "5"), ("\\underline{5}", "5"), ("\\mathit{7}", "7"),
    ("\\ensuremath{7}", "7"), ("\\hspace{2mm}7", "7"), ("\\phantom{0}7", "7"), ("7\\%", "7%"), ("\\rm{7}", "7"),
    ("3\\cdot4", "12"), ("3 \\times 4", "12"), ("\\frac{3}{4}\\pi", "\\frac{3\\pi}{4}"),
    ("0.75\\pi", "\\frac{3\\pi}{4}"), ("\\lceil 2.5 \\rceil", "3"), ("\\lfloor 2.5 \\rfloor", "2"),
    ("\\text{approximately } 3.14", "3.14"), ("\\approx 3.14", "3.14"), ("≈ 3.14", "3.14"), ("about 12", "12"),
    ("12 (approximately)", "12"),
    # other pairs
    ("8", "eight"), ("two", "2"), ("3 : 4", "3:4"), ("3 to 4", "3:4"), ("5", "five"), ("2/3 and 1", "1, 2/3"),
    ("16", "2^{4.0}"),
    # more of all kinds
    ("4\\pi\\text{ cm}", "4\\pi"), ("4\\pi square inches", "4\\pi"),
    ("4\\pi square inches", "4\\pi \\text{ square inches}"), ("12\\sqrt{3} units", "12\\sqrt{3}"),
    ("2\\sqrt{3} cm", "2\\sqrt3\\text{ cm}"), ("\\frac{\\pi}{2} radians", "\\frac{\\pi}{2}"),
    ("5 per cent", "5"), ("(3, 4) and (5, 6)", "(5,6),(3,4)"), ("three", "3"), ("1.5, 2.5", "1.5,2.5"),
    ("10,11", "10,11"), ("4 and 1/2", "4, 1/2"), ("4P4", "24"), ("P(2,3)", "(2,3)"), ("C(2,3)", "(2,3)"),
    ("A(1,2)", "(1,2)"), ("10²", "100"), ("2⁵", "32"), ("2⁻¹", "0.5"), ("√(2)+1", "\\sqrt{2}+1"), ("√16", "4"),
    ("∛8", "2"), ("cbrt(27)", "3"), ("3/4 cup", "3/4"), ("2/3 mi", "2/3"), ("\\$5", "5 dollars"),
    ("\\$5", "\\$5.00"), ("\\$5", "500 cents"), ("$5$ cm", "5 cm"), ("USD 5", "\\$5"), ("about 5", "5"),
    ("minus 3", "-3"), ("30°C", "30"), ("30 degrees Celsius", "30°C"),
    ("m\\angle ABC = 30^\\circ", "30^\\circ"), ("|AB| = 5", "5"), ("5 = x", "5"), ("5 = x", "x = 5"),
    ("2 + 3 = 5", "5"), ("x ≈ 3.14", "3.14"), ("f(2) = 3", "3"), ("P(A)=1/2", "0.5"), ("y'=2x", "2x"),
    ("AB=5", "5"), ("x = 5 cm", "5"), ("A = 4\\pi", "4\\pi"),
    ("V = \\frac{4}{3}\\pi r^3", "\\frac{4}{3}\\pi r^3"), ("|x-2|<3", "-1<x<5"), ("x^2<4", "-2<x<2"),
    ("x>2", "2x>4"), ("x=1,y=2", "(x,y)=(1,2)"), ("\\sin 30^\\circ", "\\cos 60^\\circ"),
    ("\\cos 60^\\circ", "\\frac12"), ("\\tan 60°", "\\sqrt3"), ("\\sin^2 45^\\circ", "\\frac12"),
    ("\\sin(45^\\circ)", "\\frac{\\sqrt2}{2}"), ("twelve", "12"), ("one", "1"), ("3 to 1", "3:1"),
    ("all real numbers", "\\mathbb{R}"), ("1'000", "1000"), ("1_000", "1000"), ("\\lim_{x\\to 0} x", "0"),
    ("f(3)=4", "4"), ("3+1=4", "4"), ("√12", "2√3"), ("sqrt12", "2\\sqrt3"), ("1/2 x", "x/2"),
    ("5\\text{ is the minimum}", "5"), ("f(x)=5", "5"), ("\\int_0^1 x dx", "1/2"), ("\\sum_{k=1}^{3}k", "6"),
    ("\\sum_{k=1}^{n}k", "\\frac{n(n+1)}{2}"), ("\\frac{d}{dx}x^2", "2x"),
    ("\\lim_{x\\to0}\\frac{\\sin x}{x}", "1"), ("\\max(2,3)", "3"), ("\\gcd(4,6)", "2"), ("\\text{five}", "5"),
    ("12 h", "12"), ("3 apples", "3"), ("1 hour 30 minutes", "1.5"), ("5\\tfrac{1}{2}\\text{ hours}", "5.5"),
    ("3R2", "3 R 2"), ("\\frac{1}{2} \\frac{1}{3}", "\\frac{1}{6}"), ("10 - 3 = 7", "7"), ("7 = 10 - 3", "7"),
    ("x ≈ 7", "7"), ("7 \\text{ (seven)}", "7"), ("(7)", "7"), ("x:y=1:2", "1:2"),
    ("-\\sqrt[3]{2}", "\\sqrt[3]{-2}"), ("xe^x", "e^{x}x"), ("\\exp(2)", "e^2"), ("√2.5", "\\sqrt{2.5}"),
    ("C_1x^2", "x^2C_1"), ("2C_1 x", "2xC_1"), ("^5C_2", "10"), ("5C3+1", "11"),
    ("1/2 (x+1)", "\\frac{x+1}{2}"), ("(1/2)x", "x/2"), ("3/4 \\pi", "\\frac{3\\pi}{4}"),
    ("\\frac{a}{2}b", "\\frac{ab}{2}"), ("1/(x+1)", "\\frac1{x+1}"), ("x^10", "x^{10}"),
    ("f^{-1}(x)=x/2", "x/2"), ("f^{-1}(x)=\\frac{x}{2}", "\\frac{x}{2}"), ("\\$4,800", "4800"),
    ("-\\$20", "-20"), ("$-20", "-20"), ("2.50", "$2.50"), ("5 + 3 = 8", "8"), ("8 = 5+3", "8"), ("5+3", "8"),
    ("y = 3x", "3x"), ("3x = y", "y=3x"), ("A = \\pi r^2", "\\pi r^2"), ("h(t) = -16t^2", "-16t^2"),
    ("x \\in \\mathbb{R}", "\\mathbb{R}"), ("x \\in \\emptyset", "\\emptyset"), ("5 apples", "five"),
    ("Two", "\\text{two}"), ("twenty", "20"), ("1,000,000 people", "1000000"), ("100 \\text{ N}", "100"),
    ("9.8 m/s²", "9.8"), ("60 km/hr", "60 km/h"), ("60 miles/hr", "60 mph"), ("5 \\text{ lb/ft}^2", "5"),
    ("2 dollars per pound", "2"), ("2 \\text{ dollars/hour}", "2"), ("12 cookies per box", "12"),
    ("12 per cent", "12"), ("12 percentage points", "12"),
    ("the empty set", "\\emptyset"), ("no solutions", "\\text{no solution}"),
    # words in \\text: phrases, names in another order, formulas
    ("\\text{There are no real solutions.}", "no real solution"), ("\\text{No solution exists}", "no solutions"),
    ("\\text{DNE}", "\\text{Does not exist}"), ("\\text{All reals}", "(-\\infty,\\infty)"),
    ("\\text{all real numbers}", "y\\in\\mathbb R"), ("\\text{all integers}", "\\mathbb{Z}"),
    ("\\text{does not converge}", "diverges"), ("\\text{The empty set}", "\\emptyset"),
    ("\\text{an octagon}", "\\text{octagon}"), ("\\text{Ann, Ben}", "\\text{Ben and Ann}"),
    ("\\text{pink, gray, and blue}", "\\text{blue, pink, gray}"), ("\\text{B, E}", "E and B"),
    ("\\text{II, IV}", "\\text{IV and II}"), ("\\text{(i) and (iii)}", "(iii), (i)"), ("\\text{Choice (D)}", "D"),
    ("\\text{(4, 9)}", "(4,9)"), ("\\text{t = 6}", "6"), ("\\text{y = 3x-1}", "3x-y=1"), ("\\text{7 or 9}", "9, 7"),
    ("\\text{1,234 pens}", "1234"), ("\\text{nine}", "\\sqrt{81}"), ("5 \\text{ pi}", "5\\pi"),
    ("\\mathbf{2340}\\text{ units}", "2340"),
    # words behind a value that leave it what it is
    ("7\\text{ days and nights}", "7"), ("\\frac34\\text{ of the cake}", "\\frac34"), ("7\\text{ per day}", "7"),
    ("\\sqrt7\\text{ cm^2}", "\\sqrt7"), ("2\\pi r\\text{ m}", "2\\pi r"), ("7\\text{ six-sided dice}", "7"),
    ("t=3 and t=4", "t=3 or t=4"), ("t>4 and u<3", "u<3, t>4"),
    # money, letters for an argument, intersections, mixed numbers, packages
    ("€7", "7 euros"), ("7 €", "EUR 7"), ("£7", "7 pounds"), ("¥700", "700 yen"), ("Rs 700", "₹700"), ("₹700", "700"),
    ("€0.70", "70 cents"),
    ("g(t)=t\\sin t", "g(x)=x\\sin x"), ("b_n=3n-1", "b_k=3k-1"), ("g(t)=(t+1)^2", "g(x)=x^2+2x+1"),
    ("(1,6)\\cap(2,9)", "(2,6)"), ("4 cis 60°", "2+2i\\sqrt3"), ("7 and a half", "7.5"),
    ("7\\text{ and a half}", "7.5"), ("7 and one half hours", "7.5 hours"), ("\\num{4,200}", "4200"),
    ("\\sqrt[3]{2}\\sqrt[3]{4}", "2.0"), ("\\log_2 8", "3.0"),
]  # fmt: skip


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[str, str], str]:
    """Of all pairs, both ways round."""
    pairs = [*SAME, *((gold, answer) for answer, gold in SAME)]
    with GraderPool(size=1) as graders:
        return {
            pair: f"{found.outcome} ({found.reason})"
            for pair, found in zip(pairs, graders.grade_many(pairs), strict=True)
        }


@pytest.mark.parametrize(("answer", "gold"), SAME)
def test_another_spelling_is_correct_either_way_round(verdicts, answer, gold):
    for pair in ((answer, gold), (gold, answer)):
        assert verdicts[pair].startswith("correct"), verdicts[pair]
