# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Attention equals its formula and torch's own layer, whichever backend computes it."""

import math
from typing import Any

import pytest
import torch
from conftest import redraw
from model_cases import MASK, TINY
from torch import Tensor, nn
from transformers.masking_utils import create_bidirectional_mask

from modeling_scratch import ScratchEncoderConfig, ScratchEncoderModel
from modeling_scratch.attention import Attention

BACKENDS = ["eager", "sdpa"]
REAL = MASK.bool()
STATES = torch.randn(*MASK.shape, TINY["hidden_size"], generator=torch.Generator().manual_seed(1))

every_backend = pytest.mark.parametrize("backend", BACKENDS)
biased = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])


def attention(backend: str, **settings: Any) -> Attention:
    config = ScratchEncoderConfig(**{**TINY, "attn_implementation": backend, **settings})
    return redraw(Attention(config, layer_idx=0)).eval()


def attend(layer: Attention, mask: Tensor | None = MASK) -> Tensor:
    output, _ = layer(STATES, create_bidirectional_mask(layer.config, STATES, mask))
    return output


def by_hand(layer: Attention, text: int, position: int) -> Tensor:
    """One token of one text: head by head, score by score."""
    size, outputs = layer.head_dim, []
    states = STATES[text][REAL[text]]
    query, key, value = (project(states) for project in (layer.q_proj, layer.k_proj, layer.v_proj))
    for head in range(layer.config.num_attention_heads):
        shared = head // layer.num_key_value_groups
        own, other = slice(head * size, (head + 1) * size), slice(shared * size, (shared + 1) * size)
        scores = torch.stack([query[position, own] @ row / math.sqrt(size) for row in key[:, other]])
        outputs.append((scores.exp() / scores.exp().sum()) @ value[:, other])
    return layer.o_proj(torch.cat(outputs))


def as_torch(layer: Attention) -> nn.MultiheadAttention:
    """torch's layer with the weights of ours."""
    config = layer.config
    other = nn.MultiheadAttention(
        config.hidden_size, config.num_attention_heads, bias=config.attention_bias, batch_first=True
    )
    projections = (layer.q_proj, layer.k_proj, layer.v_proj)
    with torch.no_grad():
        other.in_proj_weight.copy_(torch.cat([projection.weight for projection in projections]))
        other.out_proj.weight.copy_(layer.o_proj.weight)
        if config.attention_bias:
            other.in_proj_bias.copy_(torch.cat([projection.bias for projection in projections]))
            other.out_proj.bias.copy_(layer.o_proj.bias)
    return other


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@every_backend
@pytest.mark.parametrize(
    "settings",
    [{}, {"num_key_value_heads": 2}, {"num_key_value_heads": 1}, {"head_dim": 6}, {"hidden_size": 16, "head_dim": 3}],
    ids=["full", "grouped", "one_key_head", "wide_heads", "odd_heads"],
)
def test_it_is_the_formula_of_the_paper(backend: str, settings: dict) -> None:
    layer = attention(backend, **settings)
    output = attend(layer)
    for text, real in enumerate(REAL):
        first = int(real.int().argmax())
        assert_close(output[text, first], by_hand(layer, text, 0))
        assert_close(output[text, first + 2], by_hand(layer, text, 2))


@every_backend
@biased
def test_it_is_the_layer_of_torch(backend: str, bias: bool) -> None:
    layer = attention(backend, attention_bias=bias)
    expected, _ = as_torch(layer)(STATES, STATES, STATES, key_padding_mask=~REAL)
    assert_close(attend(layer)[REAL], expected[REAL])


def test_eager_weights_are_those_of_torch() -> None:
    layer = attention("eager")
    _, weights = layer(STATES, create_bidirectional_mask(layer.config, STATES, MASK))
    _, expected = as_torch(layer)(STATES, STATES, STATES, key_padding_mask=~REAL, average_attn_weights=False)
    assert_close(weights.transpose(1, 2)[REAL], expected.transpose(1, 2)[REAL])


@biased
@pytest.mark.parametrize("settings", [{}, {"num_key_value_heads": 2}], ids=["full", "grouped"])
def test_backends_agree_with_gradients(settings: dict, bias: bool) -> None:
    eager, fused = (attention(backend, attention_bias=bias, **settings) for backend in BACKENDS)
    outputs = [attend(layer)[REAL] for layer in (eager, fused)]
    assert_close(*outputs)
    for output in outputs:
        output.square().mean().backward()
    for one, other in zip(eager.parameters(), fused.parameters(), strict=True):
        assert_close(one.grad, other.grad)


@every_backend
@pytest.mark.parametrize("key_heads", [1, 2])
def test_grouped_queries_equal_full_heads_with_repeated_keys(backend: str, key_heads: int) -> None:
    grouped, full = attention(backend, num_key_value_heads=key_heads), attention(backend)
    weights = grouped.state_dict()
    for name in ("k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias"):
        heads = weights[name].unflatten(0, (key_heads, -1))
        weights[name] = heads.repeat_interleave(4 // key_heads, dim=0).flatten(0, 1)
    full.load_state_dict(weights)
    assert_close(attend(grouped)[REAL], attend(full)[REAL])


@every_backend
@pytest.mark.parametrize("position_type", ["sinusoidal", "rotary"])
def test_weights_are_shares_of_the_real_tokens(backend: str, position_type: str) -> None:
    """Fused backends never form the weights: asked for, they come from the eager one."""
    config = ScratchEncoderConfig(**TINY, position_type=position_type, attn_implementation=backend)
    model = redraw(ScratchEncoderModel(config)).eval()
    outputs = model(torch.where(REAL, 7, 0), MASK, output_attentions=True)
    assert len(outputs.attentions) == TINY["num_hidden_layers"]
    for weights in outputs.attentions:
        assert weights.shape == (3, 4, 9, 9)
        assert_close(weights.sum(-1), torch.ones(3, 4, 9))
        assert (weights.masked_select(~REAL[:, None, None]) == 0).all()
        assert (weights.masked_select(REAL[:, None, None]) > 0).all()


@every_backend
def test_large_scores_stay_finite(backend: str) -> None:
    assert attend(redraw(attention(backend), std=30.0)).isfinite().all()


@every_backend
def test_dropout_works_in_training_alone(backend: str) -> None:
    layer, plain = attention(backend, attention_dropout=0.5), attention(backend)
    torch.manual_seed(0)
    assert torch.equal(attend(layer), attend(plain))
    assert not torch.allclose(attend(layer.train()), attend(plain), atol=1e-2)


@pytest.mark.parametrize("shape", [(0, 5), (2, 0)], ids=str)
def test_nothing_attends_to_nothing(shape: tuple[int, int]) -> None:
    states = torch.zeros(*shape, TINY["hidden_size"])
    assert attention("eager", num_key_value_heads=2)(states)[0].shape == states.shape
