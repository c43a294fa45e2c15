"""However a pack's attention is cut for the CPU, every token finds what it would alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from prm_backend.reward import cpu_attention
from prm_backend.reward.packing import attend, length, pack

# Few letters, so that rows begin alike by chance, and paths share more than one beginning.
ROWS = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=30), min_size=1, max_size=8)
HEADS = [(4, 4), (6, 2), (3, 1)]  # of queries, and of what they share


@pytest.mark.parametrize("heads", HEADS)
@given(rows=ROWS, piece=st.integers(1, 40), keys=st.integers(1, 6), sharing=st.integers(1, 20))
@settings(max_examples=40)
def test_pieces_and_runs_find_what_branches_do(
    heads: tuple[int, int], rows: list[list[int]], piece: int, keys: int, sharing: int
) -> None:
    packed = pack(rows)
    query, key, value = torch.randn(len(packed), heads[0] + 2 * heads[1], 8).split(
        (heads[0], heads[1], heads[1]), 1
    )
    with pytest.MonkeyPatch.context() as small:
        small.setattr(cpu_attention, "_ROWS", piece)
        small.setattr(cpu_attention, "_SHARED_KEYS", keys)
        small.setattr(cpu_attention, "_SHARING_ROWS", sharing)
        found = cpu_attention.attend(query, key, value, packed, scaling=0.3)
    states = (each.transpose(0, 1)[None] for each in (query, key, value))
    expected = attend(*states, packed, scaling=0.3)[0].flatten(1)
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_long_text_is_seen_by_all_its_solutions_at_once() -> None:
    """Two problems, and of the first two solutions that share their first step."""
    text, other, step = list(range(10, 210)), list(range(500, 700)), [1] * 150
    rows = [[*text, *step, n, *[2] * 300] for n in (3, 4)]
    rows += [[*text, n, *[2] * 300] for n in (5, 6)] + [[*other, n, *[2] * 300] for n in (7, 8, 9)]
    _, runs = cpu_attention._plan(pack(rows).branches, groups=3)
    # The first solution of a problem stands in the pack right behind the text, and takes no part.
    assert sorted(length(run.path) for run in runs) == [200, 200]
    assert all(run.stop - run.start >= 2 * 301 for run in runs)
