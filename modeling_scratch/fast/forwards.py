# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Faster forwards for the plain nn.Linear and nn.Dropout layers of a model during a call of that model.

The layers are still called as modules, so that hooks, adapters and wrappers work as usual. After the call, the model is
as it was before.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .dropout import dropout
from .hooks import FastForward, is_checkpointed, is_compiled, is_dense, is_plain, is_traced, recomputes
from .onednn import is_large, linear

LEAST_DROPPED = 2**13  # hidden-state elements from which cheaper dropout masks pay off


class FastLinear(FastForward):
    """x W^T + b by oneDNN."""

    def __call__(self, states: Tensor) -> Tensor:
        if is_checkpointed():
            return F.linear(states, self.layer.weight, self.layer.bias)
        return linear(states, self.layer.weight, self.layer.bias)


class FastDropout(FastForward):
    """x * keep / (1 - p) with cheaper masks; recomputed activations use nn.Dropout's masks in both passes."""

    def __call__(self, states: Tensor) -> Tensor:
        if is_checkpointed() or not torch.is_grad_enabled():  # reentrant checkpointing computes without gradients first
            return F.dropout(states, self.layer.p, self.layer.training, self.layer.inplace)
        return dropout(states, self.layer.p, self.layer.training, self.layer.inplace)


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


@contextmanager
def forwards(model: nn.Module, multiplies: bool, drops: bool) -> Iterator[None]:
    """Replace the forwards of plain linear layers and dropouts within this context, except those already replaced."""
    changed: dict[nn.Module, FastForward] = {}
    modules = list(model.modules())
    try:
        for module in () if recomputes(modules) or any(map(is_compiled, modules)) else modules:
            make = _suitable(module, multiplies, drops)
            if make is not None and "forward" not in vars(module):
                changed[module] = vars(module)["forward"] = make(module)
        yield
    finally:
        for module, forward in changed.items():
            if vars(module).get("forward") is forward:  # otherwise it was replaced in the meantime
                del vars(module)["forward"]


def _suitable(module: nn.Module, multiplies: bool, drops: bool) -> Callable | None:
    if is_plain(module, nn.Dropout):
        return FastDropout if drops and module.p else None
    is_linear = multiplies and is_plain(module, nn.Linear) and is_dense(module.weight)
    return FastLinear if is_linear else None
