# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Texts whose labels are probabilities, as those that a teacher has classified."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, Trainer


@dataclass(frozen=True)
class Taught:
    """Texts, and the probabilities (texts, classes) that a teacher gives them."""

    texts: Sequence[str]
    probabilities: np.ndarray


def with_taught(train: Dataset, taught: Taught, tokenizer: PreTrainedTokenizerBase) -> Dataset:
    """Return the encoded training texts and the taught ones, whose labels are probabilities: 1 for a given label."""
    columns = tokenizer(list(taught.texts), truncation=True)
    given = np.eye(taught.probabilities.shape[1])[train["label"]]
    labels = np.concatenate((given, taught.probabilities)).astype(np.float32)
    return Dataset.from_dict({name: [*train[name], *rows] for name, rows in columns.items()} | {"label": list(labels)})


class SoftLabels(Trainer):
    """Trainer with the loss -mean Σ_c q_c log p_c for labels q (B, C) that are probabilities (Hinton et al. 2015)."""

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """num_items_in_batch: the number of probabilities, as Trainer counts them: C per text."""
        labels = inputs.get("labels")
        if not has_probabilities(model, labels):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
        logits, (texts, classes) = outputs.logits.float(), labels.shape
        count = texts if num_items_in_batch is None else torch.as_tensor(num_items_in_batch) / classes
        smoothing = self.args.label_smoothing_factor
        loss = F.cross_entropy(logits, labels.to(logits), reduction="sum", label_smoothing=smoothing) / count
        return (loss, outputs) if return_outputs else loss


def has_probabilities(model: Any, labels: Tensor | None) -> bool:
    """Return whether labels are probabilities of classes, one of which is right."""
    config = getattr(getattr(model, "module", model), "config", None)
    is_one = getattr(config, "problem_type", None) == "single_label_classification"
    return is_one and labels is not None and labels.is_floating_point() and labels.ndim == 2
