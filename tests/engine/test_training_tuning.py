"""Labels set aside choose the epoch, the calibration and the threshold; held-out ones judge and choose nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from prm_backend.evaluation.steps import judge
from prm_backend.reward import load_scorer
from prm_backend.reward.checkpoint import read_meta, read_tensors
from prm_backend.reward.export import export
from prm_backend.reward.prm import PRM
from prm_backend.text.encoding import encode
from prm_backend.training.calibration import fit_platt, fit_temperature, mean_nll
from prm_backend.training.dataset import make_dataset, set_aside, tunes
from tests.engine.training import HEAD, HELD_OUT, TRAIN, solution, train
from tests.tiny import tiny_tokenizer

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
    assert any(note.startswith(f"epoch {best + 1} and the calibration") for note in report.notes)
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


def test_labels_of_problems_that_all_tune_train(base: str, tmp_path: Path) -> None:
    problem = next(s.problem for s in MANY if tunes(s.problem, 0.3))
    report = train(base, tmp_path / "v1", TUNED, [replace(s, problem=problem) for s in MANY])
    assert (report.metrics["train_solutions"], report.metrics["tuning_solutions"]) == (len(MANY), 0)
    assert any("to set some aside" in note for note in report.notes)


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


def test_platts_offsets_undo_a_shift_between_classes() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4000, 1, 3, generator=generator)
    targets = torch.distributions.Categorical(logits=logits[:, 0]).sample()
    shift = torch.tensor([1.0, -0.5, -0.5])
    seen = logits * 2 + shift
    temperature, offsets = fit_platt(seen, targets)
    assert temperature == pytest.approx(2, rel=0.1)
    assert offsets.tolist() == pytest.approx((-shift / 2).tolist(), abs=0.1)
    alone = mean_nll(seen / fit_temperature(seen, targets), targets)
    assert mean_nll(seen / temperature + offsets, targets) < alone - 0.01


def test_a_class_that_nobody_gave_is_not_ruled_out() -> None:
    _, offsets = fit_platt(torch.zeros(200, 1, 3), torch.tensor([0, 2]).repeat(100))
    assert torch.softmax(offsets, 0).tolist() == pytest.approx([101 / 203, 1 / 203, 101 / 203], rel=0.01)


def test_a_checkpoint_calibrated_by_platt_scores_so_here_and_where_it_is_exported_to(
    base: str, tmp_path: Path
) -> None:
    report = train(base, tmp_path / "v1", replace(TUNED, epochs=1, calibration="platt"), MANY)
    prm = PRM.load(tmp_path / "v1")
    names = "offset_bad", "offset_okay", "offset_great"
    assert prm.head.offset.tolist() == pytest.approx([report.metrics[name] for name in names])
    assert prm.head.offset.abs().max() > 0.01
    assert judge(prm, HELD_OUT).metrics["log_likelihood"] == pytest.approx(
        report.metrics["log_likelihood"], abs=1e-3
    )
    asked = [["What?"], [["good", "bad"]]]
    [ours] = prm.score(*asked)
    [theirs] = load_scorer(str(export(tmp_path / "v1", tmp_path / "exported"))).score(*asked)
    for one, other in zip(ours, theirs, strict=True):
        assert tuple(other) == pytest.approx(tuple(one), abs=1e-4)


@pytest.mark.parametrize("neutral", ["positive", "negative", "ignore"])
def test_what_a_neutral_rating_teaches_is_what_tunes_and_judges(
    base: str, tmp_path: Path, neutral: str
) -> None:
    """By the class "okay", which nothing teaches then, every epoch would be worse than the one before."""
    report = train(base, tmp_path / "v1", replace(TUNED, epochs=8, patience=2, neutral=neutral), MANY)
    told = [point["tuning_nll"] for point in report.curve if "tuning_nll" in point]
    assert told.index(min(told)) >= 4
    assert report.metrics["temperature"] < 2
    assert report.metrics["log_likelihood"] > report.metrics["base_log_likelihood"]
    again = judge(PRM.load(tmp_path / "v1"), HELD_OUT, neutral=neutral).metrics
    assert again["log_likelihood"] == pytest.approx(report.metrics["log_likelihood"], abs=1e-4)
