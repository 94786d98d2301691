# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a table of a native family says: how its fields and its weights are called there and here.

Read from left to right, a table converts a checkpoint of theirs; from right to left, it exports one of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """A module or a parameter of theirs, and what it is here. {} is the number of a layer; weight and bias follow.

    - ours: several names where theirs holds them end to end.
    - transposed: theirs multiplies by W, where nn.Linear multiplies by its transpose.
    """

    theirs: str
    ours: str | tuple[str, ...]
    transposed: bool = False


@dataclass(frozen=True)
class Head:
    """A class of theirs that has a counterpart here: the rows of its head, and fields of theirs it fixes."""

    theirs: str
    rows: tuple[Row, ...] = ()
    requires: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """One model_type of the library.

    - config: the name of our config class; prefix: of the base model's weights in a model with a head.
    - fields: a field of theirs, or several that have to agree -> ours.
    - fixed: our fields that their architecture decides; those in `free` may differ where a model is exported.
    - requires: their fields that have one value here.
    - unused: their fields that change no function: what only training, generation or reports use.
    - activations: what hidden_act is called there -> here.
    - positions_after_padding: positions are numbered from pad_token_id + 1 on, and their limit counts from 0.
    - heads: our class -> theirs; also: further classes of theirs -> ours, whose own heads are left out.
    - left_out: patterns of weights that hold no function of the model, such as tables of positions.
    - zeros: biases that are zero there.
    """

    model_type: str
    config: str
    prefix: str
    fields: Mapping[str | tuple[str, ...], str]
    fixed: Mapping[str, Any]
    rows: tuple[Row, ...]
    heads: Mapping[str, Head]
    free: Mapping[str, Any] = field(default_factory=dict)
    requires: Mapping[str, Any] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    activations: Mapping[str, str] = field(default_factory=dict)
    positions_after_padding: bool = False
    also: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()


def rows(table: str, transposed: str = "") -> tuple[Row, ...]:
    """Lines of two names, theirs and ours: a.q+k+v where theirs holds a.q, a.k and a.v end to end."""
    found = []
    for line in table.strip().splitlines():
        theirs, ours = line.split()
        first, *others = ours.split("+")
        names = (first, *(f"{first.rpartition('.')[0]}.{name}" for name in others))
        found.append(Row(theirs, names if others else first, bool(transposed) and transposed in theirs))
    return tuple(found)


def same(*names: str) -> dict[str | tuple[str, ...], str]:
    return {name: name for name in names}


ACTIVATIONS = {
    "gelu": "gelu", "relu": "relu", "silu": "silu", "swish": "silu", "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}  # fmt: skip

GATED = {"silu": "swiglu", "gelu": "geglu", "relu": "reglu"}
IDS = same("pad_token_id", "bos_token_id", "eos_token_id")
