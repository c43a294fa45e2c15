"""Trains the starter adapter (`make starter`): a LoRA on procedural problems that teaches the default model to
write one step a line and to end in a `# Answer` block, as Lightman et al. did for their generator (section 2.3).

Same seed, same machine, same threads: same adapter. Measures nothing; `evaluate.py` does.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from peft.utils import get_peft_model_state_dict
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.generators.starter import ADAPTER_DIR
from prm_backend.generators.starter.problems import TRAINING_SEED, StarterProblem, make_problems
from prm_backend.text.steps import join_steps
from prm_backend.types import Progress, ProgressCallback, Sampling, silent

BASE_NAME = "SmolLM2-135M-Instruct"
LINEAR_LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@dataclass(frozen=True)
class StarterConfig:
    """How the adapter is trained. Layers below `first_layer` are untouched, so no gradient goes through them."""

    problems: int = 1200
    batch: int = 4
    rank: int = 16
    first_layer: int = 10
    learning_rate: float = 1e-3
    warmup_steps: int = 20
    seed: int = TRAINING_SEED


@dataclass(frozen=True)
class Example:
    """Token ids of prompt, solution and end-of-text; the loss is on those from `prompt_length` on."""

    ids: tuple[int, ...]
    prompt_length: int


def train_starter(
    base: Path, output: Path, config: StarterConfig, progress: ProgressCallback = silent
) -> list[float]:
    """Train the adapter on the model in directory `base`, write it to `output`; return the loss (nats a token)
    of every step."""
    torch.manual_seed(config.seed)
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = _with_adapter(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), config)
    examples = [encode_example(tokenizer, p) for p in make_problems(config.problems, config.seed)]
    batches = list(length_sorted_batches(examples, config.batch, Random(config.seed)))
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=config.learning_rate, betas=(0.9, 0.99), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: _rate(step, config.warmup_steps, len(batches))
    )
    losses: list[float] = []
    for number, batch in enumerate(batches, 1):
        loss = solution_loss(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        progress(Progress(number, len(batches), f"loss {losses[-1]:.3f}"))
    save_adapter(model, output)
    return losses


def encode_example(tokenizer: PreTrainedTokenizerBase, problem: StarterProblem) -> Example:
    """Prompt and solution are tokenised apart, exactly as a sampled solution follows its prompt."""
    prompt = Sampling().prompt(problem.problem)
    prompt_ids = tokenizer(prompt, add_special_tokens=False).input_ids
    solution_ids = tokenizer(join_steps(problem.solution_steps), add_special_tokens=False).input_ids
    return Example((*prompt_ids, *solution_ids, tokenizer.eos_token_id), len(prompt_ids))


def length_sorted_batches(examples: list[Example], size: int, rng: Random) -> Iterator[list[Example]]:
    """Batches of like lengths in random order: sorting within large random pools keeps padding small."""
    examples = rng.sample(examples, len(examples))
    pool = 16 * size
    batches = []
    for start in range(0, len(examples), pool):
        ordered = sorted(examples[start : start + pool], key=lambda example: len(example.ids))
        batches += [ordered[i : i + size] for i in range(0, len(ordered), size)]
    rng.shuffle(batches)
    return iter(batches)


def solution_loss(model: Any, batch: list[Example]) -> torch.Tensor:
    """Mean cross-entropy (nats) over the solutions' tokens; the vocabulary head runs on those positions alone."""
    longest = max(len(example.ids) for example in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    supervised = torch.zeros(len(batch), longest, dtype=torch.bool)
    for row, example in enumerate(batch):
        ids[row, : len(example.ids)] = torch.tensor(example.ids)
        supervised[row, example.prompt_length : len(example.ids)] = True
    causal = model.get_base_model()
    # Padding stands on the right, where a causal model never looks from a real token, so it needs no mask.
    hidden = causal.model(input_ids=ids).last_hidden_state
    logits = causal.lm_head(hidden[:, :-1][supervised[:, 1:]])
    return cross_entropy(logits.float(), ids[:, 1:][supervised[:, 1:]])


def save_adapter(model: Any, directory: Path) -> None:
    """Write the adapter as bfloat16 safetensors beside its configuration, each file at once."""
    directory.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.to(torch.bfloat16).contiguous()
        for name, tensor in get_peft_model_state_dict(model).items()
    }
    partial = directory / "adapter_model.safetensors.partial"
    save_file(weights, partial, metadata={"format": "pt"})
    os.replace(partial, directory / "adapter_model.safetensors")
    config = model.peft_config["default"]
    config.base_model_name_or_path = BASE_NAME  # where it lay on this machine is nobody's business
    config.inference_mode = True
    config.target_modules = sorted(config.target_modules)
    config.save_pretrained(directory)


def _with_adapter(model: Any, config: StarterConfig) -> Any:
    layers = model.config.num_hidden_layers
    return get_peft_model(
        model,
        LoraConfig(
            r=config.rank,
            lora_alpha=2 * config.rank,
            target_modules=LINEAR_LAYERS,
            layers_to_transform=list(range(min(config.first_layer, layers - 1), layers)),
            task_type="CAUSAL_LM",
        ),
    )


def _rate(step: int, warmup: int, total: int) -> float:
    """Linear warm-up, then half a cosine down to a twentieth."""
    if step < warmup:
        return (step + 1) / warmup
    share = min(1.0, (step - warmup) / max(1, total - warmup))
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * share))


def print_progress(every: int = 10) -> ProgressCallback:
    """A callback that prints a line every `every` steps, with the time that is left."""
    began = time.monotonic()

    def show(progress: Progress) -> None:
        if progress.done % every == 0 or progress.done == progress.total:
            spent = time.monotonic() - began
            left = spent / progress.done * (progress.total - progress.done)
            print(
                f"step {progress.done}/{progress.total} · {progress.message} · "
                f"{spent / 60:.1f} min, {left / 60:.1f} min left",
                flush=True,
            )

    return show


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the starter adapter of the default model.")
    parser.add_argument("--base", type=Path, default=Path("var/models/smollm2"))
    parser.add_argument("--output", type=Path, default=ADAPTER_DIR)
    parser.add_argument("--problems", type=int, default=StarterConfig.problems)
    parser.add_argument("--seed", type=int, default=StarterConfig.seed)
    arguments = parser.parse_args()
    base = ensure_default_model(arguments.base)
    config = StarterConfig(problems=arguments.problems, seed=arguments.seed)
    losses = train_starter(base, arguments.output, config, print_progress())
    print(f"written to {arguments.output}; last losses {[round(loss, 3) for loss in losses[-5:]]}")


if __name__ == "__main__":
    main()
