"""The import stage: each problem once, bad rows told, good rows in."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotate.loop.problems import BATCH, Refusals, import_problems
from annotate.models import Problem
from prm_backend.text.problems import ProblemRow
from prm_backend.text.rows import Refused
from prm_backend.text.steps import text_hash
from prm_backend.types import Progress
from tests.factories import ProblemFactory
from tests.waiting import at_once

pytestmark = pytest.mark.django_db

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def row(problem: str, line: int = 1, **more: object) -> ProblemRow:
    return ProblemRow(line=line, problem=problem, **({"answer": "1"} | more))


def rows(n: int) -> Iterator[ProblemRow]:
    return (row(f"What is {i} + 1?", line=i + 1, answer=str(i + 1)) for i in range(n))


def test_each_new_text_becomes_a_problem_with_all_that_its_row_says() -> None:
    told = row(
        "What is 2 + 2?",
        answer="4",
        solution="Add.",
        source="GSM8K",
        subject="Algebra",
        level=3,
        unique_id="a/7",
    )
    assert import_problems(rows=[told]).added == 1
    problem = Problem.objects.get()
    assert (problem.text, problem.answer, problem.solution) == ("What is 2 + 2?", "4", "Add.")
    assert (problem.source, problem.subject, problem.level, problem.unique_id) == (
        "GSM8K",
        "Algebra",
        3,
        "a/7",
    )
    assert problem.text_hash == text_hash("What is 2 + 2?")
    assert problem.retired_at is None


def test_the_source_is_named_only_for_rows_that_do_not_say_it() -> None:
    import_problems(rows=[row("a?"), row("b?", source="theirs")], source="ours")
    assert dict(Problem.objects.values_list("text", "source")) == {"a?": "ours", "b?": "theirs"}


def test_importing_again_adds_nothing_and_says_so() -> None:
    n = BATCH + 7
    first = import_problems(rows=rows(n))
    again = import_problems(rows=rows(n))
    assert (first.added, first.known) == (n, 0)
    assert (again.added, again.known) == (0, n)
    assert Problem.objects.count() == n


def test_a_text_that_comes_twice_in_one_file_is_added_once_whatever_its_white_space() -> None:
    twice = [row("How many?"), row("How   many?\n", line=2), *rows(BATCH), row(" How many? ", line=2000)]
    summary = import_problems(rows=twice)
    assert (summary.added, summary.known) == (BATCH + 1, 2)


def test_a_problem_that_is_there_keeps_its_own_answer() -> None:
    ProblemFactory.create(text="How many?", answer="7")
    summary = import_problems(rows=[row("How many?", answer="8")])
    assert (summary.added, summary.known) == (0, 1)
    assert Problem.objects.get().answer == "7"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row("   ", line=5), "the problem is empty"),
        (row("How\x00many?", line=5), "problem holds a NUL"),
        (row("How many?", answer="\ud83d", line=5), "answer holds"),
        (row("How many?", solution="\x00", line=5), "solution holds"),
        (row("How many?", source="s" * 101, line=5), "source is 101 characters long; at most 100"),
        (row("How many?", unique_id="u" * 201, line=5), "unique_id is 201"),
        (row("How many?", level=40000, line=5), "level must be"),
        (Refused(5, "not JSON"), "not JSON"),
    ],
)
def test_a_bad_row_is_refused_with_its_line_and_the_good_ones_go_in(
    bad: ProblemRow | Refused, reason: str
) -> None:
    summary = import_problems(rows=[row("Good?", line=4), bad, row("Good too?", line=6)])
    assert summary.added == Problem.objects.count() == 2
    (refused,) = summary.refused
    assert refused.line == 5
    assert reason in refused.reason


def test_a_file_of_the_wrong_kind_is_counted_but_its_refusals_fill_no_memory() -> None:
    refused = (Refused(line, "no problem") for line in range(1, 3 * Refusals.MOST + 1))
    summary = import_problems(rows=(*refused, row("How many?", line=9999)))
    assert (summary.added, summary.n_refused) == (1, 3 * Refusals.MOST)
    assert [told.line for told in summary.refused] == list(range(1, Refusals.MOST + 1))


def test_which_problems_are_held_out_depends_on_their_text_alone() -> None:
    import_problems(rows=rows(2000))
    held_out = set(Problem.objects.filter(held_out=True).values_list("text", flat=True))
    assert 0.07 < len(held_out) / 2000 < 0.13
    Problem.objects.all().delete()
    import_problems(rows=reversed(list(rows(2000))))
    assert set(Problem.objects.filter(held_out=True).values_list("text", flat=True)) == held_out


def test_progress_hears_the_rows_read_so_far() -> None:
    heard: list[Progress] = []
    import_problems(rows=rows(2 * BATCH + 1), progress=heard.append)
    assert [p.done for p in heard] == [BATCH, 2 * BATCH, 2 * BATCH + 1]


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_one_file_at_once_count_each_problem_once() -> None:
    summaries = at_once(lambda: import_problems(rows=rows(3 * BATCH)))
    assert sum(s.added for s in summaries) == sum(s.known for s in summaries) == 3 * BATCH
    assert Problem.objects.count() == 3 * BATCH


def test_the_command_tells_each_refused_row_and_ends_with_status_1_though_the_good_ones_are_in(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mixed.jsonl.gz"
    lines = [
        '{"problem": "How many?", "answer": "3"}',
        "{broken",
        '{"question": "Q?", "answer": "So.\\n#### 4"}',
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="Rows refused: 1") as ended:
        call_command("import_problems", path, stdout=out, stderr=err)
    assert ended.value.returncode == 1
    assert f"{path}: 2 new, 0 known already, 1 refused" in out.getvalue()
    assert f"{path}:2: " in err.getvalue()
    assert set(Problem.objects.values_list("text", "answer", "source")) == {
        ("How many?", "3", "mixed"),
        ("Q?", "4", "gsm8k"),
    }


def test_the_command_says_which_file_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"gone\.jsonl can't be read: No such file"):
        call_command("import_problems", tmp_path / "gone.jsonl")


@pytest.mark.slow
def test_the_training_sets_of_gsm8k_and_math_import_whole_in_under_30_seconds() -> None:
    files = [DATA / "gsm8k_train.jsonl.gz", DATA / "math_train_answers.jsonl.gz"]
    if not all(file.exists() for file in files):
        pytest.skip(f"needs {files[0].name} and {files[1].name} in {DATA}")
    out = StringIO()
    began, began_cpu = time.perf_counter(), time.process_time()
    call_command("import_problems", *files, stdout=out)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    print(out.getvalue(), f"{seconds:.1f} s, {cpu_seconds:.1f} s of them our own")
    # Our half of the 30 s by the CPU's clock, which other work on the machine does not blur.
    assert cpu_seconds < 15
    answered: dict[str, bool] = {}
    for file in files:
        with gzip.open(file, "rt") as stream:
            for record in map(json.loads, stream):
                text = record.get("problem") or record["question"]
                answered.setdefault(text_hash(text), bool(record.get("final_answer", record.get("answer"))))
    stored = dict(Problem.objects.values_list("text_hash", "answer"))
    assert {digest: answer is not None for digest, answer in stored.items()} == answered
