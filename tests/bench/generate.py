"""Tokens per second of the default model with its starter adapter: 8 problems x 8 samples, as a round samples them.

Run it on an idle machine: sampling takes all the cores it gets.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import torch

from prm_backend.generators import open_generator
from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.generators.starter.evaluate import evaluate, summary
from prm_backend.generators.starter.problems import HELD_OUT_SEED, make_problems
from prm_backend.types import Sampling
from tests.bench.report import Aim, report

AIM_TOKENS = 150.0  # per second, two idle cores
PROBLEMS, SAMPLES = 8, 8


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        base = ensure_default_model(Path(folder) / "smollm2")
        converted = time.monotonic()
        generator = open_generator(str(base))
        loaded = time.monotonic()
        generator.sample(["What is $2 + 2$?"], n=2, sampling=Sampling(max_new_tokens=4), seed=0)  # warm
        started = time.monotonic()
        results = evaluate(generator, make_problems(PROBLEMS, HELD_OUT_SEED), samples=SAMPLES)
        seconds = time.monotonic() - started
    tokens = sum(result.sample.n_tokens for result in results)
    speed = round(tokens / seconds, 1)
    found = summary(results)
    metrics = {
        "tokens_per_second": speed,
        "seconds_to_sample": round(seconds, 1),
        "samples": len(results),
        "tokens": tokens,
        "share_right": found["right"],
        "share_of_distinct_texts": found["distinct"],
        "share_that_reached_an_answer": found["reached_an_answer"],
        "seconds_to_convert": round(converted - begin, 1),
        "seconds_to_load": round(loaded - converted, 1),
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 1),
    }
    report(
        "generate",
        metrics,
        [Aim("tokens per second, batch 64, two idle cores", AIM_TOKENS, speed, at_least=True)],
    )


if __name__ == "__main__":
    main()
