"""Tiny PRMs in the formats others publish, randomly initialised, each with its scores computed by hand.

`by_hand` runs the model once for every step, on the text up to that step and no further, and reads the last token.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForTokenClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForTokenClassification,
    Qwen2Model,
)

from tests.tiny import tiny_tokenizer

SIZES: dict[str, Any] = {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "max_position_embeddings": 512, "pad_token_id": 0, "eos_token_id": 1,
    "bos_token_id": None, "initializer_range": 0.5,
}  # fmt: skip
CHAT = (
    "{{ bos_token or '' }}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content | trim }}<|im_end|>\n{% endfor %}"
)


@dataclass(frozen=True)
class Published:
    """A model directory, and p(good) of each step as its authors would compute it, one forward pass a step."""

    path: Path
    tokenizer: PreTrainedTokenizerFast
    by_hand: Callable[[str, Sequence[str]], list[float]]


def tokenizer(bos: bool = False) -> PreTrainedTokenizerFast:
    """The byte tokenizer with a chat template, Qwen's mark (a special token) and Math-Shepherd's (an ordinary one)."""
    made = tiny_tokenizer()
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>", "<extra_0>"]})
    made.add_tokens(["ки"])
    if bos:
        made.add_special_tokens({"bos_token": "<s>"})
    made.chat_template = CHAT
    return made


def token_classifier(path: Path, kind: str = "llama", labels: int = 2, bos: bool = False) -> Published:
    """TRL's and PURE's kind: `[bos] prompt step \\n step \\n`."""
    words = tokenizer(bos)
    model: Any = (
        made(LlamaForTokenClassification, LlamaConfig(vocab_size=len(words), num_labels=labels, **SIZES))
        if kind == "llama"
        else made(Qwen2ForTokenClassification, Qwen2Config(vocab_size=len(words), num_labels=labels, **SIZES))
    )
    save(model, words, path)

    def by_hand(problem: str, steps: Sequence[str]) -> list[float]:
        ids, scores = [*([words.bos_token_id] if bos else []), *bytes_of(words, problem)], []
        for step in steps:
            ids += [*bytes_of(words, step), *bytes_of(words, "\n")]
            logits = model(torch.tensor([ids])).logits[0, -1].double()
            scores.append(torch.softmax(logits, -1)[1:].sum().item())
        return scores

    return Published(path, words, torch.no_grad()(by_hand))


def math_shepherd(path: Path) -> Published:
    """A language model asked at each ` ки`; the text is tokenised whole here, as its authors do."""
    words = tokenizer()
    model = made(LlamaForCausalLM, LlamaConfig(vocab_size=len(words), tie_word_embeddings=False, **SIZES))
    save(model, words, path)
    [plus], [minus] = bytes_of(words, "+"), bytes_of(words, "-")

    def by_hand(problem: str, steps: Sequence[str]) -> list[float]:
        text, scores = f"{problem} ", []
        for number, step in enumerate(steps, 1):
            text += step if step.startswith("Step ") else f"Step {number}: {step}"
            text += "ки"  # Mistral's one token for it has the blank before it inside
            logits = model(torch.tensor([words(text)["input_ids"]])).logits[0, -1]
            scores.append(torch.softmax(logits[[plus, minus]].double(), -1)[0].item())
            text += "\n"
        return scores

    return Published(path, words, torch.no_grad()(by_hand))


def rlhflow(path: Path) -> Published:
    """A chat in which every answer is `+`; the logits before the last one predict it (it ends `+ <|im_end|> \\n`)."""
    words = tokenizer()
    model = made(LlamaForCausalLM, LlamaConfig(vocab_size=len(words), tie_word_embeddings=True, **SIZES))
    save(model, words, path)
    [plus], [minus] = bytes_of(words, "+"), bytes_of(words, "-")

    def by_hand(problem: str, steps: Sequence[str]) -> list[float]:
        chat, scores = [], []
        for number, step in enumerate(steps):
            content = f"{problem} {step}" if number == 0 else step
            chat += [{"role": "user", "content": content}, {"role": "assistant", "content": "+"}]
            ids = words.apply_chat_template(chat, return_dict=False)
            assert ids[-3] == plus
            logits = model(torch.tensor([ids])).logits[0, -4]
            scores.append(torch.softmax(logits[[plus, minus]].double(), -1)[0].item())
        return scores

    return Published(path, words, torch.no_grad()(by_hand))


def qwen(path: Path, bias: tuple[float, float] = (0.0, 0.0)) -> Published:
    """Qwen2.5-Math-PRM: its class is on the hub, its head two linear layers; `bias` is added to the last one's."""
    words = tokenizer()
    model = made(Qwen2Model, Qwen2Config(vocab_size=len(words), **SIZES))
    width = model.config.hidden_size
    head = {
        "score.0.weight": random(width, width), "score.0.bias": random(width),
        "score.2.weight": random(2, width), "score.2.bias": random(2) + torch.tensor(bias),
    }  # fmt: skip
    save(model, words, path, {f"model.{name}": t for name, t in model.state_dict().items()} | head)
    edit_config(
        path,
        architectures=["Qwen2ForProcessRewardModel"],
        auto_map={"AutoModel": "modeling_qwen2_rm.Qwen2ForProcessRewardModel"},
    )
    (path / "modeling_qwen2_rm.py").write_text("raise SystemExit('nobody may run this')")

    def by_hand(problem: str, steps: Sequence[str]) -> list[float]:
        text = (
            "<|im_start|>system\nPlease reason step by step, and put your final answer within \\boxed{}.<|im_end|>\n"
            f"<|im_start|>user\n{problem}<|im_end|>\n<|im_start|>assistant\n"
        )
        scores = []
        for step in steps:
            text += f"{step}<extra_0>"
            hidden = model(torch.tensor([words(text)["input_ids"]])).last_hidden_state[0, -1]
            inner = (head["score.0.weight"] @ hidden + head["score.0.bias"]).clamp(min=0)
            logits = head["score.2.weight"] @ inner + head["score.2.bias"]
            scores.append(torch.softmax(logits.double(), -1)[1].item())
        return scores

    return Published(path, words, torch.no_grad()(by_hand))


def skywork(path: Path) -> Published:
    """A language model with a value head beside it; the sigmoid of the value at each newline."""
    words = tokenizer(bos=True)
    model: Any = made(
        Qwen2ForCausalLM, Qwen2Config(vocab_size=len(words), tie_word_embeddings=False, **SIZES)
    )
    head = {"v_head.summary.weight": random(1, model.config.hidden_size), "v_head.summary.bias": random(1)}
    save(model, words, path, model.state_dict() | head)

    def by_hand(problem: str, steps: Sequence[str]) -> list[float]:
        ids, scores = [words.bos_token_id, *bytes_of(words, f"{problem}\n")], []
        for step in steps:
            ids += bytes_of(words, f"{step}\n")
            hidden = model.model(torch.tensor([ids])).last_hidden_state[0, -1]
            value = head["v_head.summary.weight"] @ hidden + head["v_head.summary.bias"]
            scores.append(torch.sigmoid(value.double()).item())
        return scores

    return Published(path, words, torch.no_grad()(by_hand))


def bytes_of(words: PreTrainedTokenizerFast, text: str) -> list[int]:
    return words(text, add_special_tokens=False)["input_ids"]


def made(kind: Any, config: Any) -> PreTrainedModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return kind(config).eval()


def random(*shape: int) -> Tensor:
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))
    return drawn * 16 / SIZES["hidden_size"]


def save(
    model: PreTrainedModel,
    words: PreTrainedTokenizerFast,
    path: Path,
    tensors: dict[str, Tensor] | None = None,
) -> None:
    model.save_pretrained(path, safe_serialization=True)
    words.save_pretrained(path)
    if tensors is not None:
        save_file(
            {k: t.contiguous() for k, t in tensors.items()}, path / "model.safetensors", {"format": "pt"}
        )


def edit_config(path: Path, **changes: Any) -> None:
    config = path / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | changes))
