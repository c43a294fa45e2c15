"""`manage.py export_labels --output FILE`: every submitted label as PRM800K JSONL."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.loop.snapshot import write_labels
from annotate.models import Label


class Command(BaseCommand):
    help = "Write every submitted label as PRM800K JSONL; the same state gives the same bytes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--output", required=True, metavar="FILE", help="where to write; - is the standard output"
        )

    def handle(self, *, output: str, **_: Any) -> None:
        if output == "-":
            _write(sys.stdout.buffer)
            sys.stdout.flush()
            return
        path = Path(output)
        try:
            count = _write_beside_and_rename(path)
        except OSError as error:
            raise CommandError(f"{path} can't be written: {error.strerror}.") from error
        self.stderr.write(f"{count} labels written to {path}")


def _write(stream: BinaryIO) -> int:
    return write_labels(labels=Label.objects.all(), stream=stream)


def _write_beside_and_rename(path: Path) -> int:
    """An export that is interrupted leaves the file of before as it was."""
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            count = _write(stream)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    return count


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
