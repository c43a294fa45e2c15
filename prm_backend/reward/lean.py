"""The frozen layers of a Llama-like model with packed weights and fewer passes over memory. Knows packs, no steps.

On a CPU, what lies between the matrix products (norms, rotations, residuals) takes a fifth of transformers' time, most
of it to write results that are read once. Here products add and multiply as they write (see `products`), and the rest
is written over what is no longer needed, which gradients forbid. Whether a layer so run still computes the same is for
the caller to check: names tell only that it may.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from prm_backend import products
from prm_backend.reward.cpu_attention import attend
from prm_backend.reward.packing import Pack

_LAYER = {"self_attn", "mlp", "input_layernorm", "post_attention_layernorm"}
_ATTENTION = {"q_proj", "k_proj", "v_proj", "o_proj"}
_MLP = {"gate_proj", "up_proj", "down_proj", "act_fn"}
_ROWS = 4096  # tokens in the MLP at once, which is several times as wide as the model


def lean(layer: nn.Module) -> nn.Module:
    """A shallow copy of a layer that runs leanly, on packs without gradients; the layer itself where it cannot.

    Its own weights stay, under the same names; beside them it holds a packed copy.
    """
    if not _looks_like_llama(layer):
        return layer
    made = copy.copy(layer)
    made.forward = _Lean(layer)
    return made


class _Lean:
    """The forward pass of a layer."""

    def __init__(self, layer: Any) -> None:
        attention, mlp = layer.self_attn, layer.mlp
        self.attention, self.activate = attention, mlp.act_fn
        self.norms = layer.input_layernorm, layer.post_attention_layernorm
        width = attention.head_dim
        inward = _paired(attention.q_proj, width), _paired(attention.k_proj, width), attention.v_proj
        self.heads = [each.out_features // width for each in inward]
        self.turned_norms = [
            (norm, _pairs(norm.weight.detach(), width))
            for name in ("q_norm", "k_norm")
            if (norm := getattr(attention, name, None))
        ]
        self.inward, self.outward = _Product(*inward, norm=self.norms[0]), _Product(attention.o_proj)
        self.gate, self.up = (_Product(each, norm=self.norms[1]) for each in (mlp.gate_proj, mlp.up_proj))
        self.down = _Product(mlp.down_proj)

    def __call__(
        self, hidden_states: Tensor, *, position_embeddings: tuple[Tensor, Tensor], pack: Pack, **_: Any
    ) -> Tensor:
        """[1, tokens, width] in and out; `hidden_states` stay as they are."""
        hidden = hidden_states[0]
        states = self.inward(_scaled(self.norms[0], hidden)).view(len(hidden), -1, self.attention.head_dim)
        *turned, value = states.split(self.heads, 1)
        for i, (norm, weight) in enumerate(self.turned_norms):
            turned[i] = _scaled(norm, turned[i]).mul_(weight)
        turn = _turn(*position_embeddings)
        for each in turned:
            torch.view_as_complex(each.unflatten(-1, (-1, 2))).mul_(turn)
        query, key = turned
        seen = attend(query, key, value, pack, scaling=self.attention.scaling)
        hidden = self.outward.and_("add", hidden, seen)
        for some in hidden.split(_ROWS):
            normed = _scaled(self.norms[1], some)
            gated = self.activate(self.gate(normed))  # what the product could do as it writes takes longer
            some.copy_(self.down.and_("add", some, self.up.and_("mul", gated, normed)))
        return hidden[None]


class _Product:
    """Linear layers over the same input, side by side: their weights packed, times the norm's that lies before them."""

    def __init__(self, *layers: nn.Linear, norm: Any = None) -> None:
        weight = torch.cat([layer.weight for layer in layers])
        self.weight = products.pack(weight if norm is None else weight * norm.weight)
        biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
        self.bias = torch.cat(biases) if biases else None

    def __call__(self, x: Tensor) -> Tensor:
        return products.linear(x, self.weight, self.bias)

    def and_(self, how: products.How, other: Tensor, x: Tensor) -> Tensor:
        return products.linear_and(how, other, x, self.weight, self.bias)


def _looks_like_llama(layer: nn.Module) -> bool:
    parts = dict(layer.named_children())
    if parts.keys() != _LAYER:
        return False
    attention, mlp = parts["self_attn"], parts["mlp"]
    inside = {name for name, _ in attention.named_children()}
    window = getattr(attention, "sliding_window", getattr(attention.config, "sliding_window", None))
    weights = list(layer.parameters())
    return (
        inside in (_ATTENTION, _ATTENTION | {"q_norm", "k_norm"})
        and {name for name, _ in mlp.named_children()} == _MLP
        and window is None
        and all(hasattr(m, "variance_epsilon") for name, m in layer.named_modules() if name.endswith("norm"))
        and all(w.dtype == torch.float32 and products.can_pack(w) for w in weights)
    )


def _scaled(norm: Any, hidden: Tensor) -> Tensor:
    """RMSNorm before its weight."""
    length = torch.linalg.vector_norm(hidden, dim=-1, keepdim=True)
    return hidden * length.square_().div_(hidden.shape[-1]).add_(norm.variance_epsilon).rsqrt_()


def _paired(linear: nn.Linear, width: int) -> nn.Linear:
    """A copy of a linear layer that gives the pairs of numbers that a rotation mixes side by side, head by head."""
    made = copy.copy(linear)
    made._parameters = {
        name: None if weight is None else nn.Parameter(_pairs(weight.detach(), width), requires_grad=False)
        for name, weight in linear._parameters.items()
    }
    return made


def _pairs(rows: Tensor, width: int) -> Tensor:
    """Rows of heads, the halves of each interleaved."""
    return rows.unflatten(0, (-1, 2, width // 2)).transpose(1, 2).flatten(0, 2)


def _turn(cos: Tensor, sin: Tensor) -> Tensor:
    """[tokens, 1, width / 2] complex numbers that rotate pairs; [1, tokens, width] in, whose halves are alike."""
    half = cos.shape[-1] // 2
    return torch.complex(cos[0, :, None, :half], sin[0, :, None, :half])
