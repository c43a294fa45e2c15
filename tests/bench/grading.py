"""Pairs graded per second beside math-verify alone, programs run per second, the slowest verdict, memory grown.

The pairs are real: GSM8K answers of several models against the gold ones, and MATH answers against themselves
and each other. math-verify alone takes them one after the other in one process, with its own timeouts.
"""

from __future__ import annotations

import gzip
import json
import resource
import time
from itertools import pairwise
from pathlib import Path

from math_verify import parse, verify

from prm_backend.grading import AnswerKind, Gold, GraderPool, Outcome
from tests.bench.report import Aim, report

DATA = Path(__file__).parents[3] / "shared" / "data"
MATH_PAIRS = 1000
AIM_RATIO = 1.5
PROGRAMS = 100  # each with three asserts, in two sandboxed processes of its own
PROGRAM = "def total(xs):\n    return sum(xs)"
PROGRAM_GOLD = Gold(
    kind=AnswerKind.CODE,
    tests=("assert total([]) == 0", "assert total([1, 2]) == 3", "assert total(range(99)) == 4851"),
)


def main() -> None:
    pairs = gsm8k_pairs() + math_pairs()
    with GraderPool() as graders:
        graders.grade_many([("x+x", "2x"), ("y+y", "2y")])  # the processes have loaded
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.monotonic()
        verdicts = graders.grade_many(pairs)
        ours = time.monotonic() - started
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    started = time.monotonic()
    with GraderPool() as graders:
        ran = graders.grade_many([(PROGRAM, PROGRAM_GOLD)] * PROGRAMS)
    programs = time.monotonic() - started
    assert all(verdict.outcome is Outcome.CORRECT for verdict in ran)
    started = time.monotonic()
    for answer, gold in pairs:
        verify(parse(f"${gold}$"), parse(f"${answer}$"))
    alone = time.monotonic() - started
    outcomes = {str(outcome): sum(v.outcome is outcome for v in verdicts) for outcome in Outcome}
    metrics = {
        "pairs": len(pairs),
        "pairs_per_second": round(len(pairs) / ours, 1),
        "pairs_per_second_of_math_verify_alone": round(len(pairs) / alone, 1),
        "ratio": round(alone / ours, 2),
        "slowest_verdict_ms": round(max(v.milliseconds for v in verdicts)),
        "memory_grown_mib": round(grown / 1024, 1),
        "programs_per_second": round(PROGRAMS / programs, 1),
        "outcomes": outcomes,
    }
    report(
        "grading",
        metrics,
        [Aim("times as fast as math-verify alone", AIM_RATIO, alone / ours, at_least=True)],
    )


def gsm8k_pairs() -> list[tuple[str, str]]:
    """The last line of each real solution ("A: 26") against the gold answer."""
    pairs = []
    with gzip.open(DATA / "gsm8k_candidates_dev.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            for candidate in row["candidates"]:
                last = candidate["steps"][-1]
                if last.startswith("A: ") and last[3:].strip():
                    pairs.append((last[3:].strip(), str(row["answer"])))
    return pairs


def math_pairs() -> list[tuple[str, str]]:
    """MATH answers against themselves and against their neighbours."""
    with gzip.open(DATA / "math_train_answers.jsonl.gz", "rt", encoding="utf-8") as file:
        answers = [row["final_answer"] for row in map(json.loads, file) if row["final_answer"]]
    answers = answers[: MATH_PAIRS // 2]
    return [(a, a) for a in answers] + list(pairwise(answers))


if __name__ == "__main__":
    main()
