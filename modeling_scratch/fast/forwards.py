# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Faster forwards for a model's plain nn.Linear and nn.Dropout layers, while a call of the model lasts.

The layers are called as they always are, so that hooks, adapters and wrappers see what they expect; only what the call
computes is another function. Between calls nothing of it is left on the model.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from .dropout import dropout
from .hooks import FastForward, is_dense, is_traced, recomputes
from .onednn import is_large, linear

LEAST_DROPPED = 2**13  # elements of the hidden states, from which on cheaper masks of dropout are worth it


class FastLinear(FastForward):
    """x W^T + b by the faster library."""

    def __call__(self, states: Tensor) -> Tensor:
        return linear(states, self.layer.weight, self.layer.bias)


class FastDropout(FastForward):
    """x * keep / (1 - p) with cheaper masks."""

    def __call__(self, states: Tensor) -> Tensor:
        return dropout(states, self.layer.p, self.layer.training, self.layer.inplace)


def fast_call(model: Any, *args: Any, **kwargs: Any) -> Any:
    """As nn.Module's call of a model."""
    read = args[0] if args else kwargs.get("input_ids")
    read = kwargs.get("inputs_embeds") if read is None else read
    if not isinstance(read, Tensor) or read.device.type != "cpu" or is_traced(read):
        return nn.Module.__call__(model, *args, **kwargs)
    elements = read.shape[:2].numel() * model.config.hidden_size
    multiplies = is_large(elements, model.config.intermediate_size)
    drops = model.training and elements >= LEAST_DROPPED
    if not (multiplies or drops):
        return nn.Module.__call__(model, *args, **kwargs)
    with forwards(model, multiplies, drops):
        return nn.Module.__call__(model, *args, **kwargs)


@contextmanager
def forwards(model: nn.Module, multiplies: bool, drops: bool) -> Iterator[None]:
    """While it lasts, plain linear layers and dropouts have faster forwards; those that have one already keep it."""
    changed: list[nn.Module] = []
    modules = list(model.modules())
    for module in () if recomputes(modules) else modules:
        make = _suitable(module, multiplies, drops)
        if make is not None and "forward" not in vars(module):
            vars(module)["forward"] = make(module)
            changed.append(module)
    try:
        yield
    finally:
        for module in changed:
            vars(module).pop("forward", None)


def _suitable(module: nn.Module, multiplies: bool, drops: bool) -> Callable | None:
    if type(module) is nn.Dropout:
        return FastDropout if drops and module.p else None
    is_linear = multiplies and type(module) is nn.Linear and is_dense(module.weight)
    return FastLinear if is_linear else None
