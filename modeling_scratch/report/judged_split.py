# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The split that a report is about: test, or validation if there is none."""

from collections.abc import Container
from typing import Any

from torch.utils.data import Dataset
from transformers import Trainer
from transformers.trainer_utils import PredictionOutput


def judged_split(splits: Container[str]) -> str:
    return "test" if "test" in splits else "validation"


def predict_split(trainer: Trainer, rows: Dataset | Any, split: str) -> PredictionOutput:
    """Return the predictions on the rows of a split, and save its metrics, under the names that Trainer uses."""
    prefix = "test" if split == "test" else "eval"
    prediction = trainer.predict(rows, metric_key_prefix=prefix)
    trainer.save_metrics(prefix, prediction.metrics or {})
    return prediction
