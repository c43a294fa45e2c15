"""A step's features and the small heads that rate it. Knows neither text nor labels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from prm_backend.config import PRMConfig
from prm_backend.reward.likelihood import FIGURES
from prm_backend.reward.packing import Pack
from prm_backend.text.encoding import Encoded

CLASSES = (-1, 0, 1)  # the head's outputs, in order: bad, okay, great


def pool(hidden: Tensor, rows: Sequence[Encoded], packed: Pack, *, mean: bool) -> Tensor:
    """[steps of all rows, 1 or 2, width]: the hidden state each step is read at and, with `mean`, the mean of all."""
    placed = list(zip(rows, packed.places, strict=True))
    last = hidden[torch.cat([place[list(row.label_positions)] for row, place in placed])]
    if not mean:
        return last[:, None]
    means = torch.stack([hidden[place[a:b]].mean(0) for row, place in placed for a, b in row.spans])
    return torch.stack([last, means], 1)


class StepHead(nn.Module):
    """Features [steps, `width`] → logits [steps, members, 3]. Starts at zero: every class equally likely.

    The members differ by the labels they were trained on (ActPRM's ensemble, arXiv 2504.10559, on a shared backbone);
    their logits are averaged. `temperature` divides the logits, `offset` [3] is added; fitting sets them on labels set
    aside for that.
    """

    temperature: Tensor
    offset: Tensor

    def __init__(self, width: int, config: PRMConfig) -> None:
        super().__init__()
        self.states = 2 if config.step_mean else 1
        self.figures = FIGURES if config.log_probs else 0
        self.members = config.members

        def norm() -> nn.Module:
            return nn.LayerNorm(width) if config.head_norm else nn.Identity()

        self.norm = norm()
        if config.step_mean:
            self.mean_norm = norm()
        self.linear = nn.Linear(self.states * width + self.figures, self.members * len(CLASSES))
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.register_buffer("temperature", torch.ones(()))
        self.register_buffer("offset", torch.zeros(len(CLASSES)))

    def forward(self, states: Tensor, figures: Tensor | None) -> Tensor:
        """`states` [steps, 1 or 2, width] as `pool` gives them, `figures` [steps, FIGURES] of likelihood."""
        parts = [self.norm(states[:, 0].float())]
        if self.states == 2:
            parts.append(self.mean_norm(states[:, 1].float()))
        if figures is not None:
            parts.append(figures.float())
        return self.calibrated(self.linear(torch.cat(parts, -1)).unflatten(-1, (self.members, len(CLASSES))))

    def calibrated(self, logits: Tensor) -> Tensor:
        """[..., 3] logits as sure as the labels set aside let them be."""
        return logits / self.temperature + self.offset

    def merged(self) -> nn.Linear:
        """One linear layer that gives the members' mean logits, calibrated."""
        merged = nn.Linear(self.linear.in_features, len(CLASSES))
        with torch.no_grad():
            weight, bias = (
                each.unflatten(0, (self.members, len(CLASSES))).mean(0)
                for each in (self.linear.weight, self.linear.bias)
            )
            merged.weight.copy_(weight / self.temperature)
            merged.bias.copy_(self.calibrated(bias))
        return merged


def probabilities(logits: Tensor) -> Tensor:
    """[steps, 3] float64: the softmax of the members' mean."""
    return torch.softmax(logits.double().mean(-2), -1)


def spread(logits: Tensor) -> Tensor:
    """[steps] float64: the standard deviation of p(bad) among the members; 0 where there is one."""
    return torch.softmax(logits.double(), -1)[..., 0].std(-1, correction=0)
