"""Files of rows, good and hostile: JSON, JSONL and CSV in any encoding, damaged or endless; each fault by its line."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc

import pytest

from prm_backend.text.problems import ProblemRow, ReadLimits, Refused, read_problems
from prm_backend.text.rows import read_rows

GOOD = {"problem": "1 + 1?", "answer": "2"}


def named(data: bytes, name: str) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = name
    return file


def read(data: bytes | str, name: str = "rows.jsonl", **options) -> list[ProblemRow | Refused]:
    data = data.encode() if isinstance(data, str) else data
    return list(read_problems(named(data, name), **options))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"problem": "p", "problem": "q", "answer": "2"}', "'problem' stands twice"),
        (b'{"problem": "p", "answer": NaN}', "NaN is no JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"problem": "p"', "no JSON"),
        (b'{"problem": "p", "answer": "2"} x', "more follows"),
        (b'{"problem": "caf\xe9", "answer": "2"}', "not UTF-8"),
        (b'{"problem": "' + b"x" * 10_000_000 + b'", "answer": "2"}', "longer than 1048576 characters"),
        (b"\x00\x00\x00", "no JSON"),
        (b'{"problem": "p", "answer": ' + b"9" * 5000 + b"}", "no JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("between", [b"\n", b"\r\n"])
def test_a_broken_line_is_refused_and_the_good_ones_around_it_go_in(line, said, between):
    good = json.dumps(GOOD).encode()
    first, broken, last = read(between.join([good, line, good]))
    assert isinstance(first, ProblemRow)
    assert isinstance(last, ProblemRow)
    assert (first.line, broken.line, last.line) == (1, 2, 3)
    assert said in broken.reason


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.jsonl", '{"problem": "né €?", "answer": "2"}\n\n'),
        ("r.json", '[{"problem": "né €?", "answer": "2"}]'),
        ("r.csv", 'problem,answer\r\n"né €?",2\r\n'),
    ],
)
def test_every_format_is_read_in_utf_8_and_utf_16_with_and_without_a_mark(encoding, name, text):
    for data, end in ((text.encode(encoding), ""), (gzip.compress(text.encode(encoding)), ".gz")):
        [row] = read(data, name + end)
        assert (row.problem, row.answer) == ("né €?", "2")


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_list_is_read_item_by_item_with_its_lines(indent):
    items = [GOOD, 5, {**GOOD, "problem": "x" * 200_000}, GOOD]
    rows = read(json.dumps(items, indent=indent), "rows.json")
    assert [type(row).__name__ for row in rows] == ["ProblemRow", "Refused", "ProblemRow", "ProblemRow"]
    assert [row.line for row in rows] == ([2, 6, 7, 11] if indent else [1, 1, 1, 1])


def test_json_values_one_after_the_other_are_read_too():
    assert len(read(f"{json.dumps(GOOD, indent=1)}\n{json.dumps(GOOD)}", "rows.json")) == 2


@pytest.mark.parametrize(
    ("data", "taken", "said"),
    [
        ('[{"problem": "p", "answer": "2"}', 1, "ends within the list"),
        ('[{"problem": "p", "answer": "2"}, {"problem": ', 1, "no JSON"),
        ('[{"problem": "p", "answer": "2"}] x', 1, "more follows"),
        ('[{"problem": "p", "answer": "2"}, oops, {"problem": "p", "answer": "2"}]', 1, "not read"),
        ("[" * 100_000, 0, "nested too deeply"),
        (
            '[{"problem": "p", "answer": "2"}, {"a": "'
            + "x" * 3_000_000
            + '"}, {"problem": "p", "answer": "2"}]',
            1,
            "longer than 1048576 characters",
        ),
    ],
    ids=range(6),
)
def test_a_broken_json_list_gives_what_stands_before_the_fault(data, taken, said):
    rows = read(data, "rows.json")
    assert sum(isinstance(row, ProblemRow) for row in rows) == taken
    [refused] = [row for row in rows if isinstance(row, Refused)]
    assert said in refused.reason


def test_a_csv_file_may_quote_span_lines_and_use_semicolons():
    rows = read('Question;Answer\n"two\nlines; and ""quotes""";2\n\nb;3\n', "rows.csv")
    assert rows == [ProblemRow(2, 'two\nlines; and "quotes"', "2"), ProblemRow(5, "b", "3")]


@pytest.mark.parametrize("data", ["1 + 1?,2\n2 + 2?,4\n", "", "problem,problem,answer\n"])
def test_a_csv_file_without_column_names_is_refused_once_and_clearly(data):
    [refused] = read(data, "rows.csv")
    assert refused.line == 1
    assert "must name the columns" in refused.reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", 'problem,answer\r"p\rq",2\rr,3\r'),
        ("r.jsonl", '{"problem":"p\\nq","answer":2}\r{"problem":"r","answer":3}'),
    ],
)
def test_lines_may_end_as_a_mac_ends_them(name, text):
    assert [(row.problem, row.answer) for row in read(text, name)] == [("p\nq", "2"), ("r", "3")]


def test_a_csv_row_of_another_length_is_refused():
    short, good = read("problem,answer\np\nq,2\n", "rows.csv")
    assert "1 fields where the first line names 2" in short.reason
    assert (short.line, good.line) == (2, 3)


def test_a_quote_that_never_closes_is_refused():
    good, refused = read('problem,answer\np,2\n"' + "x,y\n" * 100_000, "rows.csv")
    assert isinstance(good, ProblemRow)
    assert "limit" in refused.reason
    assert "not read" in refused.reason


def test_a_file_of_another_kind_is_refused_by_its_name():
    [refused] = read("x", "rows.parquet")
    assert refused == Refused(
        0, "'rows.parquet' must end in .json, .jsonl or .csv, or in one of them and .gz"
    )


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.csv"])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"{}"), "must end in .gz"),
        (b"PK\x03\x04 and so on", "save it as CSV"),
        (b"PAR1 and so on", "Parquet"),
        ("{}".encode("utf-32"), "save it as UTF-8"),
    ],
    ids=["gzip", "zip", "parquet", "utf-32"],
)
def test_a_file_of_another_kind_is_refused_by_how_it_begins(name, data, said):
    [refused] = read(data, name)
    assert refused.line == 0
    assert said in refused.reason


def test_a_gzip_bomb_is_cut_off_and_told_in_little_memory():
    bomb = gzip.compress(b"\n" * 400_000 + b"x" * 20_000_000)
    tracemalloc.start()
    rows = read(bomb, "rows.jsonl.gz", limits=ReadLimits(file_bytes=10_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows[-1] == Refused(0, "the file holds more than 10000000 bytes; what comes after was not read")
    assert peak < 3_000_000


@pytest.mark.parametrize(
    "spoil", [lambda data: data[: len(data) // 2], lambda data: data[:-8] + b"damaged!", lambda _: b"no gzip"]
)
def test_damaged_gzip_gives_the_rows_before_the_damage_and_says_so(spoil):
    rows = read(spoil(gzip.compress(json.dumps(GOOD).encode() + b"\n")), "rows.jsonl.gz")
    assert "gzip data is damaged" in rows[-1].reason


def test_what_was_unpacked_before_the_damage_is_not_lost_with_it():
    data = gzip.compress(
        b"".join(json.dumps({**GOOD, "problem": f"{i}?"}).encode() + b"\n" for i in range(9))
    )
    for spoilt in (data[:-8], data + b"junk"):
        rows = read(spoilt, "rows.jsonl.gz")
        assert len([row for row in rows if isinstance(row, ProblemRow)]) == 9


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.csv"])
def test_a_long_file_is_read_in_constant_memory(tmp_path, name):
    path = tmp_path / name
    if name == "rows.csv":
        path.write_text("problem,answer\n" + "a problem that is long enough to count,2\n" * 40_000)
    else:
        item = json.dumps({**GOOD, "solution": "x" * 40})
        ends = ("[", ",\n", "]") if name == "rows.json" else ("", "\n", "\n")
        path.write_text(ends[0] + ends[1].join([item] * 40_000) + ends[2])
    tracemalloc.start()
    count = sum(1 for row in read_rows(path, columns=["problem"]) if not isinstance(row, Refused))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 40_000
    assert peak < 1_000_000


def test_an_empty_file_has_no_rows():
    assert read("", "rows.jsonl") == []
    assert read("", "rows.json") == []
    assert read("[]", "rows.json") == []
