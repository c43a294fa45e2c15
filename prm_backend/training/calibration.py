"""How sure a PRM may be, fitted on labels beside those that train: a temperature (Guo et al., arXiv 1706.04599), or
with it an offset for each class, Platt's way for more than two (Platt 1999; Alexandari et al., arXiv 1901.06852)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from prm_backend.reward.head import CLASSES, probabilities

MIN_LABELS = 100  # with fewer, one solution decides it
_MOST = math.log(10.0)  # the range of a temperature: a tenth to ten
_STEPS = 60


def mean_nll(logits: Tensor, targets: Tensor) -> float:
    """Mean -log p(rating) of [steps, members, 3] logits."""
    chosen = probabilities(logits)[torch.arange(len(targets)), targets]
    return float(-chosen.clamp_min(torch.finfo(torch.float64).tiny).log().mean())


def fit_temperature(logits: Tensor, targets: Tensor) -> float:
    """The temperature with the lowest `mean_nll`, by golden section (it has one minimum); 1 with too few labels."""
    if len(targets) < MIN_LABELS:
        return 1.0
    low, high = -_MOST, _MOST
    shrink = (math.sqrt(5) - 1) / 2
    for _ in range(_STEPS):
        a, b = high - shrink * (high - low), low + shrink * (high - low)
        if mean_nll(logits / math.exp(a), targets) < mean_nll(logits / math.exp(b), targets):
            high = b
        else:
            low = a
    return math.exp((low + high) / 2)


@torch.enable_grad()
def fit_platt(logits: Tensor, targets: Tensor) -> tuple[float, Tensor]:
    """The temperature and the [3] offsets that fit [steps, members, 3] logits best; 1 and zeros with too few labels.

    Each class has one label more, spread over all steps: else one that nobody gave would be ruled out (Platt's prior).
    """
    offsets = torch.zeros(len(CLASSES), dtype=torch.float64, requires_grad=True)
    if len(targets) < MIN_LABELS:
        return 1.0, offsets.detach()
    place = torch.zeros((), dtype=torch.float64, requires_grad=True)
    mean = logits.detach().double().mean(-2)
    optimiser = torch.optim.LBFGS([place, offsets], max_iter=200, line_search_fn="strong_wolfe")

    def temperature() -> Tensor:
        return (_MOST * place.tanh()).exp()  # within the range, whatever its place

    def loss() -> float:
        optimiser.zero_grad()
        logs = torch.log_softmax(mean / temperature() + offsets, -1)
        found: Tensor = -(logs[torch.arange(len(targets)), targets].sum() + logs.mean(0).sum()) / len(targets)
        found.backward()
        return found.item()

    optimiser.step(loss)
    return temperature().item(), (offsets - offsets.mean()).detach()
