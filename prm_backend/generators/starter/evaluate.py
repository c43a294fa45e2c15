"""Measures a starter adapter on held-out problems: how often it is right, by kind, and what its slips look like.

Answers of starter problems are whole numbers, so equal digits are a right answer; no grader is needed here.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.generators.starter import ADAPTER_DIR
from prm_backend.generators.starter.problems import HELD_OUT_SEED, StarterProblem, make_problems
from prm_backend.generators.transformers_generator import TransformersGenerator
from prm_backend.types import Generator, Sample, Sampling


@dataclass(frozen=True)
class Result:
    """What became of one sample of one problem."""

    problem: StarterProblem
    sample: Sample

    @property
    def right(self) -> bool:
        return self.sample.answer is not None and self.sample.answer.replace(",", "") == self.problem.answer


def evaluate(
    generator: Generator,
    problems: list[StarterProblem],
    *,
    samples: int,
    sampling: Sampling | None = None,
    seed: int = 0,
) -> list[Result]:
    """Sample every problem `samples` times, at the default Sampling unless told otherwise."""
    texts = [p.problem for p in problems]
    drawn = generator.sample(texts, n=samples, sampling=sampling or Sampling(), seed=seed)
    return [Result(p, sample) for p, found in zip(problems, drawn, strict=True) for sample in found]


def summary(results: list[Result]) -> dict[str, float | dict[str, float]]:
    """Shares in [0, 1] over all samples and by kind, the mean length in tokens, and the share of distinct texts."""
    kinds: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        kinds[result.problem.kind].append(result.right)
    texts = {(result.problem.problem, result.sample.text) for result in results}
    return {
        "right": _mean([result.right for result in results]),
        "reached_an_answer": _mean([result.sample.answer is not None for result in results]),
        "truncated": _mean([result.sample.truncated for result in results]),
        "tokens": _mean([result.sample.n_tokens for result in results]),
        "distinct": round(len(texts) / len(results), 3),
        "right_by_kind": {kind: _mean(kinds[kind]) for kind in sorted(kinds)},
    }


def _mean(values: list[bool] | list[int]) -> float:
    return round(sum(values) / len(values), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the starter adapter on held-out problems.")
    parser.add_argument("--base", type=Path, default=Path("var/models/smollm2"))
    parser.add_argument("--adapter", type=Path, default=ADAPTER_DIR)
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--temperature", type=float, default=Sampling.temperature)
    parser.add_argument("--slips", type=int, default=5, help="how many wrong solutions to print")
    arguments = parser.parse_args()
    generator = TransformersGenerator.load(ensure_default_model(arguments.base), arguments.adapter)
    problems = make_problems(arguments.problems, HELD_OUT_SEED)
    began = time.monotonic()
    results = evaluate(
        generator, problems, samples=arguments.samples, sampling=Sampling(temperature=arguments.temperature)
    )
    seconds = time.monotonic() - began
    for slip in [result for result in results if not result.right][: arguments.slips]:
        print(f"--- {slip.problem.problem}\n{slip.sample.text}\n(right: {slip.problem.answer})\n")
    speed = sum(result.sample.n_tokens for result in results) / seconds
    print(json.dumps({**summary(results), "samples": len(results), "tokens_per_second": round(speed, 1)}))


if __name__ == "__main__":
    main()
