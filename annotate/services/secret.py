"""A random secret kept in an owner-only file, made once; for first runs, where nobody has set SECRET_KEY."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path


def read_or_create(path: Path) -> str:
    """The secret in `path`. Processes that start at once agree: link() lets only the first one make it."""
    with suppress(FileNotFoundError):
        return path.read_text().strip()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600 from the start
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(50))
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        os.unlink(beside)
    return path.read_text().strip()
