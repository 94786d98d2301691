# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Attention is the formula of its paper, whichever backend computes it; test_stack.py compares it with torch's."""

import math
from typing import Any

import pytest
import torch
from model_cases import MASK, TINY, assert_close, backends, tiny
from shared import redraw
from torch import Tensor
from transformers.masking_utils import create_bidirectional_mask

from modeling_scratch.attention import Attention, eager_attention
from modeling_scratch.fast.attention import eager_attention as attend_without_repeats

REAL = MASK.bool()
STATES = torch.randn(*MASK.shape, TINY["hidden_size"], generator=torch.Generator().manual_seed(1))


def attention(backend: str, **settings: Any) -> Attention:
    return redraw(Attention(tiny(attn_implementation=backend, **settings), layer_idx=0)).eval()


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


@backends
@pytest.mark.parametrize(
    "settings",
    [
        {"attention_bias": False},
        {"num_key_value_heads": 2},
        {"num_key_value_heads": 1},
        {"head_dim": 3},
    ],
    ids=["no_bias", "grouped", "one_key_head", "odd_heads"],
)
def test_it_is_the_formula_of_the_paper(backend: str, settings: dict) -> None:
    layer = attention(backend, **settings)
    output = attend(layer)
    for text, real in enumerate(REAL):
        first = int(real.int().argmax())
        assert_close(output[text, first], by_hand(layer, text, 0))
        assert_close(output[text, first + 2], by_hand(layer, text, 2))


@pytest.mark.parametrize("attend_to", [eager_attention, attend_without_repeats], ids=["textbook", "fast"])
def test_a_row_without_a_visible_key_is_finite_in_float16(attend_to: Any) -> None:
    """Its scores and the mask together are below the range of float16."""
    query, key = (torch.full((1, 1, 2, 4), value, dtype=torch.float16) for value in (6.0, -6.0))
    mask = torch.tensor([[True, True], [False, False]])[None, None]
    output, _ = attend_to(attention("eager", num_key_value_heads=4), query, key, query, mask, scaling=1.0)
    assert_close(output, torch.full_like(output, 6.0))
