# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compiled generation: over a static cache, each new token runs the same compiled forward pass.

Transformers compiles the call of a model, on accelerators. On a CPU, batches of all sizes share a graph here, linear
layers read weights in oneDNN's own layout, and no token checks again that the modules are those that were compiled.
"""

import os
import shutil
import sys
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from transformers import CompileConfig

from ..fast.forwards import CAN_PACK, linear, onednn_linear, packed_weight
from ..fast.hooks import FastForward, is_plain_linear
from ..modeling_base import ScratchPreTrainedModel
from ..utils.errors import DataError

COMPILE_HELP = (
    "Compile the pass of a token, over a static cache. On a CPU, it takes 10 seconds or more once and another copy of "
    "the weights, and pays where many tokens follow."
)
COMPILING = "compiling the pass of a token: the first text, and the first batch, take about 10 seconds more"

# x W^T (+ b) by a weight in oneDNN's layout, as an operator that a graph can hold. torch.library.custom_op would take
# longer around a call than many a product.
PACKED = "modeling_scratch::packed_linear"
torch.library.define(PACKED, "(Tensor states, Tensor packed, Tensor? bias) -> Tensor")
torch.library.impl(PACKED, "CompositeExplicitAutograd", onednn_linear)


@torch.library.register_fake(PACKED)
def _(states: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    return states.new_empty((*states.shape[:-1], packed.shape[0]))


class PackedLinear(FastForward):
    """x W^T (+ b), (B, T, K) -> (B, T, N); in a graph, by a copy of W in oneDNN's layout."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer)
        self.packed = packed_weight(layer)

    def __call__(self, states: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            return torch.ops.modeling_scratch.packed_linear(states, self.packed, self.layer.bias)
        return linear(states, self.layer.weight, self.layer.bias)


def compile_generation(model: Any, is_dynamic: bool | None = None) -> None:
    """Let model.generate keep a static cache and compile the pass of a token, at the first one that it meets.

    is_dynamic: the library's graphs fit all sizes; None: those that have changed. Ours on a CPU always fit all.
    The model has to be in evaluation mode, its weights and modules must not change afterwards, and there is no
    autocast. Raises `DataError` on a CPU without a C++ compiler.
    """
    settings = model.generation_config
    settings.cache_implementation = "static"
    if model.device.type != "cpu":
        settings.compile_config = CompileConfig(mode="default", dynamic=is_dynamic)  # our beam search asks for it
        return
    compiler = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if shutil.which(compiler) is None:
        raise DataError(f"--compile: requires a C++ compiler, and there is no {compiler}; leave it out, or set CXX")
    print(COMPILING, file=sys.stderr)
    settings.compile_config = CompileConfig(mode="default", dynamic=is_dynamic)
    settings.compile_config._compile_all_devices = True  # as on accelerators; without a public name
    if isinstance(model, ScratchPreTrainedModel):
        options: Any = {"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe}
        # Graphs are kept with code: a copy of its own, as no guard would tell another model from this one.
        forward = FunctionType(_forward.__code__.replace(), globals())
        compiled = torch.compile(forward, dynamic=True, fullgraph=True, options=options)
        vars(model)["get_compiled_call"] = lambda config: lambda **inputs: compiled(model, inputs)
        for layer in model.modules() if CAN_PACK and model.dtype == torch.float32 else ():
            if is_plain_linear(layer):
                vars(layer)["forward"] = PackedLinear(layer)


def _forward(model: Any, inputs: dict[str, Any]) -> Any:
    return type(model).forward(model, **inputs)
