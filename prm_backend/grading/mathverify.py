"""math-verify asked the right way round, one bare answer a side. Sets no timeout: its process is killed.

Imported by the worker process alone, since it brings sympy.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from math_verify import LatexExtractionConfig, parse, verify
from math_verify.errors import TimeoutException

from prm_backend.grading.latex import tidy
from prm_backend.types import GraderOpinion, Outcome

NAME = "math-verify"
# LaTeX alone: its reader for plain expressions evaluates text, and would pick a number out of words.
_LATEX = [LatexExtractionConfig(boxed_match_priority=-1)]
_AND = re.compile(r"\s*,?\s*(?:\\text\s*\{\s*(?:and|or)\s*\}|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z]))\s*")

_MACRO_OR_TEXT = re.compile(r"\\(?:text|begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+")
_WORD = re.compile(r"[a-zA-Z]{4,}")
_TOWER = re.compile(r"\^\s*(?:\{[^{}]*\}|\\?\w+)\s*\^")
_IMAGINARY = re.compile(r"(?<=\d)i(?![a-zA-Z])")

# It warns once that it sets no timeout, which is what is wanted here.
logging.getLogger("math_verify").setLevel(logging.ERROR)


def mathverify_opinion(answer: str, gold: str) -> GraderOpinion:
    """Compare two bare answers by computer algebra. What cannot be read or fails is undecided, never wrong.

    May run for ever or take all memory: call it where that can be stopped. MemoryError is let through.
    """
    try:
        expected = _parse(gold)
        if not expected:
            return GraderOpinion(NAME, Outcome.UNDECIDED, "the gold answer cannot be read")
        found = _parse(answer)
        if not found:
            return GraderOpinion(NAME, Outcome.UNDECIDED, "the answer cannot be read")
        equal = verify(
            expected, found, timeout_seconds=None, allow_set_relation_comp=True, raise_on_error=True
        )
        equal = equal and not _differ_as_numbers(expected[0], found[0])
    except MemoryError:
        raise
    except (Exception, TimeoutException) as error:  # TimeoutException is a BaseException
        return GraderOpinion(NAME, Outcome.UNDECIDED, f"{type(error).__name__}: {str(error)[:200]}")
    return GraderOpinion(NAME, Outcome.CORRECT if equal else Outcome.WRONG, "by computer algebra")


def _parse(answer: str) -> list[Any]:
    """The expressions an answer was read as; none where only its text was found."""
    latex = _AND.sub(", ", tidy(answer)).replace("\n", " ")
    if _WORD.search(_MACRO_OR_TEXT.sub(" ", latex)) or _TOWER.search(latex):
        return []  # words would be read as a product of letters, 9^9^9 as (9^9)^9
    latex = _IMAGINARY.sub(" i", latex)  # it takes "2i" for a variable and "2 i" for a complex number
    read = parse(
        f"${latex}$",
        extraction_config=_LATEX,
        extraction_mode="first_match",  # else a part of what could not be read whole would do
        fallback_mode="no_fallback",
        parsing_timeout=None,
        raise_on_error=True,
    )
    return [expression for expression in read if not isinstance(expression, str)]


def _differ_as_numbers(expected: Any, found: Any) -> bool:
    """Whether two numbers differ by more than a billionth of their size.

    math-verify looks at the difference alone: all small numbers (1/2004!, 1/2006!) are equal to it.
    """
    if not (getattr(expected, "is_number", False) and getattr(found, "is_number", False)):
        return False
    if expected.is_zero or found.is_zero:
        return bool(expected.is_zero) != bool(found.is_zero)
    return bool(abs((found.doit() / expected.doit()).evalf(20) - 1) > 1e-9)
