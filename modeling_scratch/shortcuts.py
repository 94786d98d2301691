# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""When a formula may stand in for a module's call: where nobody would notice that it was not called."""

from torch import Tensor, nn


def is_watched(module: nn.Module) -> bool:
    """Whether it has hooks of its own, or a forward of its own (offloaded, on several devices)."""
    hooks = module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks
    return any(hooks) or "forward" in vars(module)


def is_dense(weight: Tensor) -> bool:
    """Whether it is what it seems, not a tensor of fewer bits, or of parts that lie elsewhere."""
    return type(weight) in (nn.Parameter, Tensor)


def is_plain_linear(layer: nn.Module) -> bool:
    """Whether all that a call does is x W^T + b: no adapter, no fewer bits, nobody who watches."""
    return type(layer) is nn.Linear and is_dense(layer.weight) and not is_watched(layer)
