"""The ways to train: every choice of layers in one loop, what counts as what, early ends and resumed ones."""

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

from prm_backend.config import PRMConfig
from prm_backend.evaluation.steps import judge
from prm_backend.reward.checkpoint import read_meta, read_tensors
from prm_backend.reward.prm import PRM
from prm_backend.training.calibration import fit_temperature, mean_nll
from prm_backend.training.trainer import train_prm
from prm_backend.types import Cancelled, Progress, Report
from tests.engine.test_training import CONFIG, HELD_OUT, TRAIN, losses, solution
from tests.tiny import tiny_model_dir

HEAD = replace(CONFIG, trained_layers=0, epochs=4)
ONE_THREAD = {**os.environ, "PYTHONPATH": ".", "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model_dir(tmp_path_factory.mktemp("model") / "base", layers=3))


def train(
    base: str, directory: Path, config: PRMConfig = HEAD, data=TRAIN, held_out=HELD_OUT, **options
) -> Report:
    return train_prm(
        base, data, held_out, config=config, checkpoint_dir=directory, snapshot_hash="s", **options
    )


def probs(directory: Path, problem: str = "Problem 0?", steps: tuple[str, ...] = ("good", "good")):
    (found,) = PRM.load(directory).score([problem], [steps])
    return found


@pytest.mark.parametrize("features", [{}, {"step_mean": True}, {"log_probs": True}, {"head_norm": False}])
@pytest.mark.parametrize("trained_layers", [0, 1])
def test_what_the_head_sees_is_a_choice_that_the_checkpoint_remembers(
    base: str, tmp_path: Path, features: dict[str, bool], trained_layers: int
) -> None:
    report = train(base, tmp_path / "v1", replace(HEAD, trained_layers=trained_layers, **features))
    found = judge(PRM.load(tmp_path / "v1"), HELD_OUT).metrics
    assert found["log_likelihood"] == pytest.approx(report.metrics["log_likelihood"], abs=2e-3)
    assert losses(report)[-1] < losses(report)[0]


def test_low_rank_adapters_train_few_weights_and_come_back(base: str, tmp_path: Path) -> None:
    config = replace(HEAD, trained_layers=3, lora_rank=2, learning_rate=1e-2)
    report = train(base, tmp_path / "v1", config)
    names = {name for name in read_tensors(tmp_path / "v1") if name.startswith("above.")}
    assert names
    assert all("lora_" in name for name in names)
    found = judge(PRM.load(tmp_path / "v1"), HELD_OUT).metrics
    assert found["log_likelihood"] == pytest.approx(report.metrics["log_likelihood"], abs=2e-3)


@pytest.mark.parametrize("trained_layers", [0, 2])
def test_eight_micro_batches_of_one_make_the_loss_of_one_of_eight(
    base: str, tmp_path: Path, trained_layers: int
) -> None:
    config = replace(HEAD, trained_layers=trained_layers, batch_solutions=8)
    one_by_one = train(base, tmp_path / "1", replace(config, batch_tokens=1))
    together = train(base, tmp_path / "2", replace(config, batch_tokens=100_000))
    assert losses(one_by_one) == pytest.approx(losses(together), abs=1e-4)


def test_members_differ_and_their_spread_costs_no_second_pass(base: str, tmp_path: Path) -> None:
    train(base, tmp_path / "v1", replace(HEAD, members=3))
    prm = PRM.load(tmp_path / "v1")
    passes = 0
    read = prm.read

    def counted(rows):
        nonlocal passes
        passes += 1
        return read(rows)

    prm.read = counted  # type: ignore[method-assign]
    (steps,) = prm.score_with_spread(["Problem 0?"], [("good", "bad")])
    assert passes == 1
    assert all(spread > 0 for _, spread in steps)
    assert [found for found, _ in steps] == prm.score(["Problem 0?"], [("good", "bad")])[0]


def test_one_member_has_no_spread(base: str, tmp_path: Path) -> None:
    train(base, tmp_path / "v1", replace(HEAD, members=1))
    (steps,) = PRM.load(tmp_path / "v1").score_with_spread(["Problem 0?"], [("good",)])
    assert [spread for _, spread in steps] == [0.0]


def test_neutral_counts_as_what_the_config_says(base: str, tmp_path: Path) -> None:
    """The second step of every right solution is rated 0."""
    found = {}
    for neutral in ("okay", "positive", "negative", "ignore"):
        train(base, tmp_path / neutral, replace(HEAD, neutral=neutral, epochs=8), held_out=())
        assert read_meta(tmp_path / neutral).config.neutral == neutral
        found[neutral] = probs(tmp_path / neutral)[1]
    assert found["okay"].okay > 2 * max(found[other].okay for other in ("positive", "negative", "ignore"))
    assert found["negative"].bad > found["okay"].bad
    assert found["positive"].great > found["okay"].great


def test_an_outcome_model_learns_from_the_answer_alone(base: str, tmp_path: Path) -> None:
    graded = [
        replace(s, ratings=(grade,) * 3, outcome_only=True)
        for i, s in enumerate(TRAIN)
        for grade in ((1, -1)[i % 2],)
    ]
    report = train(base, tmp_path / "orm", replace(HEAD, supervise="answer"), graded, held_out=())
    assert report.metrics["train_steps"] == len(graded)


def test_a_training_ends_early_and_keeps_the_best_epoch(base: str, tmp_path: Path) -> None:
    """Held-out labels that contradict what is learnt get worse with every epoch."""
    lying = [replace(s, ratings=(-1, None, None)) for s in HELD_OUT]
    report = train(base, tmp_path / "v1", replace(HEAD, epochs=30, patience=2), held_out=lying)
    judged = [point["held_out_nll"] for point in report.curve if "held_out_nll" in point]
    assert len(judged) == judged.index(min(judged)) + 1 + 2 < 30
    assert -report.metrics["log_likelihood"] == pytest.approx(min(judged), abs=1e-6)
    found = judge(PRM.load(tmp_path / "v1"), lying).metrics["log_likelihood"]
    assert found == pytest.approx(-min(judged), abs=2e-3)


def test_the_temperature_makes_an_overconfident_model_as_sure_as_it_may_be() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4000, 1, 3, generator=generator)
    targets = torch.distributions.Categorical(logits=logits[:, 0]).sample()
    temperature = fit_temperature(logits * 4, targets)
    assert temperature == pytest.approx(4, rel=0.1)
    assert mean_nll(logits * 4 / temperature, targets) < mean_nll(logits * 4, targets)


def test_few_held_out_labels_set_no_temperature(base: str, tmp_path: Path) -> None:
    report = train(base, tmp_path / "v1")
    assert report.metrics["temperature"] == 1.0
    many = [solution(i) for i in range(100, 160)]
    report = train(base, tmp_path / "v2", replace(HEAD, epochs=1), held_out=many)
    assert report.metrics["temperature"] != 1.0
    assert PRM.load(tmp_path / "v2").head.temperature.item() == pytest.approx(report.metrics["temperature"])
    assert {"reliability", "reliability_before"} <= set(report.tables)


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
from tests.engine.test_training_ways import HEAD, train
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
from tests.engine.test_training_ways import HEAD, losses, train
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
