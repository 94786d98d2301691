# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A trained model computing with fewer bits: faster on many machines, and nearly as right."""

import warnings
from typing import Any

import torch
from text_files import DataError
from torch import nn
from torch.ao.quantization import quantize_dynamic

REDUCED = ("bfloat16", "int8")


def to_precision(model: Any, precision: str) -> Any:
    """The model with weights of this type, one of torch's or int8; it may be changed itself.

    Products of int8 round their inputs too, each by the range of its own; embeddings stay as they are. Raises
    `DataError` for a device without such products.
    """
    if precision != "int8":
        return model.to(getattr(torch, precision))
    if model.device.type != "cpu":
        raise DataError("--precision int8: is for CPUs; say --device cpu, or --precision bfloat16")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch advises another package for it
        return quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
