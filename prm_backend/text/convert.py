"""`python -m prm_backend.text.convert IN OUT --to FORMAT`: step labels from one format and file into another.

Files end in .json, .jsonl, .csv, each also .gz, or .parquet; written are .jsonl, .jsonl.gz and .parquet. A row that
cannot be read or written is named with its line and the reason, and the others go on. At the end it says what the
new format could not hold. Between two files of one format that is nothing but keys for which Parquet has no column
(such as the groups of step labels).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prm_backend.text.formats import FORMATS, Format, recognise
from prm_backend.text.rows import Refused
from prm_backend.text.stepwise import Neutral
from prm_backend.text.tables import is_parquet, json_line, parquet_check, read_table, write_table


@dataclass
class Converted:
    """How a conversion went: rows `written` and `refused`, and what was `lost`, counted by what it is."""

    written: int = 0
    refused: int = 0
    lost: Counter[str] = field(default_factory=Counter)


def convert(
    source: Path,
    target: Path,
    *,
    to: str,
    from_: str | None = None,
    neutral: Neutral | None = None,
    refuse: Callable[[Refused], None],
) -> Converted:
    """Read `source`, write `target` in the format `to` (a name in FORMATS).

    `from_` is told by the rows where it is None. `neutral` is what a rating of 0 becomes where a format has two
    labels; without it such rows are refused. `refuse` gets each row that was not taken. Raises ValueError where the
    formats hold different things, and OSError.
    """
    result = Converted()

    def refused(row: Refused) -> None:
        result.refused += 1
        refuse(row)

    rows = _rows(source, FORMATS[to], from_, neutral, is_parquet(target), result.lost, refused)
    result.written = write_table(target, rows, FORMATS[to].schema)
    result.lost = +result.lost  # without the zeros
    return result


def _rows(
    source: Path,
    to: Format,
    from_: str | None,
    neutral: Neutral | None,
    to_parquet: bool,
    lost: Counter[str],
    refuse: Callable[[Refused], None],
) -> Iterator[dict[str, Any]]:
    own = FORMATS[from_] if from_ else None
    check = _check(to, is_parquet(source), to_parquet)
    for row in read_table(source):
        if isinstance(row, Refused):
            refuse(row)
            continue
        own = own or recognise(row.value)
        counted: Counter[str] = Counter()  # a row that is refused has lost nothing
        try:
            if own is None:
                raise ValueError(f"nothing tells its format; it is none of {', '.join(FORMATS)}")
            value = own.from_parquet(row.value) if is_parquet(source) else row.value
            written = _row(value, own, to, neutral, counted)
            check(written)
        except ValueError as error:
            refuse(Refused(row.line, str(error)))
            continue
        lost.update(counted)
        if to_parquet:
            for key in to.unknown_keys(written):
                lost[f"the key {key[:60]!r}, which a Parquet file of {to.name} has no column for"] += 1
        yield written


def _check(to: Format, from_parquet: bool, to_parquet: bool) -> Callable[[dict[str, Any]], object]:
    """What raises ValueError for a row that its file cannot hold, so that it alone is refused."""
    if to_parquet:
        return parquet_check(to.schema())
    return json_line if from_parquet else lambda row: None  # a column may hold what JSON lacks


def _row(value: Any, own: Format, to: Format, neutral: Neutral | None, lost: Counter[str]) -> dict[str, Any]:
    if own is to:
        own.check(value)
        return value
    if own.read is None or to.write is None:
        raise ValueError(
            f"{(own if own.read is None else to).name} holds a model's scores, not people's ratings"
        )
    solution = own.read(value)
    written = to.write(solution, neutral, lost)
    own.carry(value, to, written, lost)
    if own.name == "prm800k":
        lost["PRM800K's alternatives, flags, times and answers"] += 1
    return written


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m prm_backend.text.convert",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--to", required=True, choices=sorted(FORMATS))
    parser.add_argument(
        "--from", dest="from_", choices=sorted(FORMATS), help="told by the rows, if not given"
    )
    parser.add_argument(
        "--neutral",
        type=Neutral,
        choices=list(Neutral),
        help="what a rating of 0 is in a format with two labels; cut: the solution ends before it",
    )
    options = vars(parser.parse_args(arguments))
    source, target = options.pop("source"), options.pop("target")
    try:
        result = convert(
            source,
            target,
            refuse=lambda row: print(f"{source}:{row.line}: {row.reason}", file=sys.stderr),
            **options,
        )
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{result.written} rows written to {target}, {result.refused} refused")
    for what, count in sorted(result.lost.items()):
        print(f"lost: {count} × {what}")
    return 1 if result.refused else 0


if __name__ == "__main__":
    sys.exit(main())
