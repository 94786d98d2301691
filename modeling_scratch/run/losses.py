# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Losses as functions, in place of the model's own (Trainer's `compute_loss_func`).

Shapes: B texts, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from ..heads import mean_loss

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
