"""Hyper-parameters: frozen, JSON-ready, hashable, so that "the same configuration" is a fact and not a feeling."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class PRMConfig:
    """How a PRM is trained from a base model.

    `depth` is the share of the backbone's layers that are used; those above are never run. Its default is measured:
    on 128 labelled solutions (365 steps) a linear probe of SmolLM2-135M tells wrong steps from others (AUC,
    cross-validated ridge) by layer 12 of 30 at 0.71, by layer 18 at 0.74 and by layer 24 at 0.67. A small sample.
    `trained_layers` counts the layers that are trained, above the frozen, cached ones; 0 trains the head alone.
    An optimiser step sees `batch_solutions` solutions, in micro-batches of at most `batch_tokens` (padded) tokens,
    which alter memory and speed but not the loss. `class_weights` weigh the loss of steps rated -1, 0 and +1.
    `head_norm` puts a LayerNorm before the head's linear layer; without it a checkpoint on any base can be exported
    (`reward.export`), with it those on a Llama.
    `segmentation` says how the labels' steps were cut (`text.segmentation`): the PRM reads no others.
    More than `max_unusable_share` of the solutions without a usable label stops a training before it begins.
    `beyond_error` also trains on ratings of steps after the first error, where a label has them.
    """

    depth: float = 0.6
    trained_layers: int = 2
    epochs: int = 2
    batch_solutions: int = 16
    batch_tokens: int = 2048
    learning_rate: float = 1e-4
    head_learning_rate: float = 1e-3
    weight_decay: float = 0.01
    warmup_share: float = 0.1
    max_length: int = 1024
    class_weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    head_norm: bool = True
    max_unusable_share: float = 0.1
    beyond_error: bool = False
    segmentation: str = "newline-1"
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "class_weights", tuple(self.class_weights))  # JSON has only lists
        if len(self.class_weights) != 3 or min(self.class_weights) < 0 or max(self.class_weights) == 0:
            raise ValueError(f"class_weights must be three weights of 0 or more, got {self.class_weights}")
        for name in ("epochs", "batch_solutions", "batch_tokens", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, got {getattr(self, name)}")
        if not 0 < self.depth <= 1:
            raise ValueError(f"depth must lie in (0, 1], got {self.depth}")
        if self.trained_layers < 0:
            raise ValueError(f"trained_layers must be 0 or more, got {self.trained_layers}")


@dataclass(frozen=True)
class SelectionConfig:
    """The selection rule of one round (Lightman et al., section 4: 80 % / 20 %; the control share is ours)."""

    quota: int = 3
    control_share: float = 0.1
    wrong_share: float = 0.8

    def __post_init__(self) -> None:
        if self.quota < 1:
            raise ValueError(f"quota must be 1 or more, got {self.quota}")
        for name in ("control_share", "wrong_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")


def config_hash(config: object) -> str:
    """SHA-256 (hex) of a config dataclass; equal configurations hash equally across processes and versions."""
    return json_hash(asdict(config))  # type: ignore[call-overload]


def json_hash(value: object) -> str:
    """SHA-256 (hex) of JSON data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
