# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Faster forwards for the plain nn.Linear and nn.Dropout layers of a model during a call of that model.

Dropout has cheaper masks on a CPU: a quarter of torch's cost, which was a sixth of a training step.
The layers are still called as modules, so that hooks, adapters and wrappers work as usual. After the call, the model is
as it was before.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .hooks import FastForward, in_place, is_checkpointed, is_compiled, is_dense, is_plain, is_traced, recomputes
from .onednn import is_large, linear

LEAST_DROPPED = 2**13  # hidden-state elements from which cheaper dropout masks pay off
STEPS = 2**16  # the resolution of p
GROUP = 256  # elements that share a threshold


class FastLinear(FastForward):
    """x W^T + b by oneDNN."""

    def __call__(self, states: Tensor) -> Tensor:
        product = F.linear if is_checkpointed() else linear
        return product(states, self.layer.weight, self.layer.bias)


class FastDropout(FastForward):
    """x * keep / (1 - p) with cheaper masks; recomputed activations use nn.Dropout's masks in both passes."""

    def __call__(self, states: Tensor) -> Tensor:
        by_torch = is_checkpointed() or not torch.is_grad_enabled()  # as reentrant checkpointing computes first
        drop = F.dropout if by_torch else dropout
        return drop(states, self.layer.p, self.layer.training, self.layer.inplace)


def fast_call(call: Callable, *args: Any, **kwargs: Any) -> Any:
    """nn.Module.__call__ of a model, with faster forwards where its batch is large enough."""
    model: Any = call.__self__  # type: ignore[attr-defined]
    read = args[0] if args else kwargs.get("input_ids")
    read = kwargs.get("inputs_embeds") if read is None else read
    if not isinstance(read, Tensor) or read.device.type != "cpu" or is_traced(read):
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
    if recomputes(modules) or any(map(is_compiled, modules)):
        return nullcontext()
    made: list[FastForward] = []
    for module in modules:
        if drops and is_plain(module, nn.Dropout) and module.p:
            made.append(FastDropout(module))
        elif multiplies and is_plain(module, nn.Linear) and is_dense(module.weight):
            made.append(FastLinear(module))
    return in_place(made)


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
    if states.device.type != "cpu" or is_traced(states) or not (steps or rest) or steps >= 255:
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
