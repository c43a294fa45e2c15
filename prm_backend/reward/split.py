"""A causal transformer in two parts: frozen layers below, trained ones above. Knows layers, no steps.

Both parts run on packs (see `packing`): no padding, shared beginnings once.

Works for models whose layers run one after the other over the embeddings (Llama, Qwen, Mistral, SmolLM …); a model
that does more between them (GPT-2 adds positions, Gemma scales) is found out by a probe and refused.
"""

from __future__ import annotations

import copy
import math
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from prm_backend.reward.lean import lean as lean_layer
from prm_backend.reward.packing import Pack, pack, use_packing

_PROBE_TOKENS = 12
_PROBE_TOLERANCE = {torch.float32: 1e-3}  # shares of the largest state
_COARSE_TOLERANCE = 0.1  # half precision rounds another order of sums visibly
_LEAN_TOLERANCE = 3e-4  # products summed in another order; there is another way: the layers as they are


class UnsupportedBackbone(ValueError):
    """The model cannot be cut between its layers; the message says how that showed."""


class Split:
    """`below(pack)` gives the hidden states that enter layer `first`; `above` runs on from there to layer `stop`.

    `rest` runs the untouched model from layer `first` to its end, for what it predicts.
    """

    def __init__(
        self, model: PreTrainedModel, trained_layers: int, depth: float = 1.0, *, lean: bool = True
    ) -> None:
        """Use the lowest `depth` (a share) of the layers, at least as many as are trained.

        The model's weights stay as they are; its attention is made to understand packs. `lean` layers are faster and
        hold a packed copy of their weights.
        """
        backbone = cast(PreTrainedModel, model.base_model)
        name, layers = _layers(backbone)
        if not 0 <= trained_layers <= len(layers):
            raise UnsupportedBackbone(
                f"trained_layers is {trained_layers}, but {model.config.model_type} has {len(layers)} layers"
            )
        self._name = name
        self.stop = max(math.ceil(depth * len(layers)), trained_layers)
        self.first = self.stop - trained_layers
        self.layers = len(layers)
        rows = _probe_rows(model.config.vocab_size)
        expected = _alone(backbone, rows)
        use_packing(model)
        self._below = _part(backbone, name, 0, self.first)
        for norm in _after_layers(backbone, name):
            self._below._modules[norm] = nn.Identity()
        self._above = _upper_part(backbone, name, self.first, self.stop)
        self.config = backbone.config
        self._rest = _upper_part(backbone, name, self.first, len(layers))
        probe = partial(self._probe, model.config.model_type, pack(rows, model.device), expected)
        plain = self._below, self._rest
        if lean:
            self._below, self._rest = (_leaned(part, name) for part in plain)
            try:
                return probe(_LEAN_TOLERANCE)
            except UnsupportedBackbone:
                self._below, self._rest = plain
        probe(_PROBE_TOLERANCE.get(model.dtype, _COARSE_TOLERANCE))

    @torch.inference_mode()
    def below(self, packed: Pack) -> Tensor:
        """[tokens, width] hidden states entering layer `first`."""
        return _run(self._below, packed, input_ids=packed.ids)

    def state_dict(self, above: Above) -> dict[str, Tensor]:
        """The weights of a backbone of `stop` layers that computes `above(below(ids))`, by transformers' names."""
        upper = {}
        for name, tensor in above.part.state_dict().items():
            if name.startswith(f"{self._name}."):
                _, number, rest = name.split(".", 2)
                name = f"{self._name}.{int(number) + self.first}.{rest}"
            upper[name] = tensor
        return {k: t.detach().clone() for k, t in (self._below.state_dict() | upper).items()}

    @torch.inference_mode()
    def rest(self, hidden: Tensor, packed: Pack) -> Tensor:
        """[tokens, width] final hidden states of the untouched model, out of what `below` gave."""
        return _run(self._rest, packed, inputs_embeds=hidden[None])

    def trainable_above(self, lora_rank: int = 0) -> Above:
        """A copy, in float32, of layers `first` to `stop` and the final norm, with gradients.

        With `lora_rank`, only low-rank adapters on its linear layers have any. Without layers, nothing has, not even
        the norm.
        """
        above = Above(copy.deepcopy(self._above).float())
        above.requires_grad_(self.first < self.stop)
        if lora_rank:
            from peft import LoraConfig, inject_adapter_in_model  # heavy, and seldom asked for

            adapters = LoraConfig(r=lora_rank, lora_alpha=2 * lora_rank, target_modules="all-linear")
            inject_adapter_in_model(adapters, above.part)
        return above

    def _probe(self, kind: str, packed: Pack, expected: list[Tensor], tolerance: float) -> None:
        """UnsupportedBackbone unless the parts, on a pack, compute what the whole does on each row alone."""
        try:
            found = self.rest(self.below(packed), packed)
        except Exception as error:
            raise UnsupportedBackbone(f"{kind} cannot be cut between its layers: {error!r}") from error
        for place, row in zip(packed.places, expected, strict=True):
            off = (found[place] - row).abs().max().item()
            if not off <= tolerance * max(1.0, row.abs().max().item()):
                raise UnsupportedBackbone(
                    f"{kind} cut between its layers computes something else (off by {off:.3g}): "
                    "it cannot be trained with frozen, cached lower layers"
                )


class Above(nn.Module):
    """The trained layers: [tokens, width] hidden states in, final hidden states out."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def forward(self, hidden: Tensor, packed: Pack) -> Tensor:
        return _run(self.part, packed, inputs_embeds=hidden.float()[None])


def _run(part: nn.Module, packed: Pack, **inputs: Tensor) -> Tensor:
    # use_cache=False: nobody generates here.
    found = part(**inputs, position_ids=packed.positions, pack=packed, use_cache=False)
    return found.last_hidden_state[0]


def _probe_rows(vocabulary: int) -> list[list[int]]:
    """Two rows that begin alike."""
    row = [i % vocabulary for i in range(_PROBE_TOKENS)]
    return [row, [*row[: _PROBE_TOKENS // 2], *row[: _PROBE_TOKENS // 3]]]


@torch.inference_mode()
def _alone(backbone: PreTrainedModel, rows: list[list[int]]) -> list[Tensor]:
    ids = [torch.tensor([row], device=backbone.device) for row in rows]
    return [backbone(input_ids=row, use_cache=False).last_hidden_state[0] for row in ids]


def _layers(backbone: nn.Module) -> tuple[str, nn.ModuleList]:
    depth = backbone.config.num_hidden_layers  # type: ignore[union-attr]
    for name, child in backbone.named_children():
        if isinstance(child, nn.ModuleList) and len(child) == depth:
            return name, child
    raise UnsupportedBackbone(f"{type(backbone).__name__} holds no list of its {depth} layers")


def _after_layers(backbone: nn.Module, layers: str) -> list[str]:
    """Names of the modules with weights that are registered after the layers: the final norm."""
    names = [name for name, _ in backbone.named_children()]
    return [
        name
        for name in names[names.index(layers) + 1 :]
        if next(backbone.get_submodule(name).parameters(), None) is not None
    ]


def _upper_part(backbone: PreTrainedModel, layers: str, start: int, stop: int) -> PreTrainedModel:
    """Layers `start` to `stop` and the final norm, fed with hidden states in place of embeddings."""
    part = _part(backbone, layers, start, stop)
    embedding = backbone.get_input_embeddings()
    name = next(name for name, child in backbone.named_children() if child is embedding)
    part._modules[name] = nn.Identity()
    return part


def _leaned(part: PreTrainedModel, layers: str) -> PreTrainedModel:
    """A shallow copy of a part whose layers run leanly where they can."""
    made = copy.copy(part)
    made._modules = dict(part._modules) | {layers: nn.ModuleList(map(lean_layer, getattr(part, layers)))}
    return made


def _part(backbone: PreTrainedModel, layers: str, start: int, stop: int) -> PreTrainedModel:
    """A shallow copy of the backbone that runs layers `start` to `stop`; it shares every weight."""
    part = copy.copy(backbone)
    part._modules = dict(backbone._modules)
    part._modules[layers] = nn.ModuleList(list(getattr(backbone, layers))[start:stop])
    part.config = copy.deepcopy(backbone.config)
    part.config.num_hidden_layers = stop - start
    if getattr(part.config, "layer_types", None):
        part.config.layer_types = part.config.layer_types[start:stop]
    return part
