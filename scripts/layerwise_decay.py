# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Learning rates that fall from the head down: what a checkpoint knows of language changes less than what is new."""

import re
from typing import Any

from text_files import DataError
from torch import nn, optim
from transformers import Trainer

LAYER = re.compile(r"\.(\d+)\.")


class LayerwiseDecay(Trainer):
    """rate of a layer = learning_rate * layer_decay^depth (Howard and Ruder 2018, 3.2; depths as in Bao et al. 2021).

    With layer_decay = 1 it is Trainer, group by group.
    """

    def create_optimizer(self, model: nn.Module | None = None) -> optim.Optimizer:
        is_new, decay = self.optimizer is None, getattr(self.args, "layer_decay", 1.0)
        optimizer = super().create_optimizer(model)
        if is_new and decay != 1:
            whole: Any = self.model
            split_by_depth(optimizer, depths(whole if model is None else model, whole.base_model_prefix), decay)
        return optimizer


def check_layer_decay(decay: float) -> None:
    if not 0 < decay <= 1:
        raise DataError(f"--layer_decay {decay}: has to be above 0 and at most 1, such as 0.9")


def split_by_depth(optimizer: optim.Optimizer, depth_of: dict[nn.Parameter, int], decay: float) -> None:
    """Each group of the optimizer, which has taken no step yet, becomes one for each depth; the head's come first.

    The first rate is the one that Trainer logs.
    """
    groups = [
        {**group, "params": [weight for weight in group["params"] if depth_of[weight] == depth]}
        | {"lr": group["lr"] * decay**depth}
        for depth in sorted(set(depth_of.values()))
        for group in optimizer.param_groups
    ]
    optimizer.param_groups = [group for group in groups if group["params"]]


def depths(model: nn.Module, body: str) -> dict[nn.Parameter, int]:
    """How far each parameter is below the head: 0 the head and a last norm, 1 the top layer, ... the embeddings.

    body: the name under which the model with a head holds the one without. Raises `DataError` where that has no layers.
    """
    inside = {name: name.partition(f"{body}.")[2] for name, _ in model.named_parameters()}
    layers = {name: int(found[1]) for name, rest in inside.items() if (found := LAYER.search(f".{rest}"))}
    if not layers:
        raise DataError(f"--layer_decay: {type(model).__name__} has no layers that are numbered")
    count = max(layers.values()) + 1
    bottom = {name: count + 1 for name, rest in inside.items() if "embed" in rest and name not in layers}
    below = {**{name: count - number for name, number in layers.items()}, **bottom}
    return {weight: below.get(name, 0) for name, weight in model.named_parameters()}
