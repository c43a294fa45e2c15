"""A file that is kept once, named by the hash of what it holds, and the row that tells of it. Knows no format."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.files import File
from django.core.files.storage import default_storage

from annotate.models import Benchmark, Snapshot

M = TypeVar("M", Benchmark, Snapshot)


def keep_once(
    kind: type[M], folder: str, fill: Callable[[Callable[[bytes], object]], dict[str, Any]]
) -> tuple[M, bool]:
    """The row of the file that `fill` writes, and whether it is new; the same bytes have one row and one file.

    `fill` is given what takes a line, and returns the row's other fields. The file is complete in storage before its
    row exists, so whoever finds the row can read it; what `fill` raises leaves nothing behind.
    """
    digest = hashlib.sha256()
    with tempfile.TemporaryFile() as file:

        def keep(line: bytes) -> None:
            digest.update(line)
            file.write(line)

        told = fill(keep)
        sha256 = digest.hexdigest()
        if existing := kind.objects.filter(sha256=sha256).first():
            return existing, False
        file.seek(0)
        # Storage takes another name where this one is taken, as by a file that a kill left half written.
        path = default_storage.save(f"{folder}/{sha256}.jsonl", File(file))
    kept, created = kind.objects.get_or_create(sha256=sha256, defaults={"path": path, **told})
    if kept.path != path:  # the same, made at the same time elsewhere
        default_storage.delete(path)
    return kept, created
