"""A causal transformer in two parts: frozen layers below, trained ones above. Knows layers, no steps.

Works for models whose layers run one after the other over the embeddings (Llama, Qwen, Mistral, SmolLM …); a model
that does more between them (GPT-2 adds positions, Gemma scales) is found out by a probe and refused.
"""

from __future__ import annotations

import copy
import math
from typing import cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

_PROBE_TOKENS = 12
_PROBE_TOLERANCE = 1e-3


class UnsupportedBackbone(ValueError):
    """The model cannot be cut between its layers; the message says how that showed."""


class Split:
    """`below(ids)` gives the hidden states that enter layer `first`; `above` runs on from there to layer `stop`.

    Rows are padded on the right: under a causal mask no real token sees the padding.
    """

    def __init__(self, model: PreTrainedModel, trained_layers: int, depth: float = 1.0) -> None:
        """Use the lowest `depth` (a share) of the layers, at least as many as are trained. The model stays as it is."""
        backbone = cast(PreTrainedModel, model.base_model)
        name, layers = _layers(backbone)
        if not 0 <= trained_layers <= len(layers):
            raise UnsupportedBackbone(
                f"trained_layers is {trained_layers}, but {model.config.model_type} has {len(layers)} layers"
            )
        self._name = name
        self.stop = max(math.ceil(depth * len(layers)), trained_layers)
        self.first = self.stop - trained_layers
        self._below = _part(backbone, name, 0, self.first)
        for norm in _after_layers(backbone, name):
            self._below._modules[norm] = nn.Identity()
        self._above = _upper_part(backbone, name, self.first, self.stop)
        self.config = backbone.config
        self._probe(backbone, _upper_part(backbone, name, self.first, len(layers)))

    @torch.inference_mode()
    def below(self, input_ids: Tensor) -> Tensor:
        """[batch, tokens] ids → [batch, tokens, width] hidden states entering layer `first`."""
        return _hidden(self._below, input_ids=input_ids)

    def trainable_above(self) -> Above:
        """A copy, in float32 and with gradients, of layers `first` to `stop` and the final norm."""
        return Above(copy.deepcopy(self._above).float().requires_grad_(True))

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
    def _probe(self, whole: PreTrainedModel, rest: PreTrainedModel) -> None:
        """UnsupportedBackbone unless `below` and the rest together compute what the whole does."""
        kind = whole.config.model_type
        ids = torch.arange(_PROBE_TOKENS, device=whole.device)[None] % whole.config.vocab_size
        expected = _hidden(whole, input_ids=ids)
        try:
            found = _hidden(rest, inputs_embeds=self.below(ids))
        except Exception as error:
            raise UnsupportedBackbone(f"{kind} cannot be cut between its layers: {error!r}") from error
        off = (found - expected).abs().max().item()
        if not off <= _PROBE_TOLERANCE * max(1.0, expected.abs().max().item()):
            raise UnsupportedBackbone(
                f"{kind} cut between its layers computes something else (off by {off:.3g}): "
                "it cannot be trained with frozen, cached lower layers"
            )


class Above(nn.Module):
    """The trained layers: hidden states in, final hidden states out."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def forward(self, hidden: Tensor) -> Tensor:
        return _hidden(self.part, inputs_embeds=hidden.float())


def _hidden(part: nn.Module, **inputs: Tensor) -> Tensor:
    # use_cache=False: nobody generates here. The mask is causal by itself, so right padding needs none.
    return part(**inputs, use_cache=False).last_hidden_state


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
