"""The model card of an exported PRM: data, figures, licence, intended use. Text only."""

from __future__ import annotations

from prm_backend.reward.checkpoint import Meta

# The figures a reader looks for first, by the report's names; the checkpoint has the others too.
_FIGURES = {
    "steps": "held-out steps",
    "solutions": "held-out solutions",
    "step_accuracy": "step accuracy",
    "majority_accuracy": "of always saying what is more common",
    "balanced_accuracy": "balanced step accuracy",
    "auc": "AUC, bad steps against the rest",
    "threshold": "threshold of p(bad), above which it calls a step wrong",
    "balanced_accuracy_at_threshold": "balanced step accuracy at the threshold",
    "first_error_accuracy_at_threshold": "first error found exactly, at the threshold",
    "first_error_f1": "first error F1 (as ProcessBench's), at the threshold",
    "log_likelihood": "mean log-likelihood of a rating",
    "calibration_error": "expected calibration error of p(bad)",
    "train_solutions": "solutions trained on",
    "train_steps": "rated steps trained on",
}


def model_card(meta: Meta, name: str, labels: tuple[str, ...], license: str) -> str:
    """Markdown with the front matter that the hub reads. A base given as a local path is named by its last part."""
    base = meta.base.rstrip("/").rsplit("/", 1)[-1] if meta.base.startswith(("/", ".", "~")) else meta.base
    found = [
        f"| {words} | {_number(value)} |"
        for key, words in _FIGURES.items()
        if (value := meta.report.metrics.get(key)) is not None
    ]
    figures = ["| | |", "|---|---|", *found] if found else ["None: it was judged on nothing."]
    data = (
        "**No human labels.** Every step took the grade of its solution's final answer."
        if meta.outcome_only
        else "Steps rated by people: -1 bad, 0 okay, +1 great, up to the first bad one."
    )
    neutral = (
        ""
        if "okay" in labels
        else " It was trained on three ratings; *okay* is left out here, so *great* is p(great) / (p(great) + p(bad))."
    )
    return f"""---
license: {license or "unknown"}
{f"base_model: {base}" if "/" in base else f"# base model: {base}"}
library_name: transformers
pipeline_tag: token-classification
tags: [process-reward-model, prm, step-verification]
---

# {name}

A process reward model grown with Plumbline on {base}: it judges each step of a solution to a problem, given the steps
before it. Its labels are {", ".join(labels)}.{neutral}

## Intended use

Ranking sampled solutions, finding the first wrong step, choosing what people should look at next, on problems like
those it was trained on. A step's score is {" + ".join(f"p({label})" for label in labels[1:])}, a solution's the product
over its steps. It is no proof that a solution is right, and a generator trained against it will learn to please it.

## How to read it

The text is the problem and the steps, a newline behind each. They and the newlines are tokenised apart, and a step is
read at the newline behind it (encoding `{meta.encoding}`). Steps are cut by the policy `{meta.config.segmentation}`:

```python
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
model = AutoModelForTokenClassification.from_pretrained("{name}").eval()
problem, steps = "What is 2 + 3?", ["2 + 3 = 5.", "# Answer\\n\\n5"]
newline = tokenizer("\\n", add_special_tokens=False).input_ids
ids, ends = tokenizer(problem).input_ids + newline, []
for step in steps:
    ids += tokenizer(step, add_special_tokens=False).input_ids + newline
    ends.append(len(ids) - 1)
with torch.no_grad():
    print(model(torch.tensor([ids])).logits[0, ends].softmax(-1))
```

For TRL's `PRMTrainer`: its own `step_separator="\\n"`, and prompts that end in a newline. Float32 or bfloat16; float16
is too narrow for it.

## Data

{data} Snapshot `{meta.snapshot_hash}`.

## Figures

{chr(10).join(figures)}

{chr(10).join(f"- {note}" for note in meta.report.notes)}

## Licence

{license or "Not stated by who exported it. The base model's licence holds for what was taken from it."}
"""


def _number(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
