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
from prm_backend.text.encoding import encode
from prm_backend.training.calibration import fit_temperature, mean_nll
from prm_backend.training.dataset import make_dataset, set_aside, tunes
from prm_backend.training.trainer import train_prm
from prm_backend.types import Cancelled, Progress, Report
from tests.engine.test_training import CONFIG, HELD_OUT, TRAIN, losses, solution
from tests.tiny import tiny_model_dir, tiny_tokenizer

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


@pytest.mark.parametrize("trained_layers", [0, 1])
def test_an_outcome_model_is_judged_by_the_answer_alone(
    base: str, tmp_path: Path, trained_layers: int
) -> None:
    graded, held_out = (
        [replace(s, ratings=((1, -1)[i % 2],) * 3, outcome_only=True) for i, s in enumerate(some)]
        for some in (TRAIN, HELD_OUT)
    )
    config = replace(HEAD, supervise="answer", trained_layers=trained_layers, epochs=12)
    report = train(base, tmp_path / "orm", config, graded, held_out)
    metrics = report.metrics
    assert (metrics["solutions"], metrics["steps"], metrics["bad_steps"]) == (8, 8, 4)
    assert metrics["unscorable"] == 0
    last = [probs(tmp_path / "orm", s.problem, s.steps)[-1].bad for s in held_out]
    hits = sum((bad > 0.5) == (s.ratings[-1] == -1) for bad, s in zip(last, held_out, strict=True))
    assert metrics["step_accuracy"] == metrics["first_error_accuracy"] == hits / len(held_out)
    assert [row["name"] for row in report.slices["length"]] == ["1–3"]
    assert "each figure is of the last step" in report.notes[0]
    again = judge(PRM.load(tmp_path / "orm"), [replace(s, context=2) for s in held_out]).metrics
    assert again["log_likelihood"] == pytest.approx(metrics["log_likelihood"], abs=2e-3)
    assert again["steps"] == 8


def test_an_outcome_model_is_not_judged_by_solutions_whose_last_step_nobody_rated(
    base: str, tmp_path: Path
) -> None:
    graded = [replace(s, ratings=((1, -1)[i % 2],) * 3, outcome_only=True) for i, s in enumerate(TRAIN)]
    report = train(base, tmp_path / "orm", replace(HEAD, supervise="answer"), graded)
    # Every second one of them has its error at step 2, and no rating after that.
    assert (report.metrics["steps"], report.metrics["bad_steps"], report.metrics["unscorable"]) == (4, 0, 4)


MANY = [solution(i) for i in range(200)]
TUNED = replace(HEAD, tuning_share=0.3)


def test_a_training_ends_early_and_keeps_the_best_epoch_by_the_labels_set_aside(
    base: str, tmp_path: Path
) -> None:
    """Labels that contradict what is learnt get worse with every epoch."""
    aside = [tunes(s.problem, 0.3) for s in MANY]
    lying = [replace(s, ratings=(0, 0, 0)) if a else s for s, a in zip(MANY, aside, strict=True)]
    report = train(base, tmp_path / "v1", replace(TUNED, epochs=30, patience=2), lying)
    told = [point["tuning_nll"] for point in report.curve if "tuning_nll" in point]
    best = told.index(min(told))
    assert len(told) == best + 1 + 2 < 30
    assert report.metrics["tuning_solutions"] == sum(aside)
    assert report.metrics["train_solutions"] == len(MANY) - sum(aside)
    assert any(note.startswith(f"epoch {best + 1} and the temperature") for note in report.notes)
    shorter = train(base, tmp_path / "v2", replace(TUNED, epochs=30, patience=1), lying)
    assert shorter.metrics["log_likelihood"] == report.metrics["log_likelihood"]


def test_held_out_labels_judge_and_choose_nothing(base: str, tmp_path: Path) -> None:
    lying = [replace(s, ratings=(-1, None, None)) for s in HELD_OUT]
    honest, lied_to = (
        train(base, tmp_path / name, replace(TUNED, epochs=8), MANY, held_out)
        for name, held_out in (("1", HELD_OUT), ("2", lying))
    )
    assert honest.metrics["log_likelihood"] > lied_to.metrics["log_likelihood"]
    for name in ("temperature", "threshold"):
        assert honest.metrics[name] == lied_to.metrics[name]
    weights = [read_tensors(tmp_path / name) for name in ("1", "2")]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())


def test_the_threshold_is_chosen_on_labels_set_aside_and_goes_with_the_checkpoint(
    base: str, tmp_path: Path
) -> None:
    report = train(base, tmp_path / "v1", replace(TUNED, epochs=8), MANY)
    assert report.metrics["threshold"] != 0.5
    assert report.metrics["first_error_f1"] == 1.0
    prm = PRM.load(tmp_path / "v1")
    assert prm.threshold == read_meta(tmp_path / "v1").threshold == report.metrics["threshold"]
    at_it = judge(prm, HELD_OUT, threshold=prm.threshold)
    assert at_it.metrics["balanced_accuracy_at_threshold"] == 1.0
    assert read_meta(tmp_path / "v1").report.slices == report.slices != {}


def test_too_few_labels_set_nothing_aside_and_the_report_says_so(base: str, tmp_path: Path) -> None:
    report = train(base, tmp_path / "v1", TUNED)
    assert report.metrics["train_solutions"] == len(TRAIN)
    assert (report.metrics["temperature"], report.metrics["threshold"]) == (1.0, 0.5)
    assert len([point for point in report.curve if "held_out_nll" in point]) == HEAD.epochs
    assert any("too few labels to set some aside" in note for note in report.notes)


def test_a_problem_tunes_or_trains_whatever_else_is_labelled_and_options_beside_the_path_never_tune() -> None:
    tokenizer = tiny_tokenizer()
    data = make_dataset(MANY, lambda p, s: encode(tokenizer, p, s, 256)).examples
    option = replace(data[0], solution=replace(MANY[0], context=1))
    train_all, tune_all = set_aside(data, 0.3, at_least=1)
    train_half, tune_half = set_aside([*data[:100], option], 0.3, at_least=1)
    assert {e.solution.problem for e in tune_half} <= {e.solution.problem for e in tune_all}
    assert {e.solution.problem for e in train_half} <= {e.solution.problem for e in train_all}
    assert 40 < len(tune_all) < 80
    assert option not in tune_half


def test_the_temperature_makes_an_overconfident_model_as_sure_as_it_may_be() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4000, 1, 3, generator=generator)
    targets = torch.distributions.Categorical(logits=logits[:, 0]).sample()
    temperature = fit_temperature(logits * 4, targets)
    assert temperature == pytest.approx(4, rel=0.1)
    assert mean_nll(logits * 4 / temperature, targets) < mean_nll(logits * 4, targets)


def test_the_temperature_comes_from_labels_set_aside_and_is_told_before_and_after(
    base: str, tmp_path: Path
) -> None:
    report = train(base, tmp_path / "v2", replace(TUNED, epochs=1), MANY)
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
