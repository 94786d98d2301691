# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Table types that map the config fields and weights of a native family to ours.

Read from left to right, a table converts a native checkpoint; from right to left, it exports one of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class WeightRow:
    """A native module or parameter and its counterpart. {} is the layer index; weight and bias follow.

    - ours: several names if the native weight concatenates them.
    - transposed: the native layer computes x W, whereas nn.Linear computes x W^T.
    """

    theirs: str
    ours: str | tuple[str, ...]
    transposed: bool = False


@dataclass(frozen=True)
class Head:
    """A native model class with a counterpart: the rows of its head, and the native fields it requires."""

    theirs: str
    rows: tuple[WeightRow, ...] = ()
    requires: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """The tables of one native model_type.

    - config: the name of our config class; prefix: that of the base model's weights in a model with a head.
    - fields: a native field, or several that must agree -> ours.
    - fixed: our fields that the native architecture determines; those in `free` may differ in an exported model.
    - requires: native fields with the only supported value.
    - unused: native fields without effect on the forward pass.
    - activations: native hidden_act -> ours.
    - positions_after_padding: positions start at pad_token_id + 1, and their limit counts from 0.
    - heads: our class -> native class; also: further native classes -> ours, without their heads.
    - left_out: patterns of weights without effect, such as position buffers.
    - zeros: our biases that are zero in the native model.
    """

    model_type: str
    config: str
    prefix: str
    fields: Mapping[str | tuple[str, ...], str]
    fixed: Mapping[str, Any]
    rows: tuple[WeightRow, ...]
    heads: Mapping[str, Head]
    free: Mapping[str, Any] = field(default_factory=dict)
    requires: Mapping[str, Any] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    activations: Mapping[str, str] = field(default_factory=dict)
    positions_after_padding: bool = False
    also: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()


def rows(table: str, transposed: str = "") -> tuple[WeightRow, ...]:
    """Parse lines of a native name and ours; a.q+k+v means that the native weight concatenates a.q, a.k and a.v."""
    parsed = []
    for line in table.strip().splitlines():
        theirs, ours = line.split()
        first, *others = ours.split("+")
        names = (first, *(f"{first.rpartition('.')[0]}.{name}" for name in others))
        parsed.append(WeightRow(theirs, names if others else first, bool(transposed) and transposed in theirs))
    return tuple(parsed)


def same(*names: str) -> dict[str | tuple[str, ...], str]:
    return {name: name for name in names}


ACTIVATION_NAMES = {
    "gelu": "gelu", "relu": "relu", "silu": "silu", "swish": "silu", "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}  # fmt: skip

GATED = {"silu": "swiglu", "gelu": "geglu", "relu": "reglu"}
IDS = same("pad_token_id", "bos_token_id", "eos_token_id")
