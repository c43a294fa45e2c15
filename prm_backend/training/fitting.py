"""The training loop: the frozen part once into a cache, then epochs over what is trained. Writes no checkpoint.

One loop for the head alone, uppermost layers, low-rank adapters and all layers; Accelerate spreads it over devices
(`accelerate launch`), where each process holds and reads its share of the solutions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather_object, parse_flag_from_env, reduce
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from prm_backend.config import PRMConfig, taught
from prm_backend.reward.head import CLASSES, pool
from prm_backend.reward.packing import Pack, packs
from prm_backend.reward.prm import PRM, step_probs
from prm_backend.text.encoding import Encoded
from prm_backend.training.calibration import fit_platt, fit_temperature, mean_nll
from prm_backend.training.dataset import Example, TrainingRefused
from prm_backend.training.frozen import Frozen
from prm_backend.training.kept import KeptStates
from prm_backend.training.recipe import descent, label_weights
from prm_backend.training.resume import Resume
from prm_backend.types import Progress, ProgressCallback, StepProbs

_MAX_GRADIENT_NORM = 1.0
_BACKWARD_COST = 3  # forward and backward together, in forwards
_STEPS_COST = 0.05  # a head that reads cached steps alone, in layers over all tokens
_NOTHING = -100  # the class of a step that teaches nothing; cross_entropy leaves it out

Curve = list[dict[str, float]]


def join(device: str | torch.device) -> tuple[PartialState, torch.device]:
    """The processes that train together, which may be this one alone, and the device that is this one's.

    Of Accelerate only what knows the processes: an Accelerator has one device and one precision as long as its process
    lives, which the first one decides, perhaps the caller's own.
    """
    device = torch.device(device)
    processes = PartialState(cpu=device.type == "cpu" or parse_flag_from_env("ACCELERATE_USE_CPU"))
    return processes, device if processes.num_processes == 1 else processes.device


@dataclass
class Reached:
    """How far a training has come; `logits` are those of the judged steps in the epoch that is `kept`, the best or the
    last."""

    epoch: int = 0
    curve: Curve = field(default_factory=list)
    best: float = math.inf
    waited: int = 0  # epochs since
    kept: dict[str, Tensor] = field(default_factory=dict)
    logits: Tensor = field(default_factory=lambda: torch.empty(0, 1, 3))


class Trained(nn.Module):
    """The part of a PRM that training changes, as one module."""

    def __init__(self, prm: PRM) -> None:
        super().__init__()
        self.above, self.head = prm.above, prm.head

    def forward(
        self, states: Tensor, figures: Tensor | None, rows: Sequence[Encoded], packed: Pack | None
    ) -> Tensor:
        """[steps, members, 3] logits: from the steps' states, or from the hidden states of a pack."""
        if packed is not None:
            states = pool(self.above(states, packed), rows, packed, mean=self.head.states == 2)
        return self.head(states, figures)


class Fitting:
    """One training of `prm` on `train`, judged after every epoch: on `tuning`, which chooses the best and calibrates,
    and on `held_out`, which decides nothing. A row is an example, counted through all three."""

    def __init__(
        self,
        processes: PartialState,
        prm: PRM,
        config: PRMConfig,
        train: Sequence[Example],
        tuning: Sequence[Example],
        held_out: Sequence[Example],
        directory: Path,
        progress: ProgressCallback,
        resume: Resume | None = None,
        kept: KeptStates | None = None,
    ) -> None:
        """`directory` is where the cache goes; what `resume` holds of a former attempt is not done again, nor is what
        is `kept` of former trainings."""
        self.processes = processes
        self.prm, self.config, self.resume = prm, config, resume
        self.examples = [*train, *tuning, *held_out]
        self.train_rows = range(len(train))
        self.tuning_rows = range(len(train), len(train) + len(tuning))
        self.held_out_rows = range(len(train) + len(tuning), len(self.examples))
        self.judged_rows = range(len(train), len(self.examples))
        place = resume.directory if resume else directory
        self.frozen = Frozen(prm, self.examples, place, keep=bool(resume), kept=kept)
        self.model = Trained(prm)
        ratings = [taught(rating, config.neutral) for rating in CLASSES]
        self._taught = torch.tensor([_NOTHING if r is None else CLASSES.index(r) for r in ratings])
        self._weights = label_weights(config, self.examples, len(train))
        self._progress, self._done = progress, 0.0
        # One unit of work is one token through one layer, forward; the head counts as a layer, where it reads tokens.
        self._read = prm.split.layers if config.log_probs else prm.split.first
        self._above = _STEPS_COST if self.frozen.steps_only else config.trained_layers + 1
        per_epoch = self._tokens(self.train_rows) * _BACKWARD_COST + self._tokens(self.judged_rows)
        self._total = self._tokens(range(len(self.examples))) * self._read + (
            per_epoch * self._above * config.epochs
        )

    def run(self) -> tuple[Curve, Tensor, Tensor]:
        """The curve, and the [steps, members, 3] logits of the tuning and of the held-out labels, not calibrated."""
        self.frozen.fill(
            self._mine(range(len(self.examples))),
            self.config.batch_tokens,
            lambda rows: self._advance(rows, self._read, "reading the solutions through the frozen layers"),
        )
        steps_an_epoch = math.ceil(len(self.train_rows) / self.config.batch_solutions)
        optimiser, schedule = descent(self.model, self.config, steps_an_epoch * self.config.epochs)
        reached = Reached()
        if self.resume and (state := self._state_of(self.resume)):
            self.prm.load_trained(state["trained"])
            optimiser.load_state_dict(state["optimiser"])
            schedule.load_state_dict(state["schedule"])
            reached = Reached(**state["reached"])
        while reached.epoch < self.config.epochs and not self._has_waited(reached.waited):
            self._epoch(reached, optimiser, schedule)
            if self.resume and self.processes.is_main_process:
                self.resume.save(
                    trained=self.prm.trained(), optimiser=optimiser.state_dict(),
                    schedule=schedule.state_dict(), reached=vars(reached),
                )  # fmt: skip
        if self.config.patience and reached.kept:
            self.prm.load_trained(reached.kept)
        if self._done < self._total:  # it ended early
            self._progress(Progress(int(self._total), int(self._total), "judging on held-out labels"))
        tuning, held_out = self._parts(reached.logits)
        self._calibrate(*self._teaching(tuning, self.tuning_rows))
        return reached.curve, tuning, held_out

    def _calibrate(self, logits: Tensor, targets: Tensor) -> None:
        head = self.prm.head
        if self.config.calibration == "platt":
            temperature, offset = fit_platt(logits, targets)
            head.offset.copy_(offset)
        else:
            temperature = fit_temperature(logits, targets)
        head.temperature.fill_(temperature)

    def _state_of(self, resume: Resume) -> dict[str, Any] | None:
        """What a former attempt had reached: the first process's word, for it alone saves, perhaps on another host."""
        [state] = broadcast_object_list([resume.load()])
        return state

    def _has_waited(self, epochs: int) -> bool:
        return bool(self.config.patience) and epochs >= self.config.patience

    def _epoch(self, reached: Reached, optimiser: AdamW, schedule: LambdaLR) -> None:
        reached.epoch += 1
        order = random.Random(f"{self.config.seed}/{reached.epoch}").sample(
            self.train_rows, len(self.train_rows)
        )
        for start in range(0, len(order), self.config.batch_solutions):
            rows = order[start : start + self.config.batch_solutions]
            loss = self._accumulate(rows, f"training, epoch {reached.epoch} of {self.config.epochs}")
            self._require(math.isfinite(loss), reached)
            nn.utils.clip_grad_norm_(self.model.parameters(), _MAX_GRADIENT_NORM)
            optimiser.step()
            optimiser.zero_grad()
            schedule.step()
            reached.curve.append({"epoch": reached.epoch, "step": len(reached.curve) + 1, "loss": loss})
        logits, point = self._judge(), reached.curve[-1]
        self._require(bool(logits.isfinite().all()), reached)
        tuning, held_out = self._parts(logits)
        tuning, tuning_targets = self._teaching(tuning, self.tuning_rows)
        held_out, held_out_targets = self._teaching(held_out, self.held_out_rows)
        if len(held_out):
            point["held_out_nll"] = mean_nll(held_out, held_out_targets)
        if not (len(tuning) and self.config.patience):
            reached.logits = logits
            return
        nll = point["tuning_nll"] = mean_nll(tuning, tuning_targets)
        reached.waited += 1
        if nll < reached.best:
            reached.best, reached.waited, reached.logits = nll, 0, logits
            reached.kept = {k: v.detach().clone() for k, v in self.prm.trained().items()}

    def _require(self, finite: bool, reached: Reached) -> None:
        """Else TrainingRefused, in every process alike: all see the loss and the logits of all."""
        if not finite:
            raise TrainingRefused(
                f"the training diverged in epoch {reached.epoch} after step {len(reached.curve)}, with learning_rate "
                f"{self.config.learning_rate} and head_learning_rate {self.config.head_learning_rate}: lower them"
            )

    def _parts(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Those of the tuning labels, and those of the held-out ones."""
        border = sum(len(self.examples[row].targets) for row in self.tuning_rows)
        return logits[:border], logits[border:]

    def _accumulate(self, rows: Sequence[int], message: str) -> float:
        """Add up the gradient of the mean loss over the rows' labels; neither micro-batches nor processes change it."""
        total = sum(self._weights[row].sum().item() for row in rows)
        if total == 0:
            return 0.0
        loss = torch.zeros((), device=self.prm.device)
        for batch in self._batches(self._mine(rows)):
            with self._mixed_precision():
                logits = self._logits(batch).float()
            targets = self._targets(batch)[:, None].expand(logits.shape[:2]).to(logits.device)
            each = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
            weights = torch.cat([self._weights[row] for row in batch]).to(logits.device)
            part = (each * weights.flatten()).sum() / total
            part.backward()
            loss += part.detach()
            self._advance(batch, self._above * _BACKWARD_COST, message)
        return self._summed(loss).item()

    def _summed(self, loss: Tensor) -> Tensor:
        """The loss, and the gradients in place, over all processes; one without a row adds nothing."""
        if self.processes.num_processes == 1:
            return loss
        for parameter in self.model.parameters():
            if parameter.requires_grad:
                own = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                parameter.grad = reduce(own, "sum")
        return reduce(loss, "sum")

    def _mixed_precision(self) -> AbstractContextManager[Any]:
        if self.prm.device.type == "cuda":
            return torch.autocast("cuda", torch.bfloat16)
        return nullcontext()

    @torch.no_grad()
    def _judge(self) -> Tensor:
        found: dict[int, Tensor] = {}
        for rows in self._batches(self._mine(self.judged_rows)):
            counts = [len(self.examples[row].targets) for row in rows]
            found.update(zip(rows, self._logits(rows).float().cpu().split(counts), strict=True))
            self._advance(rows, self._above, "judging on held-out labels")
        everywhere = dict(gather_object(list(found.items())))
        return torch.cat([torch.empty(0, self.config.members, 3), *(everywhere[r] for r in self.judged_rows)])

    def _logits(self, rows: Sequence[int]) -> Tensor:
        encoded = [self.examples[row].encoded for row in rows]
        if self.frozen.steps_only:
            return self.model(self.frozen.states(rows), self.frozen.figures(rows), encoded, None)
        reading = self.frozen.reading(rows)
        return self.model(reading.hidden, reading.figures, encoded, reading.packed)

    def _targets(self, rows: Sequence[int]) -> Tensor:
        """The class that each label teaches, or _NOTHING."""
        return self._taught[[target for row in rows for target in self.examples[row].targets]]

    def _teaching(self, logits: Tensor, rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The logits and classes of those of the rows' labels that teach something."""
        targets = self._targets(rows)
        return logits[targets != _NOTHING], targets[targets != _NOTHING]

    def _mine(self, rows: Sequence[int]) -> list[int]:
        """This process's share."""
        n, own = self.processes.num_processes, self.processes.process_index
        return [row for row in rows if row % n == own]

    def _batches(self, rows: Sequence[int]) -> list[list[int]]:
        if self.frozen.steps_only:  # steps are few and small
            return [list(rows)] if rows else []
        ids = [self.examples[row].encoded.input_ids for row in rows]
        return [[rows[i] for i in batch] for batch in packs(ids, self.config.batch_tokens)]

    def _tokens(self, rows: Sequence[int]) -> int:
        return sum(len(self.examples[row].encoded) for row in rows)

    def _advance(self, rows: Sequence[int], cost: float, message: str) -> None:
        self._done += self._tokens(rows) * cost
        if rows:
            self._progress(Progress(int(self._done), int(self._total), message))


def probabilities_of(logits: Tensor, examples: Sequence[Example]) -> list[list[StepProbs]]:
    """A list for each example."""
    probs = iter(step_probs(logits))
    return [[next(probs) for _ in example.targets] for example in examples]
