"""What the two import commands share: files, a bar, a line per refused row, a summary, an honest exit status."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.loop.problems import ImportSummary
from prm_backend.types import Progress, ProgressCallback


class ImportCommand(BaseCommand):
    """Imports each FILE by `import_file`. Ends with status 1 where rows were refused; the good ones are in."""

    default_source = ""

    def import_file(self, file: BinaryIO, *, source: str, progress: ProgressCallback) -> ImportSummary:
        """Read the file (its name tells the format) and import what is in it."""
        raise NotImplementedError

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument(
            "--source",
            default=self.default_source,
            help="the source of problems whose rows do not say it; by default "
            + (self.default_source or "the file's name"),
        )

    def handle(self, *, files: list[Path], source: str, **_: Any) -> None:
        refused = sum(self._import(path, source or path.name.split(".")[0]) for path in files)
        if refused:
            raise CommandError(f"Rows refused: {refused:,}. All others are in.")

    def _import(self, path: Path, source: str) -> int:
        try:
            with path.open("rb") as file, FileBar(file) as bar:
                summary = self.import_file(file, source=source, progress=bar)
        except OSError as error:
            raise CommandError(f"{path} can't be read: {error.strerror}.") from error
        for row in summary.refused:
            self.stderr.write(f"{path}:{row.line}: {row.reason}" if row.line else f"{path}: {row.reason}")
        if more := summary.n_refused - len(summary.refused):
            self.stderr.write(f"{path}: … and {more:,} rows more")
        self.stdout.write(
            f"{path}: {summary.added:,} new, {summary.known:,} known already, {summary.n_refused:,} refused"
        )
        return summary.n_refused


class FileBar:
    """How much of a file has been read, redrawn in place on a terminal; a ProgressCallback inside `with`."""

    WIDTH = 30

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = max(1, os.fstat(file.fileno()).st_size)
        self._drawn_at = 0.0

    def __enter__(self) -> FileBar:
        return self

    def __call__(self, progress: Progress) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self._drawn_at < 0.1:
            return
        self._drawn_at = time.monotonic()
        share = self._file.tell() / self._size
        bar = ("#" * round(self.WIDTH * share)).ljust(self.WIDTH, ".")
        print(f"\r[{bar}] {share:4.0%}  {progress.done:,} rows", end="", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn_at:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
