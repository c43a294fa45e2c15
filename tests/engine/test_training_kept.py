"""What is kept from one training to the next: only new steps are read, and the PRM is the one it would be anyway."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from prm_backend.reward.checkpoint import read_tensors
from prm_backend.reward.prm import PRM, Reading
from prm_backend.text.encoding import Encoded
from prm_backend.training import kept
from tests.engine.training import HEAD, TRAIN, losses, solution, train
from tests.tiny import tiny_model_dir

NEW = [solution(i) for i in range(24, 30)]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many solutions each pass of the frozen layers read."""
    counts: list[int] = []
    original = PRM.read

    def counting(prm: PRM, rows: Sequence[Encoded]) -> Reading:
        counts.append(len(rows))
        return original(prm, rows)

    monkeypatch.setattr(PRM, "read", counting)
    return counts


@pytest.mark.parametrize("features", [{}, {"step_mean": True}, {"log_probs": True}])
def test_a_retrain_reads_only_what_is_new_and_ends_as_if_it_had_read_all(
    base: str, tmp_path: Path, read: list[int], features: dict[str, bool]
) -> None:
    config = replace(HEAD, **features)
    train(base, tmp_path / "1", config, states_dir=tmp_path / "states")
    assert sum(read) == 24 + 8
    read.clear()
    again = train(base, tmp_path / "2", config, [*TRAIN, *NEW], states_dir=tmp_path / "states")
    assert sum(read) == len(NEW)
    whole = train(base, tmp_path / "3", config, [*TRAIN, *NEW])
    assert losses(again) == pytest.approx(losses(whole), abs=1e-4)
    retrained, anew = (read_tensors(tmp_path / name) for name in ("2", "3"))
    assert all(torch.allclose(retrained[name], anew[name], atol=1e-3) for name in anew)


def test_a_solution_that_was_read_whole_serves_its_part_up_to_the_first_error(
    base: str, tmp_path: Path, read: list[int]
) -> None:
    """As grades come before people: version 0 reads whole solutions."""
    graded = [replace(one, ratings=(1, 1, 1), outcome_only=True) for one in TRAIN]
    train(base, tmp_path / "0", HEAD, graded, [], states_dir=tmp_path / "states")
    read.clear()
    train(base, tmp_path / "1", HEAD, TRAIN, [], states_dir=tmp_path / "states")
    assert read == []


def test_other_layers_other_steps_and_other_bases_are_read_anew(
    base: str, tmp_path: Path, read: list[int]
) -> None:
    states = tmp_path / "states"
    train(base, tmp_path / "1", HEAD, held_out=[], states_dir=states)
    read.clear()
    train(base, tmp_path / "2", replace(HEAD, depth=1.0), held_out=[], states_dir=states)
    assert sum(read) == 24
    another = str(tiny_model_dir(tmp_path / "another", layers=3, seed=1))
    train(another, tmp_path / "3", HEAD, held_out=[], states_dir=states)
    assert sum(read) == 48
    # The same tokens, cut into steps elsewhere.
    cut = [
        replace(one, steps=(f"{one.steps[0]}\n{one.steps[1]}", one.steps[2]), ratings=(1, 1)) for one in TRAIN
    ]
    train(base, tmp_path / "4", HEAD, cut, held_out=[], states_dir=states)
    assert sum(read) == 72


def test_a_damaged_file_is_begun_anew(base: str, tmp_path: Path, read: list[int]) -> None:
    train(base, tmp_path / "1", HEAD, held_out=[], states_dir=tmp_path / "states")
    (file,) = (tmp_path / "states").iterdir()
    file.write_bytes(b"not a database" * 1000)
    read.clear()
    train(base, tmp_path / "2", HEAD, held_out=[], states_dir=tmp_path / "states")
    assert sum(read) == 24


def test_a_file_that_another_process_writes_is_not_thrown_away(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[int]
) -> None:
    monkeypatch.setattr(kept, "_PATIENCE", 0.1)
    states = tmp_path / "states"
    train(base, tmp_path / "1", HEAD, held_out=[], states_dir=states)
    (file,) = states.iterdir()
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("begin exclusive")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        train(base, tmp_path / "2", HEAD, held_out=[], states_dir=states)
    other.execute("commit")
    read.clear()
    train(base, tmp_path / "3", HEAD, held_out=[], states_dir=states)
    assert read == []


def test_a_file_that_nothing_used_for_a_month_goes(base: str, tmp_path: Path) -> None:
    states = tmp_path / "states"
    train(base, tmp_path / "1", HEAD, states_dir=states)
    (file,) = states.iterdir()
    for age, stays in ((29, True), (31, False)):
        long_ago = file.stat().st_atime - age * 24 * 3600
        os.utime(file, (long_ago, long_ago))
        train(base, tmp_path / "2", replace(HEAD, depth=1.0), states_dir=states)
        assert file.exists() == stays
        file.touch()
