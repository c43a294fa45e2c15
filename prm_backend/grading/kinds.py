"""Graders of the plainer kinds of answer: a choice, a text, a number within a tolerance."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from prm_backend.grading.answers import Choice, read
from prm_backend.grading.latex import tidy
from prm_backend.grading.policy import GradingPolicy
from prm_backend.grading.quantities import Quantity, compare_quantities, converted, read_quantity
from prm_backend.text.gold import AnswerKind, Gold, Tolerance
from prm_backend.types import GraderOpinion, Outcome

_LETTER = re.compile(r"[a-zA-Z]")
_MACRO = re.compile(r"\\text\s*\{([^{}]*)\}")
_ARTICLES = {"a", "an", "the"}


def opinion_of_kind(answer: str, gold: Gold, policy: GradingPolicy) -> GraderOpinion | None:
    """An opinion on a choice, a text or a number; None where only computer algebra could tell."""
    if gold.kind is AnswerKind.CHOICE:
        return _choice(answer, gold.answer)
    if gold.kind is AnswerKind.TEXT:
        return _text(answer, gold.answer)
    assert gold.tolerance is not None
    sides = [read_quantity(tidy(side)) for side in (answer, gold.answer)]
    if sides[0] is None or sides[1] is None:
        return None
    return _number(sides[0], sides[1], gold.tolerance, policy)


def _choice(answer: str, gold: str) -> GraderOpinion:
    letters = [_letter(answer), _letter(gold)]
    if letters[1] is None:
        return GraderOpinion("choice", Outcome.UNDECIDED, "the gold answer names no choice")
    if letters[0] is None:
        return GraderOpinion("choice", Outcome.UNDECIDED, "the answer names no choice")
    if letters[0] == letters[1]:
        return GraderOpinion("choice", Outcome.CORRECT, f"choice {letters[0]}")
    return GraderOpinion("choice", Outcome.WRONG, f"choice {letters[0]}, not {letters[1]}")


def _letter(answer: str) -> str | None:
    text = tidy(answer)
    found = read(text.upper() if _LETTER.fullmatch(text) else text)
    return found.letter if isinstance(found, Choice) else None


def _text(answer: str, gold: str) -> GraderOpinion:
    words = [_words(side) for side in (answer, gold)]
    if words[0] == words[1]:
        return GraderOpinion("text", Outcome.CORRECT, "the same words")
    if set(words[0]) <= set(words[1]) or set(words[0]) >= set(words[1]):
        return GraderOpinion("text", Outcome.UNDECIDED, "the words of one are among the other's")
    return GraderOpinion("text", Outcome.WRONG, "other words")


def _words(answer: str) -> list[str]:
    """The words and signs, without case, accents' spelling, punctuation around them, and articles."""
    plain = unicodedata.normalize("NFKC", _MACRO.sub(r"\1", tidy(answer))).casefold()
    stripped = (word.strip(".,;:!?\"'`()[]{}“”‘’") for word in plain.split())
    return [word for word in stripped if word and word not in _ARTICLES] or plain.split()


def _number(answer: Quantity, gold: Quantity, tolerance: Tolerance, policy: GradingPolicy) -> GraderOpinion:
    """Near enough counts as equal; what else may differ (percent, units) is the policy's, rounding is not."""
    value = converted(answer, gold.unit)
    if tolerance.allows(found=answer.value if value is None else value, expected=gold.value):
        there = converted(gold, answer.unit)
        near = replace(answer, value=gold.value if there is None else there, digits=None, unreduced=False)
        outcome, reason = compare_quantities(near, gold, policy)
        return GraderOpinion("number", outcome, f"within {tolerance}; {reason}")
    outcome, reason = compare_quantities(answer, gold, replace(policy, rounded=Outcome.WRONG))
    return GraderOpinion("number", outcome, f"not within {tolerance}; {reason}")
