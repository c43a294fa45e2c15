"""What a killed training had reached, kept beside until it ends. Knows files, no model."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch

_KEY, _STATE = "key", "state.pt"


class Resume:
    """A directory of one training's attempts: the caches, and the state after its last whole epoch.

    Only this program writes there; tensors and plain values are read back, nothing else is unpickled.
    """

    def __init__(self, directory: Path, key: str) -> None:
        """`key` says what is trained, on what: a directory of another training is emptied first."""
        self.directory = directory
        if not (directory / _KEY).is_file() or (directory / _KEY).read_text() != key:
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
            (directory / _KEY).write_text(key)

    def load(self) -> dict[str, Any] | None:
        path = self.directory / _STATE
        return torch.load(path, weights_only=True, map_location="cpu") if path.is_file() else None

    def save(self, **state: Any) -> None:
        """Write beside and rename: a kill leaves the former state whole."""
        beside = self.directory / f"{_STATE}.{os.getpid()}.partial"
        torch.save(state, beside)
        os.replace(beside, self.directory / _STATE)

    def clear(self) -> None:
        shutil.rmtree(self.directory)
