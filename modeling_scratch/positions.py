# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Positions and their encodings, functions of position_ids or of distances: no buffers to lose, no length limit.

Shapes: B batch, T length, S keys, N segments, E embedding size, H heads, D head size, R rotated features of a head.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from .configuration_scratch import ScratchConfig
from .rope_scaling import SCALED_FREQUENCIES, Rope, yarn_attention_factor


def _angles(position_ids: Tensor, size: int) -> Tensor:
    """position / 10000^(2i / size) for i < size / 2, modulo 2 pi; (B, T) -> (B, T, size / 2) in float32.

    In float64, except on MPS, which lacks it: at position 500, the error of float32 is 3e-5.
    """
    dtype = torch.float32 if position_ids.device.type == "mps" else torch.float64
    pairs = torch.arange(size // 2, device=position_ids.device, dtype=dtype)  # (size / 2,)
    frequencies = torch.exp(pairs * (-2 * math.log(10_000.0) / size))  # 10000^(-2i / size)
    angles = position_ids[..., None].to(dtype) * frequencies  # (B, T, size / 2)
    return angles.remainder(2 * math.pi).float()  # small ones keep their digits in float32


def sinusoidal(position_ids: Tensor, size: int) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/E)), PE(p, 2i+1) = cos(same) (Vaswani et al. 2017, 3.5). (B, T) -> (B, T, E)."""
    angles = _angles(position_ids, size)  # (B, T, E / 2)
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)  # (B, T, E / 2, 2)
    return pairs.flatten(-2)  # (B, T, E)


def sinusoidal_halves(position_ids: Tensor, size: int) -> Tensor:
    """The same values, first all sines, then all cosines, as Marian stores them. (B, T) -> (B, T, E)."""
    angles = _angles(position_ids, size)  # (B, T, E / 2)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)  # (B, T, E)


SINUSOIDS = {"sinusoidal": sinusoidal, "sinusoidal_halves": sinusoidal_halves}


def rotary(
    position_ids: Tensor, size: int, rope: Rope, limit: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """cos and sin of position * theta^(-2i / R), i and i + R/2 a pair (Su et al. 2021, 3.2.2). (B, T) -> (B, T, 1, R).

    size is D, of which R = partial_rotary_factor * D are rotated; limit: config.max_position_embeddings.
    """
    rotated = int(size * rope.get("partial_rotary_factor", 1.0))  # R
    # In float32, as native models compute them.
    pairs = torch.arange(0, rotated, 2, device=position_ids.device, dtype=torch.float32)
    frequencies = 1.0 / rope["rope_theta"] ** (pairs / rotated)  # (R / 2,)
    frequencies = SCALED_FREQUENCIES[rope["rope_type"]](
        frequencies,
        rope=rope,
        size=rotated,
        length=position_ids.max() + 1,  # a tensor: no synchronisation
        limit=limit,
    )
    angles = position_ids[..., None, None].float() * frequencies  # (B, T, 1, R / 2)
    angles = torch.cat((angles, angles), dim=-1)  # (B, T, 1, R)
    factor = yarn_attention_factor(rope)
    return (angles.cos() * factor).to(dtype), (angles.sin() * factor).to(dtype)


def rotary_cos_sin(
    config: ScratchConfig,
    position_ids: Tensor,
    dtype: torch.dtype,
    layer_type: str = "full_attention",
) -> tuple[Tensor, Tensor] | None:
    """cos and sin (B, T, 1, R) of rotary positions in layers of this type; None for other positions."""
    if config.position_type != "rotary":
        return None
    rope = config.rope_parameters
    if layer_type == "sliding_attention" and config.local_rope_theta is not None:
        # Layers with a window have no use for scaling.
        rope = rope | {"rope_type": "default", "rope_theta": config.local_rope_theta}
    return rotary(position_ids, config.head_dim, rope, config.max_position_embeddings, dtype)


def rotate(states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """(x_1 cos - x_2 sin, x_2 cos + x_1 sin), x_1 and x_2 the halves of the first R features.

    states (B, T, H, D), cos and sin (B, T, 1, R) -> (B, T, H, D).
    Su et al. (2021, eq. 34) rotate neighbours instead, an order of features that training cannot tell from this.
    """
    rotated, rest = states[..., : cos.shape[-1]], states[..., cos.shape[-1] :]
    first, second = rotated.chunk(2, dim=-1)  # (B, T, H, R / 2) each
    rotated = rotated * cos + torch.cat((-second, first), dim=-1) * sin  # (B, T, H, R)
    if rest.shape[-1] == 0:
        return rotated
    return torch.cat((rotated, rest), dim=-1)  # (B, T, H, D)


class Alibi(nn.Module):
    """bias = -m_h |j - i|, m_h: see alibi_slopes (Press et al. 2022, 3). (T, S) -> (H, T, S).

    It is the same for encoders and decoders, which is_causal tells apart in RelativePositions.
    """

    def __init__(self, config: ScratchConfig, is_causal: bool) -> None:
        super().__init__()
        self.heads = config.num_attention_heads

    def forward(self, distances: Tensor) -> Tensor:
        slopes = alibi_slopes(self.heads, distances.device)  # (H,)
        return -slopes[:, None, None] * distances.abs()  # (H, T, S)


def alibi_slopes(heads: int, device: torch.device | None = None) -> Tensor:
    """m_h = 2^(-8h/n), h = 1 to n, n the largest power of two up to H; the other heads have h = 0.5, 1.5, ...: (H,)."""
    n = 2 ** (heads.bit_length() - 1)
    ranks = torch.arange(1, n + 1, device=device), torch.arange(heads - n, device=device) + 0.5
    return torch.exp2(torch.cat(ranks) * (-8 / n))


class RelativePositions(nn.Module):
    """bias = b[bucket(j - i)], one learned table for all blocks of a stack (Raffel et al. 2020, 2.1).

    Distances (T, S) -> (H, T, S).
    """

    def __init__(self, config: ScratchConfig, is_causal: bool) -> None:
        super().__init__()
        self.is_causal, self.max_distance = is_causal, config.relative_attention_max_distance
        self.table = nn.Embedding(
            config.relative_attention_num_buckets, config.num_attention_heads
        )

    def forward(self, distances: Tensor) -> Tensor:
        count = self.table.num_embeddings
        buckets = relative_buckets(distances, count, self.max_distance, self.is_causal)
        return self.table(buckets).permute(2, 0, 1)  # (T, S, H) -> (H, T, S)


def relative_buckets(
    distances: Tensor, count: int, max_distance: int, is_causal: bool
) -> Tensor:
    """The bucket of each distance j - i, (T, S) -> (T, S).

    With 32 buckets, a causal stack has one for each distance 0 to 15 back, and 16 that grow with
    log(distance) up to max_distance. A bidirectional stack has half of the buckets for each side:
    one for each distance 0 to 7, and 8 that grow.
    """
    first_bucket = torch.zeros_like(distances)  # of this side
    steps = (-distances).clamp(min=0)
    if not is_causal:
        count = count // 2
        first_bucket, steps = (distances > 0) * count, distances.abs()
    exact = count // 2
    # From 0 at distance exact to 1 at max_distance.
    progress = (steps.clamp(min=1) / exact).log() / math.log(max_distance / exact)
    growing = exact + (progress * (count - exact)).long()
    return first_bucket + torch.where(steps < exact, steps, growing.clamp(max=count - 1))


POSITION_BIASES: dict[str, Any] = {"alibi": Alibi, "relative": RelativePositions}
