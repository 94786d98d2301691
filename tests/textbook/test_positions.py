# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Positions are the formulas of their papers, at every length, and nothing that a model has to store."""

import math
from typing import Any

import pytest
import torch
from model_cases import BACKENDS, DECODER, ENCODER, TINY, Case, assert_close, engines, texts, tiny
from transformers import LlamaConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from modeling_scratch.inputs import Inputs
from modeling_scratch.positions import (
    Alibi,
    alibi_slopes,
    rotary,
    rotate,
    sinusoidal,
)

LIMIT = 64


_llama3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
_yarn = {"factor": 4.0, "original_max_position_embeddings": LIMIT // 4}
ROPE: dict[str, list[dict[str, Any]]] = {
    "default": [{}],
    "linear": [{"factor": 4.0}],
    "dynamic": [{"factor": 2.0}],
    "llama3": [{**_llama3, "original_max_position_embeddings": LIMIT // 2}],
    "yarn": [_yarn, *({**_yarn, **option} for option in (
        {"attention_factor": 0.7}, {"mscale": 0.8, "mscale_all_dim": 0.4}, {"truncate": False},
        {"beta_fast": 8.0, "beta_slow": 2.0}, {"factor": 1.0}, {"mscale": 0.8},
        {"beta_slow": 9.0, "truncate": False},  # the slowest pair turns more often than texts have positions
    ))],
}  # fmt: skip
ROPES = [{"rope_type": rope_type, **options} for rope_type, row in ROPE.items() for options in row]


def paper(position: int, size: int) -> list[float]:
    """Section 3.5 of Vaswani et al. 2017, one feature after another."""
    values = []
    for i in range(size // 2):
        angle = position / 10_000 ** (2 * i / size)
        values += [math.sin(angle), math.cos(angle)]
    return values


@pytest.mark.parametrize("size", [2, 6, 64, 512])
def test_sinusoids_are_those_of_the_paper(size: int) -> None:
    positions = [0, 1, 2, 17, 63, 511, 4000]
    values = sinusoidal(torch.tensor([positions]), size)[0]
    expected = torch.tensor([paper(position, size) for position in positions], dtype=torch.float64)
    assert (values - expected).abs().max() <= 3e-7  # as exact far behind as at the start


@pytest.mark.parametrize("rope", ROPES, ids=str)
def test_rotary_positions_are_those_of_llama(rope: dict[str, Any]) -> None:
    for theta, length in (10_000.0, 5), (500_000.0, LIMIT + 1), (10_000.0, 40 * LIMIT):
        rope = {**rope, "rope_theta": theta}
        config = LlamaConfig(hidden_size=64, num_attention_heads=2, max_position_embeddings=LIMIT, rope_parameters=rope)
        position_ids = torch.arange(length)[None]
        expected = LlamaRotaryEmbedding(config)(torch.zeros(1), position_ids)
        found = rotary(position_ids, 32, rope, LIMIT, torch.float32)
        for values, reference in zip(found, expected, strict=True):
            assert_close(values.squeeze(2), reference)
        states = torch.randn(1, length, 3, 32, generator=torch.Generator().manual_seed(0))
        reference, _ = apply_rotary_pos_emb(states, states, *expected, unsqueeze_dim=2)
        assert_close(rotate(states, *found), reference)


COUNTED = (
    ([1, 1, 1, 0, 0], [0, 1, 2, None, None]), ([0, 0, 1, 1, 1], [None, None, 0, 1, 2]),
    ([0, 1, 0, 1, 1], [None, 0, None, 1, 2]), ([0, 0, 0, 0, 0], [None] * 5),
)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.long, torch.bool, torch.float32], ids=str)
def test_positions_count_real_tokens(dtype: torch.dtype) -> None:
    """Those of padding do not matter, but have to be rows of a table."""
    for mask, expected in COUNTED:
        inputs = Inputs(torch.ones(1, 5), attention_mask=torch.tensor([mask], dtype=dtype))
        found = inputs.positions(tiny())[0].tolist()
        assert [place if real else None for place, real in zip(found, mask, strict=True)] == expected
        assert set(found) <= set(range(5))


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12, 20])
def test_alibi_has_the_slopes_of_bloom(heads: int) -> None:
    expected = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1]  # the bias of position 1
    assert_close(alibi_slopes(heads), expected)


def test_alibi_falls_with_the_distance_on_both_sides() -> None:
    distances = torch.arange(5) - torch.arange(5)[:, None]
    bias = Alibi(tiny(num_attention_heads=2), is_causal=False)(distances)
    assert torch.equal(bias, -distances.abs() * torch.tensor([2.0**-4, 2.0**-8])[:, None, None])


@engines
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("case", "seen"), [(ENCODER, range(-2, 3)), (DECODER, range(-1, 1))], ids=["both", "causal"])
def test_a_token_sees_its_window(case: Case, seen: range, backend: str) -> None:
    """Two tokens in a causal window, itself included; two on each side in a bidirectional one."""
    settings = {"sliding_window": 2, "position_type": "none", "num_hidden_layers": 1, "attn_implementation": backend}
    model, ids = case.model(**settings), texts()[2][None]
    before = model(ids).last_hidden_state[0]
    for changed in range(ids.shape[1]):
        other = ids.clone()
        other[0, changed] = (ids[0, changed] + 7) % TINY["vocab_size"]
        moved = (model(other).last_hidden_state[0] - before).abs().amax(-1) > 1e-6
        assert moved.tolist() == [changed - query in seen for query in range(ids.shape[1])]
