# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A recording as data: the tree of modules, and of every tensor its origin, its statistics and its values."""

from typing import Any

from .arrays import Packed, packed, packed_bytes, thinned
from .recorder import UNINITIALISED, Recording, Step

WHOLE = {"logits", "qa_outputs", "stack"}  # what the page computes the answer from
MOST_NUMBERS = 1_000_000  # of all tensors of a text that are kept at full precision
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

    Above `MOST_NUMBERS`, values are bytes, and axes are thinned; "left_out" then says so. Logits are always whole.
    """
    count = sum(step.tensor.numel() for step in recording.steps)
    thinned_out = f"{count:,} numbers: tensors are shown as 256 levels, of long axes every few entries"
    is_small = count <= MOST_NUMBERS
    indices = {path: number for number, path in enumerate(recording.modules)}
    keys = {name: step.number for name, step in recording.keys.items()}
    return {
        "modules": recording.modules,
        "steps": [_step(step, indices, is_small) for step in recording.steps],
        "keys": {**keys, **aliases(keys), **rotations(recording)},
        "left_out": None if is_small else thinned_out,
    }


def aliases(keys: dict[str, int]) -> dict[str, int]:
    """Return the steps of the names in `ALIASES`, in every module where they occur."""
    found = {}
    for name, number in keys.items():
        for end, alias in ALIASES.items():
            if name == end or name.endswith((f".{end}", f"_{end}")):
                found[name.removesuffix(end) + alias] = number
    return found


def rotations(recording: Recording) -> dict[str, int]:
    """Return the steps of rotary positions: `rotate` turns the query of an attention first, then its key."""
    found: dict[str, int] = {}
    for step in recording.steps:
        for path in (name.removesuffix(".rotate") for name in step.names if name.endswith("attention.rotate")):
            name = f"{path}.key_rotated" if f"{path}.query_rotated" in found else f"{path}.query_rotated"
            found[name] = step.number
    return found


def _step(step: Step, indices: dict[str, int], is_small: bool) -> dict[str, Any]:
    return {
        "id": step.number,
        "module": indices.get(step.module),
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


def _values(step: Step, is_whole: bool) -> Packed | None:
    """The values without the batch axis; None where there are none, or they were never written."""
    if step.op in UNINITIALISED or not step.tensor.numel():
        return None
    has_batch = step.tensor.ndim > 1 and step.tensor.shape[0] == 1
    tensor = step.tensor[0] if has_batch else step.tensor
    if is_whole or not tensor.is_floating_point():
        return packed(tensor)
    tensor, axes = thinned(tensor)
    return {**packed_bytes(tensor), "axes": axes}
