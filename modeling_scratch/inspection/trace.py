# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A recording as data: the tree of modules, and of every tensor its origin, its statistics and its values."""

from typing import Any

import torch
from torch import Tensor

from .arrays import MASKED, Packed, packed, packed_bytes, thinned
from .notes import Note
from .recorder import UNINITIALISED, Module, Recording, Step

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
    is_small = count <= MOST_NUMBERS
    note = Note(
        f"{count:,} numbers: tensors are shown as 256 levels, of long axes every few entries",
        f"{count:,} Zahlen: Tensoren haben hier 256 Stufen, von langen Achsen stehen nur einige Einträge da",
    )
    indices = {module.path: number for number, module in enumerate(recording.modules)}
    keys = {name: step.number for name, step in recording.keys.items()}
    return {
        "modules": [_module(module, indices) for module in recording.modules],
        "steps": [_step(step, indices, is_small) for step in recording.steps],
        "keys": {**keys, **aliases(keys), **rotations(recording)},
        "left_out": None if is_small else note,
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


def _module(module: Module, indices: dict[str, int]) -> dict[str, Any]:
    parts = module.path.split(".")
    above = (".".join(parts[:length]) for length in range(len(parts) - 1, -1, -1))
    parent = next((indices[path] for path in above if path in indices and path != module.path), None)
    return {
        "path": module.path,
        "class": module.name,
        "parent": parent,
        "equation": module.equation,
        "file": module.file,
        "line": module.line,
        "parameters": module.parameters,
    }


def _step(step: Step, indices: dict[str, int], is_small: bool) -> dict[str, Any]:
    binding, code = step.binding, step.code
    return {
        "id": step.number,
        "module": indices.get(step.module),
        "function": step.function,
        "equation": step.equation,
        "op": step.op,
        "variable": binding and binding.variable,
        "binding": binding and {"function": binding.function, **_line(binding.code)},
        "names": step.names,
        "inputs": [{"step": each} if isinstance(each, int) else {"parameter": each} for each in step.inputs],
        **_line(code),
        "shape": list(step.tensor.shape),
        "dtype": str(step.tensor.dtype).removeprefix("torch."),
        **statistics(step),
        "values": _values(step, is_small or "logits" in step.names),
    }


def _line(code: Any) -> dict[str, Any]:
    return {"file": code.file, "line": code.line, "end": code.end, "code": code.text}


def statistics(step: Step) -> dict[str, float | None]:
    """Return mean, standard deviation, range, and shares of zeros and of masked scores, which count nowhere else."""
    values = step.tensor.double().flatten()
    real = values[values.isfinite() & (values > MASKED)]
    if not len(real) or step.op in UNINITIALISED:
        return {**dict.fromkeys(("mean", "std", "min", "max", "zeros")), "masked": None}
    return {
        "mean": real.mean().item(),
        "std": real.std(correction=0).item(),
        "min": real.min().item(),
        "max": real.max().item(),
        "zeros": (real == 0).double().mean().item(),
        "masked": 1 - len(real) / len(values),
    }


def _values(step: Step, is_whole: bool) -> Packed | None:
    """The values without the batch axis; None where there are none, or they were never written."""
    if step.op in UNINITIALISED or not step.tensor.numel():
        return None
    tensor = _without_batch(step.tensor)
    if is_whole or not tensor.is_floating_point():
        return packed(tensor)
    tensor, axes = thinned(tensor)
    return {**packed_bytes(tensor), "axes": axes}


def _without_batch(tensor: Tensor) -> Tensor:
    return tensor[0] if tensor.ndim > 1 and tensor.shape[0] == 1 else tensor


def attention_maps(recording: Recording, model: Any) -> list[dict[str, Any]]:
    """Return the attention weights (H, T, S) of every layer, in order, with what their queries and keys are."""
    maps = []
    for module in recording.modules:
        step = recording.keys.get(f"{module.path}.weights")
        if module.name != "Attention" or step is None:
            continue
        is_cross, layer = module.path.endswith("cross_attention"), model.get_submodule(module.path)
        reads_target = model.config.is_encoder_decoder and (is_cross or layer.is_causal)
        found = {
            "path": module.path,
            "kind": "cross" if is_cross else "causal" if layer.is_causal else "self",
            "layer": layer.layer_idx,
            "heads": step.tensor.shape[1],
            "queries": "target_tokens" if reads_target else "tokens",
            "keys": "target_tokens" if reads_target and not is_cross else "tokens",
            "weights": step.tensor[0].to(torch.float32),
        }
        maps.append(found)
    return maps
