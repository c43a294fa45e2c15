"""A storage that is no folder, as a bucket is none: it has no `path`."""

from __future__ import annotations

from django.core.files.base import File
from django.core.files.storage import InMemoryStorage, Storage


class RemoteStorage(Storage):
    def __init__(self) -> None:
        self._inner = InMemoryStorage()

    def _open(self, name: str, mode: str = "rb") -> File:
        return self._inner.open(name, mode)

    def _save(self, name: str, content: File) -> str:
        return self._inner.save(name, content)

    def delete(self, name: str) -> None:
        self._inner.delete(name)

    def exists(self, name: str) -> bool:
        return self._inner.exists(name)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        return self._inner.listdir(path)

    def size(self, name: str) -> int:
        return self._inner.size(name)
