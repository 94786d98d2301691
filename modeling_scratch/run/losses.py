# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Losses as functions: in place of the model's own (Trainer's `compute_loss_func`), or added to it in training.

Shapes: B texts, T tokens of a target, C classes or tokens of the vocabulary, N predictions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..heads import mean_loss
from ..utils.errors import DataError

R_DROP = (
    "α of R-Drop: train on each text with two draws of dropout, and add α times the divergence of the two answers to "
    "the loss; 0: one draw. A step takes about twice the time."
)
CLASS_WEIGHTS = (
    "balanced: in the loss, a text of class c weighs n / (k n_c), for k classes and n_c of n training texts."
)
Items = Tensor | int | None  # of an optimizer step, as Trainer counts them; None: those of the batch


@dataclass(frozen=True)
class Twice:
    """A collator whose batches have each row twice, for two draws of dropout, (B, ...) -> (2 B, ...)."""

    collator: Callable[[Any], Any]

    def __call__(self, rows: Any) -> dict[str, Any]:
        return {name: torch.cat([value, value]) for name, value in self.collator(rows).items()}


@dataclass(frozen=True)
class RDrop:
    """α / 4 · (KL(p, q) + KL(q, p)) with two draws of dropout p, q, which batches of `Twice` give.

    With it, the loss is (CE(p) + CE(q)) / 2 + α / 4 · (KL(p, q) + KL(q, p)) (Liang et al. 2021, R-Drop). CE and KL are
    means over predictions: texts, or tokens. The factor is that of the paper, whose CE is the sum of both draws.
    """

    alpha: float

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Items = None) -> Tensor:
        """labels (2 B,) or (2 B, T) tell the predictions. num_items_in_batch counts both draws."""
        p_logits, q_logits = outputs.logits.chunk(2)
        if p_logits.ndim == 3:  # (B, T, C)
            kept = (labels.chunk(2)[0] != -100).flatten().nonzero().flatten()
            p_logits, q_logits = p_logits.flatten(0, 1)[kept], q_logits.flatten(0, 1)[kept]  # (N, C)
        predictions = torch.as_tensor(len(p_logits) if num_items_in_batch is None else num_items_in_batch / 2)
        log_p, log_q = p_logits.float().log_softmax(-1), q_logits.float().log_softmax(-1)
        divergence = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()  # KL(p, q) + KL(q, p)
        return self.alpha / 4 * (divergence / predictions.clamp(min=1))  # 0 where no token has a label


def check_r_drop(alpha: float, has_class_weights: bool = False) -> None:
    if not 0 <= alpha < float("inf"):
        raise DataError(f"--r_drop {alpha}: must be at least 0, such as 1")
    if alpha and has_class_weights:
        raise DataError("--r_drop excludes --class_weights: leave one of them out")


def balanced_weights(labels: Sequence[int], classes: int) -> list[float]:
    """w_c = n / (k n_c), as class_weight="balanced" of scikit-learn. labels (n,) of class indices.

    A declared class that no text has counts as one of one text.
    """
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    return (len(labels) / (classes * counts)).tolist()


@dataclass(frozen=True)
class WeightedCrossEntropy:
    """loss = Σ w_y · -log p(y) / Σ w_y, both over all texts of an optimizer step.

    With label smoothing ε, the loss of a text is (1 - ε) w_y · -log p(y) + ε / C · Σ_c w_c · -log p(c), as in
    torch.nn.functional.cross_entropy. weights (C,): w.
    """

    weights: Tensor
    smoothing: float = 0.0

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Items = None) -> Tensor:
        """labels (B,). num_items_in_batch: Σ w_y of the step. An evaluation has the mean of its batch."""
        logits, weights = outputs.logits.float(), self.weights.to(labels.device)
        losses = F.cross_entropy(logits, labels, weights, reduction="sum", label_smoothing=self.smoothing)
        is_training = torch.is_grad_enabled() and num_items_in_batch is not None
        return losses / (num_items_in_batch if is_training else weights[labels].sum())

    def count(self, batches: Sequence[dict[str, Any]], device: torch.device) -> Tensor:
        """Return Σ w_y of the texts of a step, by which its loss is divided in place of their number."""
        weights = self.weights.to(device)
        return torch.stack([weights[batch["labels"].to(device)].sum() for batch in batches]).sum()


@dataclass(frozen=True)
class StandardisedError:
    """loss = mean (logit - y)² / s², s the standard deviation of the train labels: as if they were standardised."""

    unit: float

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Items = None) -> Tensor:
        logits = outputs.logits.float()
        errors = (logits - labels.view_as(logits).float()) ** 2 / self.unit**2
        return mean_loss(errors, labels.numel(), num_items_in_batch)
