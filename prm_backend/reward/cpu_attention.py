"""Attention of a pack on a CPU, without gradients, cut so that torch's kernel is fast. Knows packs, no layers.

The kernel takes its queries 32 at a time where there are fewer than 192, then 64, from 768 on 256: the more, the
faster. It skips nothing of a mask within 512 keys. So heads that share keys stand here as rows of one product, a
branch is cut into pieces of which each sees only what it may, and what a run of branches all see, a problem's text
above all, is one product for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from prm_backend.reward.packing import Branch, Pack, Path, along, causal, cut, length

_ROWS = 320  # of a piece: its tokens, each as often as heads share a key
_SHARED_KEYS, _SHARING_ROWS = 128, 768  # fewer are not worth a product of their own


@dataclass(frozen=True)
class Part:
    """Tokens `start` to `stop` of the pack attend to `path`: to all of it, or as `mask` [rows, keys] lets them."""

    start: int
    stop: int
    path: Path
    mask: Tensor | None = None


def attend(query: Tensor, key: Tensor, value: Tensor, pack: Pack, *, scaling: float | None) -> Tensor:
    """[tokens, heads × width] attention of a pack; [tokens, heads, width] in, where heads may share keys and values.

    The kernel tells the logarithm of what it divided by, so that what a token found in its run's path and what it found
    in its own add up to what it finds in both (Dao et al. 2022, FlashAttention, section 3.1).
    """
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    tokens, shared, width = key.shape
    groups = query.shape[1] // shared
    rows = query.reshape(tokens, shared, groups, width).transpose(0, 1).reshape(1, shared, -1, width)
    keys, values = (states.transpose(0, 1)[None].contiguous() for states in (key, value))
    found = query.new_empty(tokens, shared, groups, width)
    total = query.new_empty(shared, tokens, groups)

    def look(part: Part) -> tuple[Tensor, Tensor]:
        own = rows[:, :, groups * part.start : groups * part.stop]
        seen, log = flash(own, *along(part.path, keys, values), attn_mask=part.mask, scale=scaling)
        return seen.reshape(shared, -1, groups, width).transpose(0, 1), log.reshape(shared, -1, groups)

    pieces, runs = pack.once(("cpu", groups), lambda: _plan(pack.branches, groups))
    for piece in pieces:
        here = slice(piece.start, piece.stop)
        found[here], total[:, here] = look(piece)
    for run in runs:
        here = slice(run.start, run.stop)
        more, log = look(run)
        found[here].lerp_(more, torch.sigmoid(log - total[:, here]).transpose(0, 1)[..., None])
        total[:, here] = torch.logaddexp(total[:, here], log)
    return found.flatten(1)


def _plan(branches: Sequence[Branch], groups: int) -> tuple[list[Part], list[Part]]:
    """The pieces of all branches, and the runs."""
    runs, done = _runs(branches, groups)
    pieces = []
    for branch, shared in zip(branches, done, strict=True):
        before = cut(branch.before, shared, length(branch.before))
        path = (*before, (branch.start, branch.stop))
        known, new = length(before), branch.stop - branch.start
        parts = min(new, max(1, round(new * groups / _ROWS)))
        for start, stop in pairwise(new * i // parts for i in range(parts + 1)):
            # A single token sees all of its path.
            mask = (
                None if stop - start == 1 else causal(stop - start, known + stop).repeat_interleave(groups, 0)
            )
            pieces.append(Part(branch.start + start, branch.start + stop, cut(path, 0, known + stop), mask))
    return pieces, runs


def _runs(branches: Sequence[Branch], groups: int) -> tuple[list[Part], list[int]]:
    """What several branches all attend to, and how many leading tokens of each branch's path that sees to.

    What branches share is how their paths begin, and those that share one stand side by side.
    """
    runs: list[Part] = []
    seen = [0] * len(branches)
    # Both begin the path of the first row, since rows come sorted.
    common = [min(length(a.before), length(b.before)) for a, b in pairwise(branches)]
    waiting = [(0, len(branches))]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        least, done = min(common[first : last - 1]), seen[first]
        start, stop = branches[first].start, branches[last - 1].stop
        if least - done >= _SHARED_KEYS and (stop - start) * groups >= _SHARING_ROWS:
            runs.append(Part(start, stop, cut(branches[first].before, done, least)))
            seen[first:last] = [least] * (last - first)
        waiting += pairwise([first, *(i + 1 for i in range(first, last - 1) if common[i] == least), last])
    return runs, seen
