"""Problems out of the files people have: GSM8K, MATH, MATH-500 and plain rows. Stores and grades nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from prm_backend.text.gold import AnswerKind, CodeTest, Tolerance, read_tests
from prm_backend.text.rows import DEFAULT_LIMITS, ReadLimits, Refused, read_rows
from prm_backend.text.steps import extract_answer, is_storable

__all__ = ["ProblemRow", "ReadLimits", "Refused", "problem_row", "read_problems"]

_PROBLEM_KEYS = ("problem", "question")
_ANSWER_KEYS = ("final_answer", "answer")
_CALCULATOR_MARK = re.compile(r"<<[^<>\n]*>>")
_LEVEL = re.compile(r"(?:level\s*)?(\d{1,4})", re.IGNORECASE)
_CHOICE = re.compile(r"\(?[A-Ja-j](?![A-Za-z])")
_LONGEST_ANSWER = 2000


@dataclass(frozen=True)
class ProblemRow:
    """A problem as a file has it. `answer` is None where an empty one says that none is known."""

    line: int
    problem: str
    answer: str | None
    solution: str | None = None
    kind: AnswerKind = AnswerKind.MATHEMATICS
    tolerance: str = ""
    tests: tuple[CodeTest, ...] = ()
    source: str = ""  # the row's own word, else the format that gave it away; "" for a plain row
    subject: str = ""
    level: int | None = None
    unique_id: str = ""


def read_problems(
    source: str | Path | BinaryIO, *, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[ProblemRow | Refused]:
    """The problems of a JSON, JSONL or CSV file, each also `.gz`, one by one in bounded memory.

    Recognised: GSM8K (`question`, `answer` ending in `#### 72`; its `<<48/2=24>>` marks are taken out), MATH
    (`problem`, `solution` with a `\\boxed{}`), MATH-500 (an `answer` beside it), `{problem, answer}` and
    `{problem, final_answer}`, each with `kind`, `tolerance` or `tests` where they say; HumanEval (`test`,
    `entry_point`) and MBPP (`test_list`). Any other row is Refused with what would do, and reading goes on. Raises
    OSError where a path cannot be opened.
    """
    for row in read_rows(source, columns=_PROBLEM_KEYS, limits=limits):
        yield row if isinstance(row, Refused) else problem_row(row.line, row.value)


def problem_row(line: int, value: Any) -> ProblemRow | Refused:
    """Read one row of JSON data as a problem."""
    try:
        return _read(line, value)
    except ValueError as error:
        return Refused(line, str(error))


def _read(line: int, row: Any) -> ProblemRow:
    if not isinstance(row, dict):
        raise ValueError("the row must be an object such as {problem, answer}")
    row = _of_programs(row)
    problem = next((_text(row, key) for key in _PROBLEM_KEYS if key in row), "")
    if not problem:
        raise ValueError("it has no problem: a text under `problem` or `question` would do")
    solution = _text(row, "solution") or None
    source = _text(row, "source", longest=100)
    given = next((_text(row, key, or_number=True) for key in _ANSWER_KEYS if key in row), None)
    if given and "####" in given:
        given, solution = _gsm8k(given)
        source = source or "gsm8k"
    elif solution is not None and not row.get("tests") and (found := given or extract_answer(solution)):
        given = found
        source = source or ("math-500" if "unique_id" in row else "math")
    rule = answer_rule(row | {"answer": given})
    if given is None and not rule["tests"]:
        raise ValueError(
            "it has no answer: `answer`, `final_answer`, an `answer` ending in `#### …`, a `solution` with "
            "\\boxed{…} or `tests` of code would do"
        )
    if given and len(given) > _LONGEST_ANSWER:
        raise ValueError(f"its answer has {len(given)} characters; {_LONGEST_ANSWER} are the most")
    return ProblemRow(
        line=line,
        problem=problem,
        answer=given or None,
        solution=solution,
        **rule,
        source=source,
        subject=_text(row, "subject", longest=100) or _text(row, "type", longest=100),
        level=_level(row),
        unique_id=_text(row, "unique_id", longest=200, or_number=True),
    )


def answer_rule(row: dict[str, Any]) -> dict[str, Any]:
    """`kind`, `tolerance` and `tests` of a row with an `answer`: how answers are held against it. Raises ValueError.

    A row with `tests` is one of code, one with a `tolerance` one of a number, unless its `kind` says otherwise.
    """
    tests = read_tests(row["tests"]) if row.get("tests") not in (None, "", []) else ()
    tolerance = _text(row, "tolerance", longest=50, or_number=True)
    default = AnswerKind.CODE if tests else AnswerKind.NUMBER if tolerance else AnswerKind.MATHEMATICS
    named = _text(row, "kind") or default
    if named not in set(AnswerKind):
        raise ValueError(f"`kind` must be one of {', '.join(AnswerKind)}, not {named[:40]!r}")
    kind = AnswerKind(named)
    if tolerance and kind is not AnswerKind.NUMBER:
        raise ValueError(f"`tolerance` belongs to `kind` number, not {kind}")
    if tests and kind is not AnswerKind.CODE:
        raise ValueError(f"`tests` belong to `kind` code, not {kind}")
    if kind is AnswerKind.CODE and not tests:
        raise ValueError("`kind` code needs `tests`: Python that asserts, or a list of {input, output}")
    if kind is AnswerKind.CHOICE and row.get("answer") and not _CHOICE.match(row["answer"]):
        raise ValueError("`kind` choice needs an answer from A to J, such as B or (B)")
    if tolerance:
        Tolerance.parse(tolerance)
    return {"kind": kind, "tolerance": tolerance, "tests": tests}


def _of_programs(row: dict[str, Any]) -> dict[str, Any]:
    """A row of HumanEval or MBPP under our keys; any other as it is."""
    if "test" in row and "entry_point" in row:
        test, name = _text(row, "test"), _text(row, "entry_point")
        return {
            "problem": _text(row, "prompt"),
            "tests": [f"{test}\n\ncheck({name})"],
            "solution": _text(row, "canonical_solution"),
            "source": "humaneval",
            "unique_id": _text(row, "task_id", or_number=True),
        }
    if isinstance(row.get("test_list"), list):
        setup = row.get("test_imports") or []
        before = "\n".join(setup) if isinstance(setup, list) else _text(row, "test_setup_code")
        before = before or _text(row, "test_setup_code")
        return {
            "problem": _text(row, "text") or _text(row, "prompt"),
            "tests": [*([before] if before else []), *row["test_list"]],
            "solution": _text(row, "code"),
            "source": "mbpp",
            "unique_id": _text(row, "task_id", or_number=True),
        }
    return row


def _gsm8k(worked: str) -> tuple[str, str | None]:
    """GSM8K's `answer`, taken apart into the final answer and the worked steps, one a line."""
    steps, _, final = worked.rpartition("####")
    final = final.strip()
    if not final or "\n" in final:
        raise ValueError("its answer must end in `####` and the final answer on one line")
    return final, _CALCULATOR_MARK.sub("", steps).strip() or None


def _text(row: dict[str, Any], key: str, *, longest: int | None = None, or_number: bool = False) -> str:
    """A text of the row without the blanks around it; "" where it is null or not there."""
    value = row.get(key)
    if or_number and isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"`{key}` must be a text, not {_KINDS.get(type(value), 'a number')}")
    if not is_storable(value):
        raise ValueError(f"`{key}` holds a NUL, a lone surrogate or bytes that are not UTF-8")
    value = value.strip()
    if longest is not None and len(value) > longest:
        raise ValueError(f"`{key}` has {len(value)} characters; {longest} are the most")
    return value


_KINDS = {bool: "true or false", list: "a list", dict: "an object"}


def _level(row: dict[str, Any]) -> int | None:
    """MATH's "Level 5" or MATH-500's 5; None for anything else ("Level ?" is in MATH)."""
    match = _LEVEL.fullmatch(str(row.get("level", "")).strip())
    return int(match[1]) if match else None
