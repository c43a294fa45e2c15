"""Many solutions in one row of tokens, every shared beginning once. Knows attention, no steps.

Candidates of one problem share its text, and often their first steps. Sorted, each row adds to the pack only what the
row before it does not begin with, and attends to its own path through the pack: a prefix tree. Nothing is padded, so
the linear layers see each token once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

ATTENTION = "prefix_tree"

Span = tuple[int, int]  # from, to in the pack


@dataclass(frozen=True)
class Branch:
    """Tokens `start` to `stop` of the pack; they attend to the spans of `before`, and causally to themselves."""

    start: int
    stop: int
    before: tuple[Span, ...]


@dataclass(frozen=True)
class Pack:
    """`ids` and `positions` [1, tokens]; `places[i]` says where the tokens of the i-th row given lie in the pack."""

    ids: Tensor
    positions: Tensor
    places: tuple[Tensor, ...]
    branches: tuple[Branch, ...]
    _masks: dict[torch.dtype, tuple[Tensor | None, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def masks(self, dtype: torch.dtype) -> tuple[Tensor | None, ...]:
        """What each branch's tokens add to their scores; None for plain causal attention.

        Made once for all layers, in their own type: a mask of yes and no would be turned into one in each of them.
        """
        if dtype not in self._masks:
            self._masks[dtype] = tuple(_mask(branch, dtype, self.ids.device) for branch in self.branches)
        return self._masks[dtype]

    def __len__(self) -> int:
        return self.ids.shape[1]


def pack(rows: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Pack:
    """Pack token rows; each must have a token."""
    ids: list[int] = []
    positions: list[int] = []
    branches: list[Branch] = []
    places: list[Tensor] = [torch.empty(0, dtype=torch.long)] * len(rows)
    path: list[Span] = []
    former: Sequence[int] = ()
    for i in sorted(range(len(rows)), key=lambda i: tuple(rows[i])):
        row = rows[i]
        shared = common_prefix(former, row)
        path = _cut(path, shared)
        if len(row) > shared:
            start = len(ids)
            ids += row[shared:]
            positions += range(shared, len(row))
            branches.append(Branch(start, len(ids), tuple(path)))
            path = _joined(path, (start, len(ids)))
        places[i] = torch.cat([torch.arange(*span) for span in path])
        former = row
    return Pack(
        torch.tensor([ids], device=device),
        torch.tensor([positions], device=device),
        tuple(place.to(device) for place in places),
        tuple(branches),
    )


def packs(rows: Sequence[Sequence[int]], budget: int) -> Iterator[list[int]]:
    """Indices of rows that go into one pack of at most `budget` tokens; a longer row makes a pack of its own.

    Rows that begin alike stand together, so a beginning is repeated only where a new pack starts.
    """
    batch: list[int] = []
    tokens = 0
    for i in sorted(range(len(rows)), key=lambda i: tuple(rows[i])):
        new = len(rows[i]) - (common_prefix(rows[batch[-1]], rows[i]) if batch else 0)
        if batch and tokens + new > budget:
            yield batch
            batch, tokens, new = [], 0, len(rows[i])
        batch.append(i)
        tokens += new
    if batch:
        yield batch


def batches_by_length(rows: Sequence[Sequence[int]], budget: int) -> Iterator[list[int]]:
    """Indices of rows to be padded together: similar lengths, longest first, so that rows × longest is within `budget`.

    A row longer than that makes a batch of its own.
    """
    batch: list[int] = []
    for i in sorted(range(len(rows)), key=lambda i: -len(rows[i])):
        if batch and (len(batch) + 1) * len(rows[batch[0]]) > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def each_pack(
    rows: Sequence[Sequence[int]],
    budget: int,
    run: Callable[[list[int]], None],
    cut: Callable[[Sequence[Sequence[int]], int], Iterator[list[int]]] = packs,
) -> int:
    """Call `run` with the indices of each pack of token rows; where memory runs out, halve the budget and go on.

    Returns the budget that was kept to. What a single row runs into is raised.
    """
    waiting = list(range(len(rows)))
    while waiting:
        batch: list[int] = []
        done: set[int] = set()
        try:
            for picked in cut([rows[i] for i in waiting], budget):
                batch = [waiting[k] for k in picked]
                run(batch)
                done.update(batch)
        except Exception as error:
            if len(batch) == 1 or not should_reduce_batch_size(error):
                raise
            budget //= 2
        waiting = [i for i in waiting if i not in done]
        if waiting:
            clear_device_cache(
                garbage_collection=True
            )  # not while the error holds the frames that hold the memory
    return budget


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many leading tokens are equal."""
    length = min(len(a), len(b))
    # Slices compare in C; a bisection over them needs few.
    return bisect_left(range(1, length + 1), True, key=lambda n: a[:n] != b[:n])


def _cut(path: list[Span], length: int) -> list[Span]:
    """The first `length` tokens of a path."""
    ends = accumulate(stop - start for start, stop in path)
    cut = [(start, min(stop, stop - end + length)) for (start, stop), end in zip(path, ends, strict=True)]
    return [(start, stop) for start, stop in cut if stop > start]


def _joined(path: list[Span], span: Span) -> list[Span]:
    if path and path[-1][1] == span[0]:
        return [*path[:-1], (path[-1][0], span[1])]
    return [*path, span]


@torch.inference_mode(False)  # trained layers may use what frozen ones made
def _mask(branch: Branch, dtype: torch.dtype, device: torch.device) -> Tensor | None:
    if not branch.before:
        return None
    new = branch.stop - branch.start
    seen = new + sum(stop - start for start, stop in branch.before)
    return torch.full((new, seen), -torch.inf, dtype=dtype, device=device).triu_(seen - new + 1)


def use_packing(model: nn.Module) -> None:
    """Let the model's attention understand `pack=`; without it, rows stay causal and must not be padded on the left."""
    AttentionInterface.register(ATTENTION, _attention)
    model.set_attn_implementation(ATTENTION)  # type: ignore[operator]


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    pack: Pack | None = None,
    sliding_window: int | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """transformers' SDPA attention, or that of a pack; [1, heads, tokens, width] in."""
    if sliding_window is not None and query.shape[2] > sliding_window:
        raise ValueError(f"attention within a window of {sliding_window} tokens cannot be packed")
    if pack is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return attend(
        query, key, value, pack, scaling=options.get("scaling"), dropout=options.get("dropout", 0.0)
    ), None


def attend(
    query: Tensor, key: Tensor, value: Tensor, pack: Pack, *, scaling: float | None, dropout: float = 0.0
) -> Tensor:
    """[1, tokens, heads, width] attention of a pack, a branch after the other; [1, heads, tokens, width] in.

    Heads may share keys and values.
    """
    groups = query.shape[1] // key.shape[1]
    shared = query.device.type == "cpu"  # the GPU kernels that take a mask know no shared heads
    if groups > 1 and not shared:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    found = []
    for branch, mask in zip(pack.branches, pack.masks(query.dtype), strict=True):
        spans = (*branch.before, (branch.start, branch.stop))
        keys, values = (
            torch.cat([states[:, :, slice(*span)] for span in spans], 2) for states in (key, value)
        )
        own = F.scaled_dot_product_attention(
            query[:, :, branch.start : branch.stop],
            keys,
            values,
            attn_mask=mask,
            is_causal=mask is None,
            dropout_p=dropout,
            scale=scaling,
            enable_gqa=shared and groups > 1,
        )
        found.append(own.transpose(1, 2))
    return torch.cat(found, 1)
