# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""When a formula may stand in for a module's call: where nobody would notice that it was not called."""

from typing import TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook as has_hooks_for_all

# Hooks that look at no shape: those that record hidden states where they are asked for, and those that move weights.
OF_LIBRARIES = "transformers.utils.output_capturing", "torch.distributed.", "deepspeed.", "accelerate."


def is_watched(module: nn.Module) -> bool:
    """Whether it has hooks, or a forward of its own (offloaded, on several devices)."""
    hooks = module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks
    return any(hooks) or has_hooks_for_all() or "forward" in vars(module)


def is_seen_inside(stack: nn.Module) -> bool:
    """Whether hooks see what is inside; they expect (B, T, hidden), as do adapters that are chosen text by text."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return False
    kinds = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks"
    hooks = (hook for module in stack.modules() for kind in kinds for hook in getattr(module, kind).values())
    return any(not getattr(hook, "__module__", "").startswith(OF_LIBRARIES) for hook in hooks)


def is_transformed(states: Tensor) -> bool:
    """Whether operations are more than computed: traced, mapped, differentiated forward, or seen by a mode of torch."""
    if is_traced(states) or torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack():
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
    return type(layer) is nn.Linear and is_dense(layer.weight) and not is_watched(layer)
