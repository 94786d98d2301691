# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Class weights: texts of rare classes count more in the loss.

Shapes: B texts, C classes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Trainer

from ..utils.errors import DataError

CLASS_WEIGHTS = (
    "balanced: in the loss, a text of class c weighs n / (k n_c), for k classes and n_c of n training texts."
)


def balanced_weights(labels: Sequence[int], classes: int) -> list[float]:
    """w_c = n / (k n_c), as class_weight="balanced" of scikit-learn. labels (n,) of class indices.

    A declared class that no text has counts as one of one text.
    """
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    return (len(labels) / (classes * counts)).tolist()


class ClassWeights(Trainer):
    """loss = Σ w_y · -log p(y) / Σ w_y, both over all texts of an optimizer step, if there are weights.

    With label smoothing ε, the loss of a text is (1 - ε) w_y · -log p(y) + ε / C · Σ_c w_c · -log p(c), as in
    torch.nn.functional.cross_entropy.
    """

    class_weights: Tensor | None = None  # (C,)

    def use_class_weights(self, weights: Sequence[float]) -> None:
        """Raises `DataError` in several processes."""
        if self.args.world_size > 1 or self.args.n_gpu > 1:
            raise DataError("--class_weights runs in one process, on one device")
        self.class_weights = torch.tensor(weights, device=self.args.device)
        self.loss_is_scaled_for_ga = True

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """num_items_in_batch: the sum of the weights of the texts of the step; None: of this batch."""
        if self.class_weights is None or "labels" not in inputs:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        labels, weights = inputs["labels"], self.class_weights
        outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
        smoothing = self.args.label_smoothing_factor
        losses = F.cross_entropy(outputs.logits.float(), labels, weights, reduction="sum", label_smoothing=smoothing)
        loss = losses / (weights[labels].sum() if num_items_in_batch is None else num_items_in_batch)
        return (loss, outputs) if return_outputs else loss

    def _get_num_items_in_batch(self, batch_samples: list, device: torch.device) -> Tensor | int | None:
        """Return the sum of the weights of the texts, in place of their number."""
        if self.class_weights is None or not batch_samples:
            return super()._get_num_items_in_batch(batch_samples, device)
        weights = self.class_weights
        return torch.stack([weights[batch["labels"].to(weights.device)].sum() for batch in batch_samples]).sum()
