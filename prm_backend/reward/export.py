"""A checkpoint of ours as a Hugging Face directory that scores the same in a stock architecture. Trains nothing.

`python -m prm_backend.reward.export CHECKPOINT DIRECTORY` writes what `AutoModelForTokenClassification` and TRL load:
the layers that are used, the trained ones among them, the head and a model card.
"""

from __future__ import annotations

import argparse
import copy
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModelForTokenClassification, PreTrainedModel

from prm_backend.reward.card import model_card
from prm_backend.reward.checkpoint import CheckpointRefused, read_meta
from prm_backend.reward.prm import PRM
from prm_backend.reward.published import CONVENTIONS, PublishedPRM
from prm_backend.text.encoding import ENCODING_VERSION, leading_ids
from prm_backend.types import StepProbs, Unscorable

LABELS = {3: ("bad", "okay", "great"), 2: ("bad", "great")}
TOLERANCE = 1e-4

_LOUD = 2.0**32  # how far the norm layer's output drowns what it is added to
_OPEN = 16.0  # a gate's bias; silu(16) is 16 to the seventh digit
_PROBES = (
    ("What is $2 + 3$?", ("We add: $2 + 3 = 5$.", "# Answer\n\n5")),
    ("A train needs 3 hours for 240 km. How fast is it?", ("240 / 3 = 80.", "It goes 90 km/h.", "90")),
)


class ExportRefused(ValueError):
    """What the checkpoint computes cannot be said in a stock architecture; the message says what, and what would do."""


def export(
    checkpoint: str | Path,
    directory: str | Path,
    *,
    base: str | None = None,
    labels: int = 3,
    license: str = "",
) -> Path:
    """Write the PRM in `checkpoint` to `directory` (which must not exist) and check that it scores the same there.

    Three labels are exact. Two drop neutral: `great` is then p(great) / (p(great) + p(bad)), which TRL's boolean labels
    mean. `license` goes onto the model card; without one the card says that nobody stated it. Raises ExportRefused
    where a part cannot be expressed or the scores differ by more than `TOLERANCE`, and CheckpointRefused as PRM.load.
    """
    checkpoint, directory = Path(checkpoint), Path(directory)
    if labels not in LABELS:
        raise ValueError(f"labels must be 2 or 3, got {labels}")
    if directory.exists():
        raise FileExistsError(f"{directory} is there already; name a directory that is not")
    prm, meta = PRM.load(checkpoint, base=base), read_meta(checkpoint)
    model = stock_model(prm, labels)
    beside = directory.with_name(f".{directory.name}.partial")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        model.save_pretrained(beside, safe_serialization=True)
        tokenizer = copy.deepcopy(prm.tokenizer)
        if not leading_ids(tokenizer):
            tokenizer.bos_token = None  # TRL would put one before the problem, where none was in training
        tokenizer.model_max_length = prm.max_length
        tokenizer.save_pretrained(beside)
        (beside / "README.md").write_text(
            model_card(meta, directory.name, LABELS[labels], license), encoding="utf-8"
        )
        _require_equal(prm, PublishedPRM.load(beside, CONVENTIONS["plumbline"]), labels)
        beside.rename(directory)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return directory


def stock_model(prm: PRM, labels: int) -> PreTrainedModel:
    """The PRM as transformers' own token classifier of its base's kind, in float32 on the CPU."""
    if prm.config.step_mean or prm.config.log_probs:
        raise ExportRefused(
            "it looks at more of a step than the token it is read at, which no stock architecture does; train it with "
            "step_mean = false and log_probs = false"
        )
    linear = _linear(prm.head.merged(), LABELS[labels])
    state = {name: tensor.float().cpu() for name, tensor in prm.split.state_dict(prm.above).items()}
    config = copy.deepcopy(prm.split.config)
    layers = prm.split.stop
    if isinstance(prm.head.norm, nn.LayerNorm):
        if config.model_type != "llama":
            raise ExportRefused(
                f"its head has a LayerNorm, which a stock {config.model_type} cannot express; train it with "
                "head_norm = false, or on a base of the Llama kind"
            )
        state |= _norm_layer(state, layers, config, prm.head.norm)
        linear = _after_norm(linear, prm.head.norm)
        layers += 1
        config.mlp_bias = True
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = [*config.layer_types[: prm.split.stop], config.layer_types[0]][:layers]
    config.id2label = dict(enumerate(LABELS[labels]))
    config.label2id = {name: i for i, name in enumerate(LABELS[labels])}
    config.tie_word_embeddings = False
    config.classifier_dropout = 0.0
    config.max_position_embeddings = max(prm.max_length, config.max_position_embeddings)
    config.step_encoding = ENCODING_VERSION
    config.step_segmentation = prm.segmentation
    model: Any = AutoModelForTokenClassification.from_config(config, dtype=torch.float32)
    if not isinstance(getattr(model, "score", None), nn.Linear):
        raise ExportRefused(f"{type(model).__name__} does not end in one linear layer")
    missing, unexpected = model.base_model.load_state_dict(state, strict=False)
    biases = {name for name in missing if config.model_type == "llama" and ".mlp." in name and "bias" in name}
    if unexpected or set(missing) - biases:
        raise ExportRefused(f"a stock {config.model_type} has other weights: {[*missing, *unexpected][:3]}")
    with torch.no_grad():
        for name in biases:
            model.base_model.get_parameter(name).zero_()
    model.score.load_state_dict(linear.state_dict())
    return model.eval()


def _linear(linear: nn.Linear, names: tuple[str, ...]) -> nn.Linear:
    rows = [LABELS[3].index(name) for name in names]
    chosen = nn.Linear(linear.in_features, len(rows))
    chosen.load_state_dict({k: t.detach().float().cpu()[rows] for k, t in linear.state_dict().items()})
    return chosen


def _norm_layer(state: dict[str, Tensor], number: int, config: Any, norm: nn.LayerNorm) -> dict[str, Tensor]:
    """The head's LayerNorm as one more Llama layer and an RMS norm.

    With x = h / rms(h) and w the final norm's weights, the head saw LayerNorm(w x). The layer's attention is nothing.
    Its MLP, gates held open by a bias, adds L (C w x + sqrt(eps) 1) to h, where C takes the mean out and L is so large
    that h drowns. The RMS norm that follows makes (C w x + sqrt(eps) 1) / sqrt(var(w x) + eps) of it: the LayerNorm
    before its scale and shift, but for the part along 1, which `_after_norm` takes out.
    """
    width, inner = config.hidden_size, config.intermediate_size
    if inner < width:
        raise ExportRefused(f"the base's MLP ({inner}) is narrower than its hidden states ({width})")
    final = state["norm.weight"].double()
    up, down = torch.zeros(inner, width), torch.zeros(width, inner)
    up[:width] = (_centring(width) * final).float()
    down[:, :width] = torch.eye(width) * (_LOUD / F.silu(torch.tensor(_OPEN)))
    gate = torch.zeros(inner)
    gate[:width] = _OPEN
    like = {name: tensor for name, tensor in state.items() if name.startswith("layers.0.self_attn.")}
    prefix = f"layers.{number}"
    return {
        **{name.replace("layers.0.", f"{prefix}."): torch.zeros_like(t) for name, t in like.items()},
        f"{prefix}.input_layernorm.weight": torch.ones(width),
        f"{prefix}.post_attention_layernorm.weight": torch.ones(width),
        f"{prefix}.mlp.gate_proj.weight": torch.zeros(inner, width),
        f"{prefix}.mlp.gate_proj.bias": gate,
        f"{prefix}.mlp.up_proj.weight": up,
        f"{prefix}.mlp.up_proj.bias": torch.zeros(inner),
        f"{prefix}.mlp.down_proj.weight": down,
        f"{prefix}.mlp.down_proj.bias": torch.full((width,), _LOUD * norm.eps**0.5),
        "norm.weight": torch.ones(width),
    }


def _after_norm(linear: nn.Linear, norm: nn.LayerNorm) -> nn.Linear:
    """The linear layer with the LayerNorm's scale and shift folded in, blind to what lies along 1."""
    weight, bias = linear.weight.detach().double(), linear.bias.detach().double()
    scale, shift = norm.weight.detach().double().cpu(), norm.bias.detach().double().cpu()
    folded = nn.Linear(linear.in_features, linear.out_features)
    folded.load_state_dict(
        {
            "weight": ((weight * scale) @ _centring(linear.in_features)).float(),
            "bias": (weight @ shift + bias).float(),
        }
    )
    return folded


def _centring(width: int) -> Tensor:
    return torch.eye(width, dtype=torch.float64) - 1 / width


def _require_equal(prm: PRM, exported: PublishedPRM, labels: int) -> None:
    exact = {"segmentation": prm.segmentation}
    problems, solutions = [problem for problem, _ in _PROBES], [steps for _, steps in _PROBES]
    for ours, theirs in zip(
        prm.score(problems, solutions, **exact), exported.score(problems, solutions, **exact), strict=True
    ):
        if isinstance(ours, Unscorable) or isinstance(theirs, Unscorable):
            continue  # a context shorter than the probes
        for own, other in zip(ours, theirs, strict=True):
            off = max(abs(a - b) for a, b in zip(_as_labelled(own, labels), other, strict=True))
            if off > TOLERANCE:
                raise ExportRefused(f"the exported model's scores are off by {off:.2g}: nothing was written")


def _as_labelled(probs: StepProbs, labels: int) -> StepProbs:
    if labels == 3:
        return probs
    return StepProbs(probs.bad / (probs.bad + probs.great), 0.0, probs.great / (probs.bad + probs.great))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m prm_backend.reward.export", description=__doc__.splitlines()[0]
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("directory", type=Path, help="to write to; must not exist")
    parser.add_argument(
        "--labels", type=int, choices=sorted(LABELS), default=3, help="2 drops neutral, as TRL has it"
    )
    parser.add_argument("--base", help="where the base model lies now, should it have moved")
    parser.add_argument("--license", default="", help="for the model card, such as apache-2.0")
    options = vars(parser.parse_args())
    try:
        print(export(options.pop("checkpoint"), options.pop("directory"), **options))
    except (ExportRefused, CheckpointRefused, FileExistsError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
