# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Native weights under our names, and ours under theirs: every one of them accounted for."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..utils.errors import CheckpointError
from .tables import Family, Row

MANY = 5  # names in an error


class Names:
    """What a weight of a native model is called in one of our classes, by the rows of the tables.

    The prefix of the base model may be missing, as in checkpoints of base models.
    """

    def __init__(self, family: Family, head: str) -> None:
        base = "" if head.endswith("Model") else "model."
        rows = [(row, "") for row in family.heads[head].rows] + [(row, base) for row in family.rows]
        self.rows = [(self._pattern(row.theirs, family.prefix), row, prefix) for row, prefix in rows]

    @staticmethod
    def _pattern(name: str, prefix: str) -> re.Pattern:
        name = re.escape(name.removeprefix(f"{prefix}.")).replace(r"\{\}", r"(?P<layer>\d+)")
        return re.compile(rf"(?:{prefix}\.)?{name}(?P<kind>\.weight|\.bias)?")

    def find(self, theirs: str) -> tuple[Row, tuple[str, ...]] | None:
        """The row, and the names of ours."""
        theirs = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", theirs)  # as the first BERT had them
        theirs = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", theirs)
        for pattern, row, prefix in self.rows:
            if match := pattern.fullmatch(theirs):
                names, layer, kind = row.ours, match.groupdict().get("layer"), match["kind"] or ""
                names = (names,) if isinstance(names, str) else names
                return row, tuple(f"{prefix}{name.format(layer)}{kind}" for name in names)
        return None


def _to_ours(row: Row, tensor: Tensor, parts: int) -> tuple[Tensor, ...]:
    if row.transposed and tensor.ndim == 2:
        tensor = tensor.T
    if parts == 1:
        return (tensor.contiguous(),)
    return tuple(part.contiguous() for part in tensor.chunk(parts))


def _to_theirs(row: Row, tensors: list[Tensor]) -> Tensor:
    tensor = torch.cat(tensors) if len(tensors) > 1 else tensors[0]
    return tensor.T.contiguous() if row.transposed and tensor.ndim == 2 else tensor


def empty_model(model_class: Callable[[Any], PreTrainedModel], config: Any) -> PreTrainedModel:
    """A model whose weights are names and shapes alone."""
    with torch.device("meta"):
        return model_class(config)


class Slots:
    """The weights of an empty model, to be filled one by one; a weight under several names is one slot."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.weights = model.state_dict(keep_vars=True)
        self.names: dict[int, list[str]] = {}
        for name, weight in self.weights.items():
            self.names.setdefault(id(weight), []).append(name)
        self.filled: set[int] = set()

    def __contains__(self, name: str) -> bool:
        return name in self.weights

    def missing(self, names: Iterable[str]) -> list[str]:
        """The first name of each slot that none of names belongs to."""
        slots = {id(self.weights[name]) for name in names}
        return [same[0] for slot, same in self.names.items() if slot not in slots]

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights that are filled."""
        filled = (self._now(names[0]) for slot, names in self.names.items() if slot in self.filled)
        return next((weight.dtype for weight in filled if weight.is_floating_point()), torch.get_default_dtype())

    def empty(self) -> list[str]:
        """The first name of each slot that nothing was put into."""
        return [same[0] for slot, same in self.names.items() if slot not in self.filled]

    def fits(self, name: str, shape: torch.Size) -> bool:
        return _without_ones(self.weights[name].shape) == _without_ones(shape)

    def _now(self, name: str) -> Tensor:
        parent, _, leaf = name.rpartition(".")
        return getattr(self.model.get_submodule(parent), leaf)

    def put(self, name: str, tensor: Tensor, source: str) -> None:
        """Raises CheckpointError for another shape, or other values than another name of the same weight had."""
        empty = self.weights[name]
        if not self.fits(name, tensor.shape):
            raise CheckpointError(f"{source} is of shape {tuple(tensor.shape)}: the config wants {tuple(empty.shape)}")
        tensor = tensor.reshape(empty.shape)
        if id(empty) in self.filled:
            if not torch.equal(tensor, self._now(name)):
                raise CheckpointError(f"{source} differs from another copy of it, but the config ties them")
            return
        self.filled.add(id(empty))
        if isinstance(empty, nn.Parameter):
            tensor = nn.Parameter(tensor, requires_grad=tensor.is_floating_point())
        for same in self.names[id(empty)]:
            parent, _, leaf = same.rpartition(".")
            setattr(self.model.get_submodule(parent), leaf, tensor)


def _without_ones(shape: torch.Size) -> list[int]:
    return [size for size in shape if size != 1]


Places = dict[str, tuple[Row, tuple[str, ...]]]


def places_of(weights: Iterable[str], family: Family, head: str, slots: Slots, where: str) -> tuple[Places, list[str]]:
    """Where each native weight goes, and those that belong to other heads than this one.

    Raises CheckpointError with the names of weights that the tables do not know.
    """
    names, others = Names(family, head), [Names(family, other) for other in family.heads if other != head]
    places: Places = {}
    left_out, unknown = [], []
    for name in weights:
        place = names.find(name)
        elsewhere = any(re.fullmatch(pattern, name) for pattern in family.left_out)
        if place is not None and all(ours in slots for ours in place[1]):
            places[name] = place
        elif elsewhere or (place is None and any(other.find(name) for other in others)):
            left_out.append(name)
        else:
            unknown.append(name)
    if unknown:
        raise CheckpointError(f"{where}: {some(unknown)}: no weights of a {family.model_type} with this config")
    return places, left_out


def renamed(places: Places, read: Callable[[str], Tensor]) -> Iterator[tuple[str, str, Tensor]]:
    """Their name, our name and the tensor, one after the other."""
    for theirs, (row, names) in places.items():
        for ours, part in zip(names, _to_ours(row, read(theirs), len(names))):
            yield theirs, ours, part


def some(names: Sequence[str]) -> str:
    """The first of them."""
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return ", ".join(names[:MANY]) + more


def native_weights(ours: dict[str, Tensor], family: Family, head: str, slots: Slots) -> Iterator[tuple[str, Tensor]]:
    """Their name and the tensor of each slot of a native model that the weights of ours fill.

    Raises CheckpointError where something of ours has no place there, unless it is a bias of zeros.
    """
    names, used = Names(family, head), set()
    for same in slots.names.values():
        places = ((name, names.find(name)) for name in same)
        name, (row, parts) = next(((name, place) for name, place in places if place), (same[0], (None, ())))
        if row is not None and all(part in ours for part in parts):
            used |= {id(ours[part]) for part in parts}
            yield name, _to_theirs(row, [ours[part] for part in parts])
        elif parts and all(part.endswith("bias") for part in parts):  # none here is one of zeros there
            yield name, torch.zeros(slots.weights[name].shape, dtype=next(iter(ours.values())).dtype)
    left = [name for name, weight in ours.items() if id(weight) not in used and weight.any()]
    if left:
        raise CheckpointError(f"{some(left)}: {family.model_type} has no such weights, and they are not zero")


def zeros_of(missing: Iterable[str], family: Family) -> list[str]:
    """Those that are zero where they are not stored."""
    return [name for name in missing if _fills_with_zeros(name, family)]


def _fills_with_zeros(name: str, family: Family) -> bool:
    patterns = (re.escape(zero).replace(r"\{\}", r"\d+") for zero in family.zeros)
    return any(re.fullmatch(rf"(model\.)?{pattern}", name) for pattern in patterns)
