"""What a configuration makes of the loss and of the way down: the weights of labels, the optimiser. Runs nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from prm_backend.config import PRMConfig
from prm_backend.training.dataset import Example


def label_weights(config: PRMConfig, examples: Sequence[Example], n_train: int) -> list[Tensor]:
    """[labels, members] for each example: its weight, its classes' weights, and each member's share of it.

    A member sees every solution with a random weight of mean 1 (the Bayesian bootstrap; Rubin, 1981).
    """
    generator = torch.Generator().manual_seed(config.seed)
    classes = torch.tensor(config.class_weights)
    if config.neutral == "ignore":
        classes[1] = 0
    weights = []
    for example in examples[:n_train]:
        shares = torch.ones(config.members)
        if config.members > 1:
            shares = torch.empty(config.members).exponential_(generator=generator)
        weights.append(classes[list(example.targets)][:, None] * shares * example.weight)
    return weights


def descent(model: nn.Module, config: PRMConfig, steps: int) -> tuple[AdamW, LambdaLR]:
    """AdamW, the head on its own learning rate; linear warm-up, then half a cosine down to zero."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {
            "params": [p for name, p in named if ("head." in name) == head and decays == (p.ndim > 1)],
            "lr": config.head_learning_rate if head else config.learning_rate,
            "weight_decay": config.weight_decay if decays else 0.0,
        }
        for head in (False, True)
        for decays in (True, False)
    ]
    warmup = max(1, round(config.warmup_share * steps))

    def share(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))

    optimiser = AdamW([group for group in groups if group["params"]])
    return optimiser, LambdaLR(optimiser, share)
