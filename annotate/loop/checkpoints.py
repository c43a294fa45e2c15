"""Checkpoints in the default storage: kept under a key prefix, fetched to a folder where storage is not one.

Knows only files; what they mean is the engine's business.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage


def keep(folder: Path, prefix: str) -> None:
    """Copy the files of `folder` to storage under `prefix`, replacing what a killed attempt left there."""
    forget(prefix)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        key = f"{prefix}/{path.relative_to(folder).as_posix()}"
        with path.open("rb") as file:
            stored = default_storage.save(key, File(file))
        if stored != key:
            raise RuntimeError(f"storage wrote {stored} instead of {key}: something else writes there")


def fetch(prefix: str) -> Path:
    """A folder that holds the files under `prefix`; downloaded once per host where storage is no folder.

    Raises FileNotFoundError where there is nothing under `prefix`.
    """
    try:
        local = Path(default_storage.path(prefix))
    except NotImplementedError:  # how Django's storages say that they are no folder
        return _download(prefix)
    if not local.is_dir():
        raise FileNotFoundError(f"{local}: the checkpoint is gone")
    return local


def forget(prefix: str) -> None:
    for key in _keys(prefix):
        default_storage.delete(key)


def _keys(prefix: str) -> list[str]:
    try:
        folders, files = default_storage.listdir(prefix)
    except FileNotFoundError:
        return []
    keys = [f"{prefix}/{name}" for name in files if name]
    return keys + [key for folder in folders if folder for key in _keys(f"{prefix}/{folder}")]


def _download(prefix: str) -> Path:
    target: Path = settings.VAR_DIR / "cache" / prefix
    if target.is_dir():
        return target
    keys = _keys(prefix)
    if not keys:
        raise FileNotFoundError(f"{prefix}: no such checkpoint in storage")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=target.parent))
    for key in keys:
        path = beside / key.removeprefix(f"{prefix}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        with default_storage.open(key) as source, path.open("wb") as file:
            shutil.copyfileobj(source, file)
    try:
        beside.rename(target)
    except OSError:  # another process was quicker
        shutil.rmtree(beside)
    return target
