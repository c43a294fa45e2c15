"""The PRM that all the mathematics of the step labels makes, on ProcessBench's GSM8K part, beside what it must beat.

Beside it, on as many solutions: the majority class (no step is wrong), an outcome model (graded answers, read at the
last token) and the bootstrap version (each step takes its solution's grade, as before anybody labelled). That comes
first, since it reads whole solutions: what the frozen layers make of them serves the other two. ARGS: `--solutions`,
how many each learns from (all), and `--folder`, where a killed run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from prm_backend import runtime
from prm_backend.config import PRMConfig
from prm_backend.evaluation.processbench import compared, processbench
from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.reward.prm import PRM, step_probs
from prm_backend.reward.reader import scored_steps
from prm_backend.text.encoding import Encoded
from prm_backend.training.trainer import train_prm
from prm_backend.types import LabelledSolution, StepProbs, Unscorable
from tests.bench.report import Aim, report
from tests.bench.retrain import BASE, DATA, cpu_seconds, read_rows, show, split

AIM_SECONDS = 1800.0
HELD_OUT = 300
NAMES = ("bootstrap", "prm", "outcome")
Scored = dict[str, list[list[StepProbs] | Unscorable]]


def main() -> None:
    options = arguments()
    runtime.prepare_torch()
    base = str(ensure_default_model(BASE))
    train, held_out = split(read_rows(), options.solutions, HELD_OUT)
    outcomes = [row.outcome for row in train]
    judged = [row.human for row in held_out]
    config = PRMConfig()
    runs: dict[str, tuple[list[LabelledSolution], PRMConfig]] = {
        "bootstrap": (outcomes, config),
        "prm": ([row.human for row in train], config),
        "outcome": (outcomes, replace(config, supervise="answer")),
    }
    metrics: dict[str, Any] = {"config": asdict(config), "load_average_before": os.getloadavg()[0]}
    folder = Path(options.folder or tempfile.mkdtemp())
    for name, (solutions, own) in runs.items():
        if not (folder / name).is_dir():
            started, cpu_started = time.monotonic(), cpu_seconds()
            trained = train_prm(
                base, solutions, judged if name == "prm" else [], config=own, checkpoint_dir=folder / name,
                snapshot_hash="bench", outcome_only=name != "prm", progress=show, states_dir=folder / "states",
            )  # fmt: skip
            cost = {"seconds": time.monotonic() - started, "cpu_seconds": cpu_seconds() - cpu_started}
            (folder / f"{name}.json").write_text(
                json.dumps({**trained.metrics, **cost, "tables": trained.tables})
            )
        metrics[name] = json.loads((folder / f"{name}.json").read_text())
        print(f"\n{name}: {json.dumps(metrics[name])}", file=sys.stderr)
    samples = json.loads((DATA / "processbench_gsm8k.json").read_text(encoding="utf-8"))
    first_errors = [sample["label"] for sample in samples]
    found = score({name: PRM.load(folder / name) for name in runs}, samples)
    for name, scored in found.items():
        metrics[f"{name}_processbench"] = asdict(processbench(scored, first_errors))
    for name in ("bootstrap", "outcome"):
        metrics[f"prm_over_{name}"] = compared(found["prm"], found[name], first_errors)._asdict()
    metrics["majority_processbench_f1"] = 0.0  # "no step is wrong" finds every right solution and no error
    metrics["load_average_after"] = os.getloadavg()[0]
    report("full", metrics, aims(metrics))


def score(prms: dict[str, PRM], samples: list[dict[str, Any]]) -> Scored:
    """All of them on one pass: they differ in their heads alone."""
    first = next(iter(prms.values()))
    encoded = [first.encode(sample["problem"], sample["steps"]) for sample in samples]

    def run(rows: list[Encoded]) -> Iterable[tuple[StepProbs, ...]]:
        reading = first.read(rows)
        states = first.states(rows, reading)
        return zip(*(step_probs(prm.head(states, reading.figures)) for prm in prms.values()), strict=True)

    found, _budget = scored_steps(encoded, first.batch_tokens, run)
    return {
        name: [one if isinstance(one, Unscorable) else [step[k] for step in one] for one in found]
        for k, name in enumerate(prms)
    }


def aims(metrics: dict[str, Any]) -> list[Aim]:
    f1 = metrics["prm_processbench"]["f1"]
    others = [metrics[f"{name}_processbench"]["f1"] for name in ("bootstrap", "outcome")]
    return [
        Aim("ProcessBench-GSM8K F1 above all of the others", max([0.0, *others]), f1, at_least=True),
        Aim(
            "its F1 less the others', on the same samples: the low end of 95 %",
            0.0,
            min(metrics[f"prm_over_{name}"]["low"] for name in ("bootstrap", "outcome")),
            at_least=True,
        ),
        Aim(
            "seconds to train all three, 2 idle cores",
            AIM_SECONDS,
            sum(metrics[name]["seconds"] for name in NAMES),
        ),
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solutions", type=int, default=10**6)
    parser.add_argument("--folder", help="keep checkpoints and what is unfinished there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
