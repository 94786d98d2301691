# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Linear layers by oneDNN where it is faster than MKL, the other CPU matrix library of torch.

For float32, torch calls MKL, which uses AVX-512 only on Intel processors. On AMD processors with AVX-512, oneDNN takes
half the time. torch exposes oneDNN's product only as an operator with a private name.

Shapes: T rows (all leading axes); K features in, N out.
"""

import platform
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .hooks import is_dense, is_transformed

HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
# From this many multiplications, oneDNN is faster; below, its call overhead dominates. Fewer than four rows count as
# four: the time then goes into reading the weights, which MKL does slowly if they are large.
LEAST_WORK, FEW_ROWS = 2**24, 4


def linear(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b, (..., K) -> (..., N), as F.linear, by the faster library."""
    if not is_large(states.numel(), len(weight), states.shape[-1]) or not suits_onednn(states, weight, bias):
        return F.linear(states, weight, bias)
    if not has_gradient(states, weight, bias):
        return onednn_linear(states, weight, bias)
    rows = OneDNNLinear.apply(states.flatten(0, -2), weight, bias)
    return rows.view(*states.shape[:-1], len(weight))  # reshaped here, so that adapters can modify it in place


def has_gradient(*factors: Tensor | None) -> bool:
    """Return whether a gradient will be computed."""
    return torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in factors)


def is_large(elements: int, features: int, size: int = 1) -> bool:
    """Return whether oneDNN is worth its call: `elements` of states in rows of `size`, weight (features, size)."""
    return max(elements, FEW_ROWS * size) * features >= LEAST_WORK and has_faster_library()


@cache
def has_faster_library() -> bool:
    """Return whether MKL has a slow path on this processor and oneDNN a fast one."""
    if not (HAS_ONEDNN and torch.backends.mkl.is_available()):
        return False
    path = Path("/proc/cpuinfo")
    processor = path.read_text() if path.exists() else platform.processor()
    return torch.backends.cpu.get_cpu_capability() == "AVX512" and "AuthenticAMD" in processor


def recurring(rows: int, weights: int, device: torch.device) -> int:
    """Round the number of rows up, by at most 1 in 32, so that products have few different shapes.

    The first product of each shape costs oneDNN about a millisecond, as much as many products take. weights: the number
    of weights in the largest layer that processes these rows.
    """
    if rows * weights < LEAST_WORK or device.type != "cpu" or not has_faster_library():
        return rows
    step = max(1, 1 << rows.bit_length() >> 6)
    return -(-rows // step) * step if torch.backends.mkldnn.enabled else rows


def suits_onednn(states: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Return whether oneDNN's product can replace torch's here: plain dense float32 on a CPU, not transformed."""
    is_off = not HAS_ONEDNN or not torch.backends.mkldnn.enabled or torch.is_autocast_enabled("cpu")
    if is_off or is_transformed(states) or states.ndim < 2 or not states.numel():
        return False
    if bias is not None and not (bias.shape == weight.shape[:1] and bias.is_contiguous()):
        return False
    given = (states, weight) if bias is None else (states, weight, bias)
    are_single = all(each.dtype == torch.float32 and each.device.type == "cpu" and is_dense(each) for each in given)
    return are_single and states.shape[-1] == weight.shape[1]


def onednn_linear(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b by oneDNN, without gradients. It copies x if x is not contiguous, and reads W in any layout."""
    return torch.ops.mkldnn._linear_pointwise.default(states, weight, bias, "none", [], "")


class OneDNNLinear(torch.autograd.Function):
    """x W^T + b, (T, K) -> (T, N), with the gradients g W, g^T x, and the sum of g over the rows."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        needs_states, needs_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(states if needs_weight else None, weight if needs_states else None)
        return onednn_linear(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        states, weight = ctx.saved_tensors
        is_recorded = torch.is_grad_enabled() or is_transformed(gradient)  # by torch, for a second derivative
        times = F.linear if is_recorded else onednn_linear
        grad_input = None if weight is None else times(gradient, weight.mT)
        grad_weight = None if states is None else _grad_weight(gradient, states, times)
        return grad_input, grad_weight, gradient.sum(0) if ctx.needs_input_grad[2] else None


def _grad_weight(gradient: Tensor, states: Tensor, times: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """g^T x, (T, N) and (T, K) -> (N, K). oneDNN copies the left factor, so it is the smaller one: g^T, or x^T."""
    (count, features), width = gradient.shape, states.shape[1]
    if count * features <= (count + features) * width:
        return times(gradient.mT, states.mT)
    return times(states.mT, gradient.mT).mT.contiguous()
