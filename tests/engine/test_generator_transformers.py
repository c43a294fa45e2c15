"""The transformers generator, on tiny real models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from prm_backend.generators.draw import draw
from prm_backend.generators.transformers_generator import TransformersGenerator
from prm_backend.types import Cancelled, Progress, Sampling
from tests.tiny import tiny_model, tiny_model_dir, tiny_tokenizer

SHORT = Sampling(max_new_tokens=24)
GREEDY = Sampling(temperature=0, max_new_tokens=150, prompt_template="{problem}")
SOLUTION = "First $1 + 2 = 3$.\nSo it is 3.\n\n# Answer\n\n3\nand on and on"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model_dir(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def generator(directory: Path) -> TransformersGenerator:
    return TransformersGenerator.load(directory)


@pytest.fixture(scope="module")
def parrot() -> TransformersGenerator:
    """A tiny model trained to say `SOLUTION` after "Q: ", and to end a text after "bye"."""
    tokenizer, model = tiny_tokenizer(), tiny_model(hidden=64).train()
    texts = [tokenizer("Q: " + SOLUTION).input_ids, [*tokenizer("R: bye").input_ids, tokenizer.eos_token_id]]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(150):
        loss = sum(model(input_ids=ids, labels=ids).loss for ids in (torch.tensor([text]) for text in texts))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return TransformersGenerator(model, tokenizer, name="parrot")


def test_every_problem_gets_n_samples_in_its_own_place(generator: TransformersGenerator) -> None:
    samples = generator.sample(["one", "a much longer problem", "two"], n=4, sampling=SHORT, seed=0)
    assert [len(found) for found in samples] == [4, 4, 4]


def test_the_same_seed_draws_the_same_samples_and_another_draws_others(
    generator: TransformersGenerator,
) -> None:
    draws = [generator.sample(["one", "two"], n=3, sampling=SHORT, seed=seed) for seed in (1, 1, 2)]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]


def test_sampling_leaves_the_global_random_state_alone(generator: TransformersGenerator) -> None:
    before = torch.get_rng_state()
    generator.sample(["one"], n=2, sampling=SHORT, seed=3)
    assert torch.equal(before, torch.get_rng_state())


def test_at_temperature_0_a_batch_writes_what_transformers_writes_for_each_prompt_alone(
    generator: TransformersGenerator,
) -> None:
    # Long enough for the cache to outgrow its first block more than once.
    prompts = ["z", "What is 3 + 4? Think.", "Maya has 12 apples and gives 5 of them away."]
    sampled = generator.sample(prompts, n=2, sampling=GREEDY, seed=0)
    model, tokenizer = generator._model, generator._tokenizer
    for prompt, found in zip(prompts, sampled, strict=True):
        ids = torch.tensor([tokenizer(prompt).input_ids])
        whole = model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=150, do_sample=False
        )
        alone = tokenizer.decode(whole[0, ids.shape[1] :], skip_special_tokens=True)
        assert [sample.text for sample in found] == [alone.replace("\0", "\ufffd").rstrip()] * 2


def test_a_sample_stops_once_its_answer_stands(parrot: TransformersGenerator) -> None:
    sampling = Sampling(temperature=0, prompt_template="{problem}")
    [[found]] = parrot.sample(["Q: "], n=1, sampling=sampling, seed=0)
    assert found.text == SOLUTION.removesuffix("\nand on and on")
    assert found.steps == ("First $1 + 2 = 3$.", "So it is 3.\n\n# Answer\n\n3")
    assert found.answer == "3"
    assert not found.truncated
    assert found.n_tokens == len(SOLUTION) - len("and on and on")


def test_a_row_that_ends_early_leaves_the_others_as_they_were(parrot: TransformersGenerator) -> None:
    sampling = Sampling(temperature=0, prompt_template="{problem}")
    [[solution], [bye]] = parrot.sample(["Q: ", "R: "], n=1, sampling=sampling, seed=0)
    assert bye.text == "bye"
    assert not bye.truncated
    assert bye.answer is None
    assert solution.answer == "3"


def test_samples_that_read_alike_cost_one_line_until_they_part(
    generator: TransformersGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[int] = []
    forward = generator._forward

    def counted(ids: torch.Tensor, mask: torch.Tensor, cache: Any) -> torch.Tensor:
        lines.append(len(ids))
        return forward(ids, mask, cache)

    monkeypatch.setattr(generator, "_forward", counted)
    generator.sample(["a", "b"], n=4, sampling=Sampling(temperature=0, max_new_tokens=6), seed=1)
    assert lines == [2] * 6
    lines.clear()
    generator.sample(["a", "b"], n=4, sampling=Sampling(max_new_tokens=6), seed=1)
    assert lines[0] == 2
    assert lines == sorted(lines)
    assert lines[-1] == 8  # bytes of noise


def test_a_sample_that_meets_the_limit_is_marked_truncated(parrot: TransformersGenerator) -> None:
    sampling = Sampling(temperature=0, max_new_tokens=10, prompt_template="{problem}")
    [[found]] = parrot.sample(["Q: "], n=1, sampling=sampling, seed=0)
    assert found.truncated
    assert found.n_tokens == 10
    assert found.text == SOLUTION[:10].rstrip()


def test_no_sample_goes_past_the_context() -> None:
    generator = TransformersGenerator(tiny_model(context=40), tiny_tokenizer(40), name="short")
    [near, far] = generator.sample(["x" * 30, "x" * 10], n=8, sampling=Sampling(), seed=0)
    assert max(sample.n_tokens for sample in near) == 40 - 31
    assert max(sample.n_tokens for sample in far) == 40 - 11


def test_a_prompt_that_fills_the_context_is_refused_by_name() -> None:
    generator = TransformersGenerator(tiny_model(context=40), tiny_tokenizer(40), name="short")
    with pytest.raises(ValueError, match=r"46 tokens .* context of 40: 'yyyy"):
        generator.sample(["fine", "y" * 45], n=1, sampling=Sampling(), seed=0)


def test_a_small_token_budget_makes_more_batches_and_the_progress_tells() -> None:
    seen: list[Progress] = []
    generator = TransformersGenerator(tiny_model(), tiny_tokenizer(), name="tiny", batch_tokens=64)
    samples = generator.sample(["a", "bb", "ccc"], n=3, sampling=SHORT, seed=0, progress=seen.append)
    assert [len(found) for found in samples] == [3, 3, 3]
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert done[-1] == 9
    assert len(done) > 9  # after every token, not only after every batch
    assert {progress.total for progress in seen} == {9}


def test_a_progress_callback_can_cancel(generator: TransformersGenerator) -> None:
    def cancel(progress: Progress) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        generator.sample(["one"], n=1, sampling=SHORT, seed=0, progress=cancel)


def test_top_p_keeps_the_smallest_set_of_tokens_that_holds_the_share() -> None:
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().repeat(4000, 1)
    random = torch.Generator().manual_seed(0)
    drawn = draw(logits, Sampling(temperature=1, top_p=0.7), random)
    assert set(drawn.tolist()) == {0, 1}
    assert (drawn == 0).float().mean().item() == pytest.approx(0.625, abs=0.03)


def test_a_token_without_probability_is_never_drawn() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]]).repeat(100_000, 1)
    drawn = draw(logits, Sampling(temperature=1), torch.Generator().manual_seed(0))
    assert set(drawn.tolist()) == {1, 3}


def test_a_temperature_below_1_sharpens_the_distribution() -> None:
    logits = torch.tensor([[0.6, 0.4]]).log().repeat(4000, 1)
    drawn = draw(logits, Sampling(temperature=0.5), torch.Generator().manual_seed(0))
    assert (drawn == 0).float().mean().item() == pytest.approx(0.36 / 0.52, abs=0.03)


def test_an_adapter_changes_what_is_written_and_the_name(directory: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(directory)
    config = LoraConfig(r=2, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    get_peft_model(model, config).save_pretrained(tmp_path / "adapter")
    # A random adapter of the usual size hardly stirs so small a model: make it loud.
    weights = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    loud = {name: tensor * 10 for name, tensor in weights.items()}
    save_file(loud, tmp_path / "adapter" / "adapter_model.safetensors", metadata={"format": "pt"})
    plain = TransformersGenerator.load(directory)
    adapted = TransformersGenerator.load(directory, tmp_path / "adapter")
    assert plain.name == "tiny"
    assert adapted.name.startswith("tiny+")
    one, other = (g.sample(["one"], n=4, sampling=SHORT, seed=0) for g in (plain, adapted))
    assert one != other


def test_an_adapter_that_is_not_there_is_named(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"adapter_model\.safetensors"):
        TransformersGenerator.load(directory, tmp_path)


# Next steps


def test_next_steps_go_on_from_those_before_and_stop_at_the_steps_end(
    parrot: TransformersGenerator,
) -> None:
    sampling = Sampling(temperature=0, prompt_template="{problem}")
    [first] = parrot.next_steps("Q: ", [], n=3, sampling=sampling, seed=0)
    assert first == "First $1 + 2 = 3$."
    [last] = parrot.next_steps("Q: ", [first], n=3, sampling=sampling, seed=0)
    assert last == "So it is 3.\n\n# Answer\n\n3"


def test_next_steps_are_distinct_and_the_same_for_the_same_seed(generator: TransformersGenerator) -> None:
    sampling = Sampling(max_new_tokens=400)
    found = [generator.next_steps("one", ["two"], n=4, sampling=sampling, seed=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    for steps in found:
        assert 0 < len({" ".join(step.split()) for step in steps}) == len(steps) <= 4
        assert all(step.strip() == step != "" for step in steps)


def test_a_next_step_that_ran_into_the_limit_is_dropped(parrot: TransformersGenerator) -> None:
    sampling = Sampling(temperature=0, max_new_tokens=5, prompt_template="{problem}")
    assert parrot.next_steps("Q: ", [], n=2, sampling=sampling, seed=0) == []


def test_steps_that_fill_the_context_are_refused(generator: TransformersGenerator) -> None:
    with pytest.raises(ValueError, match="can't be continued"):
        generator.next_steps("one", ["x" * 600], n=1, sampling=Sampling(), seed=0)
