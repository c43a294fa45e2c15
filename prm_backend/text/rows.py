"""Rows out of files people send: JSON, JSONL or CSV, each also gzipped, read as a stream in bounded memory.

A row that cannot be read is a Refused with its line and the reason, and reading goes on where it can. Knows
nothing of what the rows mean.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from prm_backend.text.decoding import Text

_BLANK = " \t\r\n"
_BLANKS = re.compile(f"[{_BLANK}]*")
_BLANKS_AND_COMMAS = re.compile(f"[{_BLANK},]*")


@dataclass(frozen=True)
class Row:
    """One row: any JSON value, or a CSV row as {column: text}. `line` is 1-based, where it starts."""

    line: int
    value: Any


@dataclass(frozen=True)
class Refused:
    """A row that was not taken, and why. `line` is 1-based; 0 where the file as a whole is meant."""

    line: int
    reason: str


@dataclass(frozen=True)
class ReadLimits:
    """The longest row (characters) and the longest file (bytes, once unzipped) that are read."""

    row_characters: int = 1 << 20
    file_bytes: int = 1 << 30


DEFAULT_LIMITS = ReadLimits()


def read_rows(
    source: str | Path | BinaryIO, *, columns: Iterable[str] = (), limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Row | Refused]:
    """The rows of a path, or of a binary file with a name, whose end (.jsonl, .csv.gz …) tells the format.

    UTF-8 and UTF-16 are read, with or without a BOM. A CSV file begins with a line of column names, one of
    `columns` among them. Raises OSError where a path cannot be opened; what is inside never raises.
    """
    name = str(source if isinstance(source, str | Path) else getattr(source, "name", "")).lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in (".json", ".jsonl", ".ndjson", ".csv"):
        yield Refused(0, f"{Path(name).name!r} must end in .json, .jsonl or .csv, or in one of them and .gz")
        return
    with open(source, "rb") if isinstance(source, str | Path) else nullcontext(source) as file:
        text = Text(file, is_gzip=name.endswith(".gz"), most_bytes=limits.file_bytes)
        if suffix == ".csv":
            yield from _csv_rows(text, frozenset(columns), limits.row_characters)
        elif suffix == ".json":
            yield from _json_rows(text, limits.row_characters)
        else:
            yield from _json_lines(text, limits.row_characters)
        if text.fault:
            yield Refused(0, text.fault)


def _lines(
    text: Iterable[str], longest: int, *, skip_empty: bool = False
) -> Iterator[tuple[int, str | None]]:
    """Each line with its number; None for one longer than `longest`, which is never held whole."""
    number, tail, too_long = 1, "", False
    for chunk in text:
        *whole, tail = (tail + chunk).split("\n")
        for line in whole:
            if line or too_long or not skip_empty:
                yield number, None if too_long or len(line) > longest else line + "\n"
            number, too_long = number + 1, False
        if len(tail) > longest:
            tail, too_long = "", True
    if tail or too_long:
        yield number, None if too_long else tail


def _too_long(line: int, longest: int) -> Refused:
    return Refused(line, f"the row is longer than {longest} characters")


# --- JSON


class _Decoder:
    """JSON as RFC 8259 has it: a key that stands twice and NaN are faults, though not to Python."""

    def __init__(self) -> None:
        self._faults: list[str] = []
        self._json = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=self._constant)

    def decode(self, text: str, start: int = 0) -> tuple[Any, int]:
        """The value at `start` and where it ends. Raises ValueError: what is wrong, in words for people."""
        self._faults.clear()
        try:
            value, end = self._json.raw_decode(text, start)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        return value, end

    def fault(self) -> str:
        """What is wrong with the value just read although it could be read, or ""."""
        return self._faults[0] if self._faults else ""

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            self._faults.append(f"the key {twice[:60]!r} stands twice in one object")
        return found

    def _constant(self, name: str) -> None:
        self._faults.append(f"{name} is no JSON value")


def _json_lines(text: Iterable[str], longest: int) -> Iterator[Row | Refused]:
    decoder = _Decoder()
    for number, line in _lines(text, longest, skip_empty=True):
        if line is None:
            yield _too_long(number, longest)
        elif stripped := line.strip(_BLANK):
            try:
                value, end = decoder.decode(stripped)
            except ValueError as error:
                yield Refused(number, f"it is no JSON: {error}")
                continue
            fault = decoder.fault() or ("" if end == len(stripped) else "more follows after the JSON value")
            yield Refused(number, fault) if fault else Row(number, value)


class _Window:
    """The part of a text that is held: it grows while an item is incomplete, and forgets what is behind."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self.text, self.at, self.line, self.ended = "", 0, 1, False

    def grow(self) -> None:
        """Read on, at least doubling what is held, so that trying again costs no more than reading."""
        held, read, size = self.text[self.at :], [], 0
        for chunk in self._chunks:
            read.append(chunk)
            size += len(chunk)
            if size >= len(held):
                break
        else:
            self.ended = True
        self.text, self.at = held + "".join(read), 0

    def advance(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def next_ink(self, between: re.Pattern[str]) -> str:
        """Skip what `between` matches; the character that follows, "" at the end."""
        while True:
            skipped = between.match(self.text, self.at)
            self.advance(skipped.end() if skipped else self.at)
            if self.at < len(self.text) or self.ended:
                return self.text[self.at : self.at + 1]
            self.grow()


def _json_rows(text: Iterable[str], longest: int) -> Iterator[Row | Refused]:
    """The items of a JSON list, or the values themselves where they stand one after the other."""
    decoder, window = _Decoder(), _Window(text)
    in_list = window.next_ink(_BLANKS) == "["
    if in_list:
        window.advance(window.at + 1)
    while ink := window.next_ink(_BLANKS_AND_COMMAS if in_list else _BLANKS):
        if in_list and ink == "]":
            window.advance(window.at + 1)
            if window.next_ink(_BLANKS):
                yield Refused(window.line, "more follows after the end of the list")
            return
        row, end = _item(decoder, window, longest)
        yield row
        if end is None:
            return
        window.advance(end)
    if in_list:
        yield Refused(window.line, "the file ends within the list")


def _item(decoder: _Decoder, window: _Window, longest: int) -> tuple[Row | Refused, int | None]:
    """The value where the window stands, and its end; None where it is broken, since then nobody can tell."""
    while True:
        try:
            value, end = decoder.decode(window.text, window.at)
            if end < len(window.text) or window.ended:  # a number at the very end might go on
                break
        except ValueError as error:
            too_long = len(window.text) - window.at > longest
            if too_long or window.ended:
                what = f"it is longer than {longest} characters or no JSON" if too_long else "it is no JSON"
                return Refused(window.line, f"{what}: {error}; what comes after was not read"), None
        window.grow()
    if end - window.at > longest:
        return _too_long(window.line, longest), end
    fault = decoder.fault()
    return Refused(window.line, fault) if fault else Row(window.line, value), end


# --- CSV


def _csv_rows(text: Text, columns: frozenset[str], longest: int) -> Iterator[Row | Refused]:
    handed_out, refused = 0, list[Refused]()

    def lines() -> Iterator[str]:
        nonlocal handed_out
        for number, line in _lines(text, longest):
            if line is None:
                refused.append(_too_long(number, longest))
            handed_out += len(line or "")
            if handed_out > longest:
                raise csv.Error(f"the row is longer than {longest} characters")
            yield line or "\n"

    remaining = lines()
    first = next(remaining, "")
    if not first and text.fault:
        return
    delimiter = max(",;\t", key=first.count)
    names = [name.strip().casefold() for name in next(csv.reader([first], delimiter=delimiter), [])]
    if not columns.intersection(names) or len(set(names)) < len(names):
        wanted = " or ".join(sorted(columns))
        yield Refused(
            1, f"the first line must name the columns, each once, one of them {wanted}; it is {first[:200]!r}"
        )
        return
    rows = csv.reader(remaining, delimiter=delimiter)
    while True:
        line, handed_out = rows.line_num + 2, 0
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield Refused(line, f"{error}; what comes after was not read")
            return
        yield from refused
        refused.clear()
        if row is None:
            return
        if len(row) == len(names):
            yield Row(line, dict(zip(names, row, strict=True)))
        elif row:
            yield Refused(line, f"it has {len(row)} fields where the first line names {len(names)} columns")
