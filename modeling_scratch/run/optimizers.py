# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Learning rates of their own for parts of a model: functions that change the groups of Trainer's fresh optimizer."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn, optim

from ..utils.errors import DataError

LAYER = re.compile(r"\.(\d+)\.")


def set_rates_by_depth(optimizer: optim.Optimizer, model: nn.Module, body: str, decay: float) -> None:
    """rate of a layer = learning_rate * decay^depth (Howard and Ruder 2018, 3.2; depths as in Bao et al. 2021).

    Each parameter group of the fresh optimizer is split by depth. The head's groups come first, as Trainer logs the
    first group's rate. body: the attribute name of the base model.
    """
    depth_of = depths(model, body)
    if max(depth_of.values()) < 2:
        raise DataError(f"--layer_decay: {type(model).__name__} has no numbered layers")
    split_groups(optimizer, depth_of, lambda group, depth: {"lr": group["lr"] * decay**depth})


def depths(model: nn.Module, body: str) -> dict[nn.Parameter, int]:
    """Return each parameter's depth: 0 for the head and final norm, 1 for the top layer, ..., last the embeddings.

    body: the attribute name of the base model. Its embeddings are those by type or by name, with norms and projections
    that are named after them.
    """
    inside = {name: name.partition(f"{body}.")[2] for name, _ in model.named_parameters()}
    layers = {name: int(match[1]) for name, rest in inside.items() if (match := LAYER.search(f".{rest}"))}
    count = max(layers.values(), default=-1) + 1
    tables = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, nn.Embedding)}
    beside = {name for name, rest in inside.items() if "embed" in rest or (rest and name in tables)}
    bottom = dict.fromkeys(beside - layers.keys(), count + 1)
    below = {**{name: count - number for name, number in layers.items()}, **bottom}
    return {weight: below.get(name, 0) for name, weight in model.named_parameters()}


# Regression in the unit of the labels: the head starts at their mean, and learns at the rate of their spread.
# The model gives numbers in this unit in every checkpoint, and learns as if the labels were standardised.


def scale_last_linear(optimizer: optim.Optimizer, model: nn.Module, unit: float) -> None:
    """Give the last layer of a model of one number `unit` times the learning rate of the others.

    Its weight decay is 1 / unit times theirs: AdamW then moves it as if the labels were standardised.
    """
    if (head := last_linear(model, 1)) is None:
        return

    def change(group: Mapping[str, Any], power: int) -> dict[str, float]:
        return {"lr": group["lr"] * unit**power, "weight_decay": group.get("weight_decay", 0.0) / unit**power}

    split_groups(optimizer, dict.fromkeys(model.parameters(), 0) | dict.fromkeys(head.parameters(), 1), change)


def last_linear(model: nn.Module, outputs: int) -> nn.Linear | None:
    """Return the last linear layer with this number of outputs."""
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear) and layer.out_features == outputs]
    return layers[-1] if layers else None


def split_groups(optimizer: optim.Optimizer, part_of: Mapping[nn.Parameter, Any], change: Callable[..., Any]) -> None:
    """Split each parameter group by the part of its weights, in the order of the parts.

    change: of a group and a part, the settings that differ.
    """
    groups = [
        {**group, **change(group, part), "params": [weight for weight in group["params"] if part_of[weight] == part]}
        for part in sorted(set(part_of.values()))
        for group in optimizer.param_groups
    ]
    optimizer.param_groups = [group for group in groups if group["params"]]
