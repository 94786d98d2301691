# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Products by oneDNN are those of torch, gradients too, and nobody notices which library made them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import CASES, HEADS, Case, assert_same_outputs, in_turn, parametrize_cases
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from modeling_scratch import packing, products
from modeling_scratch.products import affine, linear, recurring

pytestmark = pytest.mark.skipif(not products.HAS_ONEDNN, reason="torch was built without oneDNN")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Shapes of the products that oneDNN was asked for, on a processor where it is the faster one for any."""
    found: list[tuple[int, ...]] = []

    def noted(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        found.append((*states.shape, len(weight)))
        return multiply(states, weight, bias)

    multiply = products.multiply
    monkeypatch.setattr(products, "multiply", noted)
    monkeypatch.setattr(products, "LEAST_WORK", 1)
    monkeypatch.setattr(products, "has_faster_library", lambda: True)
    return found


def gradients(f: Callable[..., Tensor], *inputs: Tensor | None) -> list[Tensor]:
    """The answer, and the gradients of a sum of it in which each element counts differently."""
    leaves = [each.detach().clone().requires_grad_() for each in inputs if each is not None]
    remaining = iter(leaves)
    answer = f(*(None if each is None else next(remaining) for each in inputs))
    (answer * torch.linspace(-1, 1, answer.numel(), dtype=answer.dtype).view_as(answer)).sum().backward()
    return [answer.detach(), *(leaf.grad for leaf in leaves)]


def make(rows: tuple[int, ...], features: int, answers: int, bias: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    draw = torch.Generator().manual_seed(0)
    shapes = (*rows, features), (answers, features), (answers,)
    states, weight, last = (torch.randn(shape, generator=draw) for shape in shapes)
    return states, weight, last if bias else None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("features", "answers"), [(24, 40), (40, 24), (24, 24), (1, 3)])
@pytest.mark.parametrize("rows", [(1, 50), (3, 7), (33,), (2, 3, 4)], ids=str)
def test_the_answer_and_its_gradients_are_those_of_torch(
    calls: list, rows: tuple[int, ...], features: int, answers: int, bias: bool
) -> None:
    inputs = make(rows, features, answers, bias)
    exact = gradients(F.linear, *(None if each is None else each.double() for each in inputs))
    for found, expected in zip(gradients(affine, *inputs), exact, strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    assert len(calls) == 3  # forward, and the gradients of both factors


def test_states_and_weights_may_lie_in_memory_as_they_like(calls: list) -> None:
    states, weight, bias = make((9, 6), 24, 40, bias=True)
    expected = F.linear(states, weight, bias)
    apart = torch.stack((states, states), -1)[..., 0], weight.t().contiguous().t(), bias
    torch.testing.assert_close(affine(*apart), expected)
    turned = states.transpose(0, 1).contiguous().transpose(0, 1)
    torch.testing.assert_close(affine(turned, weight, bias), expected)
    assert len(calls) == 2


@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_nothing_is_computed_for_what_is_frozen(calls: list, frozen: int) -> None:
    inputs = [each.requires_grad_(place != frozen) for place, each in enumerate(make((30,), 24, 40, bias=True))]
    affine(*inputs).sum().backward()
    assert [each.grad is None for each in inputs] == [place == frozen for place in range(3)]
    assert len(calls) == (3 if frozen == 2 else 2)


def test_who_differentiates_twice_gets_the_same(calls: list) -> None:
    states, weight, bias = (each.requires_grad_() for each in make((30,), 24, 40, bias=True))

    def penalties(f: Callable[..., Tensor]) -> tuple[Tensor, ...]:
        (slope,) = torch.autograd.grad(f(states, weight, bias).tanh().sum(), states, create_graph=True)
        return torch.autograd.grad(slope.pow(2).sum(), (states, weight, bias))

    torch.testing.assert_close(penalties(affine), penalties(F.linear))
    assert calls


def test_small_products_are_left_to_torch(calls: list, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "LEAST_WORK", 4 * 24 * 40)
    states, weight, bias = make((3,), 24, 40, bias=True)
    affine(states, weight, bias)  # few rows count as four
    assert len(calls) == 1
    affine(states, weight[:-1], bias[:-1])
    assert len(calls) == 1


def _hooked(layer: nn.Linear) -> Any:
    layer.register_forward_hook(lambda module, inputs, output: output)
    return layer


def _moved(layer: nn.Linear) -> Any:
    layer.forward = layer.forward  # as accelerate does
    return layer


NOTICED: dict[str, Callable[[nn.Linear], Any]] = {
    "hook": _hooked,
    "own forward": _moved,
    "parametrised": lambda layer: nn.utils.parametrizations.orthogonal(layer),
    "double": lambda layer: layer.double(),
    "wrapped": lambda layer: nn.Sequential(layer),
}


@pytest.mark.parametrize("change", NOTICED)
def test_a_layer_that_is_more_than_a_product_is_called(calls: list, change: str) -> None:
    layer = NOTICED[change](nn.Linear(24, 24))
    states = torch.randn(9, 24, dtype=torch.float64 if change == "double" else torch.float32)
    assert torch.equal(linear(layer, states), layer(states))
    assert not calls


def test_transforms_and_modes_of_torch_see_its_own_product(calls: list) -> None:
    layer, states = nn.Linear(24, 40).requires_grad_(False), torch.randn(9, 24)
    expected = layer(states)
    torch.testing.assert_close(torch.func.vmap(lambda row: linear(layer, row[None])[0])(states), expected)
    _, slope = torch.func.jvp(lambda each: linear(layer, each), (states,), (torch.ones_like(states),))
    torch.testing.assert_close(slope, layer.weight.sum(-1).expand_as(expected))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(states, torch.ones_like(states))
        assert torch.autograd.forward_ad.unpack_dual(linear(layer, dual)).tangent is not None
    with FlopCounterMode(display=False) as counted:
        linear(layer, states)
    assert counted.get_total_flops() == 2 * 9 * 24 * 40
    with torch.autocast("cpu"):
        assert linear(layer, states).dtype == torch.bfloat16
    with torch.backends.mkldnn.flags(enabled=False):
        linear(layer, states)
    traced = torch.jit.trace(lambda each: linear(layer, each), states, check_trace=False)
    assert torch.equal(traced(states), expected)
    assert not calls


def test_wrong_shapes_are_refused_as_by_torch(calls: list) -> None:
    layer = nn.Linear(24, 40)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        linear(layer, torch.randn(9, 25))
    assert linear(layer, torch.randn(0, 24)).shape == (0, 40)
    assert linear(layer, torch.randn(24)).shape == (40,)
    assert not calls


def test_rows_have_few_numbers_and_hardly_more_than_are_needed(calls: list) -> None:
    device, numbers = torch.device("cpu"), range(1, 2**13 + 1)
    rounded = [recurring(number, device) for number in numbers]
    assert all(number <= found <= number * 33 / 32 for number, found in zip(numbers, rounded))
    assert len(set(rounded)) == 32 * 9  # up to 32, and in each octave from there on
    assert [recurring(found, device) for found in rounded] == rounded
    assert recurring(1001, torch.device("meta")) == 1001


@in_turn(HEADS)
def test_a_model_learns_the_same_by_both_libraries(calls: list, case: Case, settings: dict[str, Any]) -> None:
    model, found, counts = case.model(**settings), [], []
    for by_onednn in (True, False):
        model.zero_grad()
        with torch.backends.mkldnn.flags(enabled=by_onednn):
            outputs = model(**case.batch())
            outputs.loss.backward()
        counts.append(len(calls))
        found.append([outputs.loss.detach(), *(each.grad for each in model.parameters())])
    assert 0 < counts[0] == counts[1]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@parametrize_cases(CASES)
def test_rows_that_only_fill_up_change_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = case.model(), case.inputs()
    outputs = []
    for more in (0, 1, 50):  # more than there are tokens
        monkeypatch.setattr(packing, "recurring", lambda rows, device, more=more: rows + more)
        outputs.append(model(**batch))
    for filled in outputs[1:]:
        assert_same_outputs(filled, outputs[0], atol=1e-5)
