# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The products of linear layers, by the faster one of the two libraries of them that torch has on a CPU.

For numbers of 32 bits torch takes MKL, which keeps its instructions of 512 bits for Intel's processors. On AMD's that
have them oneDNN takes half the time.

Shapes: T rows, those of all leading axes; K features in, N out.
"""

import platform
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .shortcuts import is_dense, is_plain_linear, is_transformed

HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
# Multiplications in a product from which on oneDNN is ahead; of smaller ones its call costs more than the work. Fewer
# rows count as four: then time goes into reading the weights, which MKL does slowly where they are large.
LEAST_WORK, FEW_ROWS = 2**24, 4


def linear(layer: nn.Module, states: Tensor) -> Tensor:
    """layer(states), (..., K) -> (..., N); a call of the layer wherever somebody would notice that there was none."""
    if is_transformed(states) or not has_faster_library():  # first: a traced graph would remember what is asked below
        return layer(states)
    if type(layer) is not nn.Linear or not _is_much(states, layer.out_features) or not is_plain_linear(layer):
        return layer(states)
    return affine(states, layer.weight, layer.bias)


def affine(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b, by the faster library."""
    if not suits_onednn(states, weight, bias) or not has_faster_library() or not _is_much(states, len(weight)):
        return F.linear(states, weight, bias)
    return (_Affine.apply if has_gradient(states, weight, bias) else multiply)(states, weight, bias)


def has_gradient(*factors: Tensor | None) -> bool:
    """Whether what is computed of them is going to be differentiated."""
    return torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in factors)


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
    with suppress(OSError):
        return Path("/proc/cpuinfo").read_text()
    return platform.processor()


def recurring(rows: int, weights: int, device: torch.device) -> int:
    """So many rows or a few more, at most 1 in 32, so that products have few different shapes.

    A shape that is new to oneDNN costs it about a millisecond, as long as many a product takes. weights: how many the
    largest layer has that is to work on these rows.
    """
    if rows * weights < LEAST_WORK or device.type != "cpu" or not has_faster_library():
        return rows
    step = max(1, 1 << rows.bit_length() >> 6)
    return -(-rows // step) * step if torch.backends.mkldnn.enabled else rows


def suits_onednn(states: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether its product is the one that is asked for, and nobody looks for torch's own."""
    if is_transformed(states) or not HAS_ONEDNN or not torch.backends.mkldnn.enabled:
        return False
    if torch.is_autocast_enabled("cpu") or states.ndim < 2 or not states.numel():
        return False
    if bias is not None and not (bias.shape == weight.shape[:1] and bias.is_contiguous()):
        return False
    given = (states, weight) if bias is None else (states, weight, bias)
    are_single = all(each.dtype == torch.float32 and each.device.type == "cpu" and is_dense(each) for each in given)
    return are_single and states.shape[-1] == weight.shape[1]


def multiply(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b by oneDNN, without gradients. It copies x that is not in rows, and takes W as it lies."""
    return torch.ops.mkldnn._linear_pointwise.default(states, weight, bias, "none", [], "")


class _Affine(torch.autograd.Function):
    """x W^T + b and its gradients g W, g^T x, and the sum of g over the rows."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        of_states, of_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(states if of_weight else None, weight if of_states else None)
        return multiply(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        states, weight = ctx.saved_tensors
        is_plain = not (torch.is_grad_enabled() or is_transformed(gradient))  # else torch has to see what is done
        times = multiply if is_plain else _times
        rows = gradient.reshape(-1, gradient.shape[-1])
        of_states = None if weight is None else times(gradient, weight.mT)
        of_weight = None if states is None else _of_weight(rows, states.reshape(-1, states.shape[-1]), times)
        return of_states, of_weight, rows.sum(0) if ctx.needs_input_grad[2] else None


def _times(left: Tensor, right: Tensor) -> Tensor:
    return left @ right.mT


def _of_weight(gradient: Tensor, states: Tensor, times: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """g^T x, (T, N) and (T, K) -> (N, K). The left factor is copied into rows: g^T, or x^T and then the result."""
    (count, features), width = gradient.shape, states.shape[1]
    if count * features <= (count + features) * width:
        return times(gradient.mT, states.mT)
    return times(states.mT, gradient.mT).mT.contiguous()
