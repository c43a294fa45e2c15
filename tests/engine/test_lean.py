"""Frozen layers run with fewer passes over memory where they are a Llama's, and as they are where they are not."""

from __future__ import annotations

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    GraniteConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen3Config,
)

from prm_backend.reward import lean
from prm_backend.reward.packing import pack
from prm_backend.reward.split import Split

ROWS = [[1, 2, 3, 4, 5], [1, 2, 3, 9], [1, 2, 3, 9, 7, 7], [8]]
# States large enough for a left-out term to show.
SIZES = {
    "vocab_size": 16, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.5,
}  # fmt: skip
LEAN = [
    LlamaConfig(**SIZES),
    LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True),
    Qwen2Config(**SIZES),
    Qwen3Config(**SIZES),
    MistralConfig(**SIZES, sliding_window=None),
]
PLAIN = [
    MistralConfig(**SIZES, sliding_window=100),
    GraniteConfig(**SIZES, residual_multiplier=0.3),  # named as a Llama, and computes something else
]


def model_of(config: PreTrainedConfig, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval().requires_grad_(False)
    for name, weight in model.named_parameters():  # norms' weights and biases are made all alike
        if "norm" in name or name.endswith("bias"):
            weight.uniform_(0.5, 1.5)
    return model


def is_lean(split: Split) -> bool:
    return all("forward" in vars(layer) for part in (split._below, split._rest) for layer in part.layers)


@pytest.mark.parametrize("config", LEAN + PLAIN, ids=lambda config: type(config).__name__)
def test_a_frozen_part_computes_what_the_model_does(
    config: PreTrainedConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lean, "_ROWS", 4)  # the pack has more
    model = model_of(config)
    with torch.inference_mode():
        alone = [model.model(torch.tensor([row]), output_hidden_states=True) for row in ROWS]
    split = Split(model, 1, depth=0.6)
    packed = pack(ROWS)
    below = split.below(packed)
    before = below.clone()
    rest = split.rest(below, packed)
    assert is_lean(split) == (config in LEAN)
    assert torch.equal(below, before)  # it is cached, and read again
    for place, one in zip(packed.places, alone, strict=True):
        assert torch.allclose(below[place], one.hidden_states[split.first][0], rtol=1e-4, atol=1e-4)
        assert torch.allclose(rest[place], one.last_hidden_state[0], rtol=1e-4, atol=1e-4)


def test_weights_keep_their_names_and_trained_layers_their_gradients() -> None:
    model = model_of(LEAN[0])
    split = Split(model, 1)
    above = split.trainable_above()
    assert split.state_dict(above).keys() == model.model.state_dict().keys()
    packed = pack(ROWS)
    above(split.below(packed), packed).sum().backward()
    assert all(weight.grad is not None for weight in above.parameters())


def test_half_precision_runs_the_layers_as_they_are() -> None:
    assert not is_lean(Split(model_of(LEAN[0], torch.bfloat16), 1))
