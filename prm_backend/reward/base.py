"""The base model below a PRM: found by name, loaded without running anybody's code, recognised by a fingerprint."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from huggingface_hub import snapshot_download
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

ADAPTER = "adapter"  # a LoRA adapter inside a model directory, as the default generator has one
_FILES = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
_SAMPLES, _SAMPLE_BYTES = 256, 4096


def locate(spec: str) -> Path:
    """The directory of a base model: `spec` itself, or the hub's snapshot of it (safetensors and text files only).

    ValueError where it holds no safetensors weights: a pickle is refused unopened.
    """
    path = Path(spec)
    if not path.is_dir():
        if spec.startswith(("/", ".", "~")):
            raise FileNotFoundError(f"no base model at {spec}: set PRM_BASE to a model directory or a hub id")
        path = Path(snapshot_download(spec, allow_patterns=_FILES))
    if not any(path.glob("*.safetensors")):
        raise ValueError(f"{path} holds no *.safetensors weights; other formats (pickles) are not opened")
    return path


def load_base(
    path: Path,
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    adapter: bool = True,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The causal model, frozen and in evaluation mode, and its tokenizer; an `adapter/` inside is merged in.

    `adapter=False` leaves it out: the plain base.
    """
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, use_safetensors=True)
    if adapter and (path / ADAPTER / "adapter_model.safetensors").is_file():
        from peft import PeftModel  # heavy, and most bases have no adapter

        model = PeftModel.from_pretrained(model, path / ADAPTER).merge_and_unload()
    model.to(device)  # type: ignore[arg-type]  # transformers wraps it untyped
    return model.requires_grad_(False).eval(), tokenizer


def fingerprint(path: Path) -> str:
    """SHA-256 (hex) of the config, the tokenizer, any adapter, and the weights: header and evenly spaced samples.

    Training changes nearly every weight, so samples tell two trainings of one architecture apart without reading
    gigabytes.
    """
    digest = hashlib.sha256()
    for name in ("config.json", "tokenizer.json"):
        digest.update((path / name).read_bytes() if (path / name).is_file() else b"-")
    for weights in [*sorted(path.glob("*.safetensors")), *sorted((path / ADAPTER).glob("*.safetensors"))]:
        digest.update(f"{weights.relative_to(path)} {weights.stat().st_size}".encode())
        digest.update(_samples(weights))
    return digest.hexdigest()


def _samples(path: Path) -> bytes:
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(int.from_bytes(file.read(8), "little"))
        stride = max(size // _SAMPLES, 1)
        samples = [header]
        for offset in range(0, size, stride):
            file.seek(offset)
            samples.append(file.read(_SAMPLE_BYTES))
    return b"".join(samples)
