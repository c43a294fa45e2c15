"""Our PRM: a causal backbone with a head over {-1, 0, +1}, read at the last token of each step.

One forward pass scores a whole solution. Knows neither labels nor losses; `training` fits what is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from prm_backend.config import PRMConfig
from prm_backend.reward.base import fingerprint, load_base, locate
from prm_backend.reward.checkpoint import CheckpointRefused, Meta, read_meta, read_tensors
from prm_backend.reward.split import Split
from prm_backend.text.encoding import Encoded, encode
from prm_backend.text.segmentation import require_same
from prm_backend.text.segmentation import segmentation as text_segmentation
from prm_backend.types import NEWLINE, StepProbs, Unscorable

CLASSES = (-1, 0, 1)  # the head's outputs, in order: bad, okay, great


class StepHead(nn.Module):
    """Hidden state of a step's last token → three logits. Starts at zero: every class equally likely."""

    def __init__(self, width: int, norm: bool = True) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width) if norm else nn.Identity()
        self.linear = nn.Linear(width, len(CLASSES))
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.linear(self.norm(hidden.float()))


class PRM:
    """A `StepScorer`. Not safe for two threads at once; `runtime` keeps one a process."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        config: PRMConfig,
        *,
        name: str = "untrained",
        batch_tokens: int = 4096,
    ) -> None:
        """An untrained PRM on `model` (frozen, shared, never changed). `batch_tokens` bounds a batch, padding included.

        Raises UnsupportedBackbone where the model's layers cannot be run in two parts.
        """
        self.name = name
        self.segmentation = text_segmentation(config.segmentation).name
        self.tokenizer = tokenizer
        self.max_length = min(
            config.max_length, getattr(model.config, "max_position_embeddings", config.max_length)
        )
        self.batch_tokens = batch_tokens
        self.split = Split(model, config.trained_layers, config.depth)
        self.above = self.split.trainable_above()
        self.head = StepHead(model.config.hidden_size, config.head_norm).to(model.device)
        self.device = model.device

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
        model, tokenizer = load_base(path, device=device, dtype=dtype)
        prm = cls(model, tokenizer, meta.config, name=directory.name)
        prm.load_trained(read_tensors(directory))
        return prm

    def above_parameters(self) -> list[nn.Parameter]:
        """What is trained beside the head; none, not even the final norm, where only the head is."""
        return list(self.above.parameters()) if self.split.first < self.split.stop else []

    def trained(self) -> dict[str, Tensor]:
        """The weights that training changes, by name; what a checkpoint holds."""
        return {f"above.{k}": v for k, v in self.above.state_dict().items()} | {
            f"head.{k}": v for k, v in self.head.state_dict().items()
        }

    def load_trained(self, tensors: dict[str, Tensor]) -> None:
        """Take over the weights `trained` gave. CheckpointRefused where names or shapes differ."""
        for part in ("above", "head"):
            own = {k.removeprefix(f"{part}."): v for k, v in tensors.items() if k.startswith(f"{part}.")}
            try:
                getattr(self, part).load_state_dict(own)
            except RuntimeError as error:
                raise CheckpointRefused(
                    f"the checkpoint's weights do not fit its base model: {error}"
                ) from None

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
        require_same(self.segmentation, segmentation)
        encoded = [self.encode(p, steps) for p, steps in zip(problems, solutions, strict=True)]
        found: list[list[StepProbs] | Unscorable] = [e if isinstance(e, Unscorable) else [] for e in encoded]
        lengths = {i: len(e) for i, e in enumerate(encoded) if isinstance(e, Encoded)}
        for batch in batches_by_length(lengths, self.batch_tokens):
            rows = [e for i in batch if isinstance(e := encoded[i], Encoded)]
            with torch.inference_mode():
                logits = self.logits(rows, self.frozen(rows))
            for i, probs in zip(batch, step_probs(rows, logits), strict=True):
                found[i] = probs
        return found

    def frozen(self, rows: Sequence[Encoded]) -> Tensor:
        """[rows, tokens, width]: the hidden states below the trained layers, padded on the right."""
        longest = max(len(row) for row in rows)
        # Any id pads: under the causal mask no real token sees what stands to its right.
        ids = torch.zeros(len(rows), longest, dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row.input_ids)
        return self.split.below(ids.to(self.device))

    def logits(self, rows: Sequence[Encoded], hidden: Tensor) -> Tensor:
        """[steps of all rows, 3] logits over `CLASSES`, out of `frozen`'s hidden states."""
        where = [(i, position) for i, row in enumerate(rows) for position in row.label_positions]
        row_index, token_index = torch.tensor(where, device=self.device).T
        return self.head(self.above(hidden)[row_index, token_index])


def batches_by_length(lengths: dict[int, int], batch_tokens: int) -> Iterator[list[int]]:
    """Keys with similar lengths together, longest first, so that rows × longest stays within `batch_tokens`.

    A row longer than that makes a batch of its own.
    """
    batch: list[int] = []
    longest = 0
    for key in sorted(lengths, key=lambda k: (-lengths[k], k)):
        if batch and (len(batch) + 1) * longest > batch_tokens:
            yield batch
            batch = []
        longest = longest if batch else lengths[key]
        batch.append(key)
    if batch:
        yield batch


def step_probs(rows: Sequence[Encoded], logits: Tensor) -> list[list[StepProbs]]:
    """The softmax of `PRM.logits` in float64, a list for each row."""
    probs = iter(torch.softmax(logits.double(), dim=-1).tolist())
    return [[StepProbs(*next(probs)) for _ in row.label_positions] for row in rows]


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
