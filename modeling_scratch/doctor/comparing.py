# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Batches, what a model answers to them, and how far answers are from each other."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from .findings import FallsShort, require

Batch = dict[str, Any]
TOLERANCE = 1e-4  # relative to the largest value, in float32


def rows(batch: Batch, index: Any) -> Batch:
    """Some rows of a batch."""
    return {name: value[index] for name, value in batch.items()}


def without(batch: Batch, *names: str) -> Batch:
    """A batch without these arguments."""
    return {name: value for name, value in batch.items() if name not in names}


def named_tensors(model: torch.nn.Module) -> dict[str, Tensor]:
    """Return parameters and buffers by name, those that are not saved, too."""
    named = (*model.named_parameters(remove_duplicate=False), *model.named_buffers())
    return {name: tensor.detach() for name, tensor in named}


def differing(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> set[str]:
    """Return the names of tensors that are not equal bit for bit, or that one lacks."""
    both = found.keys() & wanted.keys()
    return (found.keys() ^ wanted.keys()) | {name for name in both if _bits(found[name]) != _bits(wanted[name])}


def _bits(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.dtype, tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of a module or of nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, torch.nn.Module):
        yield from (*value.parameters(), *value.buffers())
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(each)


@torch.no_grad()
def run(model: PreTrainedModel, batch: Batch, **options: Any) -> Any:
    """Return the outputs of a batch by name. The model may write into its inputs: they are copies."""
    own = {name: value.clone() if torch.is_tensor(value) else value for name, value in batch.items()}
    return model(**own, return_dict=True, **options)


def values(outputs: Any) -> Tensor:
    """Return what a model answers with: logits, or those of starts and ends (B, T, 2), or hidden states."""
    if "start_logits" in outputs:
        return torch.stack((outputs.start_logits, outputs.end_logits), dim=-1)
    for name in ("logits", "last_hidden_state"):
        found = getattr(outputs, name, outputs.get(name))
        if found is not None:
            return found
    raise FallsShort("`forward` returns no logits, so that there is nothing to evaluate.")


def distance(found: Tensor, wanted: Tensor) -> float:
    """Return the largest difference, relative to the largest wanted value; infinite if shapes differ or one is NaN."""
    if found.shape != wanted.shape:
        return float("inf")
    found, wanted = found.detach().float(), wanted.detach().float()
    apart = (found - wanted).abs().max() / wanted.abs().max().clamp(min=1e-6)
    return float(apart.nan_to_num(float("inf")))


def require_close(found: Tensor, wanted: Tensor, what: str, tolerance: float = TOLERANCE) -> None:
    """Raises `FallsShort` for tensors that differ by their `distance`. what: a format for it."""
    apart = distance(found, wanted)
    require(apart <= tolerance, what.format(f"{apart:.2g}"))


@torch.no_grad()
def redraw(model: PreTrainedModel) -> PreTrainedModel:
    """Draw all parameters that are saved anew, in place: matrices by their width, vectors around their values."""
    generator = torch.Generator().manual_seed(0)
    computed = getattr(model, "_keys_to_ignore_on_save", None) or ()  # such as sinusoidal positions
    for parameter in (parameter for name, parameter in model.named_parameters() if name not in computed):
        noise = torch.randn(parameter.shape, generator=generator).to(parameter)
        if parameter.ndim < 2:
            parameter.add_(0.2 * noise)
        else:
            parameter.copy_(noise * 1.5 / max(parameter.shape[-1], 1) ** 0.5)
    return model.eval()
