"""How likely the backbone itself finds each step: log-probabilities of its tokens. Knows no labels.

A small model sees little of whether a step is right in its hidden states alone; what it would not have written itself
is a second sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

from prm_backend.reward.packing import Pack
from prm_backend.reward.split import UnsupportedBackbone
from prm_backend.text.encoding import Encoded

FIGURES = 3  # mean, lowest and last log-probability of a step's tokens
_PROBE_TOKENS, _PROBE_TOLERANCE = 4, 1e-2
_TOKENS, _VOCABULARY = 1024, 2048  # a block of logits that stays small


@torch.inference_mode()
def require_plain_output(model: PreTrainedModel) -> None:
    """UnsupportedBackbone where the model's logits are more than its output layer (a Cohere's are scaled)."""
    ids = torch.arange(_PROBE_TOKENS, device=model.device)[None] % model.config.vocab_size
    plain = model.get_output_embeddings()(model.base_model(input_ids=ids, use_cache=False).last_hidden_state)
    found = model(input_ids=ids, use_cache=False).logits
    if not torch.allclose(plain, found, rtol=_PROBE_TOLERANCE, atol=_PROBE_TOLERANCE):
        raise UnsupportedBackbone(
            f"{model.config.model_type} does more to its predictions than its output layer: log_probs must be off"
        )


@torch.inference_mode()
def step_likelihoods(final: Tensor, output: nn.Module, rows: Sequence[Encoded], packed: Pack) -> Tensor:
    """[steps of all rows, FIGURES] out of the model's final hidden states [tokens of the pack, width]."""
    before = torch.zeros(len(packed), dtype=torch.long, device=final.device)
    wanted = torch.zeros(len(packed), dtype=torch.bool, device=final.device)
    for row, place in zip(rows, packed.places, strict=True):
        before[place[1:]] = place[:-1]  # in a tree, a token's predecessor is the same for every row
        for start, stop in row.spans:
            wanted[place[start:stop]] = True
    found = torch.zeros(len(packed), device=final.device)
    found[wanted] = token_log_probs(final[before[wanted]], packed.ids[0, wanted], output)
    steps = [found[place[a:b]] for row, place in zip(rows, packed.places, strict=True) for a, b in row.spans]
    return torch.stack([torch.stack([step.mean(), step.min(), step[-1]]) for step in steps])


def token_log_probs(hidden: Tensor, targets: Tensor, output: nn.Module) -> Tensor:
    """[tokens] log p(target) of an output layer over `hidden` [tokens, width], the vocabulary a block at a time."""
    weight: Any = output.weight
    bias: Any = output.bias
    total = torch.empty(len(hidden), device=hidden.device)
    chosen = torch.empty_like(total)
    for tokens in torch.arange(len(hidden), device=hidden.device).split(_TOKENS):
        some = hidden[tokens]
        sums = []
        for first in range(0, len(weight), _VOCABULARY):
            block = slice(first, first + _VOCABULARY)
            logits = F.linear(some, weight[block], None if bias is None else bias[block])
            sums.append(torch.logsumexp(logits.float(), -1))
        total[tokens] = torch.logsumexp(torch.stack(sums), 0)
        own = weight[targets[tokens]]
        chosen[tokens] = (some * own).sum(-1).float() + (0 if bias is None else bias[targets[tokens]])
    return chosen - total
