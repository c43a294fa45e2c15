"""The next token of each sample, out of a model's logits. Knows numbers, no text."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from prm_backend.types import Sampling

# Above the sampling's own temperature only so many of the likeliest remain: a sample goes another way and makes sense.
HOT_TOKENS = 8


def draw(logits: torch.Tensor, sampling: Sampling, random: torch.Generator) -> torch.Tensor:
    """One token a row from logits (rows, vocabulary): the likeliest at temperature 0, else from the smallest set of
    tokens that holds `top_p` of the probability."""
    if sampling.temperature == 0:
        return logits.argmax(dim=-1)
    logits = logits.float() if sampling.temperature == 1 else logits.float() / sampling.temperature
    probabilities = torch.softmax(logits, dim=-1)
    if sampling.top_p < 1:
        ordered, order = probabilities.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        ordered[before >= sampling.top_p] = 0
        probabilities = torch.zeros_like(probabilities).scatter(-1, order, ordered)
    # By one uniform number a row, less than all of them; torch.multinomial draws one for every token of the vocabulary.
    sums = probabilities.cumsum(dim=-1)
    whole = sums[:, -1:]
    drawn = torch.rand(whole.shape, device=whole.device, generator=random) * whole
    drawn = drawn.minimum(whole.nextafter(torch.zeros_like(whole)))
    return torch.searchsorted(sums, drawn, right=True).squeeze(-1)


def heated(logits: torch.Tensor, heats: Sequence[float]) -> torch.Tensor:
    """Logits (rows, vocabulary) as at `heats` times the temperature; where that is above 1, only HOT_TOKENS remain."""
    if max(heats) == 1:
        return logits
    heat = torch.tensor(heats, device=logits.device)[:, None]
    least = logits.topk(min(HOT_TOKENS, logits.shape[-1]), dim=-1).values[:, -1:]
    return (logits / heat).masked_fill((heat > 1) & (logits < least), -torch.inf)
