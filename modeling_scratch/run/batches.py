# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The batches that a classifier is trained on: padded, without padding, or with each text twice.

Evaluation uses padded batches, as its loss is a mean over rows and each text must be one row.
"""

from collections.abc import Callable
from typing import Any

from ..data.collators import FlatBatches
from ..utils.errors import DataError
from .captured_trainer import PACKED_MODEL_TYPES
from .losses import Twice


def training_batches(arguments: Any, model: Any, padded: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the collator of training batches. padded: that of evaluation. Raises `DataError` if there is none."""
    if arguments.r_drop:  # a flat batch is one row, and the second draw would be part of it
        if arguments.flat_batches:
            raise DataError("--r_drop excludes --flat_batches: leave one of them out")
        return Twice(padded)
    return FlatBatches() if are_flat(arguments, model) else padded


def are_captured(arguments: Any) -> bool | None:
    """Return whether steps run as CUDA graphs; None: where it pays. Raises `DataError` where they cannot."""
    padded = {"--flat_batches False": arguments.flat_batches is False, "--r_drop": arguments.r_drop}
    excluding = {**padded, "--class_weights": arguments.class_weights}
    obstacle = next((option for option, is_given in excluding.items() if is_given), None)
    if obstacle and arguments.cuda_graphs:
        raise DataError(f"--cuda_graphs True excludes {obstacle}: leave one of them out")
    return False if obstacle else arguments.cuda_graphs


def are_flat(arguments: Any, model: Any) -> bool:
    """Return whether to train on flat batches: as --flat_batches says, or on a device that benefits.

    On a CPU, models pack internally. Raises `DataError` if they are asked for and not supported.
    """
    obstacle = None
    if getattr(model.config, "model_type", None) not in PACKED_MODEL_TYPES:
        obstacle = f"{type(model).__name__} would read all texts of a batch as one"
    elif arguments.n_gpu > 1:
        obstacle = "DataParallel splits batches by rows, and there is only one: use accelerate launch or torchrun"
    requested: bool | None = arguments.flat_batches
    if requested and obstacle:
        raise DataError(f"--flat_batches True: {obstacle}")
    if requested is not None or obstacle:
        return bool(requested)
    is_half = arguments.bf16 or arguments.fp16  # compiled float32 graphs would mask attention over the whole row
    return arguments.device.type == "cuda" and (is_half or not arguments.torch_compile)
