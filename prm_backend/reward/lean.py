"""The frozen layers of a Llama-like model with fewer passes over memory. Knows packs, no steps.

On a CPU, what lies between the matrix products (norms, rotations, residuals) takes a fifth of transformers' time, most
of it to write results that are read once. Here they are written over what is no longer needed, which gradients forbid.
Whether a layer so run still computes the same is for the caller to check: names tell only that it may.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from prm_backend.reward.packing import Pack, attend

_LAYER = {"self_attn", "mlp", "input_layernorm", "post_attention_layernorm"}
_ATTENTION = {"q_proj", "k_proj", "v_proj", "o_proj"}
_MLP = {"gate_proj", "up_proj", "down_proj", "act_fn"}


def lean(layer: nn.Module) -> nn.Module:
    """A shallow copy of a layer that runs leanly, on packs without gradients; the layer itself where it cannot.

    It shares every weight, under the same names.
    """
    if not _looks_like_llama(layer):
        return layer
    made = copy.copy(layer)
    made.forward = partial(_forward, layer)
    return made


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
        and all(w.device.type == "cpu" and w.dtype == torch.float32 for w in weights)
    )


def _forward(
    layer: Any, hidden_states: Tensor, *, position_embeddings: tuple[Tensor, Tensor], pack: Pack, **_: Any
) -> Tensor:
    """[1, tokens, width] in and out; `hidden_states` stay as they are."""
    attention, mlp = layer.self_attn, layer.mlp
    hidden = hidden_states[0]
    normed = _normed(layer.input_layernorm, hidden)
    query, key, value = (
        project(normed).view(len(hidden), -1, attention.head_dim)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    if hasattr(attention, "q_norm"):
        query, key = _normed(attention.q_norm, query), _normed(attention.k_norm, key)
    for states in (query, key):
        _rotate(states, *position_embeddings)
    query, key, value = (states.transpose(0, 1)[None] for states in (query, key, value))
    seen = attend(query, key, value, pack, scaling=attention.scaling)
    hidden = attention.o_proj(seen[0].flatten(1)).add_(hidden)
    normed = _normed(layer.post_attention_layernorm, hidden)
    gated = mlp.act_fn(mlp.gate_proj(normed)).mul_(mlp.up_proj(normed))
    return mlp.down_proj(gated).add_(hidden)[None]


def _normed(norm: Any, hidden: Tensor) -> Tensor:
    """RMSNorm."""
    length = torch.linalg.vector_norm(hidden, dim=-1, keepdim=True)
    scale = length.square_().div_(hidden.shape[-1]).add_(norm.variance_epsilon).rsqrt_()
    return (hidden * norm.weight).mul_(scale)


def _rotate(states: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Rotary positions, in place; [tokens, heads, width] and [1, tokens, width]."""
    half = states.shape[-1] // 2
    cos, sin = cos[0, :, None, :half], sin[0, :, None, :half]
    left, right = states[..., :half], states[..., half:]
    turned = left * sin
    left.mul_(cos).addcmul_(right, sin, value=-1)
    right.mul_(cos).add_(turned)
