# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Table types that map the config fields and weights of a native family to ours.

Read from left to right, a table converts a native checkpoint; from right to left, it exports one of ours.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product
from typing import Any

import transformers
from transformers import PreTrainedConfig

from ..configuration_scratch import ScratchConfig


@dataclass(frozen=True)
class Fold:
    """Our weight is (theirs + shift) * scale: it absorbs a constant of the native architecture.

    scale: a function of the native config.
    """

    shift: float = 0.0
    scale: Callable[[Any], float] = lambda native: 1.0


FOLDS = {
    "w+1": Fold(shift=1.0),  # a norm that multiplies by 1 + w
    "w*sqrt(d_kv)": Fold(scale=lambda native: native.d_kv**0.5),  # scores that are not divided by it
    # Logits of states divided by sqrt(d_model).
    "w/sqrt(d_model)": Fold(scale=lambda native: native.d_model**-0.5 if native.scale_decoder_outputs else 1.0),
    # Scores divided by the square root of query_pre_attn_scalar in place of head_dim.
    "(w+1)*sqrt(head_dim/scalar)": Fold(1.0, lambda native: (native.head_dim / native.query_pre_attn_scalar) ** 0.5),
}


@dataclass(frozen=True)
class WeightRow:
    """A native module or parameter and its counterpart. {} is the layer index; weight and bias follow.

    - ours: more than one name if the native weight concatenates them.
    - transposed: the native layer computes x W, whereas nn.Linear computes x W^T.
    - fold: for weights that differ by a constant.
    """

    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False
    fold: Fold | None = None


@dataclass(frozen=True)
class Head:
    """A native model class with a counterpart: the rows of its head, and the native fields it requires."""

    theirs: str
    rows: tuple[WeightRow, ...] = ()
    requires: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """Native fields that correspond to ours jointly, not one by one.

    - read: native config -> our fields; write: our config -> native fields.
    """

    theirs: tuple[str, ...]
    read: Callable[[Any], dict[str, Any]]
    write: Callable[[Any], dict[str, Any]]


@dataclass(frozen=True)
class Family:
    """The tables of one native model_type.

    - config: our config class; prefix: the name of the base model's weights in a model with a head.
    - renamed: a native field, or several that must agree -> ours; groups: those that are carried over jointly.
    - fixed: our fields that the native architecture determines.
    - requires: native fields with the only supported value.
    - unused: native fields without effect on the forward pass.
    - activations: native hidden_act -> ours.
    - partial_rotary: positions may rotate a part of a head's features.
    - positions_after_padding: positions start at pad_token_id + 1, and their limit counts from 0.
    - heads: our class -> native class; also: further native classes -> ours, without their heads.
    - other_heads: ends of the names of native classes whose heads have no counterpart -> why.
    - left_out: patterns of weights without effect, such as position buffers.
    - copies: native weights that are copies of another one, and not read, where the head is not tied.
    - zeros: ends of the names of our biases that are zero in the native model.
    - unties_head: a head that the checkpoint lacks is tied to the embeddings, whatever the config says.
    """

    model_type: str
    config: type[ScratchConfig]
    prefix: str
    renamed: Mapping[str | tuple[str, ...], str]
    fixed: Mapping[str, Any]
    rows: tuple[WeightRow, ...]
    heads: Mapping[str, Head]
    groups: tuple[Group, ...] = ()
    requires: Mapping[str, Any] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    activations: Mapping[str, str] = field(default_factory=dict)
    partial_rotary: bool = False
    positions_after_padding: bool = False
    also: Mapping[str, str] = field(default_factory=dict)
    other_heads: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    zeros: tuple[str, ...] = ()
    unties_head: bool = False

    @cached_property
    def fields(self) -> dict[str | tuple[str, ...], str]:
        """Native fields -> ours, one by one: those that are renamed, and all others of the same name."""
        theirs = getattr(transformers, next(iter(self.heads.values())).theirs).config_class
        names = {each.name for each in fields(theirs)} & {each.name for each in fields(self.config)}
        names -= {each.name for each in fields(PreTrainedConfig)} | self.fixed.keys() | set(self.renamed.values())
        names -= self.requires.keys() | set(self.unused).union(*(group.theirs for group in self.groups))
        return {**self.renamed, **{name: name for name in sorted(names)}}


def rows(table: str, transposed: str = "") -> tuple[WeightRow, ...]:
    """Parse lines of a native name, ours, and a name of FOLDS where the weights differ by a constant.

    Braces list names, as in a shell: a.{query,key} b.{q,k}_proj are two rows. a.q+k+v means that the native weight
    concatenates a.q, a.k and a.v.
    """
    parsed = []
    for line in table.strip().splitlines():
        theirs, ours, *fold = line.split()
        for native, own in zip(_expanded(theirs), _expanded(ours), strict=True):
            first, *others = own.split("+")
            names = (first, *(f"{first.rpartition('.')[0]}.{name}" for name in others))
            is_transposed = bool(transposed) and transposed in native
            parsed.append(WeightRow(native, names, is_transposed, FOLDS[fold[0]] if fold else None))
    return tuple(parsed)


def _expanded(name: str) -> list[str]:
    parts = re.split(r"\{(\w+(?:,\w+)+)\}", name)  # names to choose from at odd indices
    return list(map("".join, product(*(part.split(",") if index % 2 else [part] for index, part in enumerate(parts)))))


DEFAULT_ROPE = {"rope_type": "default", "rope_theta": 10_000.0}


def read_layer_types(native: Any) -> dict[str, Any]:
    """Return our fields for layer types that each have a rotation."""
    ropes = native.rope_parameters
    local = ropes["sliding_attention"]
    theta = local["rope_theta"] if local["rope_type"] == "default" else local  # which the config refuses by name
    return {"layer_types": native.layer_types, "rope_parameters": ropes["full_attention"], "local_rope_theta": theta}


def write_layer_types(config: Any) -> dict[str, Any]:
    """Return the native fields for layer types that each have a rotation."""
    rope = config.rope_parameters or DEFAULT_ROPE  # None: of other positions, which are refused
    theta = rope["rope_theta"] if config.local_rope_theta is None else config.local_rope_theta
    local = {"rope_type": "default", "rope_theta": theta}
    return {
        "layer_types": config.attention_types(config.num_hidden_layers),
        "rope_parameters": {"full_attention": rope, "sliding_attention": local},
    }


def without(table: Mapping[Any, Any], *names: str) -> dict[Any, Any]:
    return {name: value for name, value in table.items() if name not in names}


ACTIVATION_NAMES = {
    "gelu": "gelu", "relu": "relu", "silu": "silu", "swish": "silu", "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}  # fmt: skip

GATED = {
    "silu": "swiglu", "gelu": "geglu", "relu": "reglu", "gelu_pytorch_tanh": "geglu_tanh", "gelu_new": "geglu_tanh",
}  # fmt: skip
