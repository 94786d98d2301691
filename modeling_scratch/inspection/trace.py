# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A recording as JSON: the tree of modules, and of every tensor its origin and its values."""

import base64
import math
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from .recorder import UNINITIALISED, Recording, Step

WHOLE = {"logits", "qa_outputs", "stack"}  # what the page computes the answer from
MOST_NUMBERS = 1_000_000  # of all tensors of a text that are kept at full precision
MOST_OF_AXIS = 64  # entries of an axis where there are more numbers
# Names of what has no variable, by the layer that it enters or the function that returns it.
ALIASES = {
    "attention.o_proj.input": "attention.heads",
    "feed_forward.down_proj.input": "feed_forward.activation",
    "classifier.out_proj.input": "classifier.activation",
    "lm_head.norm.input": "lm_head.activation",
    "embeddings.sinusoidal": "embeddings.positions",
    "embeddings.sinusoidal_halves": "embeddings.positions",
}


def trace(recording: Recording) -> dict[str, Any]:
    """Return modules, steps and the last step of each name.

    Above `MOST_NUMBERS`, long axes are cut and floats are rounded; "left_out" then says so. Logits are always whole.
    """
    count = sum(step.tensor.numel() for step in recording.steps)
    is_small = count <= MOST_NUMBERS
    cut = f"{count:,} numbers: tensors are rounded to bfloat16; of long axes, the first {MOST_OF_AXIS} entries are kept"
    keys = {name: step.number for name, step in recording.keys.items()}
    for name, number in [*keys.items()]:
        for end, alias in ALIASES.items():
            if name == end or name.endswith((f".{end}", f"_{end}")):
                keys[name.removesuffix(end) + alias] = number
    for step in recording.steps:  # of rotary positions: `rotate` turns the query of an attention first, then its key
        for path in (name.removesuffix(".rotate") for name in step.names if name.endswith("attention.rotate")):
            part = "key" if f"{path}.query_rotated" in keys else "query"
            keys[f"{path}.{part}_rotated"] = step.number
    return {
        "modules": recording.modules,
        "steps": [_step(step, recording.modules, is_small) for step in recording.steps],
        "keys": keys,
        "left_out": None if is_small else cut,
    }


def _step(step: Step, modules: list[str], is_small: bool) -> dict[str, Any]:
    return {
        "id": step.number,
        "module": modules.index(step.module) if step.module in modules else None,
        "op": step.op,
        "variable": step.variable,
        "names": step.names,
        "inputs": [{"step": each} if isinstance(each, int) else {"parameter": each} for each in step.inputs],
        "file": step.code.file,
        "line": step.code.line,
        "code": step.code.text,
        "shape": list(step.tensor.shape),
        "values": _values(step, is_small or not WHOLE.isdisjoint(step.names)),
    }


def _values(step: Step, is_whole: bool) -> dict[str, Any] | None:
    """The values without the batch axis; None where there are none, or they were never written."""
    if step.op in UNINITIALISED or not step.tensor.numel():
        return None
    has_batch = step.tensor.ndim > 1 and step.tensor.shape[0] == 1
    tensor = step.tensor[0] if has_batch else step.tensor
    if is_whole or not tensor.is_floating_point():
        return packed(tensor)
    return packed(tensor[tuple(slice(MOST_OF_AXIS) for _ in tensor.shape)], is_rounded=True)


def packed(tensor: Tensor, is_rounded: bool = False) -> dict[str, Any]:
    """Return shape, dtype and base64 of a tensor, float32 or int32. is_rounded: bfloat16, the upper half of float32."""
    tensor = tensor.detach().cpu().contiguous()
    if is_rounded:
        array = tensor.to(torch.bfloat16).view(torch.uint16).numpy()
    else:
        array = tensor.to(torch.float32 if tensor.is_floating_point() else torch.int32).numpy()
    data = base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode("ascii")
    return {"shape": list(array.shape), "dtype": "bfloat16" if is_rounded else array.dtype.name, "data": data}


def plain(value: Any) -> Any:
    """Return dataclasses and containers as JSON types; numbers that are not finite become None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value) if each.repr}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
