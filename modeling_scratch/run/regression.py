# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Regression in the unit of the labels: the head starts at their mean and learns at the rate of their spread.

The model gives numbers in the unit of the labels in every checkpoint. It learns as if the labels were standardised.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn, optim
from transformers import AutoConfig, Trainer

from ..bridges.model_sources import load_checkpoint


def last_linear(model: nn.Module, outputs: int) -> nn.Linear | None:
    """Return the last linear layer with this number of outputs."""
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear) and layer.out_features == outputs]
    return layers[-1] if layers else None


def predicts_numbers(name: str | None, trust_remote_code: bool) -> bool:
    """Return whether a checkpoint has the head of a regression, which fine-tuning continues."""
    if name is None:
        return False
    config = load_checkpoint(AutoConfig, name, trust_remote_code)
    return config.problem_type == "regression" and config.num_labels == 1


def start_at_mean(model: nn.Module, numbers: np.ndarray) -> None:
    """Let a new head give the mean of the numbers, give or take their standard deviation times its logits."""
    if (head := last_linear(model, 1)) is None:
        return
    with torch.no_grad():
        head.weight.mul_(float(numbers.std()))
        if head.bias is not None:
            head.bias.fill_(float(numbers.mean()))


class NumberTraining(Trainer):
    """loss = mean (logit - y)² / s², with s the standard deviation of the train labels, for a model of one number.

    The learning rate of the last layer is s times that of the others, and its weight decay 1 / s times: AdamW then
    moves it as if the labels were standardised. Other models are trained as by Trainer.
    """

    unit = 1.0  # s

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        if self.unit == 1:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        loss = loss / self.unit**2
        return (loss, outputs) if return_outputs else loss

    def create_optimizer(self, model: nn.Module | None = None) -> optim.Optimizer:
        is_new = self.optimizer is None
        optimizer = super().create_optimizer(model)
        whole: Any = self.model if model is None else model
        if is_new and self.unit != 1 and (head := last_linear(whole, 1)) is not None:
            scale_groups(optimizer, set(head.parameters()), self.unit)
        return optimizer


def scale_groups(optimizer: optim.Optimizer, weights: set[nn.Parameter], factor: float) -> None:
    """Move weights to groups of their own, the last ones, with `factor` times the learning rate."""
    scaled = []
    for group in optimizer.param_groups:
        chosen = [weight for weight in group["params"] if weight in weights]
        group["params"] = [weight for weight in group["params"] if weight not in weights]
        rates = {"lr": group["lr"] * factor, "weight_decay": group.get("weight_decay", 0.0) / factor}
        scaled += [{**group, **rates, "params": chosen}] if chosen else []
    optimizer.param_groups = [*(group for group in optimizer.param_groups if group["params"]), *scaled]
