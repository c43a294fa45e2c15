"""What frozen layers made of steps, kept from one training to the next: a retrain reads only what is new.

Knows rows of numbers and what they were made of; nothing of their use.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from prm_backend.text.encoding import Encoded
from prm_backend.training.cache import halved

_SUFFIX = ".states"
_UNUSED_SECONDS = 30 * 24 * 3600  # another base or depth, as the file's age tells, that nobody came back to

_PATIENCE = 60  # seconds that another process may write


class KeptStates:
    """A file of float16 rows, one a step, under a digest of the tokens that led to it.

    A causal model's state of a step follows from the tokens up to its end alone, so a solution that was cut behind its
    first error serves what was read of the whole. Safe for several processes. A damaged file is begun anew.
    """

    def __init__(self, directory: Path, part: str) -> None:
        """`part` says which layers of which model the states are of: each has a file of its own in `directory`.

        Files of parts that were not used for a month go.
        """
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{hashlib.sha256(part.encode()).hexdigest()[:20]}{_SUFFIX}"
        for other in directory.glob(f"*{_SUFFIX}"):
            if other != path and time.time() - other.stat().st_mtime > _UNUSED_SECONDS:
                other.unlink(missing_ok=True)
        try:
            self._rows = _opened(path)
        except sqlite3.DatabaseError as error:
            # What is damaged can be computed again; a file that is locked, or finds the disk full, serves others.
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            path.unlink(missing_ok=True)
            self._rows = _opened(path)
        path.touch()

    def get(self, row: Encoded) -> Tensor | None:
        """[steps, width] float32, or None unless every step of the row is there."""
        found = [self._one(key) for key in _keys(row)]
        if not all(found):
            return None
        return torch.from_numpy(np.stack([np.frombuffer(one, np.float16) for one in found if one])).float()

    def put(self, rows: Sequence[Encoded], states: Sequence[Tensor]) -> None:
        """Keep [steps, width] numbers of each row, in one transaction; what float16 cannot hold is saturated."""
        with self._rows:
            self._rows.executemany(
                "insert or ignore into states values (?, ?)",
                (
                    (key, one.tobytes())
                    for row, own in zip(rows, states, strict=True)
                    for key, one in zip(_keys(row), halved(own), strict=True)
                ),
            )

    def _one(self, key: bytes) -> bytes | None:
        found = self._rows.execute("select state from states where step = ?", (key,)).fetchone()
        return found and found[0]


def _opened(path: Path) -> sqlite3.Connection:
    rows = sqlite3.connect(path, timeout=_PATIENCE)
    # Losing the newest rows to a power cut costs their computing again, a sync after each pack would cost more.
    rows.execute("pragma synchronous = off")
    rows.execute("create table if not exists states (step blob primary key, state blob) without rowid")
    return rows


def _keys(row: Encoded) -> Iterator[bytes]:
    """Of each step: all tokens up to its end, and where it starts (its mean is taken from there)."""
    ids = np.asarray(row.input_ids, np.int32)
    digest, read = hashlib.sha256(), 0
    for start, stop in row.spans:
        digest.update(ids[read:stop].tobytes())
        read = stop
        one = digest.copy()
        one.update(start.to_bytes(4, "little"))
        yield one.digest()
