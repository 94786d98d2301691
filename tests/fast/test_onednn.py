# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Products by oneDNN are those of torch, gradients too, and nobody notices which library made them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import TEXTS, low_thresholds  # noqa: F401  (a fixture)
from torch import Tensor, nn
from torch.profiler import profile
from torch.utils.flop_counter import FlopCounterMode

from modeling_scratch import fast
from modeling_scratch.fast.forwards import forwards, linear

pytestmark = [
    pytest.mark.skipif(not fast.forwards.HAS_ONEDNN, reason="torch was built without oneDNN"),
    pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN"),  # said of any of its flags
    pytest.mark.usefixtures("low_thresholds"),
]


def uses_onednn(f: Callable[..., Any], *inputs: Any) -> bool:
    with profile() as recorded:
        f(*inputs)
    return any(event.name.startswith("mkldnn::_linear") for event in recorded.events())


def gradients(f: Callable[..., Tensor], *inputs: Tensor | None) -> list[Tensor]:
    """The answer, and the gradients of a sum of it in which each element counts differently."""
    leaves = [each.detach().clone().requires_grad_() for each in inputs if each is not None]
    remaining = iter(leaves)
    answer = f(*(None if each is None else next(remaining) for each in inputs))
    (answer * torch.linspace(-1, 1, answer.numel(), dtype=answer.dtype).view_as(answer)).sum().backward()
    return [answer.detach(), *(leaf.grad for leaf in leaves)]


def make(rows: tuple[int, ...], features: int, answers: int, bias: bool = True) -> tuple[Tensor, Tensor, Tensor | None]:
    draw = torch.Generator().manual_seed(0)
    shapes = (*rows, features), (answers, features), (answers,)
    states, weight, last = (torch.randn(shape, generator=draw) for shape in shapes)
    return states, weight, last if bias else None


@pytest.mark.parametrize(
    ("rows", "features", "answers", "bias"),
    [((1, 90), 24, 40, True), ((3, 7), 40, 24, False), ((33,), 24, 24, True), ((2, 3, 4), 1, 3, False)],
)
def test_the_answer_and_its_gradients_are_those_of_torch(
    rows: tuple[int, ...], features: int, answers: int, bias: bool
) -> None:
    """The wider of the two sides decides in which order the gradient of the weights is computed."""
    inputs = make(rows, features, answers, bias)
    exact = gradients(F.linear, *(None if each is None else each.double() for each in inputs))
    for found, expected in zip(gradients(linear, *inputs), exact, strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
        assert found.is_contiguous()


def test_any_layout_and_any_bias_is_taken_that_torch_takes() -> None:
    states, weight, bias = make((9, 6), 24, 40)
    expected = F.linear(states, weight, bias)
    apart = torch.stack((states, states), -1)[..., 0], weight.t().contiguous().t(), bias
    torch.testing.assert_close(linear(*apart), expected)
    turned = states.transpose(0, 1).contiguous().transpose(0, 1)
    torch.testing.assert_close(linear(turned, weight, bias), expected)
    for other in torch.stack((bias, bias), -1)[:, 0], bias[:1].expand(40), bias[None], bias[0]:
        torch.testing.assert_close(linear(states, weight, other), states @ weight.t() + other)
    assert linear(torch.randn(0, 24), weight, bias).shape == (0, 40)
    assert linear(torch.randn(24), weight, bias).shape == (40,)
    with pytest.raises(RuntimeError, match="same dtype"):
        linear(states, weight, bias.double())
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        linear(torch.randn(9, 25), weight, bias)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.torch.jit:DeprecationWarning")
def test_transforms_and_modes_of_torch_see_its_own_product() -> None:
    states, weight, bias = make((9,), 24, 40)
    expected = F.linear(states, weight, bias)
    torch.testing.assert_close(torch.func.vmap(lambda row: linear(row[None], weight, bias)[0])(states), expected)
    _, slope = torch.func.jvp(lambda each: linear(each, weight, bias), (states,), (torch.ones_like(states),))
    torch.testing.assert_close(slope, weight.sum(-1).expand_as(expected))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(states, torch.ones_like(states))
        assert torch.autograd.forward_ad.unpack_dual(linear(dual, weight, bias)).tangent is not None
    with FlopCounterMode(display=False) as counted:
        linear(states, weight, bias)
    assert counted.get_total_flops() == 2 * 9 * 24 * 40
    with torch.autocast("cpu"):
        assert linear(states, weight, bias).dtype == torch.bfloat16
    with torch.backends.mkldnn.flags(enabled=False):
        assert torch.equal(linear(states, weight, bias), expected)
    traced = torch.jit.trace(lambda each: linear(each, weight, bias), states, check_trace=False)
    assert torch.equal(traced(states), expected)
    compiled = torch.compile(lambda each: linear(each, weight, bias), backend="eager", fullgraph=True)
    assert torch.equal(compiled(states), expected)


# Layers, which a model calls as they are


def hooked(layer: nn.Linear) -> nn.Linear:
    layer.register_forward_hook(lambda module, inputs, output: output + 1)
    return layer


def replaced(layer: nn.Linear) -> nn.Linear:
    forward = layer.forward
    layer.forward = lambda states: forward(states) + 1  # as accelerate does
    return layer


def sparse(layer: nn.Linear) -> nn.Linear:
    layer.weight = nn.Parameter(layer.weight.detach().to_sparse_csr(), requires_grad=False)
    return layer


CHANGES = [nn.Identity(), hooked, replaced, nn.utils.parametrizations.orthogonal, nn.Linear.double, sparse]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("change", CHANGES, ids=["plain", "hook", "own forward", "parametrised", "double", "sparse"])
def test_a_layer_computes_what_it_computes_elsewhere(change: Callable[[nn.Linear], nn.Linear]) -> None:
    layer = change(nn.Linear(24, 24))
    states = torch.randn(9, 24, dtype=layer.weight.dtype)
    with forwards(layer, multiplies=True, drops=True):
        found = layer(states)
        assert change is not CHANGES[0] or uses_onednn(layer, states)
    torch.testing.assert_close(found, layer(states))
    assert not uses_onednn(layer, states)


def test_a_model_sends_its_products_to_onednn_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = TEXTS.model(), TEXTS.batch()
    assert uses_onednn(lambda: model(**batch))
    assert uses_onednn(model(**batch).loss.backward)
    with fast.disabled():
        assert not uses_onednn(lambda: model(**batch).loss.backward())
    monkeypatch.undo()  # a batch so small is not worth it
    assert not uses_onednn(lambda: model(**batch).loss.backward())
