# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The small parts equal their equations, written out once more from elementary functions."""

import math
from collections.abc import Callable

import pytest
import torch
from model_cases import TINY, assert_close, tiny
from shared import redraw
from torch import Tensor

from modeling_scratch.layers import NORM_POSITIONS, FeedForward, RMSNorm

STATES = torch.randn(2, 5, TINY["hidden_size"], generator=torch.Generator().manual_seed(1)) * 2

FORMULAS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: x.clamp(min=0),
    "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + torch.exp(-x)),
}
GATES = {"reglu": "relu", "geglu": "gelu", "swiglu": "silu"}


def linear(layer: torch.nn.Linear, states: Tensor) -> Tensor:
    return states @ layer.weight.T + (0 if layer.bias is None else layer.bias)


@pytest.mark.parametrize("eps", [1e-5, 1])
def test_rms_norm(eps: float) -> None:
    norm = redraw(RMSNorm(TINY["hidden_size"], eps))
    mean_square = STATES.double().pow(2).mean(-1, keepdim=True)
    assert_close(norm(STATES), (STATES / (mean_square + eps).sqrt() * norm.weight).float())


def test_rms_norm_squares_in_float32() -> None:
    """In float16 the square of 300 is infinite, and everything would become zero."""
    norm = redraw(RMSNorm(TINY["hidden_size"], 1e-5)).half()
    states = (STATES * 300).half()
    exact = states.double() / states.double().pow(2).mean(-1, keepdim=True).sqrt() * norm.weight
    torch.testing.assert_close(norm(states), exact.half(), atol=1e-3, rtol=2e-3)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("name", [*FORMULAS, *GATES])
def test_feed_forward(name: str, bias: bool) -> None:
    layer = redraw(FeedForward(tiny(hidden_act=name, mlp_bias=bias)))
    activation, inner = FORMULAS[GATES.get(name, name)], linear(layer.up_proj, STATES)
    inner = activation(linear(layer.gate_proj, STATES)) * inner if name in GATES else activation(inner)
    assert_close(layer(STATES), linear(layer.down_proj, inner))
    assert all((projection.bias is not None) == bias for projection in layer.children() if hasattr(projection, "bias"))


@pytest.mark.parametrize("name", NORM_POSITIONS)
def test_dropout_falls_on_the_update_and_never_on_the_residual(name: str) -> None:
    residual = NORM_POSITIONS[name](tiny(norm_position=name, hidden_dropout=0.5)).train()
    residual.norm = residual.output_norm = torch.nn.Identity()
    torch.manual_seed(0)
    update = residual.after(STATES, torch.ones_like(STATES)) - STATES
    assert set(update.round(decimals=3).unique().tolist()) == {0.0, 2.0}
    assert_close(residual.eval().after(STATES, STATES), STATES + STATES)


def test_activation_dropout_falls_on_the_inner_features() -> None:
    layer = FeedForward(tiny(activation_dropout=0.5, intermediate_size=TINY["hidden_size"])).train()
    layer.up_proj = layer.down_proj = torch.nn.Identity()
    torch.manual_seed(0)
    assert set(layer(torch.ones(4, 50)).unique().tolist()) == {0.0, 2.0}
    assert_close(layer.eval()(STATES), STATES.relu())
