"""Products with packed weights are the products with the weights; where packing is not to be had, nothing changes."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from prm_backend import products

# oneDNN takes bfloat16 on CPUs with AVX512, if slowly where they do not multiply it; on others all stays as it was.
TYPES = [dtype for dtype in (torch.float32, torch.bfloat16) if products._packs(dtype)]
CLOSE = {torch.float32: 1e-5, torch.bfloat16: 2e-2}


@pytest.fixture(autouse=True)
def as_if_the_cpu_multiplied_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "multiplies_bfloat16", lambda: True)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 300])
def test_a_packed_layer_computes_what_the_layer_did(dtype: torch.dtype, biased: bool, rows: int) -> None:
    torch.manual_seed(0)
    model = nn.ModuleDict({"inner": nn.Sequential(nn.Linear(48, 33, bias=biased), nn.ReLU())}).to(dtype)
    x = torch.randn(2, rows, 48, dtype=dtype)
    with torch.inference_mode():
        expected = model["inner"](x)
        products.pack_linears(model)
        found = model["inner"](x)
    assert isinstance(model["inner"][0], products.PackedLinear)
    assert found.dtype == dtype
    assert torch.allclose(found, expected, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.skipif(not products._halves(), reason="fbgemm does not know this CPU")
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 300])
@torch.inference_mode()
def test_a_layer_that_may_be_rounded_is_rounded_to_half_precision(biased: bool, rows: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(48, 33, bias=biased))
    x = torch.randn(2, rows, 48)
    bias = None if not biased else model[0].bias
    rounded, exact = F.linear(x, model[0].weight.half().float(), bias), model(x)
    products.pack_linears(model, rounded=True)
    assert torch.allclose(model(x), rounded, atol=1e-5)
    assert not torch.allclose(model(x), exact, atol=1e-5)


@torch.inference_mode()
def test_a_weight_beyond_half_precision_is_not_rounded() -> None:
    model = nn.Sequential(nn.Linear(8, 8, bias=False))
    model[0].weight.fill_(7e4)
    products.pack_linears(model, rounded=True)
    assert model(torch.ones(1, 8)).tolist() == [[8 * 7e4] * 8]


@torch.inference_mode()
def test_what_follows_a_product_may_be_computed_with_it() -> None:
    torch.manual_seed(0)
    x, weight, other = torch.randn(5, 16), torch.randn(24, 16), torch.randn(5, 24)
    packed, plain = products.pack(weight), F.linear(x, weight)
    assert torch.allclose(products.linear(x, packed), plain, atol=1e-5)
    assert torch.allclose(products.linear_and("add", other, x, packed), plain + other, atol=1e-5)
    assert torch.allclose(products.linear_and("mul", other, x, packed), plain * other, atol=1e-5)


def test_a_layer_of_a_type_or_a_kind_that_cannot_be_packed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(nn.Linear):
        """What a library made of a linear layer computes something else, perhaps."""

    model = nn.Sequential(Own(8, 8), nn.Linear(8, 8).half(), nn.Linear(8, 8).bfloat16())
    monkeypatch.setattr(products, "multiplies_bfloat16", lambda: False)
    products.pack_linears(model)
    assert not any(isinstance(layer, products.PackedLinear) for layer in model)


def test_without_the_operators_nothing_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(weight: torch.Tensor) -> torch.Tensor:
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_reorder_linear_weight'")

    monkeypatch.setattr(products, "pack", missing)
    products._packs.cache_clear()
    try:
        assert not products.can_pack(torch.zeros(4, 4))
    finally:
        monkeypatch.undo()
        products._packs.cache_clear()
