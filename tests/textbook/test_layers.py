# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The small parts equal their equations, written out once more from elementary functions."""

import math
from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch
from conftest import redraw
from model_cases import TINY
from torch import Tensor

from modeling_scratch import ScratchEncoderConfig
from modeling_scratch.configuration_scratch import Activation, NormPosition, NormType
from modeling_scratch.layers import ACTIVATIONS, NORM_POSITIONS, NORMS, FeedForward, PostNorm, PreNorm, RMSNorm

STATES = torch.randn(2, 5, TINY["hidden_size"], generator=torch.Generator().manual_seed(1)) * 2

FORMULAS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: x.clamp(min=0),
    "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + torch.exp(-x)),
}
GATES = {"reglu": "relu", "geglu": "gelu", "swiglu": "silu"}


def tiny(**settings: Any) -> ScratchEncoderConfig:
    return ScratchEncoderConfig(**{**TINY, **settings})


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_every_choice_of_the_config_has_a_row() -> None:
    assert set(ACTIVATIONS) == set(get_args(Activation)) == {*FORMULAS, *GATES}
    assert set(NORMS) == set(get_args(NormType))
    assert set(NORM_POSITIONS) == set(get_args(NormPosition))


@pytest.mark.parametrize("eps", [1e-5, 0.5, 1])
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
@pytest.mark.parametrize("name", FORMULAS)
def test_feed_forward(name: str, bias: bool) -> None:
    layer = redraw(FeedForward(tiny(hidden_act=name, mlp_bias=bias)))
    up, down = layer.up_proj, layer.down_proj
    inner = FORMULAS[name](STATES @ up.weight.T + (up.bias if bias else 0))
    assert_close(layer(STATES), inner @ down.weight.T + (down.bias if bias else 0))
    assert len(list(layer.parameters())) == (4 if bias else 2)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("name", GATES)
def test_gated_feed_forward(name: str, bias: bool) -> None:
    layer = redraw(FeedForward(tiny(hidden_act=name, mlp_bias=bias)))
    gate, up, down = layer.gate_proj, layer.up_proj, layer.down_proj
    inner = FORMULAS[GATES[name]](STATES @ gate.weight.T + (gate.bias if bias else 0))
    inner = inner * (STATES @ up.weight.T + (up.bias if bias else 0))
    assert_close(layer(STATES), inner @ down.weight.T + (down.bias if bias else 0))
    assert len(list(layer.parameters())) == (6 if bias else 3)


@pytest.mark.parametrize("norm_type", NORMS)
def test_pre_norm_and_post_norm_are_the_two_equations_of_the_literature(norm_type: str) -> None:
    config = tiny(norm_type=norm_type)
    layer = redraw(FeedForward(config))
    pre, post = redraw(PreNorm(config)), redraw(PostNorm(config))
    assert_close(pre.after(STATES, layer(pre.before(STATES))), STATES + layer(pre.norm(STATES)))
    assert_close(post.after(STATES, layer(post.before(STATES))), post.norm(STATES + layer(STATES)))


def test_pre_norm_and_post_norm_hold_the_same_weights() -> None:
    pre, post = (NORM_POSITIONS[name](tiny(norm_position=name)) for name in ("pre", "post"))
    assert pre.state_dict().keys() == post.state_dict().keys() == {"norm.weight", "norm.bias"}


@pytest.mark.parametrize("name", NORM_POSITIONS)
def test_dropout_falls_on_the_update_and_never_on_the_residual(name: str) -> None:
    residual = NORM_POSITIONS[name](tiny(norm_position=name, hidden_dropout=0.5)).train()
    residual.norm = torch.nn.Identity()
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
