"""Shared beginnings are computed once, and nothing about a score tells that they were."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaModel

from prm_backend.config import PRMConfig
from prm_backend.reward.likelihood import token_log_probs
from prm_backend.reward.packing import common_prefix, each_pack, pack, packs, use_packing
from prm_backend.reward.prm import PRM
from tests.tiny import tiny_model, tiny_tokenizer

# Few letters, so that rows begin alike by chance.
ROWS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def model():
    """Two heads share their keys, as in most of today's models: attention goes another way there."""
    config = LlamaConfig(
        vocab_size=8, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1,
    )  # fmt: skip
    model = LlamaModel(config).eval()
    use_packing(model)
    return model


def test_a_single_token_may_follow_a_shared_beginning(model) -> None:
    packed = pack([[1, 2, 3], [1, 2, 4]])
    with torch.inference_mode():
        found = model(
            input_ids=packed.ids, position_ids=packed.positions, pack=packed, use_cache=False
        ).last_hidden_state[0]
        alone = model(input_ids=torch.tensor([[1, 2, 4]]), use_cache=False).last_hidden_state[0]
    assert torch.allclose(found[packed.places[1]], alone, atol=1e-5)


@given(rows=ROWS)
@settings(max_examples=60)
def test_a_pack_computes_what_each_row_alone_would(model, rows: list[list[int]]) -> None:
    packed = pack(rows)
    with torch.inference_mode():
        found = model(
            input_ids=packed.ids, position_ids=packed.positions, pack=packed, use_cache=False
        ).last_hidden_state[0]
        for row, place in zip(rows, packed.places, strict=True):
            alone = model(input_ids=torch.tensor([row]), use_cache=False).last_hidden_state[0]
            assert torch.allclose(found[place], alone, atol=1e-5)


@given(rows=ROWS)
def test_a_pack_holds_every_prefix_once(rows: list[list[int]]) -> None:
    prefixes = {tuple(row[:n]) for row in rows for n in range(1, len(row) + 1)}
    assert len(pack(rows)) == len(prefixes)


@given(rows=ROWS, budget=st.integers(1, 60))
def test_packs_hold_every_row_once_and_keep_the_token_budget(rows: list[list[int]], budget: int) -> None:
    batches = list(packs(rows, budget))
    assert sorted(i for batch in batches for i in batch) == list(range(len(rows)))
    assert all(len(batch) == 1 or len(pack([rows[i] for i in batch])) <= budget for batch in batches)


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)))
def test_a_common_prefix_is_as_long_as_it_can_be(a: list[int], b: list[int]) -> None:
    n = common_prefix(a, b)
    assert a[:n] == b[:n]
    assert n == min(len(a), len(b)) or a[n] != b[n]


@given(
    solutions=st.lists(
        st.lists(st.sampled_from(["1 + 1 = 2.", "So it is 2.", "No, 3."]), min_size=1, max_size=4),
        min_size=1,
        max_size=6,
    ),
    budget=st.integers(1, 400),
)
@settings(max_examples=25)
def test_candidates_of_one_problem_score_together_as_one_by_one(
    solutions: list[list[str]], budget: int
) -> None:
    prm = PRM(tiny_model(), tiny_tokenizer(), PRMConfig(log_probs=True), batch_tokens=budget)
    torch.nn.init.normal_(prm.head.linear.weight, generator=torch.Generator().manual_seed(1))
    problem = "What is 1 + 1?"
    together = prm.score([problem] * len(solutions), solutions)
    for solution, found in zip(solutions, together, strict=True):
        (alone,) = prm.score([problem], [solution])
        assert found == [pytest.approx(probs, abs=1e-4) for probs in alone]


def test_where_memory_runs_out_the_budget_is_halved_and_the_rest_goes_on() -> None:
    rows = [[i] * 10 for i in range(8)]
    seen: list[int] = []

    def run(batch: list[int]) -> None:
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        seen.extend(batch)

    assert each_pack(rows, 80, run) == 20
    assert sorted(seen) == list(range(8))


def test_a_single_solution_that_does_not_fit_and_other_errors_are_raised() -> None:
    def run(error: Exception):
        def fail(batch: list[int]) -> None:
            raise error

        return fail

    with pytest.raises(torch.OutOfMemoryError):
        each_pack([[1], [2]], 1, run(torch.OutOfMemoryError("CUDA out of memory. Tried …")))
    with pytest.raises(RuntimeError, match="mistake"):
        each_pack([[1], [2]], 10, run(RuntimeError("a mistake")))


def test_the_likelihood_of_a_token_is_the_models_own() -> None:
    model = tiny_model()
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        hidden = model.model(ids).last_hidden_state[0, :-1]
        expected = torch.log_softmax(model(ids).logits[0, :-1], -1)[range(3), ids[0, 1:]]
        found = token_log_probs(hidden, ids[0, 1:], model.get_output_embeddings())
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_step_is_as_likely_as_its_tokens_on_average_at_the_least_and_at_the_last() -> None:
    model = tiny_model(layers=3)
    with torch.inference_mode():
        prm = PRM(model, tiny_tokenizer(), PRMConfig(depth=0.5, log_probs=True))
        rows = [prm.encode("1 + 1?", steps) for steps in (["It is 2.", "Yes."], ["It is 3."])]
        figures = prm.read(rows).figures
        ids = torch.tensor([rows[0].input_ids])
        log_probs = torch.log_softmax(model(ids).logits[0, :-1], -1)[range(len(rows[0]) - 1), ids[0, 1:]]
    assert figures.shape == (3, 3)
    for (start, stop), found in zip(rows[0].spans, figures, strict=False):
        own = log_probs[start - 1 : stop - 1]
        assert torch.allclose(found, torch.stack([own.mean(), own.min(), own[-1]]), atol=1e-4)
