"""How fast 64 candidates of a problem are scored: tokens a second, the share of the machine's matmul peak, and how many
times as fast as (a) one forward for each step's prefix, (b) padded batches of whole solutions, as search-and-learn
has it, and (c) TRL's way, a token classifier over padded batches.

Everybody runs the same backbone (the default model, all its layers, float32 on a CPU) and rates the same steps of real
solutions. Our log-probability features are switched off, since nobody else has them. Run it on an idle machine.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import AutoModelForTokenClassification, PreTrainedModel

from prm_backend import runtime
from prm_backend.config import PRMConfig
from prm_backend.generators.smollm2 import ensure_default_model
from prm_backend.reward.base import load_base
from prm_backend.reward.packing import pack
from prm_backend.reward.prm import PRM
from prm_backend.text.encoding import Encoded
from tests.bench.report import Aim, report
from tests.bench.retrain import BASE, DATA

SOLUTIONS, BATCH = 64, 8
PREFIX_SAMPLE = 8  # (a) is slow: so many solutions are timed, and the time scaled
LENGTHS = {"short": (40, 80), "long": (500, 700)}  # tokens of a problem's text
Rows = Sequence[Encoded]


def main() -> None:
    runtime.prepare_torch()
    model, tokenizer = load_base(ensure_default_model(BASE))
    classifier = token_classifier(model)  # stock attention; what comes next teaches the model's our own
    config = PRMConfig(depth=1.0, trained_layers=0, log_probs=False, max_length=2048)
    prm = PRM(model, tokenizer, config)
    peak = matmul_peak()
    metrics: dict[str, Any] = {
        "threads": torch.get_num_threads(),
        "matmul_peak_gflops": round(peak / 1e9, 1),
        "load_average_before": os.getloadavg()[0],
    }
    for length in LENGTHS:
        problem, solutions = candidates(tokenizer, *LENGTHS[length])
        rows = [e for s in solutions if isinstance(e := prm.encode(problem, s), Encoded)]
        ours = timed(lambda: prm.score([problem] * len(solutions), solutions))  # noqa: B023 (called at once)
        prefixes = timed(lambda: one_by_one(classifier, rows[:PREFIX_SAMPLE])) * len(rows) / PREFIX_SAMPLE  # noqa: B023
        padded = timed(lambda: padded_batches(classifier, rows))  # noqa: B023
        trl = timed(lambda: classified(classifier, rows))  # noqa: B023
        tokens = sum(map(len, rows))
        metrics |= {
            f"{length}_problem_tokens": len(tokenizer(problem)["input_ids"]),
            f"{length}_tokens": tokens,
            f"{length}_seconds": round(ours, 2),
            f"{length}_tokens_per_second": round(tokens / ours),
            f"{length}_mfu": round(useful_flops(model, rows) / ours / peak, 3),
            f"{length}_times_as_fast_as_step_prefixes": round(prefixes / ours, 2),
            f"{length}_times_as_fast_as_padded_batches": round(padded / ours, 2),
            f"{length}_times_as_fast_as_trl": round(trl / ours, 2),
        }
    metrics["load_average_after"] = os.getloadavg()[0]
    report("scoring", metrics, aims(metrics))


def aims(metrics: dict[str, Any]) -> list[Aim]:
    wanted = [
        ("short_times_as_fast_as_step_prefixes", 6.0),
        ("short_times_as_fast_as_padded_batches", 1.3),
        ("long_times_as_fast_as_padded_batches", 2.0),
        ("short_mfu", 0.75),
        ("long_mfu", 0.75),
    ]
    return [Aim(name.replace("_", " "), aim, metrics[name], at_least=True) for name, aim in wanted]


def candidates(tokenizer: Any, shortest: int, longest: int) -> tuple[str, list[list[str]]]:
    """A problem's text of that many tokens, and real solutions beside it (of other problems: only lengths matter)."""
    with gzip.open(DATA / "step_labels_train.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["source"].startswith("prm800k-val")]
    chosen = random.Random(0).sample(rows, SOLUTIONS)
    text = " ".join(row["problem"] for row in chosen)
    ids = tokenizer(text)["input_ids"][: (shortest + longest) // 2]
    return tokenizer.decode(ids), [row["steps"] for row in chosen]


def timed(run: Callable[[], object]) -> float:
    """Seconds of a run; of the faster of two, where they are so short that the first may suffer from being first."""
    spent = []
    while len(spent) < 2 and sum(spent) < 5:
        started = time.perf_counter()
        run()
        spent.append(time.perf_counter() - started)
    return min(spent)


def matmul_peak() -> float:
    """Floating-point operations a second of a large product in the models' type."""
    n = 2048
    a, b = torch.randn(n, n), torch.randn(n, n)
    return 2 * n**3 / min(timed(lambda: a @ b) for _ in range(5))


def useful_flops(model: PreTrainedModel, rows: Rows) -> float:
    """Of the layers, for every distinct token once: products with weights, and attention to what a token sees."""
    packed = pack([row.input_ids for row in rows])
    weights = sum(p.numel() for p in model.base_model.layers.parameters() if p.ndim > 1)
    width = model.config.num_attention_heads * model.config.head_dim
    seen = (packed.positions + 1).sum().item()
    return 2.0 * weights * len(packed) + 4.0 * width * seen * model.config.num_hidden_layers


@torch.inference_mode()
def one_by_one(classifier: PreTrainedModel, rows: Rows) -> None:
    for row in rows:
        for position in row.label_positions:
            classifier(input_ids=torch.tensor([row.input_ids[: position + 1]]), use_cache=False)


@torch.inference_mode()
def padded_batches(classifier: PreTrainedModel, rows: Rows) -> None:
    """The solutions as they come, a few at a time, and the head at their steps' ends."""
    for first, ids, mask in batches(rows):
        hidden = classifier.base_model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        for i in range(len(ids)):
            classifier.score(hidden[i, list(rows[first + i].label_positions)])


@torch.inference_mode()
def classified(classifier: PreTrainedModel, rows: Rows) -> None:
    """Every token classified, as TRL's PRMTrainer evaluates."""
    for _, ids, mask in batches(rows):
        classifier(input_ids=ids, attention_mask=mask, use_cache=False)


def batches(rows: Rows) -> list[tuple[int, torch.Tensor, torch.Tensor]]:
    """In the order given, padded to the longest of each batch: where it begins, ids and mask."""
    made = []
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        ids = torch.zeros(len(some), max(map(len, some)), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for i, row in enumerate(some):
            ids[i, : len(row)] = torch.tensor(row.input_ids)
            mask[i, : len(row)] = 1
        made.append((start, ids, mask))
    return made


def token_classifier(model: PreTrainedModel) -> PreTrainedModel:
    classifier = AutoModelForTokenClassification.from_config(
        model.config, dtype=torch.float32, attn_implementation="sdpa"
    )
    classifier.base_model.load_state_dict(model.base_model.state_dict())
    return classifier.eval()


if __name__ == "__main__":
    main()
