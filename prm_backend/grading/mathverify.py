"""math-verify asked the right way round, one bare answer a side. Sets no timeout: its process is killed.

Imported by the worker process alone, since it brings sympy. math-verify swallows errors and then says
"unequal", so of two expressions its "unequal" counts only where they do differ when computed.
"""

from __future__ import annotations

import logging
import re
from fractions import Fraction
from typing import Any

import sympy
from latex2sympy2_extended import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify
from math_verify.errors import TimeoutException

from prm_backend.grading.answers import is_condition, joint_of
from prm_backend.grading.computing import differ, digits_of, same_over_the_reals
from prm_backend.grading.latex import tidy
from prm_backend.grading.rounding import is_cut_off, is_no_decimal, rounds
from prm_backend.grading.spelling import (
    in_letters_of,
    spelt,
    with_constant_of,
    without_letter,
    without_unit,
)
from prm_backend.text.gold import Tolerance
from prm_backend.types import GraderOpinion, Outcome

NAME = "math-verify"
# LaTeX alone: its reader for plain expressions evaluates text, and would pick a number out of words.
# Units are taken off before, by us: it would take the h of 2\\pi r h for hours, and the m of 3 + 4m for metres.
_LATEX = [
    LatexExtractionConfig(
        boxed_match_priority=-1,
        normalization_config=NormalizationConfig(
            basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="all", equations=False
        ),
    )
]
_AND = re.compile(r"\s*,?\s*(?:\\text\s*\{\s*(?:and|or)\s*\}|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z]))\s*")
_OR = re.compile(r"\s*,?\s*(?:\\text\s*\{\s*or\s*\}|(?<![a-zA-Z\\])or(?![a-zA-Z]))\s*")
_INEQUALITY = re.compile(r"[<>]|\\[lg]e(?![a-zA-Z])")
_PLAIN_LOG = re.compile(r"\\log(?![a-zA-Z])(?!\s*_)")
_DEGREES = "^{\\circ}"
_MACRO_OR_TEXT = re.compile(r"\\(?:text|begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+")
_WORD = re.compile(r"[a-zA-Z]{4,}|(?<=\s)(?:in|of|out|to|for|not|the|per|all|any|than)(?=\s)")
_GROUPED = re.compile(r"(?<![\d.])\d{1,3}(?:\s\d{3})+(?!\d)")
_APART = re.compile(r"(?<![_^\d.])\d+(?:\.\d+)?\s+\d+(?!\d*\s*/)")
_LOST_SCRIPT = re.compile(r"[a-zA-Z](?<!\d[eE])\d|\d\s*_")
_NAMED_FUNCTION = re.compile(r"(?<![\\a-zA-Z])(?:abs|arg|det|gcd|lcm|max|min|mod|sgn)\s*\(")
_TOWER = re.compile(r"\^\s*(?:\{[^{}]*\}|\\?\w+)\s*\^")
_IMAGINARY = re.compile(r"(?<=\d)i(?![a-zA-Z])")
_NO_VALUE = re.compile(r"[<>,;]|\\(?:[lg]e|ne|in|approx|pm|begin|cup|cap)(?![a-zA-Z])")
_SEGMENTS = r"(?:\\frac\s*\{[A-Z]{2}\}\s*\{[A-Z]{2}\}|[A-Z]{2}\s*[/:]\s*[A-Z]{2})"
_NAME = re.compile(rf"[A-Za-z]{{1,2}}(?:_\{{?\w+\}}?)?\s*\([^()=]*\)|[A-Z]{{2,4}}|{_SEGMENTS}")
_MOST_DIGITS = 100_000
# It warns once that it sets no timeout, which is what is wanted here.
logging.getLogger("math_verify").setLevel(logging.ERROR)


def mathverify_opinion(
    answer: str, gold: str, *, rounded: Outcome = Outcome.UNDECIDED, tolerance: Tolerance | None = None
) -> GraderOpinion:
    """Compare two bare answers by computer algebra. What cannot be read or fails is undecided, never wrong.

    `rounded` is what a decimal beside the number it rounds is; with a `tolerance` both are computed and
    compared as numbers. May run for ever or take all memory: call it where that can be stopped. MemoryError
    is let through.
    """
    try:
        gold = tidy(gold)
        answer = in_letters_of(tidy(answer), gold)
        (answer, unit), (gold, gold_unit) = without_unit(answer), without_unit(gold)
        if unit and gold_unit and unit != gold_unit:
            return _undecided(f"{unit} may not be {gold_unit}")
        opinion = _opinion_of_all(answer, gold, rounded, tolerance)
        renamed = with_constant_of(answer, gold)
        if renamed != answer and opinion.outcome is Outcome.WRONG:
            again = _opinion_of_all(renamed, gold, rounded, tolerance)
            return again if again.outcome is Outcome.WRONG else _undecided("equal but for a constant's name")
        bare = without_letter(answer), without_letter(gold)
        if opinion.outcome is not Outcome.WRONG or bare == (answer, gold):
            return opinion
        if _opinion_of_all(*bare, rounded, tolerance).outcome is Outcome.CORRECT:
            return _undecided("equal but for a letter that may be a unit or a variable")
        return opinion
    except MemoryError:
        raise
    except (Exception, TimeoutException) as error:  # TimeoutException is a BaseException
        return _undecided(f"{type(error).__name__}: {str(error)[:200]}")


def _opinion_of_all(answer: str, gold: str, rounded: Outcome, tolerance: Tolerance | None) -> GraderOpinion:
    """The one opinion on all ways to read the two."""
    answers, golds = spelt(answer, gold), spelt(gold, answer)
    if answers is None or golds is None:
        side = "gold answer" if golds is None else "answer"
        return _undecided(f"the {side} cannot be read")
    read = [_opinion(*_in_radians(a, g), rounded, tolerance) for a in answers for g in golds]
    if len({opinion.outcome for opinion in read}) > 1:
        return _undecided("a slash can be read in two ways")
    return read[0]


def _opinion(answer: str, gold: str, rounded: Outcome, tolerance: Tolerance | None) -> GraderOpinion:
    if {joint_of(answer), joint_of(gold)} == {"and", "or"} and is_condition(answer + gold):
        return _undecided("all of them on one side, one of them on the other")
    if tolerance is None and (opinion := _equation_and_value(answer, gold)):
        return opinion
    expected = _parse(gold)
    if expected is None:
        return _undecided("the gold answer cannot be read")
    found = _parse(answer)
    if found is None:
        return _undecided("the answer cannot be read")
    if max(digits_of(expected), digits_of(found)) > _MOST_DIGITS:
        return _undecided(f"numbers of more than {_MOST_DIGITS} digits are not computed")
    if tolerance is not None:
        return _within(tolerance, expected, found)
    expected, found = (s.doit() if isinstance(s, sympy.Intersection) else s for s in (expected, found))
    if is_no_decimal(answer, expected) or is_no_decimal(gold, found):
        opinion = GraderOpinion(
            NAME, Outcome.WRONG, "a decimal on one side, an irrational number on the other"
        )
    else:
        opinion = _checked(_verified(expected, found), expected, found)
    if opinion.outcome is Outcome.WRONG:
        if rounds(answer, expected) or rounds(gold, found):
            return GraderOpinion(NAME, rounded, "equal up to rounding")
        if is_cut_off(answer, expected) or is_cut_off(gold, found):
            return _undecided("equal up to rounding")
        if bool(_PLAIN_LOG.search(answer)) != bool(_PLAIN_LOG.search(gold)) and "\\ln" in answer + gold:
            return _undecided("different if log is to base 10, which it need not be")
    return opinion


def _equation_and_value(answer: str, gold: str) -> GraderOpinion | None:
    """An opinion on one equation beside one value; None for all else, and where math-verify may have its own.

    It takes the right side of any equation for its value, so "2x = 4" would be 4, and "|x| = 2" be 2.
    """
    for equation, value in ((answer, gold), (gold, answer)):
        left, sign, right = (part.strip() for part in equation.partition("="))
        if not sign or "=" in right or "=" in value or _NO_VALUE.search(answer + gold):
            continue
        if _NAME.fullmatch(left):
            return _opinion(
                *((right, gold) if equation is answer else (answer, right)), Outcome.UNDECIDED, None
            )
        sides = [_parse(side) for side in (left, right, value)]
        if not all(isinstance(side, sympy.Expr) for side in sides):
            return None
        lhs, rhs, worth = sides
        if lhs.is_number and rhs.is_number and worth.is_number:
            if differ(lhs, rhs):
                return _undecided("an equation that does not hold")
            same = not differ(rhs, worth)
            return GraderOpinion(NAME, Outcome.CORRECT if same else Outcome.WRONG, "by computer algebra")
        if len(lhs.free_symbols) == 1 and not lhs.is_Symbol and rhs.is_number:
            return _undecided("an equation on one side, a value on the other")
        if equation is gold and len(lhs.free_symbols) > 1 and rhs.is_number:
            return GraderOpinion(NAME, Outcome.WRONG, "a value, not an equation")
    return None


def _verified(expected: Any, found: Any) -> bool:
    return bool(
        verify(expected, found, timeout_seconds=None, allow_set_relation_comp=True, raise_on_error=True)
    )


def _undecided(reason: str) -> GraderOpinion:
    return GraderOpinion(NAME, Outcome.UNDECIDED, reason)


def _parse(answer: str) -> Any:
    """The expression a tidied answer was read as whole, or None."""
    parts = _OR.split(answer)
    if len(parts) > 1 and all(_INEQUALITY.search(part) for part in parts):
        return _union([_parse(part) for part in parts])
    if answer.count("\\pm") == 1:
        signs = [answer.replace("\\pm", one).replace("\\mp", other) for one, other in ("+-", "-+")]
        both = [_parse(variant) for variant in signs]
        if all(isinstance(value, sympy.Expr) for value in both):
            return sympy.FiniteSet(*both)
    latex = _AND.sub(", ", answer).replace("\n", " ")
    latex = _GROUPED.sub(lambda number: re.sub(r"\s", "", number[0]), latex)
    if _APART.search(latex) or _NAMED_FUNCTION.search(latex):
        return None  # it adds "12 34" up, and takes "gcd(a, b)" for a product
    if _LOST_SCRIPT.search(_MACRO_OR_TEXT.sub(r"\\ ", latex)):
        return None  # it takes x2 for 2x and B1 for B, and reads past the base of 12_9
    if _WORD.search(_MACRO_OR_TEXT.sub(" ", latex)) or _TOWER.search(latex):
        return None  # words would be read as a product of letters, 9^9^9 as (9^9)^9
    latex = _IMAGINARY.sub(" i", latex)  # it takes "2i" for a variable and "2 i" for a complex number
    read = parse(
        f"${latex}$",
        extraction_config=_LATEX,
        extraction_mode="first_match",  # else a part of what could not be read whole would do
        fallback_mode="no_fallback",
        parsing_timeout=None,
        raise_on_error=True,
    )
    if not read or isinstance(read[0], str):
        return None
    symbols: set[Any] = getattr(read[0], "free_symbols", set())
    if {symbol.name for symbol in symbols} == {"i"}:  # with other variables, i may be one of them
        return read[0].subs(dict.fromkeys(symbols, sympy.I))
    return read[0]


def _union(inequalities: list[Any]) -> Any:
    """What inequalities joined by "or" allow, as a set; None where one of them is no such thing."""
    if not all(isinstance(part, sympy.logic.boolalg.Boolean) for part in inequalities):
        return None
    return sympy.Union(*(part.as_set() for part in inequalities))


def _in_radians(answer: str, gold: str) -> tuple[str, str]:
    """Two tidied answers; where one is in degrees and the other speaks of π, that in radians, too."""
    for one, other in ((answer, gold), (gold, answer)):
        if _DEGREES in one and _DEGREES not in other and "\\pi" in other:
            answer, gold = (side.replace(_DEGREES, "\\cdot\\frac{\\pi}{180}") for side in (answer, gold))
            break
    return answer, gold


def _within(tolerance: Tolerance, expected: Any, found: Any) -> GraderOpinion:
    numbers = []
    for side in (expected, found):
        if not (isinstance(side, sympy.Expr) and side.is_number and side.is_real):
            return _undecided("not two real numbers")
        numbers.append(Fraction(str(side.evalf(30))))
    within = tolerance.allows(found=numbers[1], expected=numbers[0])
    return GraderOpinion(
        NAME,
        Outcome.CORRECT if within else Outcome.WRONG,
        f"{'within' if within else 'not within'} {tolerance}",
    )


def _checked(equal: bool, expected: Any, found: Any) -> GraderOpinion:
    """math-verify's opinion, where computing both sides does not speak against it."""
    if not (isinstance(expected, sympy.Expr) and isinstance(found, sympy.Expr)):
        if not equal and _lists_conditions(expected) != _lists_conditions(found):
            return _undecided("conditions on one side, values on the other")
        if not equal and _same_solutions(expected, found):
            if isinstance(expected, sympy.Eq) or isinstance(found, sympy.Eq):
                return _undecided("equations with the same solutions, of which one may be the answer")
            equal = True
        if not equal and _is_matrix_and_point(expected, found):
            return _undecided("a matrix on one side, a point on the other")
        return GraderOpinion(NAME, Outcome.CORRECT if equal else Outcome.WRONG, "by computer algebra")
    if equal and expected.is_number and found.is_number:
        # It looks at the difference alone: all small numbers (1/2004!, 1/2006!) are equal to it.
        equal = not differ(expected, found)
    if equal:
        return GraderOpinion(NAME, Outcome.CORRECT, "by computer algebra")
    if differ(expected, found):
        return GraderOpinion(NAME, Outcome.WRONG, "by computer algebra")
    if same_over_the_reals(expected, found):
        return GraderOpinion(NAME, Outcome.CORRECT, "equal wherever computed")
    return _undecided("neither shown equal nor different")


def _same_solutions(a: Any, b: Any) -> bool:
    """Whether two conditions on one variable allow the same real numbers."""
    if not all(isinstance(side, sympy.logic.boolalg.Boolean) for side in (a, b)):
        return False
    symbols = a.free_symbols | b.free_symbols
    return len(symbols) == 1 and a.free_symbols == b.free_symbols and a.as_set() == b.as_set()


def _lists_conditions(side: Any) -> bool:
    """Whether it lists inequalities, of which nobody knows whether all or one must hold."""
    return isinstance(side, sympy.FiniteSet | sympy.Tuple) and any(
        isinstance(part, sympy.logic.boolalg.Boolean) and not isinstance(part, sympy.Eq) for part in side.args
    )


def _is_matrix_and_point(*sides: Any) -> bool:
    others = [side for side in sides if not isinstance(side, sympy.MatrixBase)]
    return len(others) == 1 and not isinstance(others[0], sympy.Expr)
