"""Rows that are problems, as each data set writes them; one that is none is told with the reason."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from prm_backend.text.gold import AnswerKind, InputOutput
from prm_backend.text.problems import ProblemRow, Refused, read_problems

SHARED = Path(__file__).parents[3] / "shared" / "data"
GOOD = {"problem": "1 + 1?", "answer": "2"}


def one(row: object) -> ProblemRow | Refused:
    file = io.BytesIO(json.dumps(row).encode())
    file.name = "rows.jsonl"
    [found] = read_problems(file)
    return found


@pytest.mark.parametrize(
    ("name", "rows"), [("gsm8k_train.jsonl.gz", 7473), ("math_train_answers.jsonl.gz", 7499)]
)
def test_the_training_sets_are_taken_whole(name, rows):
    if not (SHARED / name).exists():
        pytest.skip(f"{SHARED / name} is not there")
    found = list(read_problems(SHARED / name))
    assert [row for row in found if isinstance(row, Refused)] == []
    assert len(found) == rows
    assert [row.line for row in found] == list(range(1, rows + 1))


def test_gsm8k_is_taken_apart_and_its_calculator_marks_are_gone():
    row = one(
        {"question": "How many?", "answer": "48/2 = <<48/2=24>>24 in May.\n24+48 = <<24+48=72>>72.\n#### 72"}
    )
    assert row == ProblemRow(1, "How many?", "72", "48/2 = 24 in May.\n24+48 = 72.", source="gsm8k")


def test_math_gives_the_boxed_answer_and_keeps_its_subject_and_level():
    row = one(
        {"problem": "p", "solution": "so $\\boxed{\\frac{1}{2}}$.", "level": "Level 5", "type": "Algebra"}
    )
    assert row == ProblemRow(
        1, "p", "\\frac{1}{2}", "so $\\boxed{\\frac{1}{2}}$.", source="math", subject="Algebra", level=5
    )


def test_math_500_gives_its_own_answer():
    row = one(
        {**GOOD, "solution": "\\boxed{3}", "subject": "Algebra", "level": 2, "unique_id": "test/a/1.json"}
    )
    assert (row.answer, row.source, row.unique_id, row.level) == ("2", "math-500", "test/a/1.json", 2)


def test_a_plain_row_gives_its_answer_even_where_that_is_a_number():
    assert one({"problem": " p ", "final_answer": 2.5}) == ProblemRow(1, "p", "2.5")


@pytest.mark.parametrize("answer", ["", None, " "])
def test_a_row_that_says_no_answer_is_known_is_a_problem_without_one(answer):
    assert one({"problem": "p", "final_answer": answer}) == ProblemRow(1, "p", None)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([1], "must be an object"),
        ("text", "must be an object"),
        ({}, "`problem` or `question`"),
        ({"problem": "  ", "answer": "2"}, "it has no problem"),
        ({"problem": "p"}, "it has no answer"),
        ({"problem": "p", "solution": "so it is 2"}, "it has no answer"),
        ({"problem": 5, "answer": "2"}, "`problem` must be a text, not a number"),
        ({"problem": "p", "answer": ["2"]}, "`answer` must be a text, not a list"),
        ({"problem": "p", "answer": True}, "`answer` must be a text, not true or false"),
        ({"question": "p", "answer": "so\n#### "}, "must end in `####`"),
        ({"problem": "a\x00b", "answer": "2"}, "`problem` holds a NUL"),
        ({"problem": "a\ud83d", "answer": "2"}, "lone surrogate"),
        ({"problem": "p", "answer": "2" * 5000}, "its answer has 5000 characters"),
        ({**GOOD, "subject": "s" * 101}, "`subject` has 101 characters"),
    ],
)
def test_a_row_that_is_no_problem_is_refused_with_what_would_do(row, said):
    refused = one(row)
    assert isinstance(refused, Refused)
    assert said in refused.reason


@pytest.mark.parametrize(
    ("row", "kind", "tolerance", "tests"),
    [
        ({"answer": "2"}, "mathematics", "", ()),
        ({"answer": "B", "kind": "choice"}, "choice", "", ()),
        ({"answer": "Paris", "kind": "text"}, "text", "", ()),
        ({"answer": "9.81", "tolerance": 0.01}, "number", "0.01", ()),
        ({"answer": "9.81", "tolerance": "1 %", "kind": "number"}, "number", "1 %", ()),
        ({"tests": "assert f(1) == 2"}, "code", "", ("assert f(1) == 2",)),
        ({"tests": [{"input": "1", "output": "2"}]}, "code", "", (InputOutput("1", "2"),)),
    ],
)
def test_a_row_says_what_kind_of_answer_it_wants(row, kind, tolerance, tests):
    found = one({"problem": "p", **row})
    assert isinstance(found, ProblemRow)
    assert (found.kind, found.tolerance, found.tests) == (kind, tolerance, tests)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"answer": "2", "kind": "essay"}, "`kind` must be one of mathematics, choice"),
        ({"answer": "2", "kind": 3}, "`kind` must be a text"),
        ({"answer": "2", "kind": "text", "tolerance": "1"}, "`tolerance` belongs to `kind` number"),
        ({"answer": "2", "tolerance": "little"}, "a tolerance is a number such as 0.01"),
        ({"answer": "2", "kind": "text", "tests": "assert 1"}, "`tests` belong to `kind` code"),
        ({"kind": "code"}, "`kind` code needs `tests`"),
        ({"tests": [1]}, "each of `tests` must be a text of Python"),
        ({"answer": "the dog", "kind": "choice"}, "needs an answer from A to J"),
    ],
)
def test_a_kind_that_does_not_fit_its_row_is_refused_with_what_would_do(row, reason):
    refused = one({"problem": "p", **row})
    assert isinstance(refused, Refused)
    assert reason in refused.reason


def test_rows_of_humaneval_and_mbpp_are_recognised():
    row = one(
        {
            "task_id": "HumanEval/0",
            "prompt": "def f(x):\n    '''Add one.'''",
            "canonical_solution": "    return x + 1  # the answer is 5",
            "test": "def check(candidate):\n    assert candidate(1) == 2",
            "entry_point": "f",
        }
    )
    assert row == ProblemRow(
        1,
        "def f(x):\n    '''Add one.'''",
        None,
        "return x + 1  # the answer is 5",
        AnswerKind.CODE,
        tests=("def check(candidate):\n    assert candidate(1) == 2\n\ncheck(f)",),
        source="humaneval",
        unique_id="HumanEval/0",
    )
    row = one(
        {
            "text": "Add one.",
            "code": "def f(x): …",
            "test_list": ["assert f(1) == 2"],
            "test_setup_code": "import math",
        }
    )
    assert (row.problem, row.kind, row.source) == ("Add one.", "code", "mbpp")
    assert row.tests == ("import math", "assert f(1) == 2")
