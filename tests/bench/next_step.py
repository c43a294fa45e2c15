"""Seconds until the default model has proposed next steps to somebody who labels step by step: 4 distinct ones a step.

The generator alone, on this machine's cores; a page asks every 0.7 s whether they are there. Run it on an idle machine.
`make bench NAME=next_step ARGS=var/models/smollm2` uses a converted model that is there already.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

from prm_backend.generators import open_generator
from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.generators.starter.problems import HELD_OUT_SEED, make_problems
from prm_backend.text.steps import ends_solution
from prm_backend.types import Generator, Sampling
from tests.bench.report import Aim, report

PROBLEMS, OPTIONS, MOST_STEPS = 6, 4, 8
AIM_SECONDS = 5.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = sys.argv[1] if len(sys.argv) > 1 else ensure_default_model(Path(folder) / "smollm2")
        generator = open_generator(str(base))
    generator.next_steps("What is $2 + 2$?", [], n=2, sampling=Sampling(max_new_tokens=4), seed=0)  # warm
    seconds: list[float] = []
    proposed: list[int] = []
    cpu = time.process_time()
    for seed, problem in enumerate(make_problems(PROBLEMS, HELD_OUT_SEED)):
        for took, n in _grow(generator, problem.problem, seed):
            seconds.append(took)
            proposed.append(n)
    cpu = time.process_time() - cpu
    metrics = {
        "seconds_median": round(statistics.median(seconds), 2),
        "seconds_p95": round(statistics.quantiles(seconds, n=20)[-1], 2),
        "seconds_max": round(max(seconds), 2),
        "cpu_seconds_a_step": round(cpu / len(seconds), 2),
        "steps": len(seconds),
        "options_asked_for": OPTIONS,
        "options_mean": round(statistics.mean(proposed), 2),
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 1),
    }
    p95 = metrics["seconds_p95"]
    report("next_step", metrics, [Aim("seconds a step, p95, two idle cores", AIM_SECONDS, float(str(p95)))])


def _grow(generator: Generator, problem: str, seed: int) -> list[tuple[float, int]]:
    """Seconds and options of each step, going on with the first option until an answer stands."""
    steps: list[str] = []
    told: list[tuple[float, int]] = []
    while len(steps) < MOST_STEPS and not (steps and ends_solution(steps[-1])):
        began = time.monotonic()
        found = generator.next_steps(problem, steps, n=OPTIONS, sampling=Sampling(), seed=seed)
        told.append((time.monotonic() - began, len(found)))
        if not found:
            break
        steps.append(found[0])
    return told


if __name__ == "__main__":
    main()
