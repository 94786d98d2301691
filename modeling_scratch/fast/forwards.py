# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Faster forwards for the plain nn.Linear and nn.Dropout layers of a model during a call of that model.

For float32, torch calls MKL, which uses AVX-512 only on Intel processors. On AMD processors with AVX-512, oneDNN takes
half the time. torch exposes oneDNN's product only as an operator with a private name. Dropout has cheaper masks on a
CPU: a quarter of torch's cost, which was a sixth of a training step.

The layers are still called as modules, so that hooks, adapters and wrappers work as usual. After the call, the model is
as it was before.

Shapes: T rows (all leading axes); K features in, N out; of heads, B batch, T length, E embedding size, V vocabulary.
"""

import platform
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import hooks

HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
# From this many multiplications, oneDNN is faster; below, its call overhead dominates. Fewer than four rows count as
# four: the time then goes into reading the weights, which MKL does slowly if they are large.
LEAST_WORK, FEW_ROWS = 2**24, 4
MANY_ROWS = 256  # from this many rows per call, the default product is equally fast
WORTH_A_COPY = 8  # calls after which a copy of the weights pays off
# torch has no public name for packing a weight in advance; without this one, weights are not packed.
CAN_PACK = hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
LEAST_DROPPED = 2**13  # hidden-state elements from which cheaper dropout masks pay off
STEPS = 2**16  # the resolution of p
GROUP = 256  # elements that share a threshold


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
    if is_off or hooks.is_transformed(states) or states.ndim < 2 or not states.numel():
        return False
    if bias is not None and not (bias.shape == weight.shape[:1] and bias.is_contiguous()):
        return False
    given = (states, weight) if bias is None else (states, weight, bias)
    are_single = all(each.dtype == torch.float32 and each.device.type == "cpu" for each in given)
    return are_single and all(map(hooks.is_dense, given)) and states.shape[-1] == weight.shape[1]


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
        is_recorded = torch.is_grad_enabled() or hooks.is_transformed(gradient)  # by torch, for a second derivative
        times = F.linear if is_recorded else onednn_linear
        grad_input = None if weight is None else times(gradient, weight.mT)
        grad_weight = None
        if states is not None:  # (N, K); oneDNN copies the left factor, so it is the smaller one: g^T, or x^T
            (count, features), width = gradient.shape, states.shape[1]
            if count * features <= (count + features) * width:
                grad_weight = times(gradient.mT, states.mT)
            else:
                grad_weight = times(states.mT, gradient.mT).mT.contiguous()
        return grad_input, grad_weight, gradient.sum(0) if ctx.needs_input_grad[2] else None


class FastLinear(hooks.FastForward):
    """x W^T + b by oneDNN."""

    def __call__(self, states: Tensor) -> Tensor:
        product = F.linear if hooks.is_checkpointed() else linear
        return product(states, self.layer.weight, self.layer.bias)


class FastDropout(hooks.FastForward):
    """x * keep / (1 - p) with cheaper masks; recomputed activations use nn.Dropout's masks in both passes."""

    def __call__(self, states: Tensor) -> Tensor:
        by_torch = hooks.is_checkpointed() or not torch.is_grad_enabled()  # as reentrant checkpointing computes first
        drop = F.dropout if by_torch else dropout
        return drop(states, self.layer.p, self.layer.training, self.layer.inplace)


def quick_head(head: nn.Module) -> AbstractContextManager:
    """Within this context, a plain language-model head computes few rows by a faster product."""
    return hooks.in_place([FewRows(head)] if hooks.is_plain_linear(head) and head.weight.device.type == "cpu" else [])


class FewRows(hooks.FastForward):
    """x W^T (+ b), (B, T, E) -> (B, T, V), by oneDNN for few rows.

    oneDNN takes half the time of the default product, and a quarter with a copy of the weights in its own layout. The
    copy is made after enough calls to be worth it, and lives as long as the generation, during which weights do not
    change.
    """

    def __init__(self, head: nn.Linear) -> None:
        super().__init__(head)
        self.calls = 0
        self.packed: Tensor | None = None

    def __call__(self, hidden_states: Tensor) -> Tensor:
        factors = hidden_states, self.layer.weight, self.layer.bias
        if has_gradient(*factors) or not suits_onednn(*factors):
            return F.linear(*factors)
        if hidden_states.shape[:-1].numel() > MANY_ROWS:
            return linear(*factors)
        self.calls += 1
        if self.calls == WORTH_A_COPY and CAN_PACK:
            self.packed = packed_weight(self.layer)
        return onednn_linear(hidden_states, self.layer.weight if self.packed is None else self.packed, self.layer.bias)


def packed_weight(layer: nn.Linear) -> Tensor:
    """A copy of the weights in oneDNN's layout."""
    return torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), 16)  # rows; any but 1


def fast_call(call: Callable, *args: Any, **kwargs: Any) -> Any:
    """nn.Module.__call__ of a model, with faster forwards where its batch is large enough."""
    model: Any = call.__self__  # type: ignore[attr-defined]
    read = args[0] if args else kwargs.get("input_ids")
    read = kwargs.get("inputs_embeds") if read is None else read
    if not isinstance(read, Tensor) or read.device.type != "cpu" or hooks.is_traced(read):
        return call(*args, **kwargs)
    elements = read.shape[:2].numel() * model.config.hidden_size
    multiplies = is_large(elements, model.config.intermediate_size)
    drops = model.training and elements >= LEAST_DROPPED
    if not (multiplies or drops):
        return call(*args, **kwargs)
    with forwards(model, multiplies, drops):
        return call(*args, **kwargs)


def forwards(model: nn.Module, multiplies: bool, drops: bool) -> AbstractContextManager:
    """Replace the forwards of plain linear layers and dropouts within a context."""
    modules = list(model.modules())
    if hooks.recomputes(modules) or any(map(hooks.is_compiled, modules)):
        return nullcontext()
    made: list[hooks.FastForward] = []
    for module in modules:
        if drops and hooks.is_plain(module, nn.Dropout) and module.p:
            made.append(FastDropout(module))
        elif multiplies and hooks.is_plain(module, nn.Linear) and hooks.is_dense(module.weight):
            made.append(FastLinear(module))
    return hooks.in_place(made)


def dropout(states: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """x * keep / (1 - p) with P(keep) = 1 - p, in training (Srivastava et al. 2014); arguments as of F.dropout."""
    mask = keep_mask(states, p) if training and 0 < p < 1 and not inplace else None
    if mask is None:
        return F.dropout(states, p, training, inplace)
    return states * mask.mul_(scale_of(p))


def keep_mask(states: Tensor, p: float) -> Tensor | None:
    """1 where an element is kept, 0 where it is dropped; None where torch's own masks are as good.

    The mask has the dtype of the states, as torch's does: multiplying with a mask of bytes takes twice the time. torch
    draws a 64-bit number per element; here eight elements share one, and p is rounded to 1 / 65536. A byte resolves 256
    steps of p; a random share of the groups drops one step more, which gives the rest.
    """
    steps, rest = divmod(round(p * STEPS), 256)
    if states.device.type != "cpu" or hooks.is_traced(states) or not (steps or rest) or steps >= 255:
        return None
    count, groups = states.numel(), -(-states.numel() // GROUP)
    numbers = torch.empty(groups * GROUP // 8 + -(-groups // 8), dtype=torch.int64).random_(-(2**63), None)
    bytes_ = numbers.view(torch.int8)
    drawn, of_groups = bytes_[: groups * GROUP].view(groups, GROUP), bytes_[groups * GROUP :][:groups, None]
    first_kept = torch.lt(of_groups, rest - 128, out=torch.empty(groups, 1, dtype=torch.int8)).add_(steps - 128)
    mask = torch.ge(drawn, first_kept, out=torch.empty(groups, GROUP, dtype=states.dtype))
    return mask.flatten()[:count].view(states.shape)


def scale_of(p: float) -> float:
    """Return 1 / (1 - p) for the rounded p."""
    return STEPS / (STEPS - round(p * STEPS))
