"""Many solutions in one row of tokens, every shared beginning once. Knows attention, no steps.

Candidates of one problem share its text, and often their first steps. Sorted, each row adds to the pack only what the
row before it does not begin with, and attends to its own path through the pack: a prefix tree. Nothing is padded, so
the linear layers see each token once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeVar

import torch
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

ATTENTION = "prefix_tree"

Path = tuple[tuple[int, int], ...]  # spans, each from and to in the pack
T = TypeVar("T")


@dataclass(frozen=True)
class Branch:
    """Tokens `start` to `stop` of the pack; they attend to the spans of `before`, and causally to themselves."""

    start: int
    stop: int
    before: Path


@dataclass(frozen=True)
class Pack:
    """`ids` and `positions` [1, tokens]; `places[i]` says where the tokens of the i-th row given lie in the pack."""

    ids: Tensor
    positions: Tensor
    places: tuple[Tensor, ...]
    branches: tuple[Branch, ...]
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once for all layers of a pass."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def __len__(self) -> int:
        return self.ids.shape[1]


def pack(rows: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Pack:
    """Pack token rows; each must have a token."""
    ids: list[int] = []
    positions: list[int] = []
    branches: list[Branch] = []
    places: list[Tensor] = [torch.empty(0, dtype=torch.long)] * len(rows)
    path: Path = ()
    former: Sequence[int] = ()
    for i in sorted(range(len(rows)), key=lambda i: tuple(rows[i])):
        row = rows[i]
        shared = common_prefix(former, row)
        path = cut(path, 0, shared)
        if len(row) > shared:
            start = len(ids)
            ids += row[shared:]
            positions += range(shared, len(row))
            branches.append(Branch(start, len(ids), path))
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


def cut(path: Path, start: int, stop: int) -> Path:
    """The tokens of a path from its `start`-th to before its `stop`-th."""
    ends = accumulate(last - first for first, last in path)
    spans = (
        (max(first, last - end + start), min(last, last - end + stop))
        for (first, last), end in zip(path, ends, strict=True)
    )
    return tuple((first, last) for first, last in spans if last > first)


def length(path: Path) -> int:
    """Its tokens."""
    return sum(stop - start for start, stop in path)


def _joined(path: Path, span: tuple[int, int]) -> Path:
    if path and path[-1][1] == span[0]:
        return *path[:-1], (path[-1][0], span[1])
    return *path, span


@torch.inference_mode(False)  # trained layers may use what frozen ones made
def _mask(branch: Branch, dtype: torch.dtype, device: torch.device) -> Tensor | None:
    """What a branch's tokens add to their scores; None for plain causal attention."""
    if not branch.before:
        return None
    new = branch.stop - branch.start
    return causal(new, new + length(branch.before), dtype, device)


def causal(
    new: int, seen: int, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> Tensor:
    """[new, seen]: what tokens add to their scores, where the last `new` of the `seen` ones are themselves."""
    return torch.full((new, seen), -torch.inf, dtype=dtype, device=device).triu_(seen - new + 1)


def along(path: Path, *states: Tensor) -> list[Tensor]:
    """The tokens of a path, of each of the states; [1, heads, tokens, width] in and out."""
    return [torch.cat([each[:, :, slice(*span)] for span in path], 2) for each in states]


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
    if pack is None:
        _require_within(sliding_window, query.shape[2])
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    _require_within(sliding_window, pack.once("longest", lambda: int(pack.positions.max()) + 1))
    return attend(
        query, key, value, pack, scaling=options.get("scaling"), dropout=options.get("dropout", 0.0)
    ), None


def _require_within(window: int | None, longest: int) -> None:
    if window is not None and longest > window:
        raise ValueError(
            f"a row of {longest} tokens is longer than its model's window of attention, {window}"
        )


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
    # In their own type: a mask of yes and no would be turned into one in each layer.
    masks = pack.once(query.dtype, lambda: [_mask(b, query.dtype, query.device) for b in pack.branches])
    found = []
    for branch, mask in zip(pack.branches, masks, strict=True):
        path = (*branch.before, (branch.start, branch.stop))
        keys, values = along(path, key, value)
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
