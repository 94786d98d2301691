# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a classifier's training has of its own: its loss, score and batches, and at its end the temperature of logits.

A loss is a function in place of the model's own (Trainer's `compute_loss_func`). Evaluation uses padded batches, as its
loss is a mean over rows and each text must be one row. Shapes: B texts, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoConfig, Trainer

from ..bridges.model_sources import load_checkpoint
from ..data.collators import FlatBatches
from ..data.labelled_texts import ReviewData
from ..heads import mean_loss
from ..report.calibration import Calibration, calibration_of
from ..report.metrics import METRICS, NUMBER, ONE_CLASS, macro_f1_decides
from ..utils.errors import DataError
from .captured_trainer import PACKED_MODEL_TYPES
from .encoder_models import ModelArguments
from .optimizers import last_linear, scale_last_linear

CLASS_WEIGHTS = (
    "balanced: in the loss, a text of class c weighs n / (k n_c), for k classes and n_c of n training texts."
)
Items = Tensor | int | None  # of an optimizer step, as Trainer counts them; None: those of the batch


def balanced_weights(labels: Sequence[int], classes: int) -> list[float]:
    """w_c = n / (k n_c), as class_weight="balanced" of scikit-learn. labels (n,) of class indices.

    A declared class that no text has counts as one of one text.
    """
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    return (len(labels) / (classes * counts)).tolist()


@dataclass(frozen=True)
class WeightedCrossEntropy:
    """loss = mean w_y · -log p(y), over all texts of an optimizer step, as scikit-learn weights samples.

    With label smoothing ε, the loss of a text is (1 - ε) w_y · -log p(y) + ε / C · Σ_c w_c · -log p(c), as in
    torch.nn.functional.cross_entropy. weights (C,): w.
    """

    weights: Tensor
    smoothing: float = 0.0

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Items = None) -> Tensor:
        """labels (B,). num_items_in_batch: the number of texts of the step."""
        logits, weights = outputs.logits.float(), self.weights.to(labels.device)
        losses = F.cross_entropy(logits, labels, weights, reduction="none", label_smoothing=self.smoothing)
        return mean_loss(losses, labels.numel(), num_items_in_batch)


@dataclass(frozen=True)
class StandardisedError:
    """loss = mean (logit - y)² / s², s the standard deviation of the train labels: as if they were standardised."""

    unit: float

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Items = None) -> Tensor:
        logits = outputs.logits.float()
        errors = (logits - labels.view_as(logits).float()) ** 2 / self.unit**2
        return mean_loss(errors, labels.numel(), num_items_in_batch)


def weights_of(data: ReviewData) -> list[float]:
    return balanced_weights(data.labels("train").tolist(), len(data.label_names))


OF_ONE_CLASS = "label_smoothing_factor", "search_trials", "class_weights"


def check_options(data: ReviewData, arguments: Any) -> None:
    """Raise `DataError` for options that only concern texts with one class each."""
    for name in OF_ONE_CLASS if data.problem_type != ONE_CLASS else ():
        if getattr(arguments, name):
            raise DataError(f"--{name} requires one class per text, and the task is {data.problem_type}: remove it")


def best_score(data: ReviewData, arguments: Any) -> tuple[str, bool]:
    """Return the score that chooses the best epoch, and whether greater is better: of rare classes, macro F1."""
    is_weighted = bool(arguments.class_weights)
    if data.problem_type == ONE_CLASS and macro_f1_decides(data.labels("train"), is_weighted):
        return "f1_macro", True
    score = METRICS[data.problem_type].score
    return score.name, score.greater_is_better


def start_head(model: Any, data: ReviewData, options: ModelArguments) -> None:
    """Let the new head of a regression give the mean of the numbers, give or take their spread times its logits."""
    if data.problem_type != NUMBER:
        return
    if options.model_name_or_path:
        config = load_checkpoint(AutoConfig, options.model_name_or_path, options.trust_remote_code)
        if config.problem_type == "regression" and config.num_labels == 1:
            return  # fine-tuning continues its head
    numbers = data.labels("train")
    if (head := last_linear(model, 1)) is None:
        return
    with torch.no_grad():
        head.weight.mul_(float(numbers.std()))
        if head.bias is not None:
            head.bias.fill_(float(numbers.mean()))


def trainer_options(data: ReviewData, arguments: Any, model: Any) -> dict[str, Any]:
    """Return the loss, the batches and the learning rates of the data, for `RunTrainer`."""
    options: dict[str, Any] = {"captured": arguments.cuda_graphs}
    if are_flat(arguments, model):
        options["train_collator"] = FlatBatches()
    if data.problem_type == NUMBER:  # learned in the unit of the standard deviation of the train labels
        unit = float(data.labels("train").std())
        options |= {"compute_loss_func": StandardisedError(unit), "changes": [partial(scale_last_linear, unit=unit)]}
    elif arguments.class_weights:
        weights = torch.tensor(weights_of(data))
        options["compute_loss_func"] = WeightedCrossEntropy(weights, arguments.label_smoothing_factor)
    return options


def are_flat(arguments: Any, model: Any) -> bool:
    """Return whether to train on flat batches: on a device that benefits. On a CPU, models pack internally."""
    if getattr(model.config, "model_type", None) not in PACKED_MODEL_TYPES or arguments.n_gpu > 1:
        return False  # DataParallel splits batches by rows, and there is only one
    is_half = arguments.bf16 or arguments.fp16  # compiled float32 graphs would mask attention over the whole row
    return arguments.device.type == "cuda" and (is_half or not arguments.torch_compile)


# The temperature of a trained classifier, folded into its last linear layer (Guo et al. 2017)

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
