# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Positions are the formulas of their papers, at every length, and nothing that a model has to store."""

import math
from typing import Any

import pytest
import torch
from conftest import redraw
from model_cases import TINY
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from modeling_scratch import ScratchEncoderConfig, ScratchEncoderModel
from modeling_scratch.configuration_scratch import ROPE_TYPES
from modeling_scratch.positions import positions_from_mask, rotary, rotate, sinusoidal, sinusoidal_halves

LIMIT = 64
ROPE: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 2.0},
    "llama3": {
        "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": LIMIT // 2,
    },
    "yarn": {"factor": 4.0, "original_max_position_embeddings": LIMIT // 4},
}  # fmt: skip


def rope_parameters(rope_type: str, theta: float = 10_000.0) -> dict[str, Any]:
    return {"rope_type": rope_type, "rope_theta": theta, **ROPE[rope_type]}


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


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


def test_halves_hold_the_same_sinusoids_side_by_side() -> None:
    position_ids = torch.tensor([[3, 0, 9], [1, 2, 100]])
    interleaved = sinusoidal(position_ids, 8)
    assert torch.equal(
        sinusoidal_halves(position_ids, 8), torch.cat((interleaved[..., ::2], interleaved[..., 1::2]), -1)
    )


def test_every_rope_type_is_tested() -> None:
    assert tuple(ROPE) == ROPE_TYPES


@pytest.mark.parametrize("length", [5, LIMIT, LIMIT + 1, 40 * LIMIT])
@pytest.mark.parametrize("theta", [10_000.0, 500_000.0])
@pytest.mark.parametrize("rope_type", ROPE)
def test_rotary_positions_are_those_of_llama(rope_type: str, theta: float, length: int) -> None:
    rope = rope_parameters(rope_type, theta)
    config = LlamaConfig(hidden_size=64, num_attention_heads=2, max_position_embeddings=LIMIT, rope_parameters=rope)
    position_ids = torch.arange(length)[None]
    expected = LlamaRotaryEmbedding(config)(torch.zeros(1), position_ids)
    found = rotary(position_ids, 32, rope, LIMIT, torch.float32)
    for values, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(values.squeeze(2), reference, atol=1e-5, rtol=0)

    states = draw(1, length, 3, 32)
    reference, _ = apply_rotary_pos_emb(states, states, *expected, unsqueeze_dim=2)
    torch.testing.assert_close(rotate(states, *found), reference, atol=1e-5, rtol=0)


@pytest.mark.parametrize("rope_type", ROPE)
def test_rotary_scores_depend_on_the_distance_alone(rope_type: str) -> None:
    rope = rope_parameters(rope_type)
    position_ids = torch.arange(20)[None]
    angles = rotary(position_ids, 16, rope, LIMIT, torch.float32)
    query, key = (rotate(draw(1, 1, 1, 16, seed=seed).expand(1, 20, 1, 16), *angles)[0, :, 0] for seed in (1, 2))
    scores = query @ key.T
    torch.testing.assert_close(scores[1:, 1:], scores[:-1, :-1], atol=1e-5, rtol=0)
    assert not torch.allclose(scores[0, 1:], scores[0, :-1], atol=1e-2)


@pytest.mark.parametrize("rope_type", ROPE)
def test_rotation_keeps_lengths(rope_type: str) -> None:
    """YaRN also scales them, by 0.1 log(factor) + 1."""
    scale = 0.1 * math.log(ROPE["yarn"]["factor"]) + 1 if rope_type == "yarn" else 1.0
    states = draw(2, 100, 3, 16)
    turned = rotate(states, *rotary(torch.arange(100)[None], 16, rope_parameters(rope_type), LIMIT, torch.float32))
    torch.testing.assert_close(turned.norm(dim=-1), states.norm(dim=-1) * scale)
    torch.testing.assert_close(turned[:, 0], states[:, 0] * scale)
    assert not torch.allclose(turned[:, 1:], states[:, 1:], atol=0.1)


def test_rotary_positions_take_the_type_of_the_states() -> None:
    for values in rotary(torch.arange(3)[None], 16, rope_parameters("default"), LIMIT, torch.bfloat16):
        assert values.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ([1, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
        ([1, 1, 1, 0, 0], [0, 1, 2, None, None]),
        ([0, 0, 1, 1, 1], [None, None, 0, 1, 2]),
        ([0, 1, 0, 1, 1], [None, 0, None, 1, 2]),
        ([0, 0, 0, 0, 0], [None] * 5),
    ],
    ids=["none", "right", "left", "holes", "all"],
)
@pytest.mark.parametrize("dtype", [torch.long, torch.bool, torch.float32], ids=str)
def test_positions_count_real_tokens(mask: list[int], expected: list[int | None], dtype: torch.dtype) -> None:
    """Those of padding do not matter, but have to be rows of a table."""
    found = positions_from_mask(torch.tensor([mask], dtype=dtype), (1, 5), torch.device("cpu"))[0].tolist()
    assert [place if real else None for place, real in zip(found, mask, strict=True)] == expected
    assert set(found) <= set(range(5))


def test_positions_count_all_tokens_without_a_mask() -> None:
    assert positions_from_mask(None, (3, 4), torch.device("cpu")).tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("position_type", "relative"), [("rotary", True), ("none", True), ("sinusoidal", False)])
def test_only_relative_positions_survive_a_shift(position_type: str, relative: bool) -> None:
    model = redraw(ScratchEncoderModel(ScratchEncoderConfig(**TINY, position_type=position_type))).eval()
    ids = torch.tensor([[5, 3, 8, 8, 1]])
    here, there = (model(ids, position_ids=torch.arange(5)[None] + shift).last_hidden_state for shift in (0, 7))
    assert torch.allclose(here, there, atol=1e-5) == relative


def test_without_positions_order_is_lost() -> None:
    model = redraw(ScratchEncoderModel(ScratchEncoderConfig(**TINY, position_type="none"))).eval()
    ids, order = torch.tensor([[5, 3, 8, 9, 1]]), [3, 0, 4, 1, 2]
    shuffled, straight = model(ids[:, order]).last_hidden_state, model(ids).last_hidden_state[:, order]
    torch.testing.assert_close(shuffled, straight, atol=1e-5, rtol=0)
