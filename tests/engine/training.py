"""Solutions to train on, and short trainings of a tiny model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from prm_backend.config import PRMConfig
from prm_backend.training.trainer import train_prm
from prm_backend.types import LabelledSolution, Report

CONFIG = PRMConfig(
    trained_layers=1, epochs=3, max_length=256, batch_solutions=4, learning_rate=1e-3, head_learning_rate=0.02
)
HEAD = replace(CONFIG, trained_layers=0, epochs=4)  # which reads each solution once


def solution(i: int, **changes: object) -> LabelledSolution:
    """Right where `i` is even: "good" steps; else its second step is "bad"."""
    steps, ratings = (
        (("good", "good", "good"), (1, 0, 1)) if i % 2 == 0 else (("good", "bad", "good"), (1, -1, None))
    )
    return replace(LabelledSolution(f"Problem {i}?", steps, ratings, id=str(i)), **changes)


TRAIN = [solution(i) for i in range(24)]
HELD_OUT = [solution(i) for i in range(100, 108)]


def train(
    base: str, directory: Path, config: PRMConfig = CONFIG, data=TRAIN, held_out=HELD_OUT, **options
) -> Report:
    return train_prm(
        base, data, held_out, config=config, checkpoint_dir=directory, snapshot_hash="s", **options
    )


def losses(report: Report) -> list[float]:
    return [point["loss"] for point in report.curve]
