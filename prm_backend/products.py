"""Matrix products on a CPU with weights packed once, as its kernels read them. Knows weights, no models' parts.

torch packs a weight anew in every product. With the 64 rows of a batch being sampled that takes longer than the
multiplying: packed once, and in bfloat16 where the CPU multiplies that, the default model's products are three to
four times as fast (docs/decisions/0023). What packs is oneDNN, by the operators that torch.compile freezes a model
with; where they are missing, all stays as it was.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import torch
from torch import Tensor, nn

How = Literal["add", "mul"]

_PROBE = 32  # rows and columns of the product that tells whether packing works here


class PackedLinear(nn.Module):
    """A frozen linear layer that holds its weight packed, and only so."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.packed = pack(linear.weight.detach())
        self.bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.packed, self.bias)


def pack_linears(model: nn.Module) -> None:
    """Pack every linear layer of a model that is only ever run, in place, where this machine can."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear and can_pack(child.weight):
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


@cache
def _packs(dtype: torch.dtype) -> bool:
    weight, x = torch.eye(_PROBE, dtype=dtype), torch.ones(1, _PROBE, dtype=dtype)
    try:
        packed = pack(weight)
        found = linear_and("add", x, linear(x, packed), packed)
    except (AttributeError, RuntimeError):  # another build of torch
        return False
    return torch.equal(found, 2 * x)
