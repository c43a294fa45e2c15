"""`export_labels`: a file that is whole or not there, or the standard output."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotate.models import Label
from tests.loop.records import exported_bytes, make_labels

pytestmark = pytest.mark.django_db


def test_the_command_writes_a_file_that_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_labels(3)
    path = tmp_path / "labels.jsonl"
    call_command("export_labels", output=str(path), stderr=io.StringIO())
    assert path.read_bytes() == exported_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["labels.jsonl"]


def test_an_export_that_is_interrupted_leaves_the_file_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_labels(3)
    path = tmp_path / "labels.jsonl"
    path.write_text("before")
    Label.objects.filter(pk=Label.objects.latest("id").pk).update(
        question={}
    )  # its last row can't be written
    with pytest.raises(KeyError):
        call_command("export_labels", output=str(path), stderr=io.StringIO())
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["labels.jsonl"]


def test_the_command_writes_to_the_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    make_labels(3)
    call_command("export_labels", output="-")
    assert capfdbinary.readouterr().out == exported_bytes()


def test_the_command_says_where_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="can't be written: No such file or directory"):
        call_command("export_labels", output=str(tmp_path / "nowhere" / "labels.jsonl"))
