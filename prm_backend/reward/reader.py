"""Reads laid-out solutions a batch at a time, and a whole backbone's last hidden states at the ends of their steps.

In packs where the model allows, else padded. Knows rows of tokens, no conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from prm_backend.products import pack_linears
from prm_backend.reward.head import pool
from prm_backend.reward.packing import batches_by_length, each_pack, pack, packs
from prm_backend.reward.split import Split, UnsupportedBackbone
from prm_backend.text.encoding import Encoded
from prm_backend.types import Unscorable

T = TypeVar("T")
Cut = Callable[[Sequence[Sequence[int]], int], Iterator[list[int]]]


def scored_steps(
    encoded: Sequence[Encoded | Unscorable],
    budget: int,
    run: Callable[[list[Encoded]], Iterable[T]],
    cut: Cut = packs,
) -> tuple[list[list[T] | Unscorable], int]:
    """What `run` says of every step of each solution, in their order, and the token budget that was kept to.

    `run` is given a batch as `cut` cuts it, and gives one thing a step, row after row. See `each_pack` for memory.
    """
    found: list[list[T] | Unscorable] = [e if isinstance(e, Unscorable) else [] for e in encoded]
    scorable = [(i, e) for i, e in enumerate(encoded) if isinstance(e, Encoded)]

    @torch.inference_mode()
    def fill(batch: list[int]) -> None:
        rows = [scorable[k] for k in batch]
        each = iter(run([row for _, row in rows]))
        for i, row in rows:
            found[i] = [next(each) for _ in row.label_positions]

    return found, each_pack([row.input_ids for _, row in scorable], budget, fill, cut)


class StepReader:
    """Calls give [steps of all rows, width]. The model is only ever run from then on: a CPU's weights are packed."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.device = model.device
        self._backbone = model.base_model
        self._split = _whole(model)
        self.batches: Cut = batches_by_length if self._split is None else packs
        pack_linears(model)

    @torch.inference_mode()
    def __call__(self, rows: Sequence[Encoded]) -> Tensor:
        if self._split is not None:
            packed = pack([row.input_ids for row in rows], self.device)
            return pool(self._split.rest(self._split.below(packed), packed), rows, packed, mean=False)[:, 0]
        ids = nn.utils.rnn.pad_sequence([torch.tensor(row.input_ids) for row in rows], batch_first=True)
        mask = nn.utils.rnn.pad_sequence(
            [torch.ones(len(row), dtype=torch.long) for row in rows], batch_first=True
        )
        hidden = self._backbone(
            input_ids=ids.to(self.device), attention_mask=mask.to(self.device), use_cache=False
        ).last_hidden_state
        return torch.cat([own[list(row.label_positions)] for own, row in zip(hidden, rows, strict=True)])


def _whole(model: PreTrainedModel) -> Split | None:
    """The model as one that reads packs; None where it cannot: a pack knows no window of attention, for one."""
    if getattr(model.config, "sliding_window", None):
        return None
    as_it_was = model.config._attn_implementation
    try:
        return Split(model, 0, lean=False)
    except UnsupportedBackbone:
        model.set_attn_implementation(as_it_was)
        return None
