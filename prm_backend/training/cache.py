"""Hidden states of frozen layers, computed once and read every epoch. Knows rows of numbers, nothing of their use."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

_LARGEST = float(np.finfo(np.float16).max)


class CacheTooLarge(RuntimeError):
    """The disk has no room for the hidden states; the message says how much is needed."""


class HiddenCache:
    """Rows of [length, width] float16 numbers in a memory-mapped file without a name.

    The kernel frees the file when the process ends, however it ends, so a killed training leaves nothing behind; its
    pages are the kernel's to evict, so memory stays bounded.
    """

    def __init__(self, lengths: Sequence[int], width: int, directory: Path) -> None:
        total = sum(lengths)
        needed, free = total * width * 2, shutil.disk_usage(directory).free
        if needed > free:
            raise CacheTooLarge(
                f"caching {total} tokens needs {needed / 2**30:.1f} GiB in {directory}, {free / 2**30:.1f} are free"
            )
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        self._lengths = lengths
        self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 (closed with the cache)
        self._rows = np.memmap(self._file, dtype=np.float16, mode="w+", shape=(max(total, 1), width))

    def put(self, row: int, hidden: Tensor) -> None:
        """Keep the first `lengths[row]` of [tokens, width] hidden states; what float16 cannot hold is saturated."""
        kept = hidden[: self._lengths[row]].float().clamp(-_LARGEST, _LARGEST)
        self._rows[self._starts[row] : self._starts[row + 1]] = kept.cpu().numpy()

    def get(self, rows: Sequence[int]) -> Tensor:
        """[rows, longest, width] float32, padded on the right with zeros."""
        longest = max(self._lengths[row] for row in rows)
        batch = torch.zeros(len(rows), longest, self._rows.shape[1])
        for i, row in enumerate(rows):
            kept = self._rows[self._starts[row] : self._starts[row + 1]]
            batch[i, : len(kept)] = torch.from_numpy(kept.astype(np.float32))
        return batch

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> HiddenCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
