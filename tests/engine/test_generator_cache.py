"""The cache of a batch whose lines part, end and grow holds what each line alone would have computed."""

from __future__ import annotations

import pytest
import torch
from transformers import DynamicCache

from prm_backend.generators.cache import BLOCK, append_lines, block_cache
from tests.tiny import tiny_model

PROMPTS = [[5, 6, 7, 8], [9, 10, 11, 12]]


@pytest.mark.parametrize("lines", [2, 5])  # with too little room, too
def test_copied_lines_go_on_as_if_they_had_been_read_from_the_start(lines: int) -> None:
    goes_on_as_read_alone(block_cache(tiny_model().config, lines))


def test_layers_of_another_kind_are_copied_whole() -> None:
    goes_on_as_read_alone(DynamicCache(config=tiny_model().config))


@torch.inference_mode()
def goes_on_as_read_alone(cache: DynamicCache) -> None:
    model = tiny_model()
    texts = [list(prompt) for prompt in PROMPTS]

    def read(tokens: list[list[int]]) -> None:
        found = model(input_ids=torch.tensor(tokens), cache=cache, use_cache=True).logits[:, -1]
        for text, new, logits in zip(texts, tokens, found, strict=True):
            text += new if text != new else []
            alone = model(input_ids=torch.tensor([text]), use_cache=False).logits[0, -1]
            assert torch.allclose(logits, alone, atol=1e-4)

    read(PROMPTS)
    append_lines(cache, torch.tensor([0, 1, 0]))
    texts += [list(texts[line]) for line in (0, 1, 0)]
    read([[20], [21], [22], [23], [24]])
    for token in range(BLOCK + 2):
        read([[30 + token + line] for line in range(5)])
    cache.batch_select_indices(torch.tensor([4, 1]))
    texts[:] = [texts[4], texts[1]]
    read([[40], [41]])
    append_lines(cache, torch.tensor([1]))
    texts.append(list(texts[1]))
    read([[50], [51], [52]])
