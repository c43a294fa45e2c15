"""The ways to train: every choice of layers in one loop, what counts as what, early ends and resumed ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from prm_backend.evaluation.steps import judge
from prm_backend.reward.checkpoint import read_meta, read_tensors
from prm_backend.reward.prm import PRM
from tests.engine.training import HEAD, HELD_OUT, TRAIN, losses, train


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
