"""Files of step labels, converted from one format to another: what survives, what is lost, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from prm_backend.text.convert import Converted, convert, main
from prm_backend.text.formats import FORMATS, recognise
from prm_backend.text.prm800k import to_json
from prm_backend.text.rows import Refused, Row
from prm_backend.text.tables import is_parquet, read_table, write_table
from prm_backend.types import LabelledSolution
from tests.engine.formats import solutions, written
from tests.engine.records import records

SHARED = Path(__file__).parents[3] / "shared" / "data"


def rows_of(path: Path, name: str) -> list[dict[str, Any]]:
    found = list(read_table(path))
    assert all(isinstance(row, Row) for row in found), found
    return [FORMATS[name].from_parquet(row.value) if is_parquet(path) else row.value for row in found]  # type: ignore[union-attr]


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".jsonl.gz"])
@given(data=st.lists(records, max_size=4))
@settings(max_examples=12)
def test_prm800k_records_survive_every_kind_of_file(
    ending: str, data: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("files") / f"x{ending}"
    rows = [json.loads(to_json(record)) for record in data]
    assert write_table(path, rows, FORMATS["prm800k"].schema) == len(rows)
    assert rows_of(path, "prm800k") == rows
    assert [row.name for row in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["trl", "step-labels", "processbench"])
@given(data=st.lists(solutions(), max_size=4))
@settings(max_examples=12)
def test_rows_survive_parquet(
    name: str, data: list[LabelledSolution], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rated = [
        LabelledSolution(s.problem, s.steps, tuple(r if r in (1, -1) else 1 for r in s.ratings), id=s.id)
        for s in data
    ]
    rows = [written(name, solution)[0] for solution in rated]
    path = tmp_path_factory.mktemp("files") / "x.parquet"
    write_table(path, rows, FORMATS[name].schema)
    assert rows_of(path, name) == rows


def test_a_parquet_file_is_what_datasets_reads(tmp_path: Path) -> None:
    from datasets import Dataset

    rows = [{"prompt": "p", "completions": ["a", "b"], "labels": [True, False]}]
    write_table(tmp_path / "x.parquet", rows, FORMATS["trl"].schema)
    assert Dataset.from_parquet(str(tmp_path / "x.parquet"), cache_dir=str(tmp_path)).to_list() == rows


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing")
    [refused] = read_table(tmp_path / "x.parquet")
    assert isinstance(refused, Refused)
    assert "Parquet data is damaged" in refused.reason


def run(source: Path, target: Path, **options: Any) -> tuple[Converted, list[Refused]]:
    refused: list[Refused] = []
    return convert(source, target, refuse=refused.append, **options), refused


def jsonl(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


GOOD = {"id": "a", "problem": "p", "steps": ["x", "y"], "first_error": 1, "generator": "m", "source": "s"}


def test_bad_lines_are_named_with_the_reason_and_the_good_ones_go_through(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [GOOD, "{", {**GOOD, "first_error": 7}, GOOD])
    result, refused = run(source, tmp_path / "out.jsonl", to="processbench")
    assert (result.written, [row.line for row in refused]) == (2, [2, 3])
    assert "no JSON" in refused[0].reason
    assert "first_error must be -1 or the index of one of the 2 steps, got 7" in refused[1].reason
    assert (
        rows_of(tmp_path / "out.jsonl", "processbench")
        == [{"id": "a", "problem": "p", "steps": ["x", "y"], "label": 1, "generator": "m"}] * 2
    )
    assert result.lost == {"the key 'source'": 2}


def test_what_parquet_has_a_type_for_and_json_none_is_told_as_text_or_refused_row_by_row(
    tmp_path: Path,
) -> None:
    rows = [
        {
            **GOOD,
            "at": datetime(2026, 1, 2, tzinfo=UTC),
            "price": Decimal("1.5"),
            "mean": 0.5,
            "picture": None,
        },
        {**GOOD, "mean": float("nan")},
        {**GOOD, "picture": b"\xff"},
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    result, refused = run(tmp_path / "in.parquet", tmp_path / "out.jsonl", to="step-labels")
    (written,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (written["at"], written["price"]) == ("2026-01-02T00:00:00+00:00", "1.5")
    assert (result.written, [row.line for row in refused]) == (1, [2, 3])
    assert "bytes, which JSON lacks" in refused[1].reason


def test_the_command_says_what_was_lost_and_fails_where_rows_were_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{**GOOD, "ratings": [0, -1]}, {**GOOD, "steps": []}])
    target = tmp_path / "out.parquet"
    assert main([str(source), str(target), "--to", "trl", "--neutral", "bad"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"1 rows written to {target}, 1 refused"
    assert "lost: 1 × neutral ratings, written as bad" in out
    assert err == f"{source}:2: steps must be a list of one or more, got []\n"
    assert rows_of(target, "trl") == [{"prompt": "p", "completions": ["x", "y"], "labels": [False, False]}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.jsonl", "out.jsonl", "--to", "trl"], "No such file"),
        (["in.jsonl", "out.txt", "--to", "trl"], "must end in .jsonl, .jsonl.gz or .parquet"),
    ],
)
def test_a_file_that_cannot_be_opened_or_named_is_an_error(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "in.jsonl", [GOOD])
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_scores_are_not_ratings(tmp_path: Path) -> None:
    scored = {
        "problem": "p", "steps": ["a"], "answer": None, "is_correct": False, "prm_score": 0.5,
        "rating_probs": [{"-1": 0.5, "0": 0.25, "1": 0.25}], "ground_truth_answer": "1", "level": 3,
    }  # fmt: skip
    source = jsonl(tmp_path / "in.jsonl", [scored])
    _, [refused] = run(source, tmp_path / "out.jsonl", to="trl")
    assert refused.reason == "scored-samples holds a model's scores, not people's ratings"
    run(source, tmp_path / "out.parquet", to="scored-samples")
    assert rows_of(tmp_path / "out.parquet", "scored-samples") == [scored]


def test_a_key_that_parquet_has_no_column_for_is_counted_as_lost(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{**GOOD, "mood": "glad"}])
    result, _ = run(source, tmp_path / "out.parquet", to="step-labels")
    assert result.lost == {"the key 'mood', which a Parquet file of step-labels has no column for": 1}
    again, _ = run(source, tmp_path / "out.jsonl", to="step-labels")
    assert (again.lost, rows_of(tmp_path / "out.jsonl", "step-labels")) == ({}, [{**GOOD, "mood": "glad"}])


@pytest.mark.parametrize("ending", [".parquet", ".PARQUET"])
def test_a_row_that_parquet_cannot_hold_is_refused_alone_and_has_lost_nothing(
    ending: str, tmp_path: Path
) -> None:
    row = {"id": "a", "problem": "p", "steps": ["x", "y"], "label": 1, "final_answer_correct": True}
    rows = [row, {**row, "id": 7, "mood": "glad"}, {**row, "final_answer_correct": "yes"}, {**row, "id": "b"}]
    target = tmp_path / f"out{ending}"
    result, refused = run(jsonl(tmp_path / "in.jsonl", rows), target, to="processbench")
    assert [one.line for one in refused] == [2, 3]
    assert "id does not fit its Parquet column" in refused[0].reason
    assert "final_answer_correct does not fit" in refused[1].reason
    assert (result.written, result.lost) == (2, {})
    assert rows_of(target, "processbench") == [rows[0], rows[3]]


def test_a_lone_surrogate_is_no_reason_to_refuse_a_row(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{**GOOD, "problem": "a\ud800b"}])
    result, refused = run(source, tmp_path / "out.parquet", to="step-labels")
    assert (result.written, refused) == (1, [])
    assert rows_of(tmp_path / "out.parquet", "step-labels")[0]["problem"] == "a\ufffdb"


def test_an_ending_in_capitals_is_the_same_ending(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{**GOOD, "groups": {"subject": "Algebra"}}])
    result, _ = run(source, tmp_path / "x.PARQUET", to="step-labels")
    assert result.lost == {"the key 'groups', which a Parquet file of step-labels has no column for": 1}
    run(tmp_path / "x.PARQUET", tmp_path / "back.jsonl", to="step-labels")
    assert rows_of(tmp_path / "back.jsonl", "step-labels") == [GOOD]  # no optional key as null


@pytest.mark.parametrize(
    ("name", "form", "rows"),
    [
        ("prm800k_records/records.jsonl", "prm800k", 8),
        ("prm800k_records/scored_sample.json", "scored-samples", 1),
        ("processbench_gsm8k.json", "processbench", 400),
    ],
)
def test_real_files_go_through_parquet_and_back_unchanged(
    name: str, form: str, rows: int, tmp_path: Path
) -> None:
    if not (SHARED / name).exists():
        pytest.skip(f"{SHARED / name} is not there")
    there, _ = run(SHARED / name, tmp_path / "x.parquet", to=form)
    back, _ = run(tmp_path / "x.parquet", tmp_path / "x.jsonl", to=form)
    assert (there.written, there.lost, back.written, back.lost) == (rows, {}, rows, {})
    original = rows_of(SHARED / name, form)
    assert rows_of(tmp_path / "x.jsonl", form) == original
    assert {recognise(row).name for row in original if recognise(row)} == {form}  # type: ignore[union-attr]
