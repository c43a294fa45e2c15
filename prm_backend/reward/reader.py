"""A whole backbone's last hidden states at the ends of steps: in packs where the model allows, else padded.

What a published PRM's head looks at. Knows rows of tokens, no conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from prm_backend.products import pack_linears
from prm_backend.reward.head import pool
from prm_backend.reward.packing import batches_by_length, pack, packs
from prm_backend.reward.split import Split, UnsupportedBackbone
from prm_backend.text.encoding import Encoded


class StepReader:
    """Calls give [steps of all rows, width]. The model is only ever run from then on: a CPU's weights are packed."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.device = model.device
        self._backbone = model.base_model
        self._split = _whole(model)
        self.batches: Callable[[Sequence[Sequence[int]], int], Iterator[list[int]]] = (
            batches_by_length if self._split is None else packs
        )
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
