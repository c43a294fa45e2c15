"""Hyper-parameters: frozen, JSON-ready, hashable, so that "the same configuration" is a fact and not a feeling."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

NEUTRAL = ("okay", "positive", "negative", "ignore")
SUPERVISE = ("steps", "answer")
CALIBRATION = ("temperature", "platt")
# What a checkpoint was trained with that does not say so, since it is older than the choice.
BEFORE = {"step_mean": False, "log_probs": False, "members": 1, "patience": 0, "tuning_share": 0.0}


@dataclass(frozen=True)
class PRMConfig:
    """How a PRM is trained from a base model. The defaults are measured: docs/decisions/0017, docs/results.md.

    What the head sees of a step:
      depth           the share of the backbone's layers whose hidden states are read, after the final norm
      step_mean       beside the state at its end, the mean over the step's tokens; cannot be exported
      log_probs       the backbone's own log-probabilities of the step's tokens (these need all its layers)
      members         so many small heads, each on its own bootstrap of the labels; their mean is the score
      adapter         start from the generator's weights, where the base brings an adapter, or from the plain base
      head_norm       a LayerNorm before the linear layer; without it a checkpoint on any base can be exported, with it
                      those on a Llama
    What is trained beside the head:
      trained_layers  the uppermost layers used; those below are frozen and cached. 0 trains the head alone
      lora_rank       train these layers by low-rank adapters of that rank; 0 trains all of their weights
    What is learnt:
      beyond_error    also ratings of steps after the first error, where a label has them
      supervise       "steps", or the "answer": an outcome model, read at the last token of the solution alone
      neutral         a step rated 0 is its own class ("okay"), counts as +1 ("positive") or -1 ("negative"), or is
                      left out ("ignore")
      class_weights   weigh the loss of steps rated -1, 0 and +1
      calibration     "temperature" divides the logits; "platt" moves each class by an offset, too
      segmentation    how the labels' steps were cut (`text.segmentation`): the PRM reads no others
    An optimiser step sees `batch_solutions` solutions, in micro-batches of at most `batch_tokens` tokens, which alter
    memory and speed but not the loss. `tuning_share` of the problems, by a hash of their text, are kept from training:
    epoch, calibration and threshold are chosen on their labels, so that the held-out ones judge and do nothing else;
    fewer than 100 rated steps there tune nothing, and train like the rest. `patience` epochs without a better loss on
    them end a training, and the best epoch is kept; 0 always takes the last. More than `max_unusable_share` of the
    solutions without a usable label stops a training before it begins.
    """

    depth: float = 0.4
    step_mean: bool = False
    log_probs: bool = False
    head_norm: bool = True
    members: int = 4
    adapter: bool = True
    trained_layers: int = 0
    lora_rank: int = 0
    segmentation: str = "newline-1"
    supervise: str = "steps"
    neutral: str = "okay"
    beyond_error: bool = False
    class_weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    calibration: str = "temperature"
    epochs: int = 15
    patience: int = 5
    tuning_share: float = 0.1
    batch_solutions: int = 16
    batch_tokens: int = 2048
    learning_rate: float = 1e-4
    head_learning_rate: float = 1e-3
    weight_decay: float = 0.1
    warmup_share: float = 0.1
    max_length: int = 1024
    max_unusable_share: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "class_weights", tuple(self.class_weights))  # JSON has only lists
        if len(self.class_weights) != 3 or min(self.class_weights) < 0 or max(self.class_weights) == 0:
            raise ValueError(f"class_weights must be three weights of 0 or more, got {self.class_weights}")
        for name in ("members", "epochs", "batch_solutions", "batch_tokens", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, got {getattr(self, name)}")
        for name in ("trained_layers", "lora_rank", "patience"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more, got {getattr(self, name)}")
        for name, choices in (("neutral", NEUTRAL), ("supervise", SUPERVISE), ("calibration", CALIBRATION)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}")
        if not 0 <= self.tuning_share < 1:
            raise ValueError(f"tuning_share must lie in [0, 1), got {self.tuning_share}")
        if not 0 < self.depth <= 1:
            raise ValueError(f"depth must lie in (0, 1], got {self.depth}")
        if self.lora_rank and not self.trained_layers:
            raise ValueError("lora_rank adapts the trained layers, and trained_layers is 0")


def taught(rating: int, neutral: str) -> int | None:
    """The rating that a step so rated teaches under `PRMConfig.neutral`; None where it teaches nothing."""
    return {"okay": 0, "positive": 1, "negative": -1, "ignore": None}[neutral] if rating == 0 else rating


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
