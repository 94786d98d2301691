# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tensors as JSON: shape, dtype and base64, at full precision or as bytes between the lowest and the highest value.

value = low + byte / 255 * (high - low)        byte / 254, and 255 for a masked score, where "masked" is true
"""

import base64
import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

MASKED = -1e30  # scores below are those of masked keys
MOST_OF_AXIS = 64  # entries of an axis of a thinned array

Packed = dict[str, Any]


def packed(tensor: Tensor) -> Packed:
    """Return a tensor at full precision, float32 or int32."""
    dtype = torch.float32 if tensor.is_floating_point() else torch.int32
    return _encoded(tensor.detach().cpu().to(dtype).numpy())


def packed_bytes(tensor: Tensor) -> Packed:
    """Return a tensor as bytes, with its range. Numbers that are not finite count as masked."""
    values = tensor.detach().cpu().to(torch.float64).numpy()
    masked = ~np.isfinite(values) | (values < MASKED)
    real = values[~masked]
    low, high = (float(real.min()), float(real.max())) if real.size else (0.0, 0.0)
    most = 254 if masked.any() else 255
    scaled = (np.where(masked, low, values) - low) * (most / (high - low) if high > low else 0.0)
    array = np.where(masked, 255, np.rint(scaled)).astype(np.uint8)
    return {**_encoded(array), "low": low, "high": high, **({"masked": True} if masked.any() else {})}


def _encoded(array: np.ndarray) -> Packed:
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    data = base64.b64encode(little.tobytes()).decode("ascii")
    return {"shape": list(array.shape), "dtype": array.dtype.name, "data": data}


def thinned(tensor: Tensor) -> tuple[Tensor, list[list[int] | None]]:
    """Return at most `MOST_OF_AXIS` evenly spaced entries of each axis, and their indices; None for a whole axis."""
    axes: list[list[int] | None] = []
    for axis, size in enumerate(tensor.shape):
        kept = torch.linspace(0, size - 1, MOST_OF_AXIS).round().long() if size > MOST_OF_AXIS else None
        tensor = tensor if kept is None else tensor.index_select(axis, kept.to(tensor.device))
        axes.append(None if kept is None else kept.tolist())
    return tensor, axes


def plain(value: Any) -> Any:
    """Return dataclasses, tensors and containers as JSON types; numbers that are not finite become None."""
    if isinstance(value, Tensor):
        return packed(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value) if each.repr}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
