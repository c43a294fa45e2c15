"""`manage.py import_labels FILE…`: labels from PRM800K JSONL, an export of ours or the released files."""

from __future__ import annotations

from typing import BinaryIO

from annotate.loop.import_labels import import_labels, read_records
from annotate.loop.problems import ImportSummary
from annotate.management.importing import ImportCommand
from prm_backend.types import ProgressCallback


class Command(ImportCommand):
    help = (
        "Import labels from PRM800K JSONL files (also .gz). Labelers become people who cannot sign in. Good records "
        "go in; each refused one is told with its line and reason, and ends the command with status 1. Running it "
        "again adds nothing twice."
    )
    default_source = "prm800k"

    def import_file(self, file: BinaryIO, *, source: str, progress: ProgressCallback) -> ImportSummary:
        return import_labels(records=read_records(file), source=source, progress=progress)
