"""What frozen layers computed, kept once and read every epoch. Knows rows of numbers, nothing of their use."""

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


class RowCache:
    """Rows of [length, width] float16 numbers in a memory-mapped file; a row is filled once.

    Without a name the file has none: the kernel frees it when the process ends, however it ends. A named one survives a
    kill, with what was filled. Pages are the kernel's to evict, so memory stays bounded.
    """

    def __init__(
        self, lengths: Sequence[int], width: int, directory: Path, *, name: str | None = None
    ) -> None:
        total = sum(lengths)
        needed, free = total * width * 2, shutil.disk_usage(directory).free
        if needed > free:
            raise CacheTooLarge(
                f"caching {total} rows needs {needed / 2**30:.1f} GiB in {directory}, {free / 2**30:.1f} are free"
            )
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        self._rows = _mapped(directory, name, np.float16, (max(total, 1), width))
        self._filled = _mapped(directory, name and f"{name}.filled", np.uint8, (max(len(lengths), 1),))

    def __contains__(self, row: int) -> bool:
        return bool(self._filled[row])

    def put(self, row: int, values: Tensor) -> None:
        """Keep [length, width] numbers; what float16 cannot hold is saturated."""
        self._rows[self._starts[row] : self._starts[row + 1]] = halved(values)
        self._filled[row] = 1

    def get(self, row: int) -> Tensor:
        """[length, width] float32."""
        kept = self._rows[self._starts[row] : self._starts[row + 1]]
        return torch.from_numpy(kept.astype(np.float32))


def halved(values: Tensor) -> np.ndarray:
    """The numbers as float16; what that cannot hold is saturated."""
    return values.detach().float().clamp(-_LARGEST, _LARGEST).cpu().numpy().astype(np.float16)


def _mapped(directory: Path, name: str | None, dtype: type, shape: tuple[int, ...]) -> np.memmap:
    if name is None:
        with tempfile.TemporaryFile(dir=directory) as file:  # the map keeps it open
            return np.memmap(file, dtype=dtype, mode="w+", shape=shape)
    path = directory / name
    return np.memmap(path, dtype=dtype, mode="r+" if path.exists() else "w+", shape=shape)
