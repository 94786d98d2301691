# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Products by oneDNN are those of torch, gradients too, and nobody notices which library made them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import HEADS, Case, assert_same_outputs, in_turn, parametrize_cases
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from modeling_scratch import packing, products
from modeling_scratch.products import affine, linear, recurring

pytestmark = [
    pytest.mark.skipif(not products.HAS_ONEDNN, reason="torch was built without oneDNN"),
    pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN"),  # said of any of its flags
]


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
@pytest.mark.parametrize("rows", [(1, 90), (3, 7), (33,), (2, 3, 4)], ids=str)
def test_the_answer_and_its_gradients_are_those_of_torch(
    calls: list, rows: tuple[int, ...], features: int, answers: int, bias: bool
) -> None:
    inputs = make(rows, features, answers, bias)
    exact = gradients(F.linear, *(None if each is None else each.double() for each in inputs))
    for found, expected in zip(gradients(affine, *inputs), exact, strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
        assert found.is_contiguous()
    assert len(calls) == 3  # forward, and the gradients of both factors


def test_states_and_weights_may_lie_in_memory_as_they_like(calls: list) -> None:
    states, weight, bias = make((9, 6), 24, 40, bias=True)
    expected = F.linear(states, weight, bias)
    apart = torch.stack((states, states), -1)[..., 0], weight.t().contiguous().t(), bias
    torch.testing.assert_close(affine(*apart), expected)
    turned = states.transpose(0, 1).contiguous().transpose(0, 1)
    torch.testing.assert_close(affine(turned, weight, bias), expected)
    assert len(calls) == 2


@pytest.mark.parametrize("bias", ["apart", "one for all", "of a row", "no axis", "double"])
def test_any_bias_is_added_that_torch_adds(calls: list, bias: str) -> None:
    states, weight, last = make((30,), 24, 40, bias=True)
    last = {
        "apart": torch.stack((last, last), -1)[:, 0], "one for all": last[:1].expand(40), "of a row": last[None],
        "no axis": last[0], "double": last.double(),
    }[bias]  # fmt: skip
    if bias == "double":
        with pytest.raises(RuntimeError, match="same dtype"):
            affine(states, weight, last)
    else:
        torch.testing.assert_close(affine(states, weight, last), states @ weight.t() + last)
    assert not calls


@pytest.mark.parametrize("learning", [(0,), (1,), (2,), (0, 2), (1, 2)], ids=str)
def test_nothing_is_kept_and_computed_for_what_is_frozen(calls: list, learning: tuple[int, ...]) -> None:
    inputs = [each.requires_grad_(place in learning) for place, each in enumerate(make((30,), 24, 40, bias=True))]
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda each: kept.append(each) or each, lambda each: each):
        answer = affine(*inputs)
    assert [each.data_ptr() for each in kept] == [inputs[1 - place].data_ptr() for place in (1, 0) if place in learning]
    answer.sum().backward()
    assert [place for place, each in enumerate(inputs) if each.grad is not None] == [*learning]
    assert len(calls) == 1 + len({0, 1} & {*learning})


def test_states_of_inference_may_go_through_a_layer_whose_bias_learns(calls: list) -> None:
    states, weight, bias = make((30,), 24, 40, bias=True)
    with torch.inference_mode():
        states = states.clone()
    affine(states, weight, bias.requires_grad_()).sum().backward()
    assert torch.equal(bias.grad, torch.full((40,), 30.0))
    assert affine(states, weight, bias.detach()).requires_grad is False
    assert len(calls) == 2


def test_who_differentiates_twice_gets_the_same(calls: list) -> None:
    states, weight, bias = (each.requires_grad_() for each in make((30,), 24, 40, bias=True))

    def penalties(f: Callable[..., Tensor]) -> tuple[Tensor, ...]:
        (slope,) = torch.autograd.grad(f(states, weight, bias).tanh().sum(), states, create_graph=True)
        return torch.autograd.grad(slope.pow(2).sum(), (states, weight, bias))

    torch.testing.assert_close(penalties(affine), penalties(F.linear))
    assert calls


def test_gradients_in_batches_are_those_of_torch(calls: list) -> None:
    states, weight, bias = (each.requires_grad_() for each in make((2, 5), 24, 40, bias=True))

    def slopes(f: Callable[..., Tensor]) -> tuple[Tensor, ...]:
        answer = f(states, weight, bias)
        directions = torch.randn(3, *answer.shape, generator=torch.Generator().manual_seed(1))
        return torch.autograd.grad(answer, (states, weight, bias), directions, is_grads_batched=True)

    torch.testing.assert_close(slopes(affine), slopes(F.linear))
    assert len(calls) == 1


def test_small_products_are_left_to_torch(calls: list, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "LEAST_WORK", 4 * 24 * 40)
    states, weight, bias = make((3,), 24, 40, bias=True)
    affine(states, weight, bias)  # three rows count as four
    assert len(calls) == 1
    affine(states, weight[:-1], bias[:-1])
    assert len(calls) == 1


def _hooked(layer: nn.Linear) -> Any:
    layer.register_forward_hook(lambda module, inputs, output: output)
    return layer


def _moved(layer: nn.Linear) -> Any:
    layer.forward = layer.forward  # as accelerate does
    return layer


def _sparse(layer: nn.Linear) -> Any:
    layer.weight = nn.Parameter(layer.weight.detach().to_sparse_csr(), requires_grad=False)
    return layer


NOTICED: dict[str, Callable[[nn.Linear], Any]] = {
    "hook": _hooked,
    "own forward": _moved,
    "parametrised": lambda layer: nn.utils.parametrizations.orthogonal(layer),
    "double": lambda layer: layer.double(),
    "wrapped": lambda layer: nn.Sequential(layer),
    "sparse": _sparse,
}


@pytest.mark.parametrize("change", NOTICED)
def test_a_layer_that_is_more_than_a_product_is_called(calls: list, change: str) -> None:
    layer = NOTICED[change](nn.Linear(24, 24))
    states = torch.randn(9, 24, dtype=torch.float64 if change == "double" else torch.float32)
    assert torch.equal(linear(layer, states), layer(states))
    assert not calls


def test_hooks_of_all_modules_see_each_layer(calls: list) -> None:
    seen: list[nn.Module] = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, inputs, output: seen.append(module))
    layer = nn.Linear(24, 40)
    linear(layer, torch.randn(9, 24))
    handle.remove()
    assert seen == [layer]
    assert not calls


def test_a_processor_without_a_faster_library_calls_the_layer(monkeypatch: pytest.MonkeyPatch, calls: list) -> None:
    monkeypatch.setattr(products, "has_faster_library", lambda: False)
    monkeypatch.setattr(nn.Linear, "forward", lambda layer, states: "called")
    assert linear(nn.Linear(24, 40), torch.randn(9, 24)) == "called"
    assert recurring(1001, 1, torch.device("cpu")) == 1001
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
    assert torch.equal(
        torch.compile(lambda each: linear(layer, each), backend="eager", fullgraph=True)(states), expected
    )
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
    rounded = [recurring(number, 1, device) for number in numbers]
    assert all(number <= found <= number * 33 / 32 for number, found in zip(numbers, rounded))
    assert len(set(rounded)) == 32 * 9  # up to 32, and in each octave from there on
    assert [recurring(found, 1, device) for found in rounded] == rounded
    assert recurring(1001, 1, torch.device("meta")) == 1001
    assert recurring(1001, 0, device) == 1001


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


@parametrize_cases(HEADS)
def test_rows_that_only_fill_up_change_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch, found = case.model(), case.batch(), []
    for more in (0, 1, 50):  # more than there are tokens
        monkeypatch.setattr(packing, "recurring", lambda rows, weights, device, more=more: rows + more)
        outputs = model(**batch)
        model.zero_grad()
        outputs.loss.backward()
        found.append((outputs, [each.grad for each in model.parameters()]))
    for outputs, slopes in found[1:]:
        assert_same_outputs(outputs, found[0][0], atol=1e-5)
        torch.testing.assert_close(slopes, found[0][1])
