"""Our PRM on a real, tiny model: one forward pass a solution, whatever the batch; refusals that say why."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    CohereConfig,
    CohereForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from prm_backend.config import PRMConfig
from prm_backend.reward.base import fingerprint, load_base, locate
from prm_backend.reward.packing import batches_by_length, pack
from prm_backend.reward.prm import PRM
from prm_backend.reward.split import Split, UnsupportedBackbone
from prm_backend.text.segmentation import OtherSegmentation
from prm_backend.types import StepProbs, Unscorable
from tests.tiny import tiny_model, tiny_model_dir, tiny_tokenizer

PROBLEMS = [
    "What is 1+1?",
    "Name the third prime.",
    "What is $2^5$, and why is it not 25, as one might think?",
]
SOLUTIONS = [
    ("1+1 is 2.", "So it is 2.\n\n# Answer\n\n2"),
    ("2, 3, 5.",),
    (
        "$2^5 = 2 \\cdot 2 \\cdot 2 \\cdot 2 \\cdot 2$.",
        "That is 32.",
        "25 is what one gets by misreading.",
        "32",
    ),
]


def random_prm(config: PRMConfig | None = None, batch_tokens: int = 4096) -> PRM:
    """A PRM whose head is not zero, as if it were trained."""
    prm = PRM(tiny_model(layers=3), tiny_tokenizer(), config or PRMConfig(), batch_tokens=batch_tokens)
    with torch.no_grad():
        generator = torch.Generator().manual_seed(1)
        prm.head.linear.weight.copy_(torch.randn(prm.head.linear.weight.shape, generator=generator))
    return prm


def flat(scored: list[list[StepProbs] | Unscorable]) -> list[float]:
    return [p for steps in scored if not isinstance(steps, Unscorable) for probs in steps for p in probs]


def test_every_step_gets_three_probabilities_that_sum_to_one() -> None:
    scored = random_prm().score(PROBLEMS, SOLUTIONS)
    assert [len(steps) for steps in scored] == [2, 1, 4]
    for steps in scored:
        assert all(math.isclose(sum(probs), 1, abs_tol=1e-12) for probs in steps)


def test_an_untrained_head_finds_every_rating_equally_likely() -> None:
    (steps,) = PRM(tiny_model(), tiny_tokenizer(), PRMConfig()).score(PROBLEMS[:1], SOLUTIONS[:1])
    assert steps == [pytest.approx((1 / 3, 1 / 3, 1 / 3))] * 2


@pytest.mark.parametrize("batch_tokens", [1, 100, 10_000])
def test_a_batch_scores_as_one_by_one(batch_tokens: int) -> None:
    alone = random_prm()
    expected = [alone.score([p], [s])[0] for p, s in zip(PROBLEMS, SOLUTIONS, strict=True)]
    together = random_prm(batch_tokens=batch_tokens).score(PROBLEMS, SOLUTIONS)
    assert flat(together) == pytest.approx(flat(expected), abs=1e-4)


SIZES: dict[str, Any] = {
    "vocab_size": 258, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": None,
    "eos_token_id": 1,
}  # fmt: skip


def test_a_window_of_attention_bounds_a_solution_and_not_a_batch() -> None:
    torch.manual_seed(0)
    model = MistralForCausalLM(MistralConfig(**SIZES, sliding_window=100)).eval()
    prm = PRM(model, tiny_tokenizer(), PRMConfig())
    with torch.no_grad():
        prm.head.linear.weight.normal_()
    fine = [(f"Step {i}.", "So it is 2.") for i in range(20)]
    *scored, long = prm.score(["What is 1+1?"] * 21, [*fine, ("x" * 120,)])
    assert long == Unscorable("the solution has 134 tokens, more than the 100 that fit")
    alone = [prm.score(["What is 1+1?"], [steps])[0] for steps in fine]
    assert flat(scored) == pytest.approx(flat(alone), abs=1e-4)


def test_a_model_that_scales_its_predictions_is_not_asked_for_log_probabilities() -> None:
    model = CohereForCausalLM(CohereConfig(**SIZES)).eval()
    with pytest.raises(UnsupportedBackbone, match="log_probs must be off"):
        PRM(model, tiny_tokenizer(), PRMConfig(log_probs=True))


def test_what_is_no_number_is_no_score() -> None:
    prm = random_prm()
    with torch.no_grad():
        prm.head.linear.bias[0] = math.nan
    assert prm.score(PROBLEMS, SOLUTIONS) == [Unscorable("the model gave no number for step 1")] * 3


def test_a_step_is_scored_by_what_stands_before_it_alone() -> None:
    prm = random_prm()
    whole = prm.score(PROBLEMS[2:], SOLUTIONS[2:])[0]
    for n in range(1, 5):
        prefix = prm.score(PROBLEMS[2:], [SOLUTIONS[2][:n]])[0]
        assert flat([prefix]) == pytest.approx(flat([whole[:n]]), abs=1e-5)


def test_each_step_is_read_at_its_last_token() -> None:
    prm = random_prm(PRMConfig(depth=1.0, step_mean=False, members=1))
    encoded = prm.encode(PROBLEMS[0], SOLUTIONS[0])
    with torch.no_grad():
        hidden = tiny_model(layers=3).model(torch.tensor([encoded.input_ids])).last_hidden_state[0]
        logits = prm.head(hidden[list(encoded.label_positions)][:, None], None)
        expected = torch.softmax(logits, dim=-1)
    assert flat(prm.score(PROBLEMS[:1], SOLUTIONS[:1])) == pytest.approx(
        expected.flatten().tolist(), abs=1e-5
    )


def test_a_solution_longer_than_the_context_is_marked_unscorable_and_the_others_are_scored() -> None:
    prm = random_prm(PRMConfig(max_length=64))
    short, long = prm.score(PROBLEMS[:2], [SOLUTIONS[0], ("2, 3, 5. " * 20,)])
    assert len(short) == 2
    assert isinstance(long, Unscorable)
    assert "more than the 64 that fit" in long.reason


def test_the_models_own_context_bounds_what_is_scored() -> None:
    prm = PRM(tiny_model(context=32), tiny_tokenizer(), PRMConfig(max_length=1024))
    assert isinstance(prm.score(PROBLEMS[2:], SOLUTIONS[2:])[0], Unscorable)


def test_a_solution_without_steps_is_marked_unscorable() -> None:
    assert isinstance(random_prm().score(["p"], [()])[0], Unscorable)


def test_nothing_to_score_gives_nothing() -> None:
    assert random_prm().score([], []) == []


def test_problems_and_solutions_of_different_number_are_refused() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        random_prm().score(PROBLEMS, SOLUTIONS[:1])


@given(st.lists(st.integers(1, 100), max_size=30), st.integers(1, 300))
@settings(max_examples=200)
def test_batches_hold_every_row_once_and_keep_the_token_budget(lengths: list[int], budget: int) -> None:
    batches = list(batches_by_length([[0] * length for length in lengths], budget))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget


def qwen() -> PreTrainedModel:
    config = Qwen2Config(
        vocab_size=258, hidden_size=16, intermediate_size=32, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1,
    )  # fmt: skip
    return Qwen2ForCausalLM(config).eval()


@pytest.mark.parametrize("make", [qwen, lambda: tiny_model(layers=3)])
@pytest.mark.parametrize("trained_layers", [0, 1, 3])
def test_a_backbone_cut_between_its_layers_computes_what_the_whole_does(make, trained_layers: int) -> None:
    model = make().requires_grad_(False)
    rows = [list(range(20)), [*range(10), *range(20, 30)]]
    with torch.no_grad():
        expected = [model.model(torch.tensor([row])).last_hidden_state[0] for row in rows]
        split = Split(model, trained_layers)
        packed = pack(rows)
        found = split.trainable_above()(split.below(packed), packed)
    assert len(packed) == 30
    for place, states in zip(packed.places, expected, strict=True):
        assert torch.allclose(found[place], states, atol=1e-5)


@pytest.mark.parametrize(("depth", "trained", "used"), [(0.5, 1, 2), (0.6, 1, 3), (1.0, 1, 4), (0.2, 3, 3)])
def test_the_layers_above_the_depth_are_not_run(depth: float, trained: int, used: int) -> None:
    model = tiny_model(layers=4)
    split = Split(model, trained, depth)
    assert (split.first, split.stop) == (used - trained, used)
    packed = pack([list(range(20))])
    with torch.no_grad():
        found = split.trainable_above()(split.below(packed), packed)
        states = [state[0] for state in model.model(packed.ids, output_hidden_states=True).hidden_states]
    # The last of a model's hidden states is normed already.
    expected = states[used] if used == 4 else model.model.norm(states[used])
    assert torch.allclose(found, expected, atol=1e-5)


def test_training_the_layers_above_leaves_the_base_model_as_it_was() -> None:
    model = tiny_model(layers=3)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    above = Split(model, 2).trainable_above()
    assert all(parameter.requires_grad for parameter in above.parameters())
    with torch.no_grad():
        for parameter in above.parameters():
            parameter.add_(1.0)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_a_backbone_that_does_more_between_its_layers_is_refused() -> None:
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2)).eval()
    with pytest.raises(UnsupportedBackbone, match="gpt2 cut between its layers computes something else"):
        Split(gpt2, 1)


def test_more_trained_layers_than_there_are_is_refused() -> None:
    with pytest.raises(UnsupportedBackbone, match="trained_layers is 9, but llama has 2 layers"):
        Split(tiny_model(layers=2), 9)


def test_weights_that_are_a_pickle_are_refused_unopened(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04not to be unpickled")
    with pytest.raises(ValueError, match="are not opened"):
        locate(str(tmp_path))


def test_a_base_that_is_not_there_says_what_to_set() -> None:
    with pytest.raises(FileNotFoundError, match="PRM_BASE"):
        locate("/nowhere/at/all")


def test_the_fingerprint_tells_other_weights_apart_and_a_copy_not(tmp_path: Path) -> None:
    one = tiny_model_dir(tmp_path / "one")
    copy = tiny_model_dir(tmp_path / "copy")
    other = tiny_model_dir(tmp_path / "other", seed=1)
    assert fingerprint(one) == fingerprint(copy) != fingerprint(other)


def test_an_adapter_inside_the_base_is_merged_in_and_changes_the_fingerprint(tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    base = tiny_model_dir(tmp_path / "base")
    plain, _ = load_base(base)
    bare = fingerprint(base)
    adapted = get_peft_model(load_base(base)[0], LoraConfig(r=2, target_modules=["q_proj"]))
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.fill_(0.1)
    adapted.save_pretrained(base / "adapter", safe_serialization=True)

    merged, _ = load_base(base)
    ids = torch.arange(10)[None]
    with torch.no_grad():
        assert torch.allclose(merged(ids).logits, adapted(ids).logits, atol=1e-5)
        assert not torch.allclose(merged(ids).logits, plain(ids).logits, atol=1e-5)
    assert fingerprint(base) != bare


def test_steps_cut_by_another_policy_are_refused_not_scored() -> None:
    prm = random_prm(PRMConfig(segmentation="sentences-1"))
    with pytest.raises(OtherSegmentation, match=r"cut by 'sentences-1', these were cut by 'newline-1'"):
        prm.score(PROBLEMS, SOLUTIONS)
    assert len(prm.score(PROBLEMS, SOLUTIONS, segmentation="sentences-1")) == len(PROBLEMS)
    with pytest.raises(OtherSegmentation):
        random_prm().score(PROBLEMS, SOLUTIONS, segmentation="sentences-1")


def test_a_policy_that_does_not_exist_is_refused_before_training() -> None:
    with pytest.raises(ValueError, match="there is no segmentation 'words-1'"):
        random_prm(PRMConfig(segmentation="words-1"))
