# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Temperature scaling of a trained classifier, folded into its last linear layer (Guo et al. 2017)."""

from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import Trainer

from ..report.calibration import Calibration, calibration_of

CHECKED_ROWS = 16


def calibrate(trainer: Trainer) -> Calibration:
    """Fit T on the validation split, and divide the weights of the last linear layer by it: logits / T everywhere.

    Every process of a distributed run has to call this. The model stays as it is if it is not a single-label
    classifier, if the texts do not determine T, or if no linear layer scales the logits.
    """
    model: Any = trainer.model
    rows: Any = trainer.eval_dataset
    obstacles = {
        "--calibrate False was given": not getattr(trainer.args, "calibrate", True),
        "the model does not choose one of several labels": model.config.num_labels < 2
        or model.config.problem_type not in (None, "single_label_classification"),
    }
    if found := [obstacle for obstacle, is_met in obstacles.items() if is_met]:
        return Calibration(rows=len(rows), obstacle=found[0])
    prediction = trainer.predict(rows)
    calibration = calibration_of(np.asarray(prediction.predictions), np.asarray(prediction.label_ids))
    if calibration.temperature == 1:
        return calibration
    if (layer := last_layer(trainer, rows.select(range(CHECKED_ROWS)))) is None:
        return Calibration(rows=len(rows), obstacle=f"no linear layer of {type(model).__name__} scales its logits")
    divide(layer, calibration.temperature)
    return calibration


def last_layer(trainer: Trainer, rows: Any) -> nn.Linear | None:
    """Return the linear layer whose output are the logits: if its weights are halved, so are the logits of `rows`.

    A factor of 2 is exact in floating point, so that doubling them restores the weights.
    """
    model: Any = trainer.model
    expected = logits_of(trainer, rows) / 2
    for layer in reversed(list(model.modules())):
        if isinstance(layer, nn.Linear) and layer.out_features == model.config.num_labels:
            divide(layer, 2)
            found = logits_of(trainer, rows)
            divide(layer, 0.5)
            if np.allclose(found, expected, rtol=1e-5, atol=1e-6 * float(np.abs(expected).max())):
                return layer
    return None


def logits_of(trainer: Trainer, rows: Any) -> np.ndarray:
    return np.asarray(trainer.predict(rows).predictions, dtype=np.float64)


def divide(layer: nn.Linear, divisor: float) -> None:
    """Divide weight and bias."""
    with torch.no_grad():
        for weight in layer.parameters():
            weight.div_(divisor)
