"""A training that died goes on where it was; one of two processes ends as one of one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from prm_backend.reward.checkpoint import read_tensors
from prm_backend.reward.prm import PRM
from prm_backend.types import Cancelled, Progress
from tests.engine.training import HEAD, losses, solution, train

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


def test_an_attempt_that_read_otherwise_is_begun_anew(base: str, tmp_path: Path) -> None:
    """An outcome model sets nothing aside, so its solutions stand in another order."""
    config = replace(HEAD, batch_tokens=64, tuning_share=0.3)
    data = [solution(i) for i in range(200)]

    class Died(BaseException):
        pass

    def die(progress: Progress) -> None:
        if "epoch 2" in progress.message:
            raise Died

    with pytest.raises(Died):
        train(base, tmp_path / "v1", config, data, progress=die, resume_dir=tmp_path / "resume")
    resumed = train(base, tmp_path / "v1", config, data, resume_dir=tmp_path / "resume", outcome_only=True)
    assert losses(resumed) == losses(train(base, tmp_path / "whole", config, data, outcome_only=True))


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


PROCESS = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from tests.engine.training import HEAD, losses, train
base, own, killed = sys.argv[1:]
def progress(made):
    if killed == os.environ["RANK"] and "epoch 3" in made.message:
        os.kill(os.getpid(), signal.SIGKILL)
report = train(base, Path(own) / "v1", replace(HEAD, trained_layers=1), progress=progress,
               resume_dir=Path(own) / "resume")
Path(own, f"losses.{os.environ['RANK']}").write_text(str(losses(report)))
"""


def launch(base: str, hosts: list[Path], killed: int | None = None) -> list[int]:
    """How two processes ended, a host: both on the one, or one on each. A host has a folder of its own and no other.

    By torchrun, which is what `accelerate launch` starts for several GPUs; for CPUs it starts mpirun.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ["--nnodes", len(hosts), "--nproc_per_node", 2 // len(hosts), "--master_port", port]
    started = []
    for rank, host in enumerate(hosts):
        host.mkdir(exist_ok=True)
        (host / "script.py").write_text(PROCESS)
        command = [sys.executable, "-m", "torch.distributed.run", *where, "--node_rank", rank]
        with (host / "log").open("w") as log:
            started.append(
                subprocess.Popen(
                    [str(word) for word in (*command, host / "script.py", base, host, killed)],
                    env=ONE_THREAD,
                    stderr=log,
                )
            )
    return [process.wait(timeout=300) for process in started]


@pytest.mark.slow
@pytest.mark.parametrize("names", [("one",), ("first", "second")], ids=["one host", "two hosts"])
def test_two_processes_train_what_one_does_and_so_they_do_when_one_was_killed(
    base: str, tmp_path: Path, names: tuple[str, ...]
) -> None:
    alone = train(base, tmp_path / "alone", replace(HEAD, trained_layers=1))
    hosts = [tmp_path / name for name in names]
    assert all(launch(base, hosts, killed=1))
    assert (hosts[0] / "resume" / "state.pt").is_file()
    assert not list(tmp_path.glob("*/losses.*"))
    assert not any(launch(base, hosts)), [(host / "log").read_text()[-3000:] for host in hosts]
    for rank in (0, 1):
        found = json.loads((hosts[-rank] / f"losses.{rank}").read_text())
        assert found == pytest.approx(losses(alone), abs=1e-4)
    assert PRM.load(hosts[0] / "v1").score(["Problem 1?"], [("good", "bad")])
    assert not list(tmp_path.glob("*/resume*"))
