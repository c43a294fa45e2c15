"""Trains a PRM on labelled solutions and judges it on held-out ones. Knows neither rows nor who asked.

Three-way cross-entropy over the ratings of the supervised steps. What is frozen is computed once, cut at the last
supervised step, and read from a cache every epoch.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
import transformers
from accelerate import PartialState
from torch import Tensor

from prm_backend.config import PRMConfig, config_hash
from prm_backend.evaluation.processbench import fit_threshold
from prm_backend.evaluation.steps import evaluate_steps
from prm_backend.reward.base import fingerprint, load_base, locate
from prm_backend.reward.checkpoint import Meta, write_checkpoint
from prm_backend.reward.head import StepHead
from prm_backend.reward.prm import PRM
from prm_backend.text.encoding import ENCODING_VERSION
from prm_backend.training.calibration import MIN_LABELS
from prm_backend.training.dataset import Dataset, Example, make_dataset, require_usable, set_aside
from prm_backend.training.fitting import Curve, Fitting, join, probabilities_of
from prm_backend.training.kept import KeptStates
from prm_backend.training.resume import Resume
from prm_backend.types import (
    LabelledSolution,
    ProgressCallback,
    Report,
    Unscorable,
    silent,
    threshold_or_even,
)

_JUDGED_BY_ANSWERS = (
    "an outcome model: each figure is of the last step of a solution, read whole; one that is not rated there "
    "is left out"
)


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
    resume_dir: Path | None = None,
    states_dir: Path | None = None,
) -> Report:
    """Train on `train` from `base` (a directory or hub id), judge on `held_out`, write the checkpoint.

    The same inputs and seed give the same weights on the same machine. `progress` is called after every micro-batch;
    what it raises (`Cancelled`) ends the training and nothing is left behind, but in `resume_dir`: given one, a
    training goes on where a killed one with the same inputs was. What frozen layers make of steps is kept in
    `states_dir`, so that the next training reads no solution a second time (where the head alone is trained). Raises
    TrainingRefused where there is nothing usable to train on.

    The epoch, the calibration and the threshold above which p(bad) calls a step wrong are chosen on problems set aside
    from `train` (`PRMConfig.tuning_share`; not where ratings are copied from grades), so that the report's figures on
    `held_out` (`evaluate_steps`) flatter nobody. Beside them stands what training cost; the curve has one point an
    optimiser step ("loss"), and each epoch's last has "tuning_nll" and "held_out_nll". Under `accelerate launch` every
    process calls this alike; the first one writes.
    """
    started, cpu_started = time.monotonic(), time.process_time()
    path = locate(base)
    processes, device = join(device)
    torch.manual_seed(config.seed)
    model, tokenizer = load_base(path, device=device, dtype=dtype, adapter=config.adapter)
    prm = PRM(model, tokenizer, config)
    data = make_dataset(train, prm.encode, supervise=config.supervise)
    judged = make_dataset(held_out, prm.encode, supervise=config.supervise)
    require_usable(data, config.max_unusable_share)
    share = 0.0 if outcome_only else config.tuning_share
    learnt, tuning = set_aside(data.examples, share, at_least=MIN_LABELS)
    checkpoint_dir.parent.mkdir(parents=True, exist_ok=True)
    base_fingerprint = fingerprint(path)
    resume = None
    if resume_dir is not None:
        # What is cached depends on it, and in what order.
        read_as = f"{ENCODING_VERSION} {dtype} {outcome_only}"
        key = f"{config_hash(config)} {base_fingerprint} {read_as} {_digest(train, held_out)}"
        resume = Resume(_own(resume_dir, processes), key)
    kept = None
    if states_dir is not None:
        kept = KeptStates(states_dir, _frozen_part(config, base_fingerprint, dtype))
    data_of = learnt, tuning, judged.examples
    fitting = Fitting(processes, prm, config, *data_of, checkpoint_dir.parent, progress, resume, kept)
    curve, tuning_logits, logits = fitting.run()
    head = prm.head.cpu()
    threshold = _tuned_threshold(config, head.calibrated(tuning_logits), tuning)
    report = _report(config, judged, logits, head, threshold)
    report = _with_training(report, data, learnt, tuning, curve, threshold, outcome_only)
    report.metrics["seconds"] = round(time.monotonic() - started, 3)
    report.metrics["cpu_seconds"] = round(time.process_time() - cpu_started, 3)
    meta = Meta(
        base=base,
        base_fingerprint=base_fingerprint,
        snapshot_hash=snapshot_hash,
        config=config,
        outcome_only=outcome_only,
        report=report,
        versions=_versions(),
    )
    if processes.is_main_process:
        write_checkpoint(checkpoint_dir, prm.trained(), meta)
    processes.wait_for_everyone()
    if resume:
        resume.clear()
    return report


def _own(directory: Path, processes: PartialState) -> Path:
    """Of this process alone: those of one host would write the same files."""
    if processes.is_main_process:
        return directory
    return directory.with_name(f"{directory.name}.{processes.process_index}")


def _frozen_part(config: PRMConfig, base_fingerprint: str, dtype: torch.dtype) -> str:
    """All that the states of a step follow from, beside its tokens."""
    sees = config.adapter, config.depth, config.step_mean, config.log_probs
    return f"{base_fingerprint} {ENCODING_VERSION} {dtype} {sees}"


def _digest(*solutions: Sequence[LabelledSolution]) -> str:
    return hashlib.sha256(repr(solutions).encode("utf-8", "surrogatepass")).hexdigest()


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def _tuned_threshold(config: PRMConfig, logits: Tensor, tuning: Sequence[Example]) -> float | None:
    """An outcome model says nothing of a first error, so it has none."""
    if config.supervise == "answer":
        return None
    return fit_threshold(probabilities_of(logits, tuning), [example.solution for example in tuning])


def _report(
    config: PRMConfig, judged: Dataset, logits: Tensor, head: StepHead, threshold: float | None
) -> Report:
    labels = [*(e.judged for e in judged.examples), *(solution for solution, _ in judged.unusable)]
    refused = [Unscorable(reason) for _, reason in judged.unusable]
    found, before = (
        evaluate_steps(
            [*probabilities_of(some, judged.examples), *refused],
            labels,
            threshold=threshold_or_even(threshold),
            neutral=config.neutral,
        )
        for some in (head.calibrated(logits), logits)
    )
    metrics = found.metrics | {
        "temperature": head.temperature.item(),
        "calibration_error_before": before.metrics["calibration_error"],
    }
    if config.calibration == "platt":
        metrics |= zip(("offset_bad", "offset_okay", "offset_great"), head.offset.tolist(), strict=True)
    tables = found.tables
    if before.tables:
        tables = tables | {"reliability_before": before.tables["reliability"]}
    notes = (_JUDGED_BY_ANSWERS, *found.notes) if config.supervise == "answer" else found.notes
    return Report(metrics, notes=notes, tables=tables, slices=found.slices)


def _with_training(
    report: Report,
    data: Dataset,
    learnt: Sequence[Example],
    tuning: Sequence[Example],
    curve: Curve,
    threshold: float | None,
    outcome_only: bool,
) -> Report:
    notes = [*report.notes, _tuned(tuning, curve, threshold)]
    if outcome_only:
        notes.insert(0, "trained on the grades of final answers: no human labels")
    if data.unusable:
        notes.append(f"{len(data.unusable)} training solutions had no label that could be used")
    cost: dict[str, float | int | None] = {
        "train_solutions": len(learnt),
        "train_steps": sum(len(example.targets) for example in learnt),
        "train_unusable": len(data.unusable),
        "tuning_solutions": len(tuning),
        "tuning_steps": sum(len(example.targets) for example in tuning),
        "train_loss": curve[-1]["loss"],
    }
    return replace(report, metrics=report.metrics | cost, curve=tuple(curve), notes=tuple(notes))


def _tuned(tuning: Sequence[Example], curve: Curve, threshold: float | None) -> str:
    if not tuning:
        return "too few labels to set some aside for tuning: the last epoch, uncalibrated, and threshold 0.5 were taken"
    losses = [point["tuning_nll"] for point in curve if "tuning_nll" in point]
    epoch = losses.index(min(losses)) + 1 if losses else int(curve[-1]["epoch"])
    what = f"epoch {epoch} and the calibration"
    if threshold is not None:
        what = f"epoch {epoch}, the calibration and the threshold {threshold:.3f} of p(bad)"
    return f"{what} were chosen on {len(tuning)} solutions of problems kept from training"
