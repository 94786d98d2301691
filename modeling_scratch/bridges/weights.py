# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rename native weights to ours and back, accounting for every weight."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..utils.errors import CheckpointError, some
from .tables import Family, WeightRow


class Names:
    """Map the weight names of a native model to one of our classes.

    The prefix of the base model may be missing, as in checkpoints of base models.
    """

    def __init__(self, family: Family, head: str) -> None:
        base = "" if head.endswith("Model") else "model."
        rows = [(row, "") for row in family.heads[head].rows] + [(row, base) for row in family.rows]
        self.rows: list[tuple[re.Pattern, WeightRow, str]] = []
        for row, prefix in rows:
            name = re.escape(row.theirs.removeprefix(f"{family.prefix}.")).replace(r"\{\}", r"(?P<layer>\d+)")
            pattern = re.compile(rf"(?:{family.prefix}\.)?{name}(?P<kind>\.weight|\.bias)?")
            self.rows.append((pattern, row, prefix))

    def find(self, theirs: str) -> tuple[WeightRow, tuple[str, ...]] | None:
        """Return the table row and our names for a native weight, or None."""
        theirs = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", theirs)  # names of the original BERT
        theirs = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", theirs)
        for pattern, row, prefix in self.rows:
            if match := pattern.fullmatch(theirs):
                layer, kind = match.groupdict().get("layer"), match["kind"] or ""
                return row, tuple(f"{prefix}{name.format(layer)}{kind}" for name in row.ours)
        return None


def _to_ours(row: WeightRow, tensor: Tensor, native: Any) -> list[Tensor]:
    if row.fold is not None:
        tensor = (tensor + row.fold.shift) * row.fold.scale(native)
    if row.transposed and tensor.ndim == 2:
        tensor = tensor.T
    return [part.contiguous() for part in tensor.chunk(len(row.ours))]


def _to_theirs(row: WeightRow, tensors: list[Tensor], native: Any) -> Tensor:
    tensor = torch.cat(tensors) if len(tensors) > 1 else tensors[0]
    if row.fold is not None:
        tensor = (tensor.detach().double() / row.fold.scale(native) - row.fold.shift).to(tensor.dtype)
    return tensor.T.contiguous() if row.transposed and tensor.ndim == 2 else tensor


def empty_model(model_class: Callable[[Any], PreTrainedModel], config: Any) -> PreTrainedModel:
    """Build a model on the meta device."""
    with torch.device("meta"):
        return model_class(config)


class Slots:
    """The weights of an empty model, filled one by one. Tied names share one slot."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.weights = model.state_dict(keep_vars=True)
        self.names: dict[int, list[str]] = {}
        for name, weight in self.weights.items():
            self.names.setdefault(id(weight), []).append(name)
        self.filled: dict[int, Tensor] = {}

    def missing(self, names: Iterable[str] = ()) -> list[str]:
        """Return the first name of each slot that is neither filled nor covered by names."""
        slots = {id(self.weights[name]) for name in names} | self.filled.keys()
        return [same[0] for slot, same in self.names.items() if slot not in slots]

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the filled weights."""
        dtypes = (weight.dtype for weight in self.filled.values() if weight.is_floating_point())
        return next(dtypes, torch.get_default_dtype())

    def fits(self, name: str, tensor: Tensor) -> bool:
        return self.weights[name].squeeze().shape == tensor.squeeze().shape

    def put(self, name: str, tensor: Tensor, source: str) -> None:
        """Fill a slot. Raises CheckpointError for a different shape, or values that differ from a tied weight's."""
        empty = self.weights[name]
        if not self.fits(name, tensor):
            shapes = f"has shape {tuple(tensor.shape)}, but the config implies {tuple(empty.shape)}"
            raise CheckpointError(f"{source} {shapes}")
        tensor = tensor.reshape(empty.shape)
        if (filled := self.filled.get(id(empty))) is not None:
            if not torch.equal(tensor, filled):
                raise CheckpointError(f"{source} differs from a copy that the config ties to it")
            return
        self.filled[id(empty)] = tensor
        if isinstance(empty, nn.Parameter):
            tensor = nn.Parameter(tensor, requires_grad=tensor.is_floating_point())
        for same in self.names[id(empty)]:
            parent, _, leaf = same.rpartition(".")
            setattr(self.model.get_submodule(parent), leaf, tensor)


WeightMap = dict[str, tuple[WeightRow, tuple[str, ...]]]


def map_weights(
    weights: Collection[str], family: Family, head: str, slots: Slots, where: str
) -> tuple[WeightMap, list[str]]:
    """Map each native weight to ours, and list those that belong to other heads.

    Raises CheckpointError with the names of weights that neither table nor native class knows.
    """
    names, others = Names(family, head), [Names(family, other) for other in family.heads if other != head]
    places: WeightMap = {}
    left_out, unknown = [], []
    is_tied = slots.model.config.tie_word_embeddings
    ignored = getattr(transformers, family.heads[head].theirs)._keys_to_ignore_on_load_unexpected or ()
    for name in weights:
        place = names.find(name)
        is_copy = not is_tied and family.copies.get(name) in weights
        elsewhere = is_copy or any(re.fullmatch(pattern, name) for pattern in family.left_out)
        elsewhere = elsewhere or any(re.search(pattern, name) for pattern in ignored)
        if place is not None and not is_copy and all(ours in slots.weights for ours in place[1]):
            places[name] = place
        elif elsewhere or (place is None and any(other.find(name) for other in others)):
            left_out.append(name)
        else:
            unknown.append(name)
    if unknown:
        raise CheckpointError(f"{where}: unexpected weights for {family.model_type} with this config: {some(unknown)}")
    return places, left_out


def renamed(
    places: WeightMap,
    read: Callable[[str], Tensor],
    native: Any,
    model: Any,
    dtype: torch.dtype | None = None,
) -> Iterator[tuple[str, str, Tensor]]:
    """Yield the native name, our name and the tensor of each weight.

    - native: the config; dtype: of the tensors; None: as stored. Constants are folded into what is rounded to it.
    - model: ours, which keeps some weights in float32 where the others are of half precision.
    """
    strict: set[str] = model._keep_in_fp32_modules_strict
    in_float32 = {torch.bfloat16: strict, torch.float16: strict | model._keep_in_fp32_modules}
    for theirs, (row, names) in places.items():
        tensor = read(theirs)
        wanted = dtype or tensor.dtype
        rounded = tensor.to(wanted).double() if row.fold else tensor
        for ours, part in zip(names, _to_ours(row, rounded, native)):
            is_kept = not in_float32.get(wanted, set()).isdisjoint(ours.split("."))
            yield theirs, ours, part.to(torch.float32 if is_kept else wanted)


def native_weights(ours: dict[str, Tensor], family: Family, head: str, slots: Slots) -> Iterator[tuple[str, Tensor]]:
    """Yield the name and tensor of each native weight, built from ours.

    Raises CheckpointError if one of our weights has no counterpart, unless it is a zero bias.
    """
    names, used, config = Names(family, head), set(), slots.model.config
    for same in slots.names.values():
        places = ((name, names.find(name)) for name in same)
        name, (row, parts) = next(((name, place) for name, place in places if place), (same[0], (None, ())))
        if row is not None and all(part in ours for part in parts):
            used |= {id(ours[part]) for part in parts}
            tensor = _to_theirs(row, [ours[part] for part in parts], config)
            is_copy = name in family.copies and not config.tie_word_embeddings  # saved once if it shared the memory
            yield name, tensor.clone() if is_copy else tensor
        elif parts and all(part.endswith("bias") for part in parts):  # a missing bias of ours equals zeros
            yield name, torch.zeros(slots.weights[name].shape, dtype=next(iter(ours.values())).dtype)
    left = [name for name, weight in ours.items() if id(weight) not in used and weight.any()]
    if left:
        remedy = ": freeze these biases in training, as load_pretrained does" if zeros_of(left, family) else ""
        raise CheckpointError(f"{some(left)}: nonzero weights without counterpart in {family.model_type}{remedy}")


def zeros_of(missing: Iterable[str], family: Family) -> list[str]:
    """Return the missing weights that default to zero."""
    return [name for name in missing if name.endswith(family.zeros)]


def freeze_zeros(model: PreTrainedModel, family: Family) -> None:
    """Freeze the zero biases that native models lack, or do not train: a trained model can go back to its family."""
    for name, weight in model.named_parameters():
        if name.endswith(family.zeros) and not weight.any():
            weight.requires_grad_(False)
