"""math-verify asked the right way round, one bare answer a side. Sets no timeout: its process is killed.

Imported by the worker process alone, since it brings sympy. math-verify swallows errors and then says
"unequal", so of two expressions its "unequal" counts only where they do differ when computed.
"""

from __future__ import annotations

import logging
import math
import re
from fractions import Fraction
from typing import Any

import sympy
from math_verify import LatexExtractionConfig, parse, verify
from math_verify.errors import TimeoutException

from prm_backend.grading.latex import tidy
from prm_backend.grading.quantities import is_rounded, read_quantity
from prm_backend.types import GraderOpinion, Outcome

NAME = "math-verify"
# LaTeX alone: its reader for plain expressions evaluates text, and would pick a number out of words.
_LATEX = [LatexExtractionConfig(boxed_match_priority=-1)]
_AND = re.compile(r"\s*,?\s*(?:\\text\s*\{\s*(?:and|or)\s*\}|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z]))\s*")
_MACRO_OR_TEXT = re.compile(r"\\(?:text|begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+")
_WORD = re.compile(r"[a-zA-Z]{4,}")
_TOWER = re.compile(r"\^\s*(?:\{[^{}]*\}|\\?\w+)\s*\^")
_IMAGINARY = re.compile(r"(?<=\d)i(?![a-zA-Z])")
_MOST_DIGITS = 100_000
_BILLIONTH = sympy.Float("1e-9")
# Where expressions with variables are computed; nothing about the values is special, as they should be.
_POINTS = [
    (sympy.Rational(1373, 1000), sympy.Rational(917, 1000)),
    (sympy.Rational(-733, 1000), sympy.Rational(411, 1000)),
]

# It warns once that it sets no timeout, which is what is wanted here.
logging.getLogger("math_verify").setLevel(logging.ERROR)


def mathverify_opinion(answer: str, gold: str) -> GraderOpinion:
    """Compare two bare answers by computer algebra. What cannot be read or fails is undecided, never wrong.

    May run for ever or take all memory: call it where that can be stopped. MemoryError is let through.
    """
    try:
        expected = _parse(gold)
        if expected is None:
            return _undecided("the gold answer cannot be read")
        found = _parse(answer)
        if found is None:
            return _undecided("the answer cannot be read")
        if max(_digits(expected), _digits(found)) > _MOST_DIGITS:
            return _undecided(f"numbers of more than {_MOST_DIGITS} digits are not computed")
        equal = verify(
            expected, found, timeout_seconds=None, allow_set_relation_comp=True, raise_on_error=True
        )
        opinion = _checked(equal, expected, found)
        if opinion.outcome is Outcome.WRONG and (_rounds(answer, expected) or _rounds(gold, found)):
            return _undecided("equal up to rounding")
        return opinion
    except MemoryError:
        raise
    except (Exception, TimeoutException) as error:  # TimeoutException is a BaseException
        return _undecided(f"{type(error).__name__}: {str(error)[:200]}")


def _undecided(reason: str) -> GraderOpinion:
    return GraderOpinion(NAME, Outcome.UNDECIDED, reason)


def _parse(answer: str) -> Any:
    """The expression an answer was read as whole, or None."""
    latex = _AND.sub(", ", tidy(answer)).replace("\n", " ")
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


def _checked(equal: bool, expected: Any, found: Any) -> GraderOpinion:
    """math-verify's opinion, where computing both sides does not speak against it."""
    if not (isinstance(expected, sympy.Expr) and isinstance(found, sympy.Expr)):
        return GraderOpinion(NAME, Outcome.CORRECT if equal else Outcome.WRONG, "by computer algebra")
    if equal and expected.is_number and found.is_number:
        # It looks at the difference alone: all small numbers (1/2004!, 1/2006!) are equal to it.
        equal = not _differ(expected, found)
    if equal:
        return GraderOpinion(NAME, Outcome.CORRECT, "by computer algebra")
    if _differ(expected, found):
        return GraderOpinion(NAME, Outcome.WRONG, "by computer algebra")
    return _undecided("neither shown equal nor different")


def _rounds(decimal: str, exact: Any) -> bool:
    """Whether an answer is a decimal of three digits or more to which a number rounds (3.14 and pi)."""
    quantity = read_quantity(tidy(decimal))
    if quantity is None or quantity.digits is None or not isinstance(exact, sympy.Expr):
        return False
    if not (exact.is_number and exact.is_real):
        return False
    return is_rounded(quantity, Fraction(str(exact.evalf(30))))


def _differ(a: Any, b: Any) -> bool:
    """Whether two expressions, computed, are further apart than a billionth of their size."""
    names = sorted({symbol.name for symbol in a.free_symbols | b.free_symbols})
    for start, step in _POINTS:
        values = {name: start + i * step for i, name in enumerate(names)}
        one, other = (
            side.doit().subs({symbol: values[symbol.name] for symbol in side.free_symbols}).evalf(30)
            for side in (a, b)
        )
        if one.is_finite and other.is_finite:
            if abs(one - other) > (abs(one) + abs(other)) * _BILLIONTH:
                return True
        elif one.is_finite != other.is_finite or (one.is_infinite and one != other):
            return True
    return False


def _digits(expression: Any) -> float:
    """About how many decimal digits computing an expression would make; inf for the unthinkable."""
    if isinstance(expression, sympy.Rational):
        return float(max(abs(expression.p).bit_length(), expression.q.bit_length()) * math.log10(2))
    arguments: list[float] = [_digits(argument) for argument in getattr(expression, "args", ())]
    most = max(arguments, default=0.0)
    if isinstance(expression, sympy.Pow) and expression.exp.is_number:
        return arguments[0] * max(1.0, _magnitude(expression.exp, arguments[1]))
    if isinstance(expression, sympy.factorial | sympy.gamma) and expression.is_number:
        return _magnitude(expression.args[0], most) * max(most, 1.0)
    return sum(arguments) if isinstance(expression, sympy.Mul) else most


def _magnitude(number: Any, digits: float) -> float:
    """The size of a number that has `digits` digits; inf beyond what a float holds."""
    return abs(complex(number.evalf(5))) if digits < 300 else math.inf
