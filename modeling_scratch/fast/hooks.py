# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Detect what disables the engine's shortcuts: hooks, replaced forwards, wrappers, checkpointing, tracing.

The private names of torch in this file have no public counterpart.
"""

from collections.abc import Iterable
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook as has_global_hooks  # Module has no public list of hooks
from transformers.modeling_layers import GradientCheckpointingLayer

# Hooks that do not depend on shapes: they record hidden states on request, or move weights.
RECORDS = "transformers.utils.output_capturing"
MOVES_WEIGHTS = "torch.distributed.", "deepspeed.", "accelerate."
HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"


class FastForward:
    """A forward that replaces that of a plain layer during a call."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer


def has_own_forward(module: nn.Module) -> bool:
    """Return whether the module's forward was replaced (offloading, patching, model parallelism)."""
    forward = vars(module).get("forward")
    return forward is not None and not isinstance(forward, FastForward)


def has_hooks(module: nn.Module) -> bool:
    """Return whether this module has hooks or a replaced forward."""
    return any(getattr(module, kind) for kind in HOOKS) or has_global_hooks() or has_own_forward(module)


def has_foreign_hooks(model: nn.Module, except_for: nn.Module | None = None) -> bool:
    """Return whether users or tools hooked any module or replaced its forward; except_for: a module to ignore."""
    if has_global_hooks():
        return True
    for module in model.modules():
        if has_own_forward(module):
            return True
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks:
            is_foreign = any(not origin.startswith((RECORDS, *MOVES_WEIGHTS)) for origin in _origins(module))
            if is_foreign and module is not except_for:
                return True
    return False


def _origins(module: nn.Module) -> Iterable[str]:
    """Return the Python modules that define the module's hooks."""
    return (getattr(hook, "__module__", None) or "" for kind in HOOKS for hook in getattr(module, kind).values())


def has_to_be_called(block: nn.Module) -> bool:
    """Return whether a block must be called as a module: it is wrapped, or hooks gather its weights."""
    return not isinstance(block, GradientCheckpointingLayer) or any(
        origin.startswith(MOVES_WEIGHTS) for origin in _origins(block)
    )


def is_checkpointed() -> bool:
    """Return whether hooks for saved tensors are active, as in activation checkpointing."""
    return torch.is_grad_enabled() and torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


def is_compiled(module: nn.Module) -> bool:
    """Return whether torch.compile has a graph of this module, which a new forward would invalidate."""
    return module._compiled_call_impl is not None or type(module).__name__ == "OptimizedModule"


def is_transformed(states: Tensor) -> bool:
    """Return whether operations are traced, vmapped, differentiated in forward mode, or seen by a dispatch mode."""
    if is_traced(states):
        return True
    # torch.func and TorchDispatchMode have no public way to ask whether one is active.
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack():
        return True
    is_mapped = torch._C._functorch.is_legacy_batchedtensor(states)  # is_grads_batched of torch.autograd.grad
    return is_mapped or torch.autograd.forward_ad._current_level >= 0


def is_traced(states: Tensor) -> bool:
    """transformers' is_tracing, restricted to CPU tensors, in a tenth of its time."""
    return type(states) is not Tensor or torch.compiler.is_compiling() or torch.jit.is_tracing()


def is_dense(weight: Tensor) -> bool:
    """Return whether the weight is a plain dense tensor: not quantised, sparse, or sharded."""
    return type(weight) in (nn.Parameter, Tensor) and weight.layout == torch.strided


def is_plain_linear(layer: nn.Module) -> TypeGuard[nn.Linear]:
    """Return whether a call only computes x W^T + b, without adapters, quantisation or hooks."""
    return type(layer) is nn.Linear and is_dense(layer.weight) and not has_hooks(layer)


def recomputes(modules: Iterable[nn.Module]) -> bool:
    """Return whether a block is recomputed in the backward pass."""
    blocks = (module for module in modules if isinstance(module, GradientCheckpointingLayer))
    return any(block.training and block.gradient_checkpointing for block in blocks)
