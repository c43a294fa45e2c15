"""Trains a PRM on labelled solutions and judges it on held-out ones. Knows neither rows nor who asked.

Three-way cross-entropy over the ratings of the supervised steps. The layers below `trained_layers` are frozen: their
hidden states are computed once, cut at the last supervised step, and read from a cache every epoch.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from pathlib import Path

import torch
import transformers

from prm_backend.config import PRMConfig
from prm_backend.evaluation.steps import evaluate_steps
from prm_backend.reward.base import fingerprint, load_base, locate
from prm_backend.reward.checkpoint import Meta, write_checkpoint
from prm_backend.reward.prm import PRM
from prm_backend.training.cache import HiddenCache
from prm_backend.training.dataset import Dataset, make_dataset, require_usable
from prm_backend.training.fitting import Curve, Fitting
from prm_backend.types import LabelledSolution, ProgressCallback, Report, StepProbs, Unscorable, silent


def train_prm(
    base: str,
    train: Sequence[LabelledSolution],
    held_out: Sequence[LabelledSolution],
    *,
    config: PRMConfig,
    checkpoint_dir: Path,
    snapshot_hash: str,
    outcome_only: bool = False,
    progress: ProgressCallback = silent,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Report:
    """Train on `train` from `base` (a directory or hub id), judge on `held_out`, write the checkpoint.

    The same inputs and seed give the same weights on the same machine. `progress` is called after every micro-batch;
    what it raises (`Cancelled`) ends the training and nothing is left behind. Raises TrainingRefused where there is
    nothing usable to train on. The report has `evaluate_steps`' figures on `held_out`, beside what training cost;
    its curve has one point an optimiser step ("loss") and one an epoch ("held_out_nll").
    """
    started, cpu_started = time.monotonic(), time.process_time()
    path = locate(base)
    model, tokenizer = load_base(path, device=device, dtype=dtype)
    prm = PRM(model, tokenizer, config)
    data, judged = make_dataset(train, prm.encode), make_dataset(held_out, prm.encode)
    require_usable(data, config.max_unusable_share)
    checkpoint_dir.parent.mkdir(parents=True, exist_ok=True)
    examples = [*data.examples, *judged.examples]
    lengths = [len(example.encoded) for example in examples]
    with HiddenCache(lengths, model.config.hidden_size, checkpoint_dir.parent) as cache:
        curve, scored = Fitting(prm, config, data.examples, judged.examples, cache, progress).run()
    report = _report(data, judged, scored, curve, outcome_only)
    report.metrics["seconds"] = round(time.monotonic() - started, 3)
    report.metrics["cpu_seconds"] = round(time.process_time() - cpu_started, 3)
    meta = Meta(
        base=base,
        base_fingerprint=fingerprint(path),
        snapshot_hash=snapshot_hash,
        config=config,
        outcome_only=outcome_only,
        report=report,
        versions={
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
    )
    write_checkpoint(checkpoint_dir, prm.trained(), meta)
    return report


def _report(
    data: Dataset, judged: Dataset, scored: list[list[StepProbs]], curve: Curve, outcome_only: bool
) -> Report:
    labels = [*(e.solution for e in judged.examples), *(solution for solution, _ in judged.unusable)]
    refused = [Unscorable(reason) for _, reason in judged.unusable]
    found = evaluate_steps([*scored, *refused], labels)
    notes = list(found.notes)
    if outcome_only:
        notes.insert(0, "trained on the grades of final answers: no human labels")
    if data.unusable:
        notes.append(f"{len(data.unusable)} training solutions had no label that could be used")
    cost: dict[str, float | int | None] = {
        "train_solutions": len(data.examples),
        "train_steps": data.labels,
        "train_unusable": len(data.unusable),
        "train_loss": curve[-1]["loss"],
    }
    return Report(found.metrics | cost, tuple(curve), tuple(notes), found.tables)
