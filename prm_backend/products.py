"""Matrix products on a CPU with weights packed once, as its kernels read them. Knows weights, no models' parts.

torch packs a weight anew in every product. With the 64 rows of a batch being sampled that takes longer than the
multiplying: packed once, and in bfloat16 where the CPU multiplies that, the default model's products are three to
four times as fast (docs/decisions/0023). What packs is oneDNN, by the operators that torch.compile freezes a model
with; where they are missing, all stays as it was. Weights that may be rounded, on a CPU that does not multiply
bfloat16, are packed in float16 by fbgemm: a batch of few rows waits for the weights, and these are half as many bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import torch
from torch import Tensor, nn

How = Literal["add", "mul"]

_PROBE = 32  # rows and columns of the product that tells whether packing works here
_HALF_MAX = torch.finfo(torch.float16).max


class PackedLinear(nn.Module):
    """A frozen linear layer that holds its weight packed, and only so."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.packed = pack(linear.weight.detach())
        self.bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.packed, self.bias)


class HalfLinear(nn.Module):
    """A frozen linear layer that holds its weight packed in float16; what it multiplies and sums up is float32."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        bias = None if linear.bias is None else linear.bias.detach()
        self.packed = torch.ops.quantized.linear_prepack_fp16(linear.weight.detach(), bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic_fp16(x, self.packed)


def pack_linears(model: nn.Module, *, rounded: bool = False) -> None:
    """Pack every linear layer of a model that is only ever run, in place, where this machine can.

    `rounded` says that float32 weights may be rounded to float16, as suits a model that is only sampled from.
    """
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is not nn.Linear:
                continue
            if rounded and _can_halve(child.weight):
                setattr(parent, name, HalfLinear(child))
            elif can_pack(child.weight):
                setattr(parent, name, PackedLinear(child))


def can_pack(weight: Tensor) -> bool:
    """Whether `pack` takes a weight: on a CPU, in a type it multiplies, with a torch that brings the operators."""
    fast = weight.dtype == torch.float32 or (weight.dtype == torch.bfloat16 and multiplies_bfloat16())
    return weight.device.type == "cpu" and fast and _packs(weight.dtype)


def multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions for it (AVX512-BF16, AMX); others are slower in it than in float32."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def pack(weight: Tensor) -> Tensor:
    """A weight [out, in] in the kernels' own layout: good for the functions here alone."""
    return torch.ops.mkldnn._reorder_linear_weight(weight)


def linear(x: Tensor, packed: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x @ weight.T + bias`; [..., in] to [..., out]."""
    return torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")


def linear_and(how: How, other: Tensor, x: Tensor, packed: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x @ weight.T + bias`, plus or times `other` [..., out], in one pass over memory."""
    return torch.ops.mkldnn._linear_pointwise.binary(x, other, packed, bias, how)


def _can_halve(weight: Tensor) -> bool:
    on_cpu = weight.device.type == "cpu" and weight.dtype == torch.float32
    return on_cpu and _halves() and bool(weight.abs().max() <= _HALF_MAX)


@cache
def _halves() -> bool:
    try:
        packed = torch.ops.quantized.linear_prepack_fp16(torch.eye(_PROBE), None)
        found = torch.ops.quantized.linear_dynamic_fp16(torch.ones(1, _PROBE), packed)
    except (AttributeError, RuntimeError):  # another build of torch, or a CPU that fbgemm does not know
        return False
    return torch.equal(found, torch.ones(1, _PROBE))


@cache
def _packs(dtype: torch.dtype) -> bool:
    weight, x = torch.eye(_PROBE, dtype=dtype), torch.ones(1, _PROBE, dtype=dtype)
    try:
        packed = pack(weight)
        found = linear_and("add", x, linear(x, packed), packed)
    except (AttributeError, RuntimeError):  # another build of torch
        return False
    return torch.equal(found, 2 * x)
