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
        inward = attention.q_proj, attention.k_proj, attention.v_proj
        self.heads = [each.out_features // attention.head_dim for each in inward]
        self.inward, self.outward = _Product(*inward, norm=self.norms[0]), _Product(attention.o_proj)
        self.gate, self.up = (_Product(each, norm=self.norms[1]) for each in (mlp.gate_proj, mlp.up_proj))
        self.down = _Product(mlp.down_proj)

    def __call__(
        self, hidden_states: Tensor, *, position_embeddings: tuple[Tensor, Tensor], pack: Pack, **_: Any
    ) -> Tensor:
        """[1, tokens, width] in and out; `hidden_states` stay as they are."""
        hidden = hidden_states[0]
        states = self.inward(_scaled(self.norms[0], hidden)).view(len(hidden), -1, self.attention.head_dim)
        query, key, value = states.split(self.heads, 1)
        if hasattr(self.attention, "q_norm"):
            query, key = (
                _scaled(norm, states).mul_(norm.weight)
                for norm, states in ((self.attention.q_norm, query), (self.attention.k_norm, key))
            )
        for turned in (query, key):
            _rotate(turned, *position_embeddings)
        seen = attend(query, key, value, pack, scaling=self.attention.scaling)
        hidden = self.outward.and_("add", hidden, seen)
        normed = _scaled(self.norms[1], hidden)
        gated = self.activate(self.gate(normed))  # what the product could do as it writes takes longer
        return self.down.and_("add", hidden, self.up.and_("mul", gated, normed))[None]


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


def _rotate(states: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Rotary positions, in place; [tokens, heads, width] and [1, tokens, width]."""
    half = states.shape[-1] // 2
    cos, sin = cos[0, :, None, :half], sin[0, :, None, :half]
    left, right = states[..., :half], states[..., half:]
    turned = left * sin
    left.mul_(cos).addcmul_(right, sin, value=-1)
    right.mul_(cos).add_(turned)
