"""States at the ends of steps are those that one forward pass over each row alone gives, whatever model it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaModel,
    MistralConfig,
    MistralModel,
    PreTrainedModel,
    Qwen2Config,
    Qwen2Model,
)

from prm_backend.reward.packing import batches_by_length, packs
from prm_backend.reward.reader import StepReader
from prm_backend.text.encoding import Encoded

SIZES: dict[str, Any] = {
    "vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "initializer_range": 0.5,
}  # fmt: skip
WINDOW = 8


def llama() -> PreTrainedModel:
    return LlamaModel(LlamaConfig(**SIZES))


def qwen() -> PreTrainedModel:
    return Qwen2Model(Qwen2Config(**SIZES))


def mistral() -> PreTrainedModel:
    return MistralModel(MistralConfig(**SIZES, sliding_window=None))


def windowed() -> PreTrainedModel:
    return MistralModel(MistralConfig(**SIZES, sliding_window=WINDOW))


def gpt2() -> PreTrainedModel:
    return GPT2Model(
        GPT2Config(
            vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=64, bos_token_id=1, eos_token_id=1
        )
    )


def row(ids: list[int], *ends: int) -> Encoded:
    return Encoded(tuple(ids), ends)


PROBLEM = list(range(3, 20))  # longer than the window
ROWS = [
    row([*PROBLEM, 5, 6, 7], 17, 19),
    row([*PROBLEM, 5, 6, 9, 9, 9, 9], 18, 22),
    row([1, 2], 1),
    row([*PROBLEM, 8], 17),
]


@pytest.mark.parametrize(
    ("make", "packs_them"), [(llama, True), (qwen, True), (mistral, True), (windowed, False), (gpt2, False)]
)
def test_any_model_reads_rows_together_as_alone(make: Any, packs_them: bool) -> None:
    torch.manual_seed(0)
    model = make().eval()
    with torch.inference_mode():
        alone = [model(torch.tensor([one.input_ids])).last_hidden_state[0] for one in ROWS]
    reader = StepReader(model)
    found = reader(ROWS)
    expected = torch.cat([own[list(one.label_positions)] for own, one in zip(alone, ROWS, strict=True)])
    assert found.shape == (6, 16)
    assert torch.allclose(found, expected, atol=1e-4)
    assert reader.batches is (packs if packs_them else batches_by_length)


def test_a_model_that_reads_no_packs_is_left_as_it_was() -> None:
    model = gpt2().eval()
    before = model.config._attn_implementation
    StepReader(model)
    assert model.config._attn_implementation == before
