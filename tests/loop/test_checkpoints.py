"""Checkpoints survive the way through storage, whether it is a folder or not."""

from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from pytest_django import Settings

from annotate.loop import checkpoints


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "made" / "tokenizer").mkdir(parents=True)
    (tmp_path / "made" / "meta.json").write_text("{}")
    (tmp_path / "made" / "tokenizer" / "vocab.json").write_text("[]")
    return tmp_path / "made"


def test_a_checkpoint_in_a_folder_is_used_where_it_lies(folder: Path) -> None:
    checkpoints.keep(folder, "prm/a")
    found = checkpoints.fetch("prm/a")
    assert found == Path(default_storage.path("prm/a"))
    assert (found / "tokenizer" / "vocab.json").read_text() == "[]"


def test_a_checkpoint_in_remote_storage_is_downloaded_once(folder: Path, settings: Settings) -> None:
    settings.STORAGES = settings.STORAGES | {"default": {"BACKEND": "tests.remote_storage.RemoteStorage"}}
    checkpoints.keep(folder, "prm/b")
    found = checkpoints.fetch("prm/b")
    assert (found / "tokenizer" / "vocab.json").read_text() == "[]"
    checkpoints.forget("prm/b")
    assert checkpoints.fetch("prm/b") == found
    with pytest.raises(FileNotFoundError, match="prm/c"):
        checkpoints.fetch("prm/c")


def test_what_a_killed_attempt_left_is_replaced(folder: Path) -> None:
    (folder / "half.safetensors").write_text("half")
    checkpoints.keep(folder, "prm/d")
    (folder / "half.safetensors").unlink()
    (folder / "meta.json").write_text('{"whole": true}')
    checkpoints.keep(folder, "prm/d")
    found = checkpoints.fetch("prm/d")
    assert (found / "meta.json").read_text() == '{"whole": true}'
    assert not (found / "half.safetensors").exists()
