# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Detect what disables the engine's shortcuts: hooks, replaced forwards, wrappers, checkpointing, tracing.

The private names of torch in this file have no public counterpart.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeGuard, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook as has_global_hooks  # Module has no public list of hooks
from transformers import PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

from .. import attention, embeddings, heads, layers, stack

# Hooks that need no shapes of the textbook: they record hidden states on request, draw noise on embeddings, which are
# looked up in the padded layout, ask inputs for gradients, or move weights.
MOVES_WEIGHTS = "torch.distributed.", "deepspeed.", "accelerate."
HARMLESS = (
    "transformers.utils.output_capturing", "transformers.integrations.neftune", "transformers.modeling_utils",
    *MOVES_WEIGHTS,
)  # fmt: skip
HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"
# Libraries whose modules the engine computes with: layers, adapters, quantised weights, sharded and wrapped blocks.
OUR_PACKAGE = __name__.partition(".")[0]
KNOWN = OUR_PACKAGE, "torch", "transformers", "peft", "bitsandbytes", "torchao", "accelerate", "deepspeed"
PARAMETRIZED = "torch.nn.utils.parametrize"
Layer = TypeVar("Layer", bound=nn.Module)

_OUR_CLASSES = {
    kind for module in (attention, embeddings, heads, layers, stack) for kind in vars(module).values()
    if isinstance(kind, type) and kind.__module__ == module.__name__ and issubclass(kind, nn.Module)
}  # fmt: skip
_PLAIN_LAYERS = nn.Linear, nn.Embedding, nn.LayerNorm, nn.Dropout, nn.Identity
_FORWARDS: dict[type[nn.Module], Any] = {kind: kind.forward for kind in _PLAIN_LAYERS}
_METHODS = (
    *((kind, name, method) for kind in _OUR_CLASSES for name, method in vars(kind).items()
      if callable(method) and not name.startswith("__")),
    *((kind, "forward", forward) for kind, forward in _FORWARDS.items()),
    *((nn.Module, name, vars(nn.Module)[name]) for name in ("__call__", "_call_impl")),
)  # fmt: skip


class FastForward:
    """A forward that replaces that of a plain layer during a call."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer


@contextmanager
def in_place(forwards: Iterable[FastForward]) -> Iterator[None]:
    """Put these forwards in place within this context, except where one was replaced already, as in another thread."""
    placed = [forward for forward in forwards if "forward" not in vars(forward.layer)]
    try:
        for forward in placed:
            vars(forward.layer)["forward"] = forward
        yield
    finally:
        for forward in placed:
            if vars(forward.layer).get("forward") is forward:  # otherwise it was replaced in the meantime
                del vars(forward.layer)["forward"]


@lru_cache(maxsize=256)
def _replaceable(kind: type) -> frozenset[str]:
    """Return the names that replace a method of this class where an instance has them."""
    return frozenset({"forward"}.union(name for owner, name, _ in _METHODS if owner in kind.__mro__))


@lru_cache(maxsize=256)
def _is_foreign(kind: type) -> bool:
    """Return whether a module of this class may look at its inputs: a wrapper of a user, or a parametrization."""
    if issubclass(kind, PreTrainedModel):
        return False  # a user's subclass of the model itself
    return kind.__module__ == PARAMETRIZED or kind.__module__.partition(".")[0] not in KNOWN


def is_plain(module: nn.Module, kind: type[Layer]) -> TypeGuard[Layer]:
    """Return whether this is a layer of torch itself, of a class whose forward nobody replaced."""
    return type(module) is kind and kind.forward is _FORWARDS[kind]


def has_own_method(module: nn.Module) -> bool:
    """Return whether a method was replaced on this instance (offloading, patching, tracing, model parallelism)."""
    kind: Any = type(module)
    replaced = _replaceable(kind) & vars(module).keys()
    return bool(replaced) and (len(replaced) > 1 or not isinstance(vars(module).get("forward"), FastForward))


def has_hooks(module: nn.Module) -> bool:
    """Return whether this module has hooks or a replaced forward."""
    return any(getattr(module, kind) for kind in HOOKS) or has_global_hooks() or has_own_method(module)


def has_foreign_hooks(model: nn.Module) -> bool:
    """Return whether users or tools look into a model: hooks, replaced methods, wrapped or parametrized modules."""
    if has_global_hooks() or any(vars(kind).get(name) is not method for kind, name, method in _METHODS):
        return True
    for module in parts(model):
        kind: Any = type(module)
        if has_own_method(module) or _is_foreign(kind):
            return True
        is_hooked = module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
        is_hooked = is_hooked or module._backward_pre_hooks
        if is_hooked and any(not origin.startswith(HARMLESS) for origin in _origins(module)):
            return True
    return False


def parts(model: nn.Module) -> list[nn.Module]:
    """As model.modules(), in half the time; a part that is used twice comes twice."""
    modules = [model]
    for module in modules:  # grows on the way
        modules += [child for child in module._modules.values() if child is not None]
    return modules


def _origins(module: nn.Module) -> Iterable[str]:
    """Return the Python modules that define the module's hooks."""
    return (getattr(hook, "__module__", None) or "" for kind in HOOKS for hook in getattr(module, kind).values())


def has_to_be_called(block: nn.Module) -> bool:
    """Return whether a block must be called as a module: parallel or wrapped ones, and if hooks gather its weights."""
    return type(block) is not stack.Block or any(origin.startswith(MOVES_WEIGHTS) for origin in _origins(block))


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
    return is_plain(layer, nn.Linear) and is_dense(layer.weight) and not has_hooks(layer)


def recomputes(modules: Iterable[nn.Module]) -> bool:
    """Return whether a block is recomputed in the backward pass."""
    blocks = (module for module in modules if isinstance(module, GradientCheckpointingLayer))
    return any(block.training and block.gradient_checkpointing for block in blocks)
