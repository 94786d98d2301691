# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The products of linear layers, by the faster one of the two libraries of them that torch has on a CPU.

For numbers of 32 bits torch takes MKL, which keeps its instructions of 512 bits for Intel's processors. On AMD's that
have them oneDNN takes half the time.

Shapes: T rows, those of all leading axes; K features in, N out.
"""

import platform
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .shortcuts import is_dense, is_plain_linear, is_transformed

HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
# Multiplications in a product from which on oneDNN is ahead; of smaller ones its call costs more than the work. MKL is
# slow to read large weights, so that few rows count as this many.
LEAST_WORK, FEW_ROWS = 2**23, 4


def linear(layer: nn.Module, states: Tensor) -> Tensor:
    """layer(states), (..., K) -> (..., N); a call of the layer wherever somebody would notice that there was none."""
    if is_transformed(states) or type(layer) is not nn.Linear or not _is_much(states, layer.out_features):
        return layer(states)
    return affine(states, layer.weight, layer.bias) if is_plain_linear(layer) else layer(states)


def affine(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b, by the faster library."""
    if not suits_onednn(states, weight) or not has_faster_library() or not _is_much(states, len(weight)):
        return F.linear(states, weight, bias)
    return _Affine.apply(states, weight, bias) if torch.is_grad_enabled() else multiply(states, weight, bias)


def _is_much(states: Tensor, features: int) -> bool:
    return max(states.numel(), FEW_ROWS * states.shape[-1]) * features >= LEAST_WORK


@cache
def has_faster_library() -> bool:
    """Whether MKL takes a slow way on this processor, and oneDNN a fast one."""
    if not (HAS_ONEDNN and torch.backends.mkl.is_available()):
        return False
    return torch.backends.cpu.get_cpu_capability() == "AVX512" and "AuthenticAMD" in _processor()


def _processor() -> str:
    """What the operating system says of it."""
    description = Path("/proc/cpuinfo")
    return description.read_text() if description.is_file() else platform.processor()


def recurring(rows: int, device: torch.device) -> int:
    """So many rows or a few more, at most 1 in 32, so that products have few different shapes.

    For a shape that is new to it, oneDNN takes as long to prepare itself as to multiply.
    """
    if device.type != "cpu" or not has_faster_library() or not torch.backends.mkldnn.enabled:
        return rows
    step = max(1, 1 << rows.bit_length() >> 6)
    return -(-rows // step) * step


def suits_onednn(states: Tensor, weight: Tensor) -> bool:
    """Whether its product is the one that is asked for, and nobody looks for torch's own."""
    if is_transformed(states) or not HAS_ONEDNN or not torch.backends.mkldnn.enabled or not is_dense(weight):
        return False
    if states.device.type != "cpu" or not states.dtype == weight.dtype == torch.float32:
        return False
    fits = states.ndim > 1 and states.numel() > 0 and states.shape[-1] == weight.shape[1]
    return fits and not torch.is_autocast_enabled("cpu")


def multiply(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b by oneDNN, without gradients. It copies x that is not in rows, and takes W as it lies."""
    return torch.ops.mkldnn._linear_pointwise.default(states, weight, bias, "none", [], "")


class _Affine(torch.autograd.Function):
    """x W^T + b and its gradients g W, g^T x, and the sum of g over the rows."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(states, weight)
        return multiply(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        states, weight = ctx.saved_tensors
        times = F.linear if torch.is_grad_enabled() else multiply  # who differentiates twice needs a graph
        above, below = gradient.flatten(0, -2), states.flatten(0, -2)  # (T, N), (T, K)
        of_states = of_weight = None
        if ctx.needs_input_grad[0]:
            of_states = times(gradient, weight.t())
        if ctx.needs_input_grad[1]:  # the first factor is copied into rows: better the smaller one
            is_smaller = above.shape[1] <= below.shape[1]
            of_weight = times(above.t(), below.t()) if is_smaller else times(below.t(), above.t()).t()
        return of_states, of_weight, above.sum(0) if ctx.needs_input_grad[2] else None
