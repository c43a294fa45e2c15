"""How fast 64 candidates of a problem are scored: tokens a second, the share of the machine's matmul peak, and how many
times as fast as (a) one forward for each step's prefix, (b) padded batches of whole solutions, as search-and-learn
has it, and (c) TRL's way, a token classifier over padded batches.

Everybody runs the same backbone (the default model, all its layers, float32 on a CPU) and rates the same steps of real
GSM8K solutions, three ways:

  short, long  64 solutions under one text of about 60 or 600 tokens. They were written for other problems, so that no
               two share a step: harder for us than the samples of one student
  real         seven solutions each of nine problems, under their own texts

Ours scores all of them, twice. The rivals are slow: each is timed on a part of its work (a quarter of the batches, one
prefix in eight), and the time scaled by the tokens, padding included, that all of it would run. Everybody
takes turns, so that what else the machine does slows all alike. The bound is what the layers' matrix products alone
reach, nothing between them: a model this narrow does not reach the peak of a large product. Our log-probability
features are switched off, since nobody else has them. Run it on an idle machine.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForTokenClassification, PreTrainedModel

from prm_backend import products as packed_product
from prm_backend import runtime
from prm_backend.config import PRMConfig
from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.reward.base import load_base
from prm_backend.reward.packing import pack
from prm_backend.reward.prm import PRM
from prm_backend.text.encoding import Encoded
from tests.bench.report import Aim, report
from tests.bench.retrain import BASE, DATA

SOLUTIONS, PROBLEMS, BATCH = 64, 9, 8
ROUNDS = 2
PRODUCTS = 20  # seconds of them
PREFIX_EVERY, BATCH_EVERY = 8, 4  # the part of the rivals' work that is timed, over all rounds
LENGTHS = {"short": 60, "long": 600}  # tokens of a problem's text
Rows = Sequence[Encoded]
Task = tuple[list[str], list[list[str]]]  # a problem's text for each solution, and the solutions' steps
Forward = tuple[torch.Tensor, torch.Tensor, list[list[int]]]  # ids, mask, and where each row's steps end


def main() -> None:
    runtime.prepare_torch()
    model, tokenizer = load_base(ensure_default_model(BASE))
    classifier = token_classifier(model)  # stock attention; what comes next teaches the model's our own
    config = PRMConfig(depth=1.0, trained_layers=0, log_probs=False, max_length=2048)
    prm = PRM(model, tokenizer, config)
    metrics: dict[str, Any] = {"threads": torch.get_num_threads(), "load_average_before": os.getloadavg()[0]}
    bursts: list[float] = []
    reached: dict[str, float] = {}
    for name, task in tasks(tokenizer).items():
        rows = [
            e for problem, s in zip(*task, strict=True) if isinstance(e := prm.encode(problem, s), Encoded)
        ]
        rivals = {
            "step_prefixes": (step_prefixes(rows), PREFIX_EVERY, padded_batch),
            "padded_batches": (batches(rows), BATCH_EVERY, padded_batch),
            "trl": (batches(rows), BATCH_EVERY, classified),
        }
        prm.score(*(part[:BATCH] for part in task))  # what is set up by the first pass is not timed
        ours: list[float] = []
        held: list[float] = []
        spent: dict[str, float] = defaultdict(float)
        timed: dict[str, int] = defaultdict(int)
        for turn in range(ROUNDS):
            before = matmul_peak()
            ours.append(seconds(lambda: prm.score(*task)))  # noqa: B023 (called at once)
            after = matmul_peak()
            held += before.held, after.held
            bursts += before.burst, after.burst
            for rival, (work, every, run) in rivals.items():
                for forward in work[turn * every :: ROUNDS * every]:
                    spent[rival] += seconds(lambda: run(classifier, *forward))  # noqa: B023
                    timed[rival] += forward[0].numel()
        mean = sum(ours) / ROUNDS
        reached[name] = useful_flops(model, rows) / mean
        metrics |= {
            f"{name}_tokens": sum(map(len, rows)),
            f"{name}_distinct_tokens": len(pack([row.input_ids for row in rows])),
            f"{name}_seconds": round(mean, 2),
            f"{name}_tokens_per_second": round(sum(map(len, rows)) / mean),
            f"{name}_peak_gflops": round(fmean(held) / 1e9, 1),
            f"{name}_mfu": round(reached[name] / fmean(held), 3),
        }
        for rival, (work, _, _) in rivals.items():
            whole = spent[rival] * sum(forward[0].numel() for forward in work) / timed[rival]
            metrics[f"{name}_times_as_fast_as_{rival}"] = round(whole / mean, 2)
    metrics |= {f"{name}_mfu_of_burst": round(each / max(bursts), 3) for name, each in reached.items()}
    metrics |= {"bound_gflops": round(products(model) / 1e9, 1), "burst_gflops": round(max(bursts) / 1e9, 1)}
    metrics["load_average_after"] = os.getloadavg()[0]
    report("scoring", metrics, aims(metrics))


def aims(metrics: dict[str, Any]) -> list[Aim]:
    wanted = [
        ("short_times_as_fast_as_step_prefixes", 6.0),
        ("long_times_as_fast_as_step_prefixes", 6.0),
        ("short_times_as_fast_as_padded_batches", 1.3),
        ("long_times_as_fast_as_padded_batches", 2.0),
        ("short_mfu", 0.75),
        ("long_mfu", 0.75),
    ]
    return [Aim(name.replace("_", " "), aim, metrics[name], at_least=True) for name, aim in wanted]


def tasks(tokenizer: Any) -> dict[str, Task]:
    with gzip.open(DATA / "gsm8k_candidates_dev.jsonl.gz", "rt", encoding="utf-8") as file:
        problems = random.Random(0).sample([json.loads(line) for line in file], SOLUTIONS)
    text = " ".join(row["question"] for row in problems)
    solutions = [row["candidates"][i % len(row["candidates"])]["steps"] for i, row in enumerate(problems)]
    made: dict[str, Task] = {}
    for name, tokens in LENGTHS.items():
        made[name] = [tokenizer.decode(tokenizer(text)["input_ids"][:tokens])] * SOLUTIONS, solutions
    real = [(row["question"], each["steps"]) for row in problems[:PROBLEMS] for each in row["candidates"]]
    made["real"] = [question for question, _ in real], [steps for _, steps in real]
    return made


def seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


class Peak(NamedTuple):
    """Floating-point operations a second of a large product: what is held for seconds, and the best single one."""

    held: float
    burst: float


def matmul_peak() -> Peak:
    """In the models' type, as torch does it or packed: on some CPUs the first is little more than half of the second.

    A virtual machine runs a single product up to a sixth faster than it can go on; what we do takes many seconds, so
    what it could reach is what is held for seconds, just before it and just after.
    """
    n = 2048
    spent = product_seconds(torch.randn(n, n), torch.randn(n, n))
    return Peak(2 * n**3 / min(map(fmean, spent)), 2 * n**3 / min(map(min, spent)))


def products(model: PreTrainedModel, tokens: int = 2048) -> float:
    """Operations a second of a layer's matrix products, one after the other, and nothing else."""
    weights = [p.detach() for p in model.base_model.layers[0].parameters() if p.ndim > 1]
    spent = [min(map(fmean, product_seconds(torch.randn(tokens, w.shape[1]), w))) for w in weights]
    return 2 * tokens * sum(w.numel() for w in weights) / sum(spent)


@torch.inference_mode()
def product_seconds(x: torch.Tensor, weight: torch.Tensor) -> list[list[float]]:
    """What each of PRODUCTS products takes, as torch does them and packed."""
    ways: list[Callable[[], Any]] = [lambda: x @ weight.T]
    if packed_product.can_pack(weight):
        packed = packed_product.pack(weight)
        ways.append(lambda: packed_product.linear(x, packed))
    return [[seconds(way) for _ in range(PRODUCTS)] for way in ways]


def useful_flops(model: PreTrainedModel, rows: Rows) -> float:
    """Of the layers, for every distinct token once: products with weights, and attention to what a token sees."""
    packed = pack([row.input_ids for row in rows])
    weights = sum(p.numel() for p in model.base_model.layers.parameters() if p.ndim > 1)
    width = model.config.num_attention_heads * model.config.head_dim
    seen = (packed.positions + 1).sum().item()
    return 2.0 * weights * len(packed) + 4.0 * width * seen * model.config.num_hidden_layers


def step_prefixes(rows: Rows) -> list[Forward]:
    """A row for each step of each solution, up to its end."""
    prefixes = [row.input_ids[: position + 1] for row in rows for position in row.label_positions]
    return [
        (torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long), [[len(ids) - 1]]) for ids in prefixes
    ]


def batches(rows: Rows) -> list[Forward]:
    """In the order given, padded to the longest of each batch."""
    made = []
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        ids = torch.zeros(len(some), max(map(len, some)), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for i, row in enumerate(some):
            ids[i, : len(row)] = torch.tensor(row.input_ids)
            mask[i, : len(row)] = 1
        made.append((ids, mask, [list(row.label_positions) for row in some]))
    return made


@torch.inference_mode()
def padded_batch(
    classifier: PreTrainedModel, ids: torch.Tensor, mask: torch.Tensor, ends: list[list[int]]
) -> None:
    """One forward, and the head at the steps' ends."""
    hidden = classifier.base_model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
    for states, own in zip(hidden, ends, strict=True):
        classifier.score(states[own])


@torch.inference_mode()
def classified(
    classifier: PreTrainedModel, ids: torch.Tensor, mask: torch.Tensor, _: list[list[int]]
) -> None:
    """Every token classified, as TRL's PRMTrainer evaluates."""
    classifier(input_ids=ids, attention_mask=mask, use_cache=False)


def token_classifier(model: PreTrainedModel) -> PreTrainedModel:
    classifier = AutoModelForTokenClassification.from_config(
        model.config, dtype=torch.float32, attn_implementation="sdpa"
    )
    classifier.base_model.load_state_dict(model.base_model.state_dict())
    return classifier.eval()


if __name__ == "__main__":
    main()
