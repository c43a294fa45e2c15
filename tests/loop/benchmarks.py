"""A small benchmark in ProcessBench's shape, and a scorer that is measured on it."""

from __future__ import annotations

from typing import Any

from tests.fakes import ScriptedScorer


def rows(n: int = 20) -> list[dict[str, Any]]:
    """ProcessBench's shape: in each second solution the second step says "wrong"."""
    steps = (["Fine.", "Fine."], ["Fine.", "wrong"])
    return [
        {"id": f"g-{i}", "generator": "g", "problem": f"Problem {i}?", "steps": steps[i % 2], "label": (-1, 1)[i % 2],
         "final_answer_correct": i % 2 == 0}
        for i in range(n)
    ]  # fmt: skip


class Wary(ScriptedScorer):
    """Finds each step that says "wrong", and is never surer than one in four."""

    def __init__(self) -> None:
        super().__init__(lambda steps: 0.0)

    def score(self, problems, solutions, *, segmentation="newline-1"):
        from prm_backend.types import StepProbs

        sure = {"wrong": 0.25}
        return [[StepProbs(p := sure.get(s, 0.05), 0.0, 1 - p) for s in steps] for steps in solutions]
