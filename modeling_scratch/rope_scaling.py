# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rotary frequencies for texts longer than those of training: one function for each rope_type of the config.

Shapes: P pairs of the R rotated features of a head. frequencies (P,): the angle by which each pair turns from one
position to the next. Arguments: size is R, length the number of positions of the longest text, limit
max_position_embeddings.
"""

import math
from typing import Any

import torch
from torch import Tensor

Rope = dict[str, Any]  # config.rope_parameters


def linear(frequencies: Tensor, rope: Rope, **_: Any) -> Tensor:
    """Position interpolation (Chen et al. 2023): all angles divided by the factor."""
    return frequencies / rope["factor"]


def dynamic(frequencies: Tensor, rope: Rope, size: int, length: Tensor, limit: int) -> Tensor:
    """NTK-aware: theta' = theta (factor L / limit - (factor - 1))^(R / (R - 2)), L = max(length, limit).

    Cached keys keep the angles of the length at which they came, as in Llama: beyond the limit,
    runs without a cache differ.
    """
    growth = rope["factor"] * length.clamp(min=limit) / limit - (rope["factor"] - 1)
    theta = rope["rope_theta"] * growth ** (size / max(size - 2, 1))
    pairs = torch.arange(0, size, 2, device=frequencies.device, dtype=torch.float32)  # (P,)
    return 1.0 / theta ** (pairs / size)


def llama3(frequencies: Tensor, rope: Rope, **_: Any) -> Tensor:
    """Llama 3.1: slow pairs are divided by the factor, fast ones kept, those between blended."""
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    # Full turns in the trained length.
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)  # (P,)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return blend(frequencies, kept, rope["factor"])


def yarn(frequencies: Tensor, rope: Rope, size: int, **_: Any) -> Tensor:
    """NTK by parts (Peng et al. 2023, 3.2): as llama3, the blend a ramp over the pairs of features."""
    first = pair_with_turns(rope.get("beta_fast") or 32, rope, size)
    last = pair_with_turns(rope.get("beta_slow") or 1, rope, size)
    if rope.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    pairs = torch.arange(size // 2, device=frequencies.device)  # (P,)
    kept = 1 - ((pairs - first) / (last - first or 0.001)).clamp(0, 1)
    return blend(frequencies, kept, rope["factor"])


def pair_with_turns(turns: float, rope: Rope, size: int) -> float:
    """The pair i that makes this many full turns in the trained length: length theta^(-2i / R) = 2 pi turns."""
    trained, theta = rope["original_max_position_embeddings"], rope["rope_theta"]
    return size * math.log(trained / (2 * math.pi * turns)) / (2 * math.log(theta))


def blend(frequencies: Tensor, kept: Tensor, factor: float) -> Tensor:
    """The share kept (P,) of each frequency as it is, the rest divided by the factor."""
    return kept * frequencies + (1 - kept) * frequencies / factor


SCALED_FREQUENCIES: dict[str, Any] = {
    "default": lambda frequencies, **_: frequencies,
    "linear": linear,
    "dynamic": dynamic,
    "llama3": llama3,
    "yarn": yarn,
}


def yarn_attention_factor(rope: Rope) -> float:
    """YaRN multiplies cosines and sines by 0.1 log(factor) + 1 (Peng et al. 2023, 3.4); 1.0 for other types."""
    if rope["rope_type"] != "yarn":
        return 1.0
    if (given := rope.get("attention_factor")) is not None:
        return given
    weights = rope.get("mscale") or 0, rope.get("mscale_all_dim") or 0  # DeepSeek
    above, below = (0.1 * weight * math.log(max(rope["factor"], 1)) + 1 for weight in weights)
    return above / below if all(weights) else 0.1 * math.log(max(rope["factor"], 1)) + 1
