"""Temperature: how sure a PRM may be, fitted on labels beside those that train (Guo et al., arXiv 1706.04599)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from prm_backend.reward.head import probabilities

MIN_LABELS = 100  # with fewer, one solution decides it
_RANGE = (math.log(0.1), math.log(10.0))
_STEPS = 60


def mean_nll(logits: Tensor, targets: Tensor) -> float:
    """Mean -log p(rating) of [steps, members, 3] logits."""
    chosen = probabilities(logits)[torch.arange(len(targets)), targets]
    return float(-chosen.clamp_min(torch.finfo(torch.float64).tiny).log().mean())


def fit_temperature(logits: Tensor, targets: Tensor) -> float:
    """The temperature with the lowest `mean_nll`, by golden section (it has one minimum); 1 with too few labels."""
    if len(targets) < MIN_LABELS:
        return 1.0
    low, high = _RANGE
    shrink = (math.sqrt(5) - 1) / 2
    for _ in range(_STEPS):
        a, b = high - shrink * (high - low), low + shrink * (high - low)
        if mean_nll(logits / math.exp(a), targets) < mean_nll(logits / math.exp(b), targets):
            high = b
        else:
            low = a
    return math.exp((low + high) / 2)
