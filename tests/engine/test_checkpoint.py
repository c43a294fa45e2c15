"""Checkpoints: what goes in comes out, and what does not match is refused with the reason."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from prm_backend.config import BEFORE, PRMConfig, json_hash
from prm_backend.reward import load_scorer
from prm_backend.reward.checkpoint import CheckpointRefused, read_meta, read_tensors, write_checkpoint
from prm_backend.reward.prm import PRM
from prm_backend.training.trainer import train_prm
from prm_backend.types import NEWLINE, LabelledSolution, Report
from tests.tiny import tiny_model_dir

CONFIG = PRMConfig(trained_layers=1, epochs=1, max_length=256, head_learning_rate=0.05)
LABELLED = [
    LabelledSolution(f"Problem {i}?", ("First.", "Second."), (1, -1 if i % 2 else 1), id=str(i))
    for i in range(8)
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    directory = tmp_path_factory.mktemp("checkpoint")
    base = tiny_model_dir(directory / "base")
    report = train_prm(
        str(base),
        LABELLED[:6],
        LABELLED[6:],
        config=CONFIG,
        checkpoint_dir=directory / "v1",
        snapshot_hash="abc",
    )
    return directory / "v1", report


@pytest.fixture
def checkpoint(trained: tuple[Path, Report], tmp_path: Path) -> Path:
    """A copy to tamper with; its base is where it was."""
    return Path(shutil.copytree(trained[0], tmp_path / "v1"))


def edit(checkpoint: Path, **changes: object) -> None:
    path = checkpoint / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_checkpoint_holds_weights_and_meta_and_no_base_model(trained: tuple[Path, Report]) -> None:
    directory, _ = trained
    assert sorted(path.name for path in directory.iterdir()) == ["meta.json", "model.safetensors"]
    base_size = (directory.parent / "base" / "model.safetensors").stat().st_size
    assert (directory / "model.safetensors").stat().st_size < base_size


def test_meta_says_what_the_checkpoint_belongs_to(trained: tuple[Path, Report]) -> None:
    directory, report = trained
    meta = read_meta(directory)
    assert (meta.base, meta.snapshot_hash) == (str(directory.parent / "base"), "abc")
    assert (meta.config, meta.outcome_only, meta.report) == (CONFIG, False, report)
    assert set(meta.versions) == {"python", "torch", "transformers"}


def test_a_loaded_prm_scores_as_the_report_says(trained: tuple[Path, Report]) -> None:
    from prm_backend.evaluation.steps import judge

    directory, report = trained
    found = judge(PRM.load(directory), LABELLED[6:]).metrics
    assert found["log_likelihood"] == pytest.approx(report.metrics["log_likelihood"], abs=1e-3)
    assert found["steps"] == report.metrics["steps"] == 4


def test_what_a_killed_writer_of_the_same_process_number_left_is_in_nobodys_way(
    checkpoint: Path, tmp_path: Path
) -> None:
    stale = tmp_path / f".v2.{os.getpid()}.partial"
    stale.mkdir()
    (stale / "model.safetensors").write_bytes(b"half")
    write_checkpoint(tmp_path / "v2", read_tensors(checkpoint), read_meta(checkpoint))
    assert PRM.load(tmp_path / "v2").score(["p"], [("s",)]) == PRM.load(checkpoint).score(["p"], [("s",)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v1", "v2"]


def test_a_checkpoint_is_found_in_the_home_directory(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(checkpoint.parent))
    assert isinstance(load_scorer("~/v1"), PRM)
    with pytest.raises(FileNotFoundError, match=r"there is no PRM at .*/v9"):
        load_scorer("~/v9")


def test_a_base_that_moved_is_found_where_it_is_said_to_be(checkpoint: Path, tmp_path: Path) -> None:
    moved = tiny_model_dir(tmp_path / "moved")
    edit(checkpoint, base=str(tmp_path / "gone"))
    with pytest.raises(CheckpointRefused, match=r"trained on the base model .*gone.* not to be had"):
        PRM.load(checkpoint)
    assert PRM.load(checkpoint, base=str(moved)).score(["p"], [("s",)])


def test_a_base_with_other_weights_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    edit(checkpoint, base=str(tiny_model_dir(tmp_path / "other", seed=3)))
    with pytest.raises(CheckpointRefused, match="has other weights"):
        PRM.load(checkpoint)


def test_another_encoding_is_refused(checkpoint: Path) -> None:
    edit(checkpoint, encoding="words-0")
    with pytest.raises(CheckpointRefused, match="encoded as 'words-0'"):
        PRM.load(checkpoint)


def test_another_format_is_refused(checkpoint: Path) -> None:
    edit(checkpoint, format="plumbline-prm-9")
    with pytest.raises(CheckpointRefused, match="'plumbline-prm-9'"):
        PRM.load(checkpoint)


def test_a_config_that_was_edited_is_refused(checkpoint: Path) -> None:
    meta = json.loads((checkpoint / "meta.json").read_text())
    edit(checkpoint, config=meta["config"] | {"max_length": 8})
    with pytest.raises(CheckpointRefused, match="does not have the recorded hash"):
        PRM.load(checkpoint)


def test_a_checkpoint_says_how_its_text_is_cut_and_an_old_one_was_cut_by_newlines(checkpoint: Path) -> None:
    meta = json.loads((checkpoint / "meta.json").read_text())
    assert meta["config"].pop("segmentation") == NEWLINE
    edit(checkpoint, config=meta["config"], config_hash=json_hash(meta["config"]))
    assert PRM.load(checkpoint).segmentation == NEWLINE


def test_a_checkpoint_from_before_an_option_existed_loads_with_its_default(checkpoint: Path) -> None:
    meta = json.loads((checkpoint / "meta.json").read_text())
    config = {name: value for name, value in meta["config"].items() if name != "max_unusable_share"}
    edit(checkpoint, config=config, config_hash=json_hash(config))
    assert read_meta(checkpoint).config == CONFIG


def test_a_checkpoint_older_than_a_choice_loads_as_what_it_was(
    trained: tuple[Path, Report], tmp_path: Path
) -> None:
    """The defaults have changed since: what it does not say must not be read as today's."""
    then, old = replace(CONFIG, **BEFORE), tmp_path / "old"
    base = str(trained[0].parent / "base")
    train_prm(base, LABELLED, [], config=then, checkpoint_dir=old, snapshot_hash="x")
    expected = PRM.load(old).score(["p"], [("a", "b")])
    config = json.loads((old / "meta.json").read_text())["config"]
    config = {name: value for name, value in config.items() if name not in BEFORE}
    edit(old, config=config, config_hash=json_hash(config))
    prm = PRM.load(old)
    assert prm.config == then
    assert prm.score(["p"], [("a", "b")]) == expected


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"format": "plumbline-prm-1", "encoding": "newline-behind-2"}']
)
def test_a_damaged_meta_is_refused(checkpoint: Path, damage: str) -> None:
    (checkpoint / "meta.json").write_text(damage)
    with pytest.raises(CheckpointRefused, match=r"not JSON|has format|is damaged"):
        PRM.load(checkpoint)


def test_truncated_weights_are_refused(checkpoint: Path) -> None:
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(CheckpointRefused, match="is damaged"):
        PRM.load(checkpoint)


def test_a_pickle_in_place_of_weights_is_refused_unopened(checkpoint: Path) -> None:
    (checkpoint / "model.safetensors").rename(checkpoint / "pytorch_model.bin")
    with pytest.raises(CheckpointRefused, match=r"pickles\) are not opened"):
        PRM.load(checkpoint)


def test_weights_of_another_shape_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    base = tiny_model_dir(tmp_path / "wide", hidden=64)
    train_prm(str(base), LABELLED, [], config=CONFIG, checkpoint_dir=tmp_path / "wide-prm", snapshot_hash="x")
    shutil.copy(tmp_path / "wide-prm" / "model.safetensors", checkpoint / "model.safetensors")
    with pytest.raises(CheckpointRefused, match="do not fit its base model"):
        PRM.load(checkpoint)


def test_a_directory_without_meta_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointRefused, match=r"holds no meta\.json"):
        PRM.load(tmp_path)
