"""Tokens per second of the default model with its starter adapter: 8 problems x 8 samples, as a round samples them,
and how many times as fast that is as transformers' own `generate` one problem at a time.

`generate` is timed two ways, on some of the same problems, with the same prompts and sampling: a sample a call, and all
samples of a problem a call. Each is credited with every token of every sample up to its end. They take turns with ours,
so that what else the machine does slows all. Run it on an idle machine: sampling takes all the cores it gets.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from prm_backend import runtime
from prm_backend.generators import open_generator
from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.generators.starter.evaluate import evaluate, summary
from prm_backend.generators.starter.problems import HELD_OUT_SEED, make_problems
from prm_backend.reward.base import load_base
from prm_backend.types import Sampling
from tests.bench.report import Aim, report

AIM_TOKENS = 150.0  # per second, two idle cores
AIM_TIMES = 6.0
PROBLEMS, SAMPLES = 8, 8
TIMED_ALONE = 2  # problems that `generate` is given: it is slow


def main() -> None:
    runtime.prepare_torch()
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        base = ensure_default_model(Path(folder) / "smollm2")
        converted = time.monotonic()
        generator = open_generator(str(base))
        loaded = time.monotonic()
        generator.sample(["What is $2 + 2$?"], n=2, sampling=Sampling(max_new_tokens=4), seed=0)  # warm
        problems = make_problems(PROBLEMS, HELD_OUT_SEED)
        model, tokenizer = load_base(base)
        rivals: dict[int, list[tuple[int, float]]] = {1: [], SAMPLES: []}
        for problem in problems[:TIMED_ALONE]:
            if problem is problems[TIMED_ALONE - 1]:
                started = time.monotonic()
                results = evaluate(generator, problems, samples=SAMPLES)
                seconds = time.monotonic() - started
            for together, found in rivals.items():
                found.append(one_problem(model, tokenizer, problem.problem, together))
    tokens = sum(result.sample.n_tokens for result in results)
    speed = round(tokens / seconds, 1)
    told = summary(results)
    alone, at_once = (sum(n for n, _ in found) / sum(s for _, s in found) for found in rivals.values())
    metrics = {
        "tokens_per_second": speed,
        "generate_tokens_per_second_a_sample_a_call": round(alone, 1),
        "generate_tokens_per_second_a_problem_a_call": round(at_once, 1),
        "seconds_to_sample": round(seconds, 1),
        "samples": len(results),
        "tokens": tokens,
        "share_right": told["right"],
        "share_of_distinct_texts": told["distinct"],
        "share_that_reached_an_answer": told["reached_an_answer"],
        "seconds_to_convert": round(converted - begin, 1),
        "seconds_to_load": round(loaded - converted, 1),
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 1),
    }
    report(
        "generate",
        metrics,
        [
            Aim("tokens per second, batch 64, two idle cores", AIM_TOKENS, speed, at_least=True),
            Aim(
                "times as fast as generate, a sample a call",
                AIM_TIMES,
                round(speed / alone, 2),
                at_least=True,
            ),
            Aim(
                "times as fast as generate, a problem a call",
                AIM_TIMES,
                round(speed / at_once, 2),
                at_least=True,
            ),
        ],
    )


def one_problem(model: Any, tokenizer: Any, problem: str, together: int) -> tuple[int, float]:
    """Tokens and seconds of SAMPLES samples by transformers' `generate`, so many a call."""
    sampling = Sampling()
    prompt = tokenizer(sampling.prompt(problem), return_tensors="pt")
    torch.manual_seed(0)
    tokens = 0
    started = time.monotonic()
    for _ in range(SAMPLES // together):
        rows = model.generate(
            **prompt,
            do_sample=True,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=0,
            max_new_tokens=sampling.max_new_tokens,
            num_return_sequences=together,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.eos_token_id,
        )
        ended = (rows[:, prompt.input_ids.shape[1] :] == tokenizer.eos_token_id).cumsum(1)
        tokens += int((ended == 0).sum() + (ended[:, -1] > 0).sum())
    return tokens, time.monotonic() - started


if __name__ == "__main__":
    main()
