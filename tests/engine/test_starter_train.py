"""Training the starter adapter, on a tiny model; the committed adapter, on the real one (slow)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.generators.starter import ADAPTER_DIR
from prm_backend.generators.starter.evaluate import Result, evaluate, summary
from prm_backend.generators.starter.problems import HELD_OUT_SEED, TRAINING_SEED, make_problems
from prm_backend.generators.starter.train import (
    BASE_NAME,
    Example,
    StarterConfig,
    encode_example,
    length_sorted_batches,
    train_starter,
)
from prm_backend.generators.transformers_generator import TransformersGenerator
from prm_backend.types import Progress, Sample
from tests.tiny import tiny_model_dir, tiny_tokenizer

SMALL = StarterConfig(problems=160, batch=8, rank=8, first_layer=1, learning_rate=3e-2, warmup_steps=2)
ADAPTER_LIMIT = 8_000_000  # bytes


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model_dir(tmp_path_factory.mktemp("base") / "tiny", hidden=64)


def test_training_lowers_the_loss_and_the_adapter_loads_into_a_generator(base: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    losses = train_starter(base, tmp_path, SMALL, seen.append)
    assert len(losses) == 20
    assert losses[-1] < losses[0] - 0.2
    assert [progress.done for progress in seen] == list(range(1, 21))
    assert TransformersGenerator.load(base, tmp_path).name.startswith("tiny+")


def test_the_same_seed_trains_the_same_adapter(base: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        train_starter(base, tmp_path / name, SMALL)
    one, two = (load_file(tmp_path / name / "adapter_model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_layers_below_the_first_stay_untouched_and_the_files_name_no_machine(
    base: Path, tmp_path: Path
) -> None:
    train_starter(base, tmp_path, SMALL)
    assert not any(".layers.0." in name for name in load_file(tmp_path / "adapter_model.safetensors"))
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == BASE_NAME
    assert str(tmp_path) not in json.dumps(config)
    assert str(base) not in json.dumps(config)


def test_an_example_supervises_the_solution_and_the_end_of_text_alone() -> None:
    tokenizer = tiny_tokenizer()
    [problem] = make_problems(1, TRAINING_SEED)
    example = encode_example(tokenizer, problem)
    assert tokenizer.decode(example.ids[: example.prompt_length]) == f"{problem.problem}\n"
    assert tokenizer.decode(example.ids[example.prompt_length : -1]).endswith(f"# Answer\n\n{problem.answer}")
    assert example.ids[-1] == tokenizer.eos_token_id


def test_batches_hold_every_example_once_and_like_lengths_together() -> None:
    lengths = Random(0)
    examples = [Example(tuple(range(lengths.randint(5, 60))), 1) for _ in range(70)]
    batches = list(length_sorted_batches(examples, 8, Random(0)))
    assert sorted(id(e) for batch in batches for e in batch) == sorted(map(id, examples))
    padding = sum(max(len(e.ids) for e in b) * len(b) - sum(len(e.ids) for e in b) for b in batches)
    assert padding < 0.2 * sum(len(e.ids) for e in examples)


def test_a_summary_counts_right_answers_by_kind() -> None:
    first, second = make_problems(2, HELD_OUT_SEED)
    right = Sample("", (), f"{int(first.answer):,}", truncated=False, n_tokens=10)
    none = Sample("", (), None, truncated=True, n_tokens=20)
    found = summary([Result(first, right), Result(second, none)])
    assert (found["right"], found["reached_an_answer"], found["truncated"], found["tokens"]) == (
        0.5,
        0.5,
        0.5,
        15,
    )
    assert found["right_by_kind"] == {first.kind: 1.0, second.kind: 0.0}


def test_the_committed_adapter_is_small_and_names_no_machine() -> None:
    assert (ADAPTER_DIR / "adapter_model.safetensors").stat().st_size <= ADAPTER_LIMIT
    config = json.loads((ADAPTER_DIR / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == BASE_NAME
    assert "/" not in config["base_model_name_or_path"]
    assert (ADAPTER_DIR / "README.md").is_file()


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_with_the_starter_the_default_model_is_right_often_enough_and_wrong_often_enough(
    tmp_path: Path,
) -> None:
    base = ensure_default_model(tmp_path / "smollm2")
    generator = TransformersGenerator.load(base, base / "adapter")
    found = summary(evaluate(generator, make_problems(40, HELD_OUT_SEED), samples=2))
    assert found["reached_an_answer"] >= 0.9  # type: ignore[operator]
    assert 0.2 <= found["right"] <= 0.8, found  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_committed_adapter_fits_the_converted_model(tmp_path: Path) -> None:
    base = ensure_default_model(tmp_path / "smollm2")
    model = AutoModelForCausalLM.from_pretrained(base)
    assert AutoTokenizer.from_pretrained(base).vocab_size == model.config.vocab_size
    layers = model.config.num_hidden_layers
    names = load_file(ADAPTER_DIR / "adapter_model.safetensors")
    assert {int(name.split(".layers.")[1].split(".")[0]) for name in names} <= set(range(layers))
