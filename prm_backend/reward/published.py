"""PRMs that others published, each read as its authors do; all satisfy `types.StepScorer`.

A convention is a layout of tokens and a head. The heads of models whose code lives on the hub are read out of their
safetensors and put on the plain transformers backbone: nobody's code is run, and no pickle opened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PreTrainedModel,
)

from prm_backend.reward.aggregation import numbers
from prm_backend.reward.checkpoint import require_encoding
from prm_backend.reward.reader import StepReader, scored_steps
from prm_backend.text import layouts
from prm_backend.text.encoding import Encoded, encode
from prm_backend.text.layouts import BAD_TOKEN, GOOD_TOKEN, lay_out, one_token
from prm_backend.text.segmentation import require_same
from prm_backend.types import NEWLINE, StepProbs, Unscorable

Head = Callable[[Tensor], Tensor]  # [steps, width] → logits over (bad, good) or (bad, okay, great)
_NAMES = (
    {"bad", "wrong", "incorrect", "negative", "false", "-"},
    {"okay", "ok", "neutral"},
    {"good", "great", "right", "correct", "positive", "true", "+"},
)


def read_labels(path: Path, tokenizer: Any, options: dict[str, Any]) -> tuple[PreTrainedModel, Head]:
    """A token classifier with two (bad, good) or three (bad, okay, great) labels."""
    model = _whole(AutoModelForTokenClassification, path, options)
    if model.config.num_labels not in (2, 3):
        raise ValueError(f"{path} has {model.config.num_labels} labels; a PRM of this kind has two or three")
    for name in ("score", "classifier"):
        if hasattr(model, name):
            return model, _ordered(getattr(model, name), list((model.config.id2label or {}).values()))
    raise ValueError(f"{type(model).__name__} has its labels in no layer that is known here")


def _ordered(head: Head, labels: Sequence[str]) -> Head:
    """The head with its labels from bad to good, where their names tell; others, such as LABEL_0, stay as they are."""
    places = [
        next((i for i, names in enumerate(_NAMES) if label.casefold() in names), -1) for label in labels
    ]
    if -1 in places or len(set(places)) < len(places):
        return head
    order = sorted(range(len(places)), key=places.__getitem__)
    return lambda hidden: head(hidden)[:, order]


def read_export(path: Path, tokenizer: Any, options: dict[str, Any]) -> tuple[PreTrainedModel, Head]:
    """A token classifier exported from a checkpoint of ours; one that does not say how it reads text is taken at the
    caller's word. CheckpointRefused for text laid out otherwise than here."""
    encoding = json.loads((path / "config.json").read_text(encoding="utf-8")).get("step_encoding")
    if encoding is not None:
        require_encoding(path, encoding, "retrain and export it anew")
    return read_labels(path, tokenizer, options)


def read_answers(path: Path, tokenizer: Any, options: dict[str, Any]) -> tuple[PreTrainedModel, Head]:
    """A language model asked for `+` or `-`: the two rows of its output layer are the head."""
    model = _whole(AutoModelForCausalLM, path, options)
    rows = [one_token(tokenizer, BAD_TOKEN), one_token(tokenizer, GOOD_TOKEN)]
    return model, lambda hidden: model.get_output_embeddings()(hidden)[:, rows]


def read_two_layers(path: Path, tokenizer: Any, options: dict[str, Any]) -> tuple[PreTrainedModel, Head]:
    """Qwen2.5-Math-PRM: linear, ReLU, linear to (bad, good)."""
    model = _whole(AutoModel, path, options)
    first, last = _linear(path, "score.0", model), _linear(path, "score.2", model)
    return model, lambda hidden: last(torch.relu(first(hidden)))


def read_value(path: Path, tokenizer: Any, options: dict[str, Any]) -> tuple[PreTrainedModel, Head]:
    """Skywork: one value v, whose sigmoid is p(good); that is the softmax over (0, v)."""
    model = _whole(AutoModel, path, options)
    summary = _linear(path, VALUE_HEAD, model)

    def value(hidden: Tensor) -> Tensor:
        found = summary(hidden)
        return torch.cat([torch.zeros_like(found), found], dim=-1)

    return model, value


VALUE_HEAD = "v_head.summary"


@dataclass(frozen=True)
class Convention:
    """How one family of PRMs reads text; `names` are the last parts of hub ids known to follow it.

    `good_first`: served by vLLM, p(good) is the first column rather than the last.
    """

    name: str
    encode: Callable[[Any, str, Sequence[str], int], Encoded | Unscorable]
    open: Callable[[Path, Any, dict[str, Any]], tuple[PreTrainedModel, Head]]
    names: tuple[str, ...] = ()
    good_first: bool = False


CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention("plumbline", encode, read_export),
        Convention("trl", partial(lay_out, layouts.trl), read_labels),
        # PURE's process reward is p(good) - p(bad): `great - bad` of what `score` gives.
        Convention("pure", partial(lay_out, layouts.trl), read_labels, ("PURE-PRM-7B",)),
        Convention(
            "math-shepherd",
            partial(lay_out, layouts.math_shepherd),
            read_answers,
            ("math-shepherd-mistral-7b-prm",),
            good_first=True,
        ),
        Convention(
            "rlhflow",
            partial(lay_out, layouts.rlhflow),
            read_answers,
            ("Llama3.1-8B-PRM-Mistral-Data", "Llama3.1-8B-PRM-Deepseek-Data"),
            good_first=True,
        ),
        Convention(
            "qwen",
            partial(lay_out, layouts.qwen),
            read_two_layers,
            ("Qwen2.5-Math-PRM-7B", "Qwen2.5-Math-PRM-72B", "Qwen2.5-Math-7B-PRM800K"),
        ),
        Convention(
            "skywork",
            partial(lay_out, layouts.skywork),
            read_value,
            ("Skywork-o1-Open-PRM-Qwen-2.5-1.5B", "Skywork-o1-Open-PRM-Qwen-2.5-7B"),
        ),
    )
}


def known_by_name(place: str) -> Convention | None:
    """The convention of a hub id, a folder or a served model by the last part of its name; None for other names."""
    last = place.rstrip("/").rsplit("/", 1)[-1].casefold()
    for convention in CONVENTIONS.values():
        if last in (name.casefold() for name in convention.names):
            return convention
    return None


def recognise(path: Path) -> Convention:
    """The convention a model directory follows, by what it holds. ValueError where nothing tells."""
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    architecture = (config.get("architectures") or [""])[0]
    if found := known_by_name(str(path)):
        return found
    if architecture == "Qwen2ForProcessRewardModel":
        return CONVENTIONS["qwen"]
    if f"{VALUE_HEAD}.weight" in _tensor_files(path):
        return CONVENTIONS["skywork"]
    if architecture.endswith("ForTokenClassification"):
        return CONVENTIONS["plumbline" if "step_encoding" in config else "trl"]
    raise ValueError(
        f"nothing in {path} tells how this PRM reads text; say it: one of {', '.join(CONVENTIONS)}, "
        f"as in math-shepherd:{path}"
    )


class PublishedPRM:
    """A PRM of one of `CONVENTIONS`. Binary ones give no p(okay). Not safe for two threads at once."""

    def __init__(
        self,
        convention: Convention,
        model: PreTrainedModel,
        head: Head,
        tokenizer: Any,
        *,
        name: str,
        batch_tokens: int = 4096,
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.max_length = int(getattr(model.config, "max_position_embeddings", 0) or 4096)
        self.batch_tokens = batch_tokens
        self._encode, self._model, self._head = convention.encode, model, head
        self._states = StepReader(model)

    @classmethod
    def load(
        cls,
        path: Path,
        convention: Convention,
        *,
        name: str = "",
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> PublishedPRM:
        """Load a model directory. ValueError where weights are missing, so no head is ever made up."""
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
        model, head = convention.open(path, tokenizer, {"dtype": dtype, "device": device})
        return cls(convention, model, head, tokenizer, name=name or path.name)

    def score(
        self,
        problems: Sequence[str],
        solutions: Sequence[Sequence[str]],
        *,
        segmentation: str = NEWLINE,
    ) -> list[list[StepProbs] | Unscorable]:
        """Score every step of `solutions[i]` for `problems[i]`; probabilities that sum to 1, in float64.

        OtherSegmentation from a PRM exported by us, where the steps were cut otherwise than those it was trained on.
        """
        require_same(getattr(self._model.config, "step_segmentation", segmentation), segmentation)
        laid = [
            self._encode(self.tokenizer, problem, steps, self.max_length)
            for problem, steps in zip(problems, solutions, strict=True)
        ]

        def probs(rows: list[Encoded]) -> list[StepProbs]:
            logits = self._head(self._states(rows))
            return [as_step_probs(row) for row in torch.softmax(logits.double(), dim=-1).tolist()]

        found, self.batch_tokens = scored_steps(laid, self.batch_tokens, probs, self._states.batches)
        return [numbers(steps, tuple) for steps in found]


def as_step_probs(probs: Sequence[float]) -> StepProbs:
    """(bad, good) or (bad, okay, great) as StepProbs; a binary PRM knows no okay."""
    return StepProbs(probs[0], 0.0, probs[1]) if len(probs) == 2 else StepProbs(*probs)


def _whole(kind: Any, path: Path, options: dict[str, Any]) -> PreTrainedModel:
    """The model, frozen and in evaluation mode. transformers makes up what a file lacks; here that is refused."""
    model, loaded = kind.from_pretrained(
        path,
        dtype=options["dtype"],
        use_safetensors=True,
        trust_remote_code=False,
        output_loading_info=True,
    )
    if missing := sorted(loaded["missing_keys"]):
        raise ValueError(
            f"{path} lacks weights that {type(model).__name__} needs: {', '.join(missing[:3])}"
            f"{' …' if len(missing) > 3 else ''}"
        )
    return model.to(options["device"]).requires_grad_(False).eval()


def _linear(path: Path, name: str, model: PreTrainedModel) -> nn.Linear:
    """The linear layer stored as `name.weight` and `name.bias`."""
    files = _tensor_files(path)
    tensors = {}
    for part in ("weight", "bias"):
        key = f"{name}.{part}"
        if key not in files:
            raise ValueError(f"{path} holds no {key}: it is no PRM of this convention")
        with safe_open(files[key], framework="pt") as file:
            tensors[part] = file.get_tensor(key)
    outputs, inputs = tensors["weight"].shape
    layer = nn.Linear(inputs, outputs, dtype=model.dtype)
    layer.load_state_dict(tensors)
    return layer.to(model.device).requires_grad_(False)


def _tensor_files(path: Path) -> dict[str, Path]:
    """In which of the safetensors files each tensor lies."""
    found: dict[str, Path] = {}
    for file in sorted(path.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            found |= dict.fromkeys(tensors.keys(), file)
    return found
