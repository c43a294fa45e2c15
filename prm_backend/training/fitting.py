"""The training loop: frozen layers once into a cache, then epochs over the layers above. Writes no checkpoint."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from prm_backend.config import PRMConfig
from prm_backend.reward.prm import PRM, batches_by_length, step_probs
from prm_backend.training.cache import HiddenCache
from prm_backend.training.dataset import Example
from prm_backend.types import Progress, ProgressCallback, StepProbs

_MAX_GRADIENT_NORM = 1.0
_BACKWARD_COST = 3  # forward and backward together, in forwards

Curve = list[dict[str, float]]


class Fitting:
    """One training of `prm` on `train`, judged on `held_out` after every epoch.

    `cache` holds the frozen hidden states of the train examples, then of the held-out ones; rows are counted so
    everywhere here.
    """

    def __init__(
        self,
        prm: PRM,
        config: PRMConfig,
        train: Sequence[Example],
        held_out: Sequence[Example],
        cache: HiddenCache,
        progress: ProgressCallback,
    ) -> None:
        self.prm, self.config, self.cache = prm, config, cache
        self.examples = [*train, *held_out]
        self.train_rows = range(len(train))
        self.held_out_rows = range(len(train), len(self.examples))
        self._class_weights = torch.tensor(config.class_weights)
        self._progress, self._done = progress, 0
        # One unit of work is one token through one layer, forward; the head counts as a layer.
        self._above = config.trained_layers + 1
        per_epoch = self._tokens(self.train_rows) * _BACKWARD_COST + self._tokens(self.held_out_rows)
        self._total = self._tokens(range(len(self.examples))) * prm.split.first + (
            per_epoch * self._above * config.epochs
        )

    def run(self) -> tuple[Curve, list[list[StepProbs]]]:
        """The curve, and each held-out example's step probabilities by the trained PRM."""
        self._fill_cache()
        steps_an_epoch = math.ceil(len(self.train_rows) / self.config.batch_solutions)
        optimiser, schedule = _optimiser(self.prm, self.config, steps_an_epoch * self.config.epochs)
        trained = [*self.prm.above_parameters(), *self.prm.head.parameters()]
        rng = random.Random(self.config.seed)
        curve: Curve = []
        scored: list[list[StepProbs]] = []
        for epoch in range(1, self.config.epochs + 1):
            order = rng.sample(self.train_rows, len(self.train_rows))
            for start in range(0, len(order), self.config.batch_solutions):
                rows = order[start : start + self.config.batch_solutions]
                loss = self._accumulate(rows, f"training, epoch {epoch} of {self.config.epochs}")
                nn.utils.clip_grad_norm_(trained, _MAX_GRADIENT_NORM)
                optimiser.step()
                optimiser.zero_grad()
                schedule.step()
                curve.append({"epoch": epoch, "step": len(curve) + 1, "loss": loss})
            scored = self._judge()
            if scored:
                curve[-1]["held_out_nll"] = self._nll(scored)
        return curve, scored

    def _fill_cache(self) -> None:
        for rows in self._batches(range(len(self.examples))):
            hidden = self.prm.frozen([self.examples[row].encoded for row in rows])
            for row, states in zip(rows, hidden, strict=True):
                self.cache.put(row, states)
            self._advance(rows, self.prm.split.first, "reading the solutions through the frozen layers")

    def _accumulate(self, rows: Sequence[int], message: str) -> float:
        """Add up the gradient of the mean loss over the rows' labels; micro-batches do not change it."""
        weights = {r: self._class_weights[list(e.targets)] * e.weight for r, e in self._at(rows)}
        total = sum(w.sum().item() for w in weights.values())
        if total == 0:
            return 0.0
        loss = 0.0
        for batch in self._batches(rows):
            logits = self._logits(batch)
            targets = torch.tensor([t for _, e in self._at(batch) for t in e.targets])
            each = F.cross_entropy(logits, targets.to(logits.device), reduction="none")
            part = (each * torch.cat([weights[row] for row in batch]).to(logits.device)).sum() / total
            part.backward()
            loss += part.item()
            self._advance(batch, self._above * _BACKWARD_COST, message)
        return loss

    def _judge(self) -> list[list[StepProbs]]:
        scored: dict[int, list[StepProbs]] = {}
        for rows in self._batches(self.held_out_rows):
            with torch.no_grad():
                logits = self._logits(rows)
            encoded = [self.examples[row].encoded for row in rows]
            scored.update(zip(rows, step_probs(encoded, logits), strict=True))
            self._advance(rows, self._above, "judging on held-out labels")
        return [scored[row] for row in self.held_out_rows]

    def _nll(self, scored: Sequence[Sequence[StepProbs]]) -> float:
        held_out = self.examples[self.held_out_rows.start :]
        losses = [
            -math.log(max(step[target], sys.float_info.min))
            for probs, example in zip(scored, held_out, strict=True)
            for step, target in zip(probs, example.targets, strict=True)
        ]
        return sum(losses) / len(losses)

    def _logits(self, rows: Sequence[int]) -> Tensor:
        encoded = [self.examples[row].encoded for row in rows]
        return self.prm.logits(encoded, self.cache.get(rows).to(self.prm.device))

    def _at(self, rows: Iterable[int]) -> list[tuple[int, Example]]:
        return [(row, self.examples[row]) for row in rows]

    def _batches(self, rows: Iterable[int]) -> list[list[int]]:
        lengths = {row: len(example.encoded) for row, example in self._at(rows)}
        return list(batches_by_length(lengths, self.config.batch_tokens))

    def _tokens(self, rows: Iterable[int]) -> int:
        return sum(len(example.encoded) for _, example in self._at(rows))

    def _advance(self, rows: Iterable[int], cost: int, message: str) -> None:
        self._done += self._tokens(rows) * cost
        self._progress(Progress(self._done, self._total, message))


def _optimiser(prm: PRM, config: PRMConfig, steps: int) -> tuple[AdamW, LambdaLR]:
    """AdamW, the head on its own learning rate; linear warm-up, then half a cosine down to zero."""
    above = prm.above_parameters()
    groups = [
        {"params": [p for p in params if decays == (p.ndim > 1)], "lr": rate, "weight_decay": decay}
        for params, rate in (
            (above, config.learning_rate),
            (list(prm.head.parameters()), config.head_learning_rate),
        )
        for decays, decay in ((True, config.weight_decay), (False, 0.0))
    ]
    warmup = max(1, round(config.warmup_share * steps))

    def share(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))

    optimiser = AdamW([group for group in groups if group["params"]])
    return optimiser, LambdaLR(optimiser, share)
