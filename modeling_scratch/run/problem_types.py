# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a classifier's trainer gets: its loss, its score and its batches, by problem type and options.

Evaluation uses padded batches, as its loss is a mean over rows and each text must be one row.
"""

from functools import partial
from typing import Any

import torch

from ..data.collators import FlatBatches
from ..data.labelled_texts import ReviewData
from ..report.metrics import METRICS, NUMBER, ONE_CLASS, macro_f1_decides
from ..utils.errors import DataError
from .captured_trainer import PACKED_MODEL_TYPES
from .encoder_models import ModelArguments
from .losses import StandardisedError, WeightedCrossEntropy, balanced_weights
from .optimizers import predicts_numbers, scale_last_linear, start_at_mean


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
    """Let the new head of a regression start at the mean of the numbers."""
    if data.problem_type == NUMBER and not predicts_numbers(options.model_name_or_path, options.trust_remote_code):
        start_at_mean(model, data.labels("train"))


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
