# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rotary frequencies for texts longer than those of training: one function for each rope_type of the config.

Shapes: P pairs of rotated features; frequencies (P,) are the angles by which a position more turns each pair.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Rope = dict[str, Any]  # config.rope_parameters


def linear(frequencies: Tensor, rope: Rope, **_: Any) -> Tensor:
    """Position interpolation (Chen et al. 2023): all angles divided by the factor."""
    return frequencies / rope["factor"]


def dynamic(frequencies: Tensor, rope: Rope, size: int, length: Tensor, limit: int) -> Tensor:
    """NTK-aware scaling: beyond the trained length the base grows with the length of the longest text of a batch.

    Cached keys keep the angles of the length at which they came, as in Llama: beyond the limit, uncached runs differ.
    """
    growth = (rope["factor"] * length.clamp(min=limit) / limit - (rope["factor"] - 1)) ** (
        size / max(size - 2, 1)
    )
    pairs = torch.arange(0, size, 2, device=frequencies.device, dtype=torch.float32)
    return 1.0 / (rope["rope_theta"] * growth) ** (pairs / size)


def llama3(frequencies: Tensor, rope: Rope, **_: Any) -> Tensor:
    """Llama 3.1: long waves are divided by the factor, short ones kept, those between blended."""
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    # Full turns in the trained length.
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return kept * frequencies + (1 - kept) * frequencies / rope["factor"]


def yarn(frequencies: Tensor, rope: Rope, size: int, **_: Any) -> Tensor:
    """NTK by parts (Peng et al. 2023, 3.2): as llama3, the blend a ramp over the pairs of features."""
    trained, theta = rope["original_max_position_embeddings"], rope["rope_theta"]
    turns = rope.get("beta_fast") or 32, rope.get("beta_slow") or 1
    # The pair of features that makes n turns.
    low, high = (
        size * math.log(trained / (2 * math.pi * n)) / (2 * math.log(theta)) for n in turns
    )
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    pair = torch.arange(size // 2, device=frequencies.device)
    kept = 1 - ((pair - low) / max(high - low, 0.001)).clamp(0, 1)
    return kept * frequencies + (1 - kept) * frequencies / rope["factor"]


SCALED_FREQUENCIES: dict[str, Callable[..., Tensor]] = {
    "default": lambda frequencies, **_: frequencies,
    "linear": linear,
    "dynamic": dynamic,
    "llama3": llama3,
    "yarn": yarn,
}


def yarn_temperature(rope: Rope) -> float:
    """YaRN's factor of cosines and sines, 0.1 log(factor) + 1 (Peng et al. 2023, 3.4); 1.0 for other types."""
    if rope["rope_type"] != "yarn":
        return 1.0
    if (given := rope.get("attention_factor")) is not None:
        return given
    weights = rope.get("mscale") or 0, rope.get("mscale_all_dim") or 0
    above, below = (0.1 * weight * math.log(max(rope["factor"], 1)) + 1 for weight in weights)
    return above / below if all(weights) else 0.1 * math.log(max(rope["factor"], 1)) + 1
