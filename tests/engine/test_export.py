"""A checkpoint exported to the tools people use loads there and scores the same; what cannot be said is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    LlamaForTokenClassification,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from prm_backend.config import PRMConfig
from prm_backend.reward import load_scorer
from prm_backend.reward.checkpoint import CheckpointRefused
from prm_backend.reward.export import ExportRefused, export
from prm_backend.reward.prm import PRM
from prm_backend.text.segmentation import OtherSegmentation
from prm_backend.training.trainer import train_prm
from prm_backend.types import LabelledSolution, StepProbs, StepScorer
from tests.tiny import tiny_model, tiny_model_dir, tiny_tokenizer

CONFIG = PRMConfig(
    step_mean=False,
    log_probs=False,
    depth=0.75,
    trained_layers=1,
    epochs=2,
    max_length=256,
    learning_rate=0.01,
    head_learning_rate=0.3,
)
LABELLED = [
    LabelledSolution(f"Problem {i}?", ("First.", f"Second, {i}."), (i % 2, -1 if i % 3 else 1), id=str(i))
    for i in range(12)
]
PROBLEMS = ["What is 1+1?", "Name a prime."]
SOLUTIONS = [("1+1 is 2.", "So it is 2.\n\n# Answer\n\n2"), ("2, 3, 5.", "Some say 1.", "It is 7.")]


def trained(directory: Path, base: Path, config: PRMConfig = CONFIG) -> Path:
    checkpoint = directory / "v1"
    train_prm(
        str(base), LABELLED[:8], LABELLED[8:], config=config, checkpoint_dir=checkpoint, snapshot_hash="abc"
    )
    return checkpoint


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("export")
    return trained(directory, tiny_model_dir(directory / "base", layers=4))


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("qwen") / "base"
    config = Qwen2Config(
        vocab_size=258, hidden_size=16, intermediate_size=32, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=512,
    )  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def flat(scorer: StepScorer) -> list[float]:
    scored = scorer.score(PROBLEMS, SOLUTIONS)
    return [p for steps in scored if isinstance(steps, list) for probs in steps for p in probs]


def test_an_exported_checkpoint_scores_the_same_in_a_stock_class(checkpoint: Path, tmp_path: Path) -> None:
    directory = export(checkpoint, tmp_path / "exported")
    ours, theirs = flat(PRM.load(checkpoint)), flat(load_scorer(str(directory)))
    assert theirs == pytest.approx(ours, abs=1e-4)
    assert max(ours) - min(ours) > 0.1  # it was trained: a constant would be no test
    assert type(AutoModelForTokenClassification.from_pretrained(directory)) is LlamaForTokenClassification


@pytest.mark.parametrize("more", ["step_mean", "log_probs"])
def test_a_head_that_looks_at_more_than_the_last_token_is_refused_with_what_would_do(
    tmp_path: Path, more: str
) -> None:
    base = tiny_model_dir(tmp_path / "base", layers=4)
    with pytest.raises(
        ExportRefused, match=r"more of a step than the token it is read at.*log_probs = false"
    ):
        export(trained(tmp_path, base, replace(CONFIG, **{more: True})), tmp_path / "exported")


def test_trl_loads_it_and_scores_the_same_with_the_separator_of_the_card(
    checkpoint: Path, tmp_path: Path
) -> None:
    from datasets import Dataset
    from trl.experimental.prm import PRMConfig as TRLConfig
    from trl.experimental.prm import PRMTrainer

    directory = export(checkpoint, tmp_path / "exported")
    rows = [
        {"prompt": f"{problem}\n", "completions": list(steps), "labels": [True] * len(steps)}
        for problem, steps in zip(PROBLEMS, SOLUTIONS, strict=True)
    ]
    trainer = PRMTrainer(
        model=AutoModelForTokenClassification.from_pretrained(directory),
        processing_class=AutoTokenizer.from_pretrained(directory),
        args=TRLConfig(
            output_dir=str(tmp_path / "trl"), step_separator="\n", bf16=False, use_cpu=True, report_to=[],
            per_device_eval_batch_size=1,
        ),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(rows),
    )  # fmt: skip
    found = trainer.predict(trainer.eval_dataset)
    at_steps = [
        torch.tensor(logits).softmax(-1)[torch.tensor(labels) != -100].flatten().tolist()
        for logits, labels in zip(found.predictions, found.label_ids, strict=True)
    ]
    ours = [
        [p for probs in steps for p in probs] for steps in PRM.load(checkpoint).score(PROBLEMS, SOLUTIONS)
    ]
    for expected, theirs in zip(ours, at_steps, strict=True):
        assert theirs == pytest.approx(expected, abs=1e-4)


def test_two_labels_leave_neutral_out_and_renormalise(checkpoint: Path, tmp_path: Path) -> None:
    directory = export(checkpoint, tmp_path / "two", labels=2)
    ours = PRM.load(checkpoint).score(PROBLEMS, SOLUTIONS)
    expected = [p.great / (p.great + p.bad) for steps in ours if isinstance(steps, list) for p in steps]
    assert flat(load_scorer(str(directory)))[2::3] == pytest.approx(expected, abs=1e-4)
    assert json.loads((directory / "config.json").read_text())["id2label"] == {"0": "bad", "1": "great"}
    assert "p(great) / (p(great) + p(bad))" in (directory / "README.md").read_text()


@pytest.mark.parametrize("trained_layers", [0, 2])
def test_head_only_and_deeper_trainings_export_too(trained_layers: int, tmp_path: Path) -> None:
    base = tiny_model_dir(tmp_path / "base", layers=3)
    made = trained(tmp_path, base, replace(CONFIG, trained_layers=trained_layers))
    assert flat(load_scorer(str(export(made, tmp_path / "out")))) == pytest.approx(
        flat(PRM.load(made)), abs=1e-4
    )


def test_loud_hidden_states_do_not_shine_through_the_norm(tmp_path: Path) -> None:
    model = tiny_model(layers=2)
    with torch.no_grad():
        model.model.layers[1].mlp.down_proj.weight.mul_(1e4)  # some tokens of real models are this loud
    model.save_pretrained(tmp_path / "base")
    tiny_tokenizer().save_pretrained(tmp_path / "base")
    made = trained(tmp_path, tmp_path / "base", replace(CONFIG, depth=1.0))
    assert flat(load_scorer(str(export(made, tmp_path / "out")))) == pytest.approx(
        flat(PRM.load(made)), abs=1e-4
    )


def test_without_a_norm_in_the_head_any_base_exports(qwen: Path, tmp_path: Path) -> None:
    made = trained(tmp_path, qwen, replace(CONFIG, head_norm=False))
    assert flat(load_scorer(str(export(made, tmp_path / "out")))) == pytest.approx(
        flat(PRM.load(made)), abs=1e-4
    )


def test_a_norm_that_the_architecture_cannot_express_is_refused_with_what_would_do(
    qwen: Path, tmp_path: Path
) -> None:
    made = trained(tmp_path, qwen)
    with pytest.raises(
        ExportRefused, match=r"LayerNorm, which a stock qwen2 cannot express.*head_norm = false"
    ):
        export(made, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_exported_prm_refuses_steps_cut_by_another_policy_too(tmp_path: Path) -> None:
    made = trained(tmp_path, tiny_model_dir(tmp_path / "base"), replace(CONFIG, segmentation="sentences-1"))
    scorer = load_scorer(str(export(made, tmp_path / "out")))
    with pytest.raises(OtherSegmentation, match="cut by 'sentences-1'"):
        scorer.score(PROBLEMS, SOLUTIONS)
    assert len(scorer.score(PROBLEMS, SOLUTIONS, segmentation="sentences-1")) == 2


@pytest.mark.parametrize("prefix", ["", "plumbline:"])
def test_an_export_that_reads_text_otherwise_is_refused(
    checkpoint: Path, tmp_path: Path, prefix: str
) -> None:
    config = export(checkpoint, tmp_path / "out") / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"step_encoding": "newline-before-1"}))
    with pytest.raises(CheckpointRefused, match="encoded as 'newline-before-1', this program encodes as"):
        load_scorer(f"{prefix}{tmp_path / 'out'}")


def test_the_model_card_states_data_figures_licence_and_use(checkpoint: Path, tmp_path: Path) -> None:
    card = (export(checkpoint, tmp_path / "out", license="apache-2.0") / "README.md").read_text()
    assert card.startswith("---\nlicense: apache-2.0\n")
    for words in (
        "Steps rated by people",
        "Snapshot `abc`",
        "## Figures",
        "| step accuracy | ",
        "## Intended use",
    ):
        assert words in card
    assert str(tmp_path) not in card
    assert str(checkpoint.parent) not in card


def test_the_cards_example_runs_and_gives_our_scores(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = export(checkpoint, tmp_path / "out")
    code = (directory / "README.md").read_text().split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    exec(code, {})
    [[first, *_]] = PRM.load(checkpoint).score(["What is 2 + 3?"], [("2 + 3 = 5.", "# Answer\n\n5")])
    assert isinstance(first, StepProbs)
    printed = capsys.readouterr().out.splitlines()[0]
    assert [float(x) for x in printed.strip("tensor([],").split(",")] == pytest.approx(list(first), abs=1e-3)


def test_an_existing_directory_is_not_overwritten(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError, match="is there already"):
        export(checkpoint, tmp_path / "mine")


def test_the_command_exports_and_says_where(checkpoint: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "prm_backend.reward.export", str(checkpoint), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'out'}\n"
    again = subprocess.run(command, capture_output=True, text=True)
    assert (again.returncode, again.stderr.splitlines()[-1]) == (
        1,
        f"{tmp_path / 'out'} is there already; name a directory that is not",
    )
