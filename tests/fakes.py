"""Small engines for tests of the rows around them: each satisfies its Protocol and does what its test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from prm_backend.config import PRMConfig
from prm_backend.text.gold import Gold
from prm_backend.text.steps import extract_answer, split_steps
from prm_backend.types import (
    NEWLINE,
    LabelledSolution,
    Outcome,
    Progress,
    ProgressCallback,
    Report,
    Sample,
    Sampling,
    StepProbs,
    Unscorable,
    Verdict,
    silent,
)


def sample_of(text: str) -> Sample:
    return Sample(text, split_steps(text), extract_answer(text), truncated=False, n_tokens=len(text))


class ScriptedGenerator:
    """Writes `script(problem, sample index)` for each sample."""

    name = "scripted"

    def __init__(self, script: Callable[[str, int], str]) -> None:
        self.script = script
        self.calls: list[tuple[tuple[str, ...], int]] = []

    def sample(
        self,
        problems: Sequence[str],
        *,
        n: int,
        sampling: Sampling,
        seed: int,
        progress: ProgressCallback = silent,
    ) -> list[list[Sample]]:
        self.calls.append((tuple(problems), seed))
        return [[sample_of(self.script(problem, index)) for index in range(n)] for problem in problems]

    def next_steps(
        self,
        problem: str,
        steps: Sequence[str],
        *,
        n: int,
        sampling: Sampling,
        seed: int,
        progress: ProgressCallback = silent,
    ) -> list[str]:
        """The steps of the n solutions it would write that come after so many."""
        self.calls.append((tuple(steps), seed))
        progress(Progress(0, n, "writing"))
        found = [split_steps(self.script(problem, index)) for index in range(n)]
        return list(dict.fromkeys(solution[len(steps)] for solution in found if len(solution) > len(steps)))


class ExactGraders:
    """Correct is what equals the gold, letter by letter."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def grade_many(self, pairs: Sequence[tuple[str, str | Gold]]) -> list[Verdict]:
        plain = [(answer, gold if isinstance(gold, str) else gold.answer) for answer, gold in pairs]
        self.pairs += plain
        return [Verdict(Outcome.CORRECT if answer == gold else Outcome.WRONG) for answer, gold in plain]


class ScriptedScorer:
    """Gives every step of a solution the same p(-1), as `bad` says; a string refuses the solution."""

    name = "scripted"

    def __init__(self, bad: Callable[[Sequence[str]], float | str]) -> None:
        self.bad = bad

    def score(
        self,
        problems: Sequence[str],
        solutions: Sequence[Sequence[str]],
        *,
        segmentation: str = NEWLINE,
    ) -> list[list[StepProbs] | Unscorable]:
        results: list[list[StepProbs] | Unscorable] = []
        for steps in solutions:
            bad = self.bad(steps)
            if isinstance(bad, str):
                results.append(Unscorable(bad))
            else:
                results.append([StepProbs(bad, 0.0, 1 - bad)] * len(steps))
        return results


class RecordingTrainer:
    """Remembers what it was to train on, and leaves a checkpoint of one file."""

    def __init__(self, metrics: dict[str, float | int | None] | None = None) -> None:
        self.metrics = metrics or {}
        self.train: list[LabelledSolution] = []
        self.held_out: list[LabelledSolution] = []
        self.outcome_only: bool | None = None

    def __call__(
        self,
        base: str,
        train: Sequence[LabelledSolution],
        held_out: Sequence[LabelledSolution],
        *,
        config: PRMConfig,
        checkpoint_dir: Path,
        snapshot_hash: str,
        outcome_only: bool,
        progress: ProgressCallback,
        states_dir: Path,
        resume_dir: Path | None = None,
    ) -> Report:
        self.train, self.held_out, self.outcome_only = list(train), list(held_out), outcome_only
        progress(Progress(1, 2, "training"))
        checkpoint_dir.mkdir(parents=True)
        (checkpoint_dir / "meta.json").write_text("{}")
        return Report(self.metrics, curve=({"step": 1, "loss": 1.0},), notes=("a note",))
