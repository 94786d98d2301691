# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""R-Drop: two draws of dropout should give a text the same answer.

Shapes: B texts, C classes.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..utils.errors import DataError
from .trainer import FlatTraining

R_DROP = (
    "α of R-Drop: train on each text with two draws of dropout, and add α times the divergence of the two answers to "
    "the loss; 0: one draw. A step takes twice the time."
)


class ConsistentDropout(FlatTraining):
    """loss = (CE(p) + CE(q)) / 2 + α / 4 · (KL(p, q) + KL(q, p)) with two draws p, q (Liang et al. 2021, R-Drop).

    CE and KL are means over texts. The factor is that of the paper, whose CE is the sum of both draws: half of all.
    """

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        alpha: float = getattr(self.args, "r_drop", 0.0)
        if not (alpha and model.training and "labels" in inputs):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        labels = inputs["labels"]
        twice = {name: torch.cat([value, value]) for name, value in inputs.items()}
        items = None if num_items_in_batch is None else 2 * num_items_in_batch
        loss, outputs = super().compute_loss(model, twice, True, items)
        first, second = outputs.logits.float().log_softmax(-1).chunk(2)
        divergence = sum(
            F.kl_div(one, other, log_target=True, reduction="sum") for one, other in ((first, second), (second, first))
        )
        per_text = labels.numel() / len(labels)  # Trainer counts C items for a text whose labels are probabilities
        texts = len(labels) if num_items_in_batch is None else num_items_in_batch / per_text
        loss = loss + alpha / 4 * divergence / texts
        return (loss, outputs) if return_outputs else loss

    def _flattens(self) -> bool:
        if not getattr(self.args, "r_drop", 0.0):
            return super()._flattens()
        if self.args.flat_batches:  # type: ignore[attr-defined]
            raise DataError("--r_drop excludes --flat_batches: leave one of them out")
        return False


def check_r_drop(alpha: float, has_class_weights: bool) -> None:
    if not 0 <= alpha < float("inf"):
        raise DataError(f"--r_drop {alpha}: must be at least 0, such as 1")
    if alpha and has_class_weights:
        raise DataError("--r_drop excludes --class_weights: leave one of them out")
