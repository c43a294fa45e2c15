"""How long a retrain takes, and what people's step labels add to the grades of final answers alone.

`make bench NAME=retrain`; ARGS=--help lists other sizes and recipes. F1's threshold is tuned on the samples it is
measured on, for both PRMs (ProcessBench's GSM8K part is the set for that).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from prm_backend import runtime
from prm_backend.config import PRMConfig
from prm_backend.evaluation.processbench import ProcessBench, processbench
from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.text.step_labels import labelled_solution
from prm_backend.types import LabelledSolution, Progress, Report
from tests.bench.report import Aim, report

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
BASE = ROOT / "var" / "models" / "smollm2"
NOT_MATHEMATICS = ("mr-ben-chemistry", "mr-ben-physics")
AIM_SECONDS, AIM_SOLUTIONS = 120.0, 300


@dataclass(frozen=True)
class Row:
    """A solution as people labelled it, and as the grade of its final answer alone would."""

    human: LabelledSolution
    outcome: LabelledSolution


def read_rows() -> list[Row]:
    """The mathematics of the step labels, in an order that depends on the problems alone."""
    with gzip.open(DATA / "step_labels_train.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [row for line in file if (row := _row(json.loads(line)))]
    digests = {row.human.problem: hashlib.sha256(row.human.problem.encode()).digest() for row in rows}
    return sorted(rows, key=lambda row: digests[row.human.problem])


def _row(raw: dict[str, Any]) -> Row | None:
    if raw["source"] in NOT_MATHEMATICS:
        return None
    human = labelled_solution(raw)
    inked = [i for i, step in enumerate(human.steps) if step.strip()]
    human = replace(
        human, steps=tuple(human.steps[i] for i in inked), ratings=tuple(human.ratings[i] for i in inked)
    )
    right = raw["final_answer_correct"]
    if right is None:  # not recorded: a solution without an error counts as right
        right = raw["first_error"] < 0
    outcome = replace(human, ratings=(1 if right else -1,) * len(human.steps), outcome_only=True)
    return Row(human, outcome)


def split(rows: Sequence[Row], n: int, held_out: int) -> tuple[list[Row], list[Row]]:
    """`n` rows to train on and `held_out` others, on other problems, at random from each side."""
    rng = random.Random(0)
    border = len(rows) * 9 // 10
    while border < len(rows) and rows[border].human.problem == rows[border - 1].human.problem:
        border += 1
    train, kept = list(rows[:border]), list(rows[border:])
    return rng.sample(train, min(n, len(train))), rng.sample(kept, min(held_out, len(kept)))


def measure(checkpoint: Path, samples: Sequence[dict[str, Any]]) -> ProcessBench:
    prm = runtime.prm(checkpoint)
    scored = prm.score([s["problem"] for s in samples], [s["steps"] for s in samples])
    return processbench(scored, [s["label"] for s in samples])


def show(progress: Progress) -> None:
    print(f"\r{progress.done / progress.total:6.1%} {progress.message:60}", end="", file=sys.stderr)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def figures(prefix: str, trained: Report, bench: ProcessBench) -> dict[str, Any]:
    kept = (
        "step_accuracy",
        "balanced_accuracy",
        "auc",
        "log_likelihood",
        "first_error_accuracy",
        "threshold",
    )
    kept += ("balanced_accuracy_at_threshold", "first_error_accuracy_at_threshold", "first_error_f1")
    return {f"{prefix}_{key}": trained.metrics[key] for key in kept} | {
        f"{prefix}_processbench_f1": bench.f1,
        f"{prefix}_processbench_error_accuracy": bench.error_accuracy,
        f"{prefix}_processbench_correct_accuracy": bench.correct_accuracy,
        f"{prefix}_processbench_threshold": bench.threshold,
        f"{prefix}_processbench_solution_auc": bench.first_error_auc,
    }


def main() -> None:
    options = arguments()
    if not DATA.is_dir():
        sys.exit(f"the bench needs the labelled solutions in {DATA}")
    config = PRMConfig(
        **{f.name: value for f in fields(PRMConfig) if (value := getattr(options, f.name)) is not None}
    )
    base = str(ensure_default_model(BASE))
    train, held_out = split(read_rows(), options.solutions, options.held_out)
    samples = json.loads((DATA / "processbench_gsm8k.json").read_text(encoding="utf-8"))
    # At random: the file begins with the erroneous ones.
    samples = random.Random(0).sample(samples, options.processbench)
    human_held_out = [row.human for row in held_out]
    metrics: dict[str, Any] = {
        "solutions": len(train),
        "held_out": len(held_out),
        "processbench": len(samples),
    }
    with tempfile.TemporaryDirectory() as directory:
        for name in ("after", "before"):
            after = name == "after"
            started, cpu_started = time.monotonic(), cpu_seconds()
            trained = runtime.train(
                base,
                [row.human if after else row.outcome for row in train],
                human_held_out,
                config=config,
                checkpoint_dir=Path(directory) / name,
                snapshot_hash="bench",
                outcome_only=not after,
                progress=show,
            )
            metrics[f"{name}_seconds"] = time.monotonic() - started
            metrics[f"{name}_cpu_seconds"] = cpu_seconds() - cpu_started
            metrics[f"{name}_train_steps"] = trained.metrics["train_steps"]
            metrics |= figures(name, trained, measure(Path(directory) / name, samples))
            print(f"\n{name}: {json.dumps(metrics)}", file=sys.stderr)
        metrics["held_out_steps"] = trained.metrics["steps"]
        metrics["majority_step_accuracy"] = trained.metrics["majority_accuracy"]
    report("retrain", metrics, aims(metrics))


def aims(metrics: dict[str, Any]) -> list[Aim]:
    return [
        Aim(
            "ProcessBench-GSM8K F1, against that of a PRM trained on grades alone",
            metrics["before_processbench_f1"],
            metrics["after_processbench_f1"],
            at_least=True,
        ),
        Aim(
            f"seconds to retrain on {AIM_SOLUTIONS} labelled solutions, 2 cores",
            AIM_SECONDS,
            metrics["after_seconds"] if metrics["solutions"] == AIM_SOLUTIONS else None,
        ),
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solutions", type=int, default=AIM_SOLUTIONS)
    parser.add_argument("--held-out", type=int, default=100)
    parser.add_argument("--processbench", type=int, default=400, help="how many of its 400 samples")
    for field in fields(PRMConfig):
        flag = f"--{field.name.replace('_', '-')}"
        if isinstance(field.default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction)
        elif isinstance(field.default, int | float | str):
            parser.add_argument(flag, type=type(field.default))
    parser.add_argument("--class-weights", type=float, nargs=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
