# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Positions as pure functions of position_ids: no buffers to lose on loading, no length limit of their own.

Shapes: B batch, T length, E embedding size, D head size, H heads.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def positions_from_mask(
    attention_mask: Tensor | None, shape: Sequence[int], device: torch.device, past: Tensor | int = 0
) -> Tensor:
    """position = (number of real tokens before this one), so padding on either side changes nothing.

    attention_mask (B, past + T) with 1 at real tokens; without one, or with a mask of scores (B, 1, T, T), all are
    real. past counts the tokens that a cache holds. Returns (B, T), or (1, T) where all are real.
    """
    if attention_mask is None or attention_mask.ndim != 2:
        return torch.arange(shape[1], device=device)[None] + past
    return (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, -shape[1] :]


def _angles(position_ids: Tensor, size: int) -> Tensor:
    """position / 10000^(2i / size) for i < size / 2, less full turns; (B, T) -> (B, T, size / 2) in float32.

    The turns are taken off in float64 where the device has it: at position 500, float32 is off by 3e-5.
    """
    dtype = torch.float32 if position_ids.device.type == "mps" else torch.float64
    pair = torch.arange(size // 2, device=position_ids.device, dtype=dtype)
    angles = position_ids[..., None].to(dtype) * torch.exp(pair * (-2 * math.log(10_000.0) / size))
    return angles.remainder(2 * math.pi).float()


def sinusoidal(position_ids: Tensor, size: int) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/E)), PE(p, 2i+1) = cos(same) (Vaswani et al. 2017, 3.5). (B, T) -> (B, T, E)."""
    angles = _angles(position_ids, size)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


def sinusoidal_halves(position_ids: Tensor, size: int) -> Tensor:
    """The same values, first all sines, then all cosines, as Marian stores them. (B, T) -> (B, T, E)."""
    angles = _angles(position_ids, size)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


SINUSOIDS = {"sinusoidal": sinusoidal, "sinusoidal_halves": sinusoidal_halves}


def _default_frequencies(theta: float, size: int, device: torch.device) -> Tensor:
    """theta^(-2i / D) for i < D / 2 (Su et al. 2021, 3.2.2)."""
    return 1.0 / theta ** (torch.arange(0, size, 2, device=device, dtype=torch.float32) / size)


def _linear_frequencies(frequencies: Tensor, rope: dict[str, Any], **_: Any) -> Tensor:
    """Position interpolation (Chen et al. 2023): all angles divided by the factor."""
    return frequencies / rope["factor"]


def _dynamic_frequencies(frequencies: Tensor, rope: dict[str, Any], size: int, length: Tensor, limit: int) -> Tensor:
    """NTK-aware scaling: beyond the trained length the base grows with the length that is seen.

    The longest text of a batch decides for all. Keys in a cache keep the angles of the length at which they came, as
    in the library's Llama: beyond the limit, cached and uncached runs differ.
    """
    factor = rope["factor"]
    growth = (factor * length.clamp(min=limit) / limit - (factor - 1)) ** (size / (size - 2))
    exponent = torch.arange(0, size, 2, device=frequencies.device, dtype=torch.float32) / size
    return 1.0 / (rope["rope_theta"] * growth) ** exponent


def _llama3_frequencies(frequencies: Tensor, rope: dict[str, Any], **_: Any) -> Tensor:
    """Llama 3.1: long waves are divided by the factor, short ones kept, those between blended."""
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)  # full turns in the trained length
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return kept * frequencies + (1 - kept) * frequencies / rope["factor"]


SCALED_FREQUENCIES: dict[str, Callable[..., Tensor]] = {
    "linear": _linear_frequencies,
    "dynamic": _dynamic_frequencies,
    "llama3": _llama3_frequencies,
}


def rotary(
    position_ids: Tensor, size: int, rope: dict[str, Any], limit: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """cos and sin of position * frequency_i, each pair (i, i + D/2) sharing one angle. (B, T) -> two of (B, T, 1, D).

    rope is config.rope_parameters; limit the trained length (config.max_position_embeddings).
    """
    frequencies = _default_frequencies(rope["rope_theta"], size, position_ids.device)
    if rope["rope_type"] in SCALED_FREQUENCIES:
        length = position_ids.max() + 1  # a tensor: no synchronisation
        scale = SCALED_FREQUENCIES[rope["rope_type"]]
        frequencies = scale(frequencies, rope=rope, size=size, length=length, limit=limit)
    angles = position_ids[..., None, None].float() * frequencies
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x cos + (-x_2, x_1) sin: turns each pair of features by its angle (Su et al. 2021, eq. 34). (B, T, H, D)."""
    first, second = states.chunk(2, dim=-1)
    return states * cos + torch.cat((-second, first), dim=-1) * sin
