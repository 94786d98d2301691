# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Who looks inside: hooks, adapters, replaced forwards, tracing. Where anybody does, the textbook runs as it stands.

This is one of the files that read private names of torch, for want of public ones: each with its reason beside it.
"""

from collections.abc import Iterable
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook as has_global_hooks  # Module has no public list of hooks
from transformers.modeling_layers import GradientCheckpointingLayer

# Hooks that look at no shape: those that record hidden states where they are asked for, and those that move weights.
OF_LIBRARIES = "transformers.utils.output_capturing", "torch.distributed.", "deepspeed.", "accelerate."
HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"


class FastForward:
    """A forward that stands in for that of a plain layer while a call lasts; nobody's own."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer


def has_own_forward(module: nn.Module) -> bool:
    """Whether somebody replaced its forward (offloaded, patched, on several devices)."""
    forward = vars(module).get("forward")
    return forward is not None and not isinstance(forward, FastForward)


def has_hooks(module: nn.Module) -> bool:
    """Whether this module has hooks, or a forward of its own."""
    return any(getattr(module, kind) for kind in HOOKS) or has_global_hooks() or has_own_forward(module)


def is_looked_into(model: nn.Module, except_for: nn.Module | None = None) -> bool:
    """Whether anything inside sees or replaces what its modules compute; except_for: whose hooks do not count."""
    if has_global_hooks():
        return True
    for module in model.modules():
        if has_own_forward(module):
            return True
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks:
            hooks = (hook for kind in HOOKS for hook in getattr(module, kind).values())
            of_others = any(not (getattr(hook, "__module__", None) or "").startswith(OF_LIBRARIES) for hook in hooks)
            if of_others and module is not except_for:
                return True
    return False


def is_transformed(states: Tensor) -> bool:
    """Whether operations are more than computed: traced, mapped, differentiated forward, or seen by a mode of torch."""
    if is_traced(states):
        return True
    # torch.func and TorchDispatchMode have no public way to ask whether one is active.
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack():
        return True
    is_mapped = torch._C._functorch.is_legacy_batchedtensor(states)  # is_grads_batched of torch.autograd.grad
    return is_mapped or torch.autograd.forward_ad._current_level >= 0


def is_traced(states: Tensor) -> bool:
    """is_tracing of transformers, as far as it concerns a CPU, in a tenth of its time."""
    return type(states) is not Tensor or torch.compiler.is_compiling() or torch.jit.is_tracing()


def is_dense(weight: Tensor) -> bool:
    """Whether it is what it seems, not a tensor of fewer bits, sparse, or of parts that lie elsewhere."""
    return type(weight) in (nn.Parameter, Tensor) and weight.layout == torch.strided


def is_plain_linear(layer: nn.Module) -> TypeGuard[nn.Linear]:
    """Whether all that a call does is x W^T + b: no adapter, no fewer bits, nobody who watches."""
    return type(layer) is nn.Linear and is_dense(layer.weight) and not has_hooks(layer)


def recomputes(modules: Iterable[nn.Module]) -> bool:
    """Whether a block among them is computed anew in the backward pass, outside of this call."""
    blocks = (module for module in modules if isinstance(module, GradientCheckpointingLayer))
    return any(block.training and block.gradient_checkpointing for block in blocks)
