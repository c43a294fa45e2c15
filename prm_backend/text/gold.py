"""What an answer is held against: the gold answer, its kind, and for code the tests. Judges nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from prm_backend.text.steps import extract_answer, storable

_TOLERANCE = re.compile(r"(\d{0,20}\.?\d{0,20}(?:[eE]-?\d{1,2})?)\s*(%?)")
_MOST_TESTS = 200
_LONGEST_TEST = 100_000
_FENCE = re.compile(
    r"^[ \t]*(?:`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n(.*?)(?:^[ \t]*(?:`{3,}|~{3,})|\Z)", re.MULTILINE | re.DOTALL
)
_CODE_BEGINS = re.compile(r"(?:async\s+def|def|class|import|from)\s+\w|@\w")
_CODE_GOES_ON = re.compile(
    r"[ \t]+\S|[)\]}]|#|@\w|[\w.\[\], ]+[-+*/]?=|[\w.]+\(|(?:if|for|while|with|try)\b.*:"
)


class AnswerKind(StrEnum):
    """What kind of thing a problem asks for; it decides how answers are compared."""

    MATHEMATICS = "mathematics"
    CHOICE = "choice"
    TEXT = "text"
    NUMBER = "number"  # with a tolerance
    CODE = "code"  # with tests that it must pass


@dataclass(frozen=True)
class Tolerance:
    """How far a number may lie from the gold one: so much, or (`relative`) such a share of the gold number's size."""

    size: Fraction
    relative: bool = False

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """Read "0.01" (absolute) or "1 %" (relative). Raises ValueError."""
        match = _TOLERANCE.fullmatch(text.strip())
        if match is None or not any(character.isdigit() for character in match[1]):
            raise ValueError(
                f"a tolerance is a number such as 0.01, or a percentage such as 1 %; got {text[:40]!r}"
            )
        size = Fraction(match[1].removesuffix("."))
        return cls(size / 100, relative=True) if match[2] else cls(size)

    def allows(self, *, found: Fraction, expected: Fraction) -> bool:
        return abs(found - expected) <= self.size * (abs(expected) if self.relative else 1)

    def __str__(self) -> str:
        return f"{float(self.size * 100):.15g} %" if self.relative else f"{float(self.size):.15g}"


@dataclass(frozen=True)
class InputOutput:
    """A test of a whole program: what it reads from standard input, and what it must print."""

    input: str
    output: str


CodeTest = str | InputOutput  # a text is Python that asserts


@dataclass(frozen=True)
class Gold:
    """What an answer is held against. `tests` belong to code, which needs no `answer`; `tolerance` to numbers."""

    answer: str = ""
    kind: AnswerKind = AnswerKind.MATHEMATICS
    tolerance: Tolerance | None = None
    tests: tuple[CodeTest, ...] = ()


def read_tests(value: Any) -> tuple[CodeTest, ...]:
    """Tests out of JSON: Python that asserts (one text or a list), or {input, output} pairs. Raises ValueError."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not items:
        raise ValueError("`tests` must be Python asserts, or a list of them or of {input, output}")
    if len(items) > _MOST_TESTS:
        raise ValueError(f"`tests` has {len(items)} entries; {_MOST_TESTS} are the most")
    tests = tuple(map(_read_test, items))
    if len({isinstance(test, str) for test in tests}) > 1:
        raise ValueError("`tests` mixes asserts and {input, output}: use one kind")
    return tests


def _read_test(item: Any) -> CodeTest:
    is_pair = isinstance(item, dict) and set(item) == {"input", "output"}
    texts = list(item.values()) if is_pair else [item]
    for text in texts:
        if not isinstance(text, str) or storable(text) != text:
            raise ValueError("each of `tests` must be a text of Python, or {input, output} of two texts")
        if len(text) > _LONGEST_TEST:
            raise ValueError(f"one of `tests` has {len(text)} characters; {_LONGEST_TEST} are the most")
    return InputOutput(item["input"], item["output"]) if is_pair else item


def write_tests(tests: tuple[CodeTest, ...]) -> list[Any]:
    """The JSON that `read_tests` reads."""
    return [test if isinstance(test, str) else {"input": test.input, "output": test.output} for test in tests]


def final_answer(text: str, kind: AnswerKind) -> str | None:
    """The one final answer of that kind which a solution states; None where it states none."""
    return extract_code(text) if kind is AnswerKind.CODE else extract_answer(text)


def extract_code(text: str) -> str | None:
    """A solution's program: its last fenced block of Python, else the lines that look like code; None without any.

    Nothing is compiled here: the text is a stranger's.
    """
    blocks = [
        code for language, code in _FENCE.findall(text) if language.lower() in ("", "python", "py", "python3")
    ]
    if blocks:
        return storable(blocks[-1].rstrip()) or None
    lines = storable(text).splitlines()
    start = next((i for i, line in enumerate(lines) if _CODE_BEGINS.match(line)), None)
    if start is None:
        return None
    end = max(
        i
        for i, line in enumerate(lines)
        if i >= start and (_CODE_BEGINS.match(line) or _CODE_GOES_ON.match(line))
    )
    return "\n".join(lines[start : end + 1])
