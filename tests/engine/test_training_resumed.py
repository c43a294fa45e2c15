"""A training that died goes on where it was; one of two processes ends as one of one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from prm_backend.reward.checkpoint import read_tensors
from prm_backend.reward.prm import PRM
from prm_backend.types import Cancelled, Progress
from tests.engine.training import HEAD, losses, train

ONE_THREAD = {**os.environ, "PYTHONPATH": ".", "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("trained_layers", "phase"), [(0, "reading"), (0, "epoch 3"), (1, "reading"), (1, "epoch 3")]
)
def test_a_training_that_died_goes_on_where_it_was_and_ends_the_same(
    base: str, tmp_path: Path, trained_layers: int, phase: str
) -> None:
    config = replace(HEAD, trained_layers=trained_layers, batch_tokens=64, patience=0)
    whole = train(base, tmp_path / "whole", config)

    class Died(BaseException):
        pass

    seen: list[Progress] = []

    def die(progress: Progress) -> None:
        seen.append(progress)
        if phase in progress.message and len(seen) > 3:
            raise Died

    with pytest.raises(Died):
        train(base, tmp_path / "v1", config, progress=die, resume_dir=tmp_path / "resume")
    again: list[Progress] = []
    resumed = train(base, tmp_path / "v1", config, progress=again.append, resume_dir=tmp_path / "resume")
    assert again[0].done > seen[0].done  # what was read was not read again
    assert losses(resumed) == pytest.approx(losses(whole), abs=1e-6)
    weights = [read_tensors(tmp_path / name) for name in ("whole", "v1")]
    assert all(torch.allclose(weights[0][name], weights[1][name], atol=1e-6) for name in weights[0])
    assert not (tmp_path / "resume").exists()


KILLED = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from tests.engine.training import HEAD, train
def kill(progress):
    if "epoch 3" in progress.message:
        os.kill(os.getpid(), signal.SIGKILL)
base, out = sys.argv[1], Path(sys.argv[2])
train(base, out / "v1", replace(HEAD, trained_layers=1), progress=kill, resume_dir=out / "resume")
"""


@pytest.mark.slow
def test_a_training_killed_by_the_kernel_goes_on_where_it_was_and_ends_the_same(
    base: str, tmp_path: Path
) -> None:
    config = replace(HEAD, trained_layers=1)
    killed = subprocess.run([sys.executable, "-c", KILLED, base, str(tmp_path)], env=ONE_THREAD)
    assert killed.returncode == -signal.SIGKILL
    seen: list[Progress] = []
    resumed = train(base, tmp_path / "v1", config, progress=seen.append, resume_dir=tmp_path / "resume")
    assert not any("epoch 2" in progress.message for progress in seen)
    assert losses(resumed) == pytest.approx(losses(train(base, tmp_path / "whole", config)), abs=1e-5)
    assert not (tmp_path / "resume").exists()


def test_what_another_training_left_is_not_gone_on_with(base: str, tmp_path: Path) -> None:
    def cancel(progress: Progress) -> None:
        if "epoch 2" in progress.message:
            raise Cancelled

    config = replace(HEAD, trained_layers=1)
    with pytest.raises(Cancelled):
        train(base, tmp_path / "v1", config, progress=cancel, resume_dir=tmp_path / "resume")
    other = replace(config, seed=1)
    resumed = train(base, tmp_path / "v1", other, resume_dir=tmp_path / "resume")
    assert losses(resumed) == losses(train(base, tmp_path / "v2", other))


TWO_PROCESSES = """
import os, sys
from pathlib import Path
from dataclasses import replace
from tests.engine.training import HEAD, losses, train
base, out = sys.argv[1:]
report = train(base, Path(out) / "two", replace(HEAD, trained_layers=1))
Path(out, f"losses.{os.environ['RANK']}").write_text(str(losses(report)))
"""


@pytest.mark.slow
def test_two_processes_train_what_one_does(base: str, tmp_path: Path) -> None:
    alone = train(base, tmp_path / "one", replace(HEAD, trained_layers=1))
    script = tmp_path / "script.py"
    script.write_text(TWO_PROCESSES)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*launch, str(script), base, str(tmp_path)],
        capture_output=True,
        text=True,
        env=ONE_THREAD,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for rank in (0, 1):
        found = json.loads((tmp_path / f"losses.{rank}").read_text())
        assert found == pytest.approx(losses(alone), abs=1e-4)
    assert PRM.load(tmp_path / "two").score(["Problem 1?"], [("good", "bad")])
