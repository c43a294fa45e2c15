"""Snapshots: the export kept once, by its hash, whoever writes at the same time or dies."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage

from annotate.loop.snapshot import snapshot
from annotate.models import Label, Snapshot
from tests.factories import (
    AnnotatorFactory,
    PRMVersionFactory,
    QueueItemFactory,
)
from tests.loop.labelling import labelled
from tests.loop.records import exported_bytes, make_labels
from tests.waiting import at_once

pytestmark = pytest.mark.django_db


def test_a_snapshot_is_the_export_in_storage_named_by_its_hash() -> None:
    make_labels(3)
    kept = snapshot()
    with default_storage.open(kept.path) as file:
        content = file.read()
    assert content == exported_bytes()
    assert kept.sha256 == hashlib.sha256(content).hexdigest()
    assert kept.sha256 in kept.path
    assert kept.n_labels == 3


def test_where_nothing_changed_a_snapshot_is_the_one_that_is_there() -> None:
    make_labels(3)
    first = snapshot()
    assert snapshot() == first
    make_labels(1)
    assert snapshot() != first
    assert Snapshot.objects.count() == 2


def test_a_label_submitted_while_a_snapshot_is_written_still_waits_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_labels(3)
    save = default_storage.save

    def save_slowly(name: str, content: File) -> str:
        QueueItemFactory.create()
        labelled(AnnotatorFactory.create(), -1)
        return save(name, content)

    monkeypatch.setattr(default_storage, "save", save_slowly)
    first = snapshot()
    PRMVersionFactory.create(number=1, snapshot=first)
    assert Label.objects.untrained().count() == 1
    assert first.n_labels == 3


def test_a_file_that_a_kill_left_half_written_is_not_taken_for_a_snapshot() -> None:
    make_labels(3)
    digest = hashlib.sha256(exported_bytes()).hexdigest()
    default_storage.save(f"snapshots/{digest}.jsonl", ContentFile(b"{half"))
    kept = snapshot()
    with default_storage.open(kept.path) as file:
        assert hashlib.sha256(file.read()).hexdigest() == digest == kept.sha256


@pytest.mark.django_db(transaction=True)
def test_two_snapshots_at_once_are_one_and_leave_one_file() -> None:
    make_labels(200)
    kept = at_once(snapshot)
    assert kept[0] == kept[1] == Snapshot.objects.get()
    _, files = default_storage.listdir("snapshots")
    assert [f for f in files if kept[0].sha256 in f] == [Path(kept[0].path).name]
