# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Temperature scaling of a trained classifier, folded into its last linear layer (Guo et al. 2017)."""

from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import Trainer

from ..report.calibration import Calibration, calibration_of
from .optimizers import last_linear

CHECKED_ROWS = 16


def calibrate(trainer: Trainer) -> Calibration:
    """Fit T on the validation split, and divide the weights of the last linear layer by it: logits / T everywhere.

    Every process of a distributed run has to call this. The model stays as it is if it is not a single-label
    classifier, if the texts do not determine T, or if no linear layer scales the logits.
    """
    model: Any = trainer.model
    rows: Any = trainer.eval_dataset
    if not getattr(trainer.args, "calibrate", True):
        return Calibration(rows=len(rows), obstacle="--calibrate False was given")
    if model.config.num_labels < 2 or model.config.problem_type not in (None, "single_label_classification"):
        return Calibration(rows=len(rows), obstacle="the model does not choose one of several labels")
    prediction = trainer.predict(rows)
    calibration = calibration_of(np.asarray(prediction.predictions), np.asarray(prediction.label_ids))
    if calibration.temperature == 1:
        return calibration
    if (layer := last_linear(model, model.config.num_labels)) is None or not scales_logits(layer, trainer):
        return Calibration(rows=len(rows), obstacle=f"no linear layer of {type(model).__name__} scales its logits")
    divide(layer, calibration.temperature)
    return calibration


def scales_logits(layer: nn.Linear, trainer: Trainer) -> bool:
    """Return whether the logits are halved if its weights are. A factor of 2 is exact in floating point."""
    rows: Any = trainer.eval_dataset
    rows = rows.select(range(min(CHECKED_ROWS, len(rows))))
    before = np.asarray(trainer.predict(rows).predictions)
    divide(layer, 2)
    halved = np.asarray(trainer.predict(rows).predictions)
    divide(layer, 0.5)
    return np.allclose(2 * halved, before, rtol=1e-5, atol=1e-6 * float(np.abs(before).max()))


def divide(layer: nn.Linear, divisor: float) -> None:
    """Divide weight and bias."""
    with torch.no_grad():
        for weight in layer.parameters():
            weight.div_(divisor)
