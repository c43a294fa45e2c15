"""Rows in and out of files: JSON Lines and Parquet, by the file's ending. Knows no row's meaning.

A Parquet file written here is what `datasets.load_dataset("parquet", data_files=…)` reads.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from datetime import date, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prm_backend.text.rows import Refused, Row, read_rows
from prm_backend.text.steps import storable

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 512


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def read_table(path: Path) -> Iterator[Row | Refused]:
    """The rows of a Parquet file (`line` is the row's 1-based number) or of any file that `read_rows` reads."""
    if is_parquet(path):
        return _parquet_rows(path)
    return read_rows(path)


def write_table(path: Path, rows: Iterable[dict[str, Any]], schema: Callable[[], pa.Schema]) -> int:
    """Write `.jsonl`, `.jsonl.gz` or `.parquet` beside `path` and rename it; the number of rows.

    Parquet needs the `schema`; a row's keys that it lacks are not written. ValueError for another ending.
    """
    writers = {".jsonl": _write_lines, ".gz": _write_lines, ".parquet": _write_parquet}
    if not path.name.lower().endswith((".jsonl", ".jsonl.gz", ".parquet")):
        raise ValueError(f"{path.name!r} must end in .jsonl, .jsonl.gz or .parquet")
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        count = writers[path.suffix.lower()](beside, rows, schema, path.suffix.lower() == ".gz")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return count


def parquet_check(schema: pa.Schema) -> Callable[[dict[str, Any]], None]:
    """What raises ValueError, naming the key, for a row that a Parquet file with these columns cannot hold.

    A batch fails as a whole and does not say for which of its rows, so a writer who goes on without one asks before.
    """
    import pyarrow as pa

    refusals, whole = (pa.ArrowException, OverflowError), pa.struct(list(schema))

    def check(row: dict[str, Any]) -> None:
        try:
            pa.array([row], whole)
        except (*refusals, UnicodeError):  # it names no key, and to ask each column takes twice as long
            for column in schema:
                try:
                    pa.array([_storable(row.get(column.name))], column.type)
                except refusals as error:
                    raise ValueError(f"{column.name} does not fit its Parquet column: {error}") from None

    return check


def json_line(row: dict[str, Any]) -> str:
    """One line of ASCII JSON without its line end.

    A lone surrogate or NUL becomes U+FFFD: one broken character must stop neither an export nor its reader.
    A day or a time becomes ISO 8601, a decimal its digits. Raises ValueError on what JSON lacks: a number that is not
    finite, bytes.
    """
    line = json.dumps(row, allow_nan=False, default=_told)
    # In ASCII a NUL shows as \u0000, half of a surrogate pair as \ud…: only then is a closer look worth it.
    if "\\u0000" in line or "\\ud" in line:
        line = json.dumps(_storable(row), allow_nan=False, default=_told)
    return line


def _told(value: object) -> str:
    """What Parquet has a type for and JSON none."""
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise ValueError(f"it holds {type(value).__name__}, which JSON lacks")


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {key: _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value


def _write_lines(path: Path, rows: Iterable[dict[str, Any]], schema: object, zipped: bool) -> int:
    count = 0
    with (
        path.open("wb") as plain,
        gzip.GzipFile("", "wb", 9, plain) if zipped else nullcontext(plain) as file,
    ):
        for row in rows:
            file.write(f"{json_line(row)}\n".encode())
            count += 1
    return count


def _write_parquet(
    path: Path, rows: Iterable[dict[str, Any]], schema: Callable[[], pa.Schema], zipped: bool
) -> int:
    import pyarrow as pa  # tens of megabytes that only who converts needs
    from pyarrow import parquet

    count, remaining = 0, iter(rows)
    with parquet.ParquetWriter(path, schema()) as writer:
        while batch := [_storable(row) for row in islice(remaining, _BATCH)]:
            writer.write_table(pa.Table.from_pylist(batch, schema=schema()))
            count += len(batch)
    return count


def _parquet_rows(path: Path) -> Iterator[Row | Refused]:
    import pyarrow as pa
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                for value in batch.to_pylist():
                    number += 1
                    yield Row(number, value)
    except pa.ArrowException as error:
        yield Refused(0, f"the Parquet data is damaged ({error}); what comes after row {number} was not read")
