# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Temperature scaling of a trained classifier, folded into its last linear layer (Guo et al. 2017)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import Trainer

from ..report.calibration import LEAST_ROWS, Calibration, calibration_of
from .distributed import reshard

CHECKED_ROWS = 16


def calibrate(trainer: Trainer) -> Calibration:
    """Fit T on the validation split, and divide the weights of the last linear layer by it: logits / T everywhere.

    Every process of a distributed run has to call this. The model stays as it is if it is not a single-label
    classifier, if the texts do not determine T, or if no linear layer scales the logits.
    """
    model: Any = trainer.model
    rows: Any = trainer.eval_dataset
    count = 0 if rows is None else len(rows)
    if model.config.num_labels < 2 or model.config.problem_type not in (None, "single_label_classification"):
        return Calibration(rows=count, obstacle="the model does not choose one of several labels")
    if count < LEAST_ROWS:
        return Calibration(rows=count, obstacle=f"the validation split has {count:,} texts, fewer than {LEAST_ROWS}")
    if trainer.is_deepspeed_enabled:
        return Calibration(rows=count, obstacle="DeepSpeed holds the weights")
    prediction = trainer.predict(rows)
    calibration = calibration_of(np.asarray(prediction.predictions), np.asarray(prediction.label_ids))
    if calibration.temperature == 1:
        return calibration
    if (layer := last_layer(trainer, rows.select(range(CHECKED_ROWS)))) is None:
        return Calibration(rows=count, obstacle=f"no linear layer of {type(model).__name__} scales its logits")
    divide(trainer, layer, calibration.temperature)
    return calibration


def last_layer(trainer: Trainer, rows: Any) -> nn.Linear | None:
    """Return the linear layer whose output are the logits: if its weights are halved, so are the logits of `rows`.

    A factor of 2 is exact in floating point. The weights are restored.
    """
    model: Any = trainer.model
    expected = logits_of(trainer, rows) / 2
    for layer in reversed(list(model.modules())):
        if isinstance(layer, nn.Linear) and layer.out_features == model.config.num_labels:
            with halved(trainer, layer):
                found = logits_of(trainer, rows)
            if np.allclose(found, expected, rtol=1e-5, atol=1e-6 * float(np.abs(expected).max())):
                return layer
    return None


def logits_of(trainer: Trainer, rows: Any) -> np.ndarray:
    return np.asarray(trainer.predict(rows).predictions, dtype=np.float64)


@contextmanager
def halved(trainer: Trainer, layer: nn.Linear) -> Iterator[None]:
    with restored(trainer, layer):
        divide(trainer, layer, 2)
        yield


@contextmanager
def restored(trainer: Trainer, layer: nn.Linear) -> Iterator[None]:
    """Give the layer the weights back that it has now."""
    reshard(trainer.model)
    before = [weight.detach().clone() for weight in layer.parameters()]
    try:
        yield
    finally:
        reshard(trainer.model)
        with torch.no_grad():
            for weight, value in zip(layer.parameters(), before):
                weight.copy_(value)


def divide(trainer: Trainer, layer: nn.Linear, divisor: float) -> None:
    """Divide weight and bias."""
    reshard(trainer.model)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.div_(divisor)
