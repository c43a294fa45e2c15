"""What bootstrap and retrain share: train beside, keep the checkpoint, then write the row that names it.

A training that fails or is killed leaves no row, so nothing ever serves half of it; what it had reached stays under
VAR_DIR, and the next try goes on there.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from annotate.loop import checkpoints
from annotate.loop.benchmark import ask_to_measure
from annotate.models import PRMVersion, Snapshot, Turn
from prm_backend.config import PRMConfig, config_hash
from prm_backend.types import LabelledSolution, Progress, ProgressCallback, Report

_FORGOTTEN_AFTER = 24 * 60 * 60  # seconds; nobody tries a training again that was left so long ago


class Trainer(Protocol):
    """prm_backend.training.trainer.train_prm, or what stands for it."""

    def __call__(
        self,
        base: str,
        train: Sequence[LabelledSolution],
        held_out: Sequence[LabelledSolution],
        *,
        config: PRMConfig,
        checkpoint_dir: Path,
        snapshot_hash: str,
        outcome_only: bool,
        progress: ProgressCallback,
        states_dir: Path,
        resume_dir: Path | None,
    ) -> Report: ...


@dataclass(frozen=True)
class TrainingInputs:
    """All that a version follows from. `data` is the hash of what it learns from and is judged by."""

    data: str
    base: str
    config: PRMConfig

    @property
    def hash(self) -> str:
        """Equal inputs, equal hash: what was trained once is not trained again."""
        return hashlib.sha256(f"{self.data}\n{self.base}\n{config_hash(self.config)}".encode()).hexdigest()

    def version(self) -> PRMVersion | None:
        """What these inputs have become already."""
        return PRMVersion.objects.filter(inputs_hash=self.hash).first()


def current_inputs(data: str) -> TrainingInputs:
    """The inputs that the settings and this data make."""
    return TrainingInputs(data, settings.PRM_BASE, settings.PRM_CONFIG)


def train_version(
    *,
    inputs: TrainingInputs,
    train: Sequence[LabelledSolution],
    held_out: Sequence[LabelledSolution],
    snapshot: Snapshot | None,
    trainer: Trainer,
    progress: ProgressCallback,
    beside: Mapping[str, Any] | None = None,
) -> PRMVersion:
    """Train a candidate; `snapshot` is None for a version that knows outcomes alone.

    Its report is the trainer's, with `beside` for what it is compared with.
    """
    prefix = f"prm/{inputs.hash[:20]}"
    with tempfile.TemporaryDirectory(prefix="training-", dir=_scratch()) as scratch:
        checkpoint = Path(scratch) / "checkpoint"
        report = trainer(
            inputs.base,
            train,
            held_out,
            config=inputs.config,
            checkpoint_dir=checkpoint,
            snapshot_hash=snapshot.sha256 if snapshot else inputs.data,
            outcome_only=snapshot is None,
            progress=progress,
            states_dir=settings.VAR_DIR / "states",
            resume_dir=_attempts(inputs),
        )
        progress(Progress(1, 1, "keeping the checkpoint"))  # raises where the job is no longer ours
        checkpoints.keep(checkpoint, prefix)
    found = report_json(report) | dict(beside or {})
    return _write(inputs, prefix, found, snapshot, n_labels=len(train) if snapshot else 0)


@transaction.atomic
def _write(
    inputs: TrainingInputs, prefix: str, report: dict[str, Any], snapshot: Snapshot | None, n_labels: int
) -> PRMVersion:
    Turn.VERSION_NUMBER.take()
    newest = PRMVersion.objects.aggregate(number=Max("number"))["number"]
    version, created = PRMVersion.objects.get_or_create(
        inputs_hash=inputs.hash,
        defaults={
            "number": 0 if newest is None else newest + 1,
            "snapshot": snapshot,
            "outcome_only": snapshot is None,
            "base": inputs.base,
            "config": asdict(inputs.config),
            "checkpoint": prefix,
            "n_labels": n_labels,
            "report": report,
        },
    )
    if created:
        ask_to_measure(version=version)
    return version


def report_json(report: Report) -> dict[str, Any]:
    curve, notes = list(report.curve), list(report.notes)
    return {
        "metrics": report.metrics,
        "curve": curve,
        "notes": notes,
        "tables": report.tables,
        "slices": report.slices,
    }


def _attempts(inputs: TrainingInputs) -> Path:
    """Where a training with these inputs keeps what it has reached; what others left long ago is cleared away."""
    folder = settings.VAR_DIR / "training"
    ours: Path = folder / inputs.hash[:20]
    for other in folder.iterdir() if folder.is_dir() else ():
        if other != ours and other.stat().st_mtime < time.time() - _FORGOTTEN_AFTER:
            shutil.rmtree(other, ignore_errors=True)
    return ours


def _scratch() -> Path:
    folder: Path = settings.VAR_DIR / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
