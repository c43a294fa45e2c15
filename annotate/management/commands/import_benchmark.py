"""`manage.py import_benchmark FILE…`: solutions with a known first error, to measure PRM versions on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.errors import PlumblineError
from annotate.loop.benchmark import add_benchmark


class Command(BaseCommand):
    help = (
        "Keep ProcessBench's files (JSON or JSONL, also .gz; rows of problem, steps and label) as benchmarks. The "
        "workers measure the PRM that serves on them, and each version that is trained from then on. A file with a "
        "row that cannot be read is refused whole."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)

    def handle(self, *, files: list[Path], **_: Any) -> None:
        for path in files:
            try:
                with path.open("rb") as file:
                    added = add_benchmark(file=file)
            except (PlumblineError, OSError) as error:
                raise CommandError(str(error)) from None
            self.stdout.write(f"{added}: {added.n_samples:,} solutions, {added.n_erroneous:,} with an error")
