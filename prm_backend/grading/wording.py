"""Answers in words: phrases that stand for a sign or for one another, and what is written in `\\text` as a whole."""

from __future__ import annotations

import re

from prm_backend.grading.quantities import NUMERALS
from prm_backend.grading.units import TEXT_MACRO

_PHRASES = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in [
        (r"(?:all|the) real(?: number)?s|any real number", r"\\mathbb{R}"),
        (r"(?:all|the) integers|any integer", r"\\mathbb{Z}"),
        (r"(?:positive )?infinity", r"\\infty"),
        (r"negative infinity", r"-\\infty"),
        (r"(?:the )?empty set", r"\\emptyset"),
        (
            r"(?:there (?:is|are|exists?) )?no ((?:(?:real|integer|complex) )?)solutions?(?: exists?)?",
            r"no \1solution",
        ),
        (r"dne", "does not exist"),
        (r"does not converge", "diverges"),
        (r"noon", "12:00 PM"),
        (r"midnight", "12:00 AM"),
    ]
]
_SEPARATOR = re.compile(r"\s*(?:(?:;|,(?!\d{3}(?!\d)))\s*(?:(?:and|or)\s+)?|\s(?:and|or)\s)\s*")
# No two letters side by side, which would be a word, and a sign between or around what there is.
_FORMULA = re.compile(r"(?=.*[-=<>+*/^(\[\d])(?:\\[a-zA-Z]+|[a-zA-Z](?![a-zA-Z])|[^a-zA-Z\\])+")


def phrased(text: str) -> str:
    """A tidied answer with its phrase in the one way it is said here, and a formula or a list out of its `\\\\text`."""
    whole = TEXT_MACRO.fullmatch(text)
    inner = whole[1].strip() if whole else text
    for pattern, said in _PHRASES:
        if match := pattern.fullmatch(inner.rstrip(".")):
            return match.expand(said)
    if inner.casefold() in NUMERALS:
        return str(NUMERALS.index(inner.casefold()))
    if whole is None:
        return text
    if _FORMULA.fullmatch(inner):
        return inner
    items = _SEPARATOR.split(inner)
    if len(items) < 2 or not all(items):
        return text
    joints = (joint if joint.strip(" ,;") == "" else f"\\text{{ {joint} }}" for joint in _joints(inner))
    return "".join(f"\\text{{{item}}}{joint}" for item, joint in zip(items, [*joints, ""], strict=True))


def _joints(inner: str) -> list[str]:
    """What stands between the items: "and" or "or" where that is said, else a comma or a semicolon."""
    found = (separator[0] for separator in _SEPARATOR.finditer(inner))
    return [re.sub(r"[\s,;]", "", joint) or joint.strip() for joint in found]
