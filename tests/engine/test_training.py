"""Training: what is supervised, that it learns, that it repeats itself, and that it leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from prm_backend.reward.checkpoint import read_meta, read_tensors
from prm_backend.reward.prm import PRM
from prm_backend.text.encoding import encode
from prm_backend.training.cache import RowCache
from prm_backend.training.dataset import TrainingRefused, make_dataset
from prm_backend.types import Cancelled, LabelledSolution, Progress
from tests.engine.training import CONFIG, HELD_OUT, TRAIN, losses, solution, train
from tests.tiny import tiny_tokenizer


@pytest.mark.parametrize(
    ("ratings", "supervised"),
    [
        ((1, 0, 1), 3),
        ((1, -1, None), 2),
        ((1, -1, 1), 2),  # nothing after the first error counts, rated or not
        ((1, None, 1), 1),
        ((-1, None, None), 1),
        ((None, 1, 1), 0),
    ],
)
def test_steps_are_supervised_up_to_and_including_the_first_error(ratings, supervised: int) -> None:
    assert solution(0, ratings=ratings).supervised_steps == supervised


def test_ratings_copied_from_a_grade_supervise_every_step() -> None:
    assert solution(0, ratings=(-1, -1, -1), outcome_only=True).supervised_steps == 3


def test_a_solution_is_cut_behind_its_last_supervised_step() -> None:
    tokenizer = tiny_tokenizer()
    (example,) = make_dataset([solution(1)], lambda p, s: encode(tokenizer, p, s, 256)).examples
    assert example.targets == (2, 0)
    assert example.encoded == encode(tokenizer, "Problem 1?", ("good", "bad"), 256)


def test_a_wrong_step_is_learnt_from_labels(base: str, tmp_path: Path) -> None:
    report = train(base, tmp_path / "v1", replace(CONFIG, epochs=8))
    assert report.metrics["auc"] == 1.0
    assert report.metrics["log_likelihood"] > report.metrics["base_log_likelihood"]
    assert losses(report)[-1] < 0.7 * losses(report)[0]
    assert report.curve[-1]["held_out_nll"] == pytest.approx(-report.metrics["log_likelihood"], abs=1e-6)


@pytest.mark.parametrize("trained_layers", [0, 2, 3])
def test_any_number_of_layers_can_be_trained(base: str, tmp_path: Path, trained_layers: int) -> None:
    config = replace(CONFIG, trained_layers=trained_layers, epochs=2)
    report = train(base, tmp_path / "v1", config)
    assert losses(report)[-1] < losses(report)[0]
    assert PRM.load(tmp_path / "v1").score(["Problem 1?"], [("good", "bad")])


def test_training_the_head_alone_changes_nothing_but_the_head(base: str, tmp_path: Path) -> None:
    for epochs in (1, 2):
        config = replace(CONFIG, trained_layers=0, step_mean=True, epochs=epochs)
        train(base, tmp_path / str(epochs), config)
    one, two = read_tensors(tmp_path / "1"), read_tensors(tmp_path / "2")
    assert {name for name in one if not torch.equal(one[name], two[name])} == {
        "head.linear.bias",
        "head.linear.weight",
        "head.mean_norm.bias",
        "head.mean_norm.weight",
        "head.norm.bias",
        "head.norm.weight",
    }


def test_the_same_seed_gives_the_same_losses_and_weights_and_another_seed_others(
    base: str, tmp_path: Path
) -> None:
    first, again = train(base, tmp_path / "1"), train(base, tmp_path / "2")
    other = train(base, tmp_path / "3", replace(CONFIG, seed=1))
    assert losses(first) == losses(again) != losses(other)
    weights = [read_tensors(tmp_path / name) for name in ("1", "2")]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())


def test_micro_batches_do_not_change_the_loss(base: str, tmp_path: Path) -> None:
    data = [replace(s, problem=s.problem * (i % 3 + 1), weight=1.0 + i % 2) for i, s in enumerate(TRAIN)]
    one_by_one = train(base, tmp_path / "1", replace(CONFIG, batch_tokens=1), data)
    together = train(base, tmp_path / "2", replace(CONFIG, batch_tokens=10_000), data)
    assert losses(one_by_one) == pytest.approx(losses(together), abs=1e-4)


def test_the_cache_holds_what_a_forward_through_the_whole_model_would_give(base: str, tmp_path: Path) -> None:
    """The first loss, before any update, is that of the untouched model: ln 3 under a head of zeros."""
    assert losses(train(base, tmp_path / "1"))[0] == pytest.approx(np.log(3), abs=1e-5)
    prm = PRM.load(tmp_path / "1")
    encoded = prm.encode("Problem 1?", ("good", "bad"))
    hidden = prm.read([encoded]).hidden
    cache = RowCache([len(encoded)], hidden.shape[1], tmp_path)
    cache.put(0, hidden)
    assert torch.allclose(cache.get(0), hidden, rtol=1e-3, atol=1e-3)


def test_class_weights_move_what_is_predicted(base: str, tmp_path: Path) -> None:
    shares = []
    for name, weights in (("plain", (1.0, 1.0, 1.0)), ("harsh", (20.0, 1.0, 1.0))):
        train(base, tmp_path / name, replace(CONFIG, epochs=1, class_weights=weights))
        shares.append(PRM.load(tmp_path / name).score(["Problem 0?"], [("good", "good")])[0][0].bad)
    assert shares[1] > 1.5 * shares[0]


def test_a_weight_of_zero_takes_a_solution_out(base: str, tmp_path: Path) -> None:
    noise = [solution(i, ratings=(-1, None, None), weight=0.0) for i in range(24, 28)]
    config = replace(CONFIG, batch_solutions=100)
    without, beside = (
        train(base, tmp_path / "1", config),
        train(base, tmp_path / "2", config, [*TRAIN, *noise]),
    )
    assert losses(without) == pytest.approx(losses(beside), abs=1e-5)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=r"weight must be finite and 0 or more, got .* \(id '3'\)"):
        solution(3, weight=weight)


@pytest.mark.parametrize("held_out", [HELD_OUT, ()])
def test_a_training_that_diverges_is_refused_at_once_naming_epoch_and_rates(
    base: str, tmp_path: Path, held_out: list[LabelledSolution]
) -> None:
    seen: list[Progress] = []
    config = replace(CONFIG, learning_rate=1e30, head_learning_rate=1e30, epochs=5)
    said = r"diverged in epoch 1 after step \d+, with learning_rate 1e\+30 and head_learning_rate 1e\+30"
    with pytest.raises(TrainingRefused, match=said):
        train(base, tmp_path / "v1", config, held_out=held_out, progress=seen.append)
    assert not any("epoch 2" in progress.message for progress in seen)
    assert list(tmp_path.iterdir()) == []


def test_an_accelerator_of_the_callers_own_is_in_nobodys_way(base: str, tmp_path: Path) -> None:
    alone = train(base, tmp_path / "1")
    AcceleratorState._reset_state()
    try:
        own = Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=2)
        assert losses(train(base, tmp_path / "2")) == losses(alone)
        assert own.mixed_precision == "bf16"
    finally:
        AcceleratorState._reset_state()


def test_outcome_labels_train_and_the_report_and_checkpoint_say_so(base: str, tmp_path: Path) -> None:
    data = [
        solution(i, ratings=(1, 1, 1) if i % 2 == 0 else (-1, -1, -1), outcome_only=True) for i in range(24)
    ]
    report = train(base, tmp_path / "v0", data=data, held_out=(), outcome_only=True)
    assert report.metrics["train_steps"] == 72
    assert report.metrics["human_steps"] == 0
    assert report.metrics["log_likelihood"] is None
    assert "no human labels" in report.notes[0]
    assert read_meta(tmp_path / "v0").outcome_only


def test_labels_that_do_not_fit_are_counted_and_too_many_are_refused(base: str, tmp_path: Path) -> None:
    long = [solution(i, problem="long " * 80) for i in range(4)]
    report = train(base, tmp_path / "v1", replace(CONFIG, max_unusable_share=0.2), [*TRAIN, *long])
    assert report.metrics["train_unusable"] == 4
    assert any("4 training solutions had no label" in note for note in report.notes)
    with pytest.raises(TrainingRefused, match=r"4 of 28 solutions .* more than 10% .* raise max_length"):
        train(base, tmp_path / "v2", CONFIG, [*TRAIN, *long])
    assert not (tmp_path / "v2").exists()


def test_held_out_solutions_that_do_not_fit_are_counted_unscorable(base: str, tmp_path: Path) -> None:
    report = train(base, tmp_path / "v1", held_out=[*HELD_OUT, solution(1, problem="long " * 80)])
    assert (report.metrics["unscorable"], report.metrics["solutions"]) == (1, 8)


def test_nothing_to_train_on_is_refused(base: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingRefused, match="none of 0 solutions"):
        train(base, tmp_path / "v1", data=[])


def test_progress_counts_up_to_its_total_and_names_each_phase(base: str, tmp_path: Path) -> None:
    seen: list[Progress] = []
    train(base, tmp_path / "v1", progress=seen.append)
    done = [progress.done for progress in seen]
    assert done == sorted(set(done))
    assert {progress.total for progress in seen} == {done[-1]}
    messages = list(dict.fromkeys(progress.message for progress in seen))
    assert messages == [
        "reading the solutions through the frozen layers",
        "training, epoch 1 of 3",
        "judging on held-out labels",
        "training, epoch 2 of 3",
        "training, epoch 3 of 3",
    ]


@pytest.mark.parametrize("phase", ["reading", "epoch 2", "judging"])
def test_a_cancelled_training_leaves_nothing_behind(base: str, tmp_path: Path, phase: str) -> None:
    def cancel(progress: Progress) -> None:
        if phase in progress.message:
            raise Cancelled

    with pytest.raises(Cancelled):
        train(base, tmp_path / "v1", progress=cancel)
    assert list(tmp_path.iterdir()) == []


def test_training_again_into_the_same_place_replaces_what_was_there(base: str, tmp_path: Path) -> None:
    train(base, tmp_path / "v1", replace(CONFIG, seed=1))
    train(base, tmp_path / "v1")
    assert read_meta(tmp_path / "v1").config.seed == 0
    assert [path.name for path in tmp_path.iterdir()] == ["v1"]
