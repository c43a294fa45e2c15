"""`manage.py import_problems FILE…`: problems in, each text once."""

from __future__ import annotations

from typing import BinaryIO

from annotate.loop.problems import ImportSummary, import_problems
from annotate.management.importing import ImportCommand
from prm_backend.text.problems import read_problems
from prm_backend.types import ProgressCallback


class Command(ImportCommand):
    help = (
        "Import problems from JSON, JSONL or CSV files (also .gz): GSM8K, MATH, MATH-500, HumanEval, "
        "MBPP or {problem, answer} (with kind, tolerance or tests where they say). "
        "Good rows go in; each refused row is told with its line and reason, and ends the command with status 1. "
        "Running it again adds nothing twice."
    )

    def import_file(self, file: BinaryIO, *, source: str, progress: ProgressCallback) -> ImportSummary:
        return import_problems(rows=read_problems(file), source=source, progress=progress)
