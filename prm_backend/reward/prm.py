"""Our PRM: a causal backbone with a head over {-1, 0, +1}, read at the separator behind each step.

One forward pass scores a whole solution, and what several solutions begin with is computed once. Knows neither labels
nor losses; `training` fits what is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from prm_backend.config import PRMConfig
from prm_backend.reward.aggregation import numbers
from prm_backend.reward.base import fingerprint, load_base, locate
from prm_backend.reward.checkpoint import CheckpointRefused, Meta, read_meta, read_tensors
from prm_backend.reward.head import StepHead, pool, probabilities, spread
from prm_backend.reward.likelihood import require_plain_output, step_likelihoods
from prm_backend.reward.packing import Pack, pack
from prm_backend.reward.reader import scored_steps
from prm_backend.reward.split import Split
from prm_backend.text.encoding import Encoded, encode
from prm_backend.text.segmentation import require_same
from prm_backend.text.segmentation import segmentation as text_segmentation
from prm_backend.types import EVEN, NEWLINE, StepProbs, Unscorable


@dataclass(frozen=True)
class Reading:
    """What the frozen model makes of a pack: `hidden` [tokens, width] enters the trained layers, `figures` [steps, 3]
    says how likely each step was to it (None where the PRM does not look at that)."""

    packed: Pack
    hidden: Tensor
    figures: Tensor | None


class PRM:
    """A `StepScorer`. Not safe for two threads at once; `runtime` keeps one a process."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        config: PRMConfig,
        *,
        name: str = "untrained",
        batch_tokens: int = 16_384,
    ) -> None:
        """An untrained PRM on `model`, whose weights never change. `batch_tokens` bounds what one pass reads.

        Raises UnsupportedBackbone where the model's layers cannot be run in two parts, or, for log-probabilities, where
        it does more to its final states than one linear layer.
        """
        self.name = name
        self.threshold = EVEN  # the p(bad) above which a step is called wrong
        self.segmentation = text_segmentation(config.segmentation).name
        self.tokenizer = tokenizer
        limits = (getattr(model.config, name, None) for name in ("max_position_embeddings", "sliding_window"))
        self.max_length = min([config.max_length, *(limit for limit in limits if limit)])
        self.batch_tokens = batch_tokens
        self.config = config
        self.split = Split(model, config.trained_layers, config.depth)
        self.above = self.split.trainable_above(config.lora_rank)
        self.width = model.config.hidden_size
        self.head = StepHead(self.width, config).to(model.device)
        self.device = model.device
        self._output = model.get_output_embeddings()
        if config.log_probs:
            require_plain_output(model)

    @classmethod
    def load(
        cls,
        directory: str | Path,
        *,
        base: str | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> PRM:
        """The PRM in a checkpoint directory; `base` is where its base model lies now, should it have moved.

        Raises CheckpointRefused with the reason: another format or encoding, a base with other weights, damage.
        """
        directory = Path(directory)
        meta = read_meta(directory)
        path = _base_of(meta, base)
        model, tokenizer = load_base(path, device=device, dtype=dtype, adapter=meta.config.adapter)
        prm = cls(model, tokenizer, meta.config, name=directory.name)
        prm.load_trained(read_tensors(directory))
        prm.threshold = meta.threshold
        return prm

    def trained(self) -> dict[str, Tensor]:
        """The weights that training changes, by name; what a checkpoint holds."""
        learnt = {name for name, parameter in self.above.named_parameters() if parameter.requires_grad}
        above = {f"above.{k}": v for k, v in self.above.state_dict().items() if k in learnt}
        return above | {f"head.{k}": v for k, v in self.head.state_dict().items()}

    def load_trained(self, tensors: dict[str, Tensor]) -> None:
        """Take over the weights `trained` gave. CheckpointRefused where names or shapes differ."""
        missing = self.trained().keys() - tensors.keys() - {"head.temperature", "head.offset"}  # older ones
        if missing:
            raise CheckpointRefused(
                f"the checkpoint's weights do not fit its base model: {missing} are missing"
            )
        for part in ("above", "head"):
            own = {k.removeprefix(f"{part}."): v for k, v in tensors.items() if k.startswith(f"{part}.")}
            try:
                unknown = getattr(self, part).load_state_dict(own, strict=False).unexpected_keys
            except RuntimeError as error:
                raise CheckpointRefused(
                    f"the checkpoint's weights do not fit its base model: {error}"
                ) from None
            if unknown:
                raise CheckpointRefused(f"the checkpoint's weights do not fit its base model: {unknown}")

    def encode(self, problem: str, steps: Sequence[str]) -> Encoded | Unscorable:
        """The tokens this PRM reads; Unscorable where they are more than `max_length`."""
        return encode(self.tokenizer, problem, steps, self.max_length)

    def score(
        self,
        problems: Sequence[str],
        solutions: Sequence[Sequence[str]],
        *,
        segmentation: str = NEWLINE,
    ) -> list[list[StepProbs] | Unscorable]:
        """Score every step of `solutions[i]` for `problems[i]`; three float64 probabilities that sum to 1.

        Raises OtherSegmentation where the steps were cut otherwise than those it was trained on.
        """
        return [
            found if isinstance(found, Unscorable) else [probs for probs, _ in found]
            for found in self.score_with_spread(problems, solutions, segmentation=segmentation)
        ]

    def score_with_spread(
        self,
        problems: Sequence[str],
        solutions: Sequence[Sequence[str]],
        *,
        segmentation: str = NEWLINE,
    ) -> list[list[tuple[StepProbs, float]] | Unscorable]:
        """As `score`, each step's probabilities with how far the head's members are apart about p(bad)."""
        require_same(self.segmentation, segmentation)
        encoded = [self.encode(p, steps) for p, steps in zip(problems, solutions, strict=True)]

        def run(rows: list[Encoded]) -> Iterable[tuple[StepProbs, float]]:
            logits = self.logits(rows, self.read(rows))
            return zip(step_probs(logits), spread(logits).tolist(), strict=True)

        found, self.batch_tokens = scored_steps(encoded, self.batch_tokens, run)
        return [numbers(steps, lambda step: step[0]) for steps in found]

    def read(self, rows: Sequence[Encoded]) -> Reading:
        """One pass of the frozen layers over all rows together."""
        packed = pack([row.input_ids for row in rows], self.device)
        hidden = self.split.below(packed)
        if not self.config.log_probs:
            return Reading(packed, hidden, None)
        final = self.split.rest(hidden, packed)
        return Reading(packed, hidden, step_likelihoods(final, self._output, rows, packed))

    def states(self, rows: Sequence[Encoded], reading: Reading) -> Tensor:
        """[steps of all rows, 1 or 2, width]: what the head looks at, through the trained layers."""
        return pool(
            self.above(reading.hidden, reading.packed), rows, reading.packed, mean=self.config.step_mean
        )

    def logits(self, rows: Sequence[Encoded], reading: Reading) -> Tensor:
        """[steps of all rows, members, 3] logits over `CLASSES`."""
        return self.head(self.states(rows, reading), reading.figures)


def step_probs(logits: Tensor) -> list[StepProbs]:
    """The probabilities of `PRM.logits`, the members' mean."""
    return [StepProbs(*probs) for probs in probabilities(logits).tolist()]


def _base_of(meta: Meta, base: str | None) -> Path:
    """Where the checkpoint's base model lies: as recorded, or at `base`. CheckpointRefused where neither is it."""
    refusals = []
    for spec in dict.fromkeys([meta.base, base or meta.base]):
        try:
            path = locate(spec)
        except (OSError, ValueError) as error:
            refusals.append(str(error))
            continue
        if fingerprint(path) == meta.base_fingerprint:
            return path
        refusals.append(f"{spec} has other weights, another adapter or another tokenizer than it had then")
    raise CheckpointRefused(
        f"this PRM was trained on the base model {meta.base!r}, which is not to be had: {'; '.join(refusals)}. "
        "Give it back its base, or retrain"
    )
