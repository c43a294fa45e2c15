"""The loop's commands: each one verb, its refusal as a CommandError."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotate.models import Job, PRMVersion, Round, Worker
from prm_backend.config import PRMConfig
from prm_backend.reward import load_scorer
from prm_backend.training.trainer import train_prm
from prm_backend.types import LabelledSolution
from tests.factories import PRMVersionFactory, ProblemFactory, ServingPRMFactory
from tests.tiny import tiny_model_dir

pytestmark = pytest.mark.django_db


def said(*command: str) -> str:
    out = io.StringIO()
    call_command(*command, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_run_round_starts_one_with_the_numbers_it_is_given() -> None:
    ProblemFactory.create_batch(3)
    assert "Round 1 has started with 2 problems" in said(
        "run_round", "--problems=2", "--samples=5", "--quota=1"
    )
    started = Round.objects.get()
    assert (started.samples_per_problem, started.quota) == (5, 1)
    with pytest.raises(CommandError, match="still runs"):
        said("run_round")


def test_retrain_asks_for_it() -> None:
    assert "snapshot job" in said("retrain")
    assert Job.objects.get().kind == "snapshot"


def test_promote_and_back_again() -> None:
    old, new = ServingPRMFactory(), PRMVersionFactory()
    assert said("promote", str(new.number), "--reason=by ear") == f"{new} serves now.\n"
    assert said("promote", "--back") == f"{old} serves now.\n"
    with pytest.raises(CommandError, match="no version 999"):
        said("promote", "999")
    with pytest.raises(CommandError, match="no earlier PRM"):
        said("promote", "--back")
    assert PRMVersion.objects.serving() == old


def test_export_prm_writes_a_directory_that_transformers_loads(tmp_path: Path) -> None:
    version = PRMVersionFactory()
    with pytest.raises(CommandError, match="the checkpoint is gone"):
        said("export_prm", str(version.number), str(tmp_path / "out"))
    train_prm(
        str(tiny_model_dir(tmp_path / "base")),
        [LabelledSolution("1+1?", ("2.",), (1,))],
        [],
        config=PRMConfig(trained_layers=1, epochs=1, step_mean=False),
        checkpoint_dir=Path(default_storage.path(version.checkpoint)),
        snapshot_hash="abc",
    )
    assert (
        said("export_prm", str(version.number), str(tmp_path / "out")) == f"{version} is in {tmp_path}/out.\n"
    )
    [scored] = load_scorer(str(tmp_path / "out")).score(["1+1?"], [("2.", "Two.")])
    assert len(scored) == 2
    with pytest.raises(CommandError, match="is there already"):
        said("export_prm", str(version.number), str(tmp_path / "out"))
    with pytest.raises(CommandError, match="no version 999"):
        said("export_prm", "999", str(tmp_path / "other"))


def test_workers_fails_while_a_queue_has_nobody() -> None:
    now = timezone.now()
    Worker.objects.create(name="a", queues="quick", started_at=now, seen_at=now)
    with pytest.raises(CommandError, match="no model worker yet"):
        said("workers")
    Worker.objects.create(name="b", queues="model", started_at=now, seen_at=now)
    assert "model: 1 worker" in said("workers")
