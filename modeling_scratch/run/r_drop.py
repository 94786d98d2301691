# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""R-Drop: two draws of dropout should give the same prediction.

Shapes: B texts, T tokens of a target, C classes or tokens of the vocabulary, N predictions.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from transformers import Trainer

from ..utils.errors import DataError
from .distributed import loss_scale
from .trainer import FlatTraining

R_DROP = (
    "α of R-Drop: train on each text with two draws of dropout, and add α times the divergence of the two answers to "
    "the loss; 0: one draw. A step takes about twice the time."
)


class SymmetricKL(torch.autograd.Function):
    """Σ KL(p, q) + KL(q, p) in float32, p and q the softmax of two logits (N, C).

    The gradients are computed with it, a few rows at a time, so that intermediate results stay in the cache.
    """

    @staticmethod
    def forward(ctx: Any, p_logits: Tensor, q_logits: Tensor) -> Tensor:
        total = p_logits.new_zeros((), dtype=torch.float32)
        grads = torch.empty_like(p_logits), torch.empty_like(q_logits)
        rows = 64 if p_logits.is_cpu else 4096
        for p_rows, q_rows, p_grad, q_grad in zip(*(each.split(rows) for each in (p_logits, q_logits, *grads))):
            log_p, log_q = p_rows.float().log_softmax(-1), q_rows.float().log_softmax(-1)
            p, q, log_ratio = log_p.exp(), log_q.exp(), log_p - log_q
            p_mean, q_mean = (p * log_ratio).sum(-1, keepdim=True), (q * log_ratio).sum(-1, keepdim=True)
            total += (p_mean - q_mean).sum()
            p_grad.copy_(p * (log_ratio - p_mean) + p - q)
            q_grad.copy_(q * (q_mean - log_ratio) + q - p)
        ctx.save_for_backward(*grads)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, ...]:
        return tuple((grad_output * grad.float()).to(grad.dtype) for grad in ctx.saved_tensors)


class RDropTraining(Trainer):
    """loss = (CE(p) + CE(q)) / 2 + α / 4 · (KL(p, q) + KL(q, p)) with two draws p, q (Liang et al. 2021, R-Drop).

    CE and KL are means over predictions: texts, or tokens. The factor is that of the paper, whose CE is the sum of both
    draws: half of all.
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
        doubled = {name: torch.cat([value, value]) for name, value in inputs.items()}
        items = None if num_items_in_batch is None else 2 * num_items_in_batch
        loss, outputs = super().compute_loss(model, doubled, True, items)
        p_logits, q_logits = outputs.logits.chunk(2)
        if p_logits.ndim == 3:  # (B, T, C), of which labels (B, T) tell the predictions
            kept = (labels != -100).flatten().nonzero().flatten()
            p_logits, q_logits = p_logits.flatten(0, 1)[kept], q_logits.flatten(0, 1)[kept]
        predictions = torch.as_tensor(len(p_logits) if num_items_in_batch is None else num_items_in_batch)
        mean = SymmetricKL.apply(p_logits, q_logits) / predictions.clamp(min=1)  # 0 where no token has a label
        divergence = mean * loss_scale(self, num_items_in_batch)
        loss = loss + alpha / 4 * divergence
        return (loss, outputs) if return_outputs else loss


class PaddedRDropTraining(RDropTraining, FlatTraining):
    """`RDropTraining` of padded batches: a flat batch is one row, and the second draw would be part of it."""

    def _flattens(self) -> bool:
        if not getattr(self.args, "r_drop", 0.0):
            return super()._flattens()
        if self.args.flat_batches:  # type: ignore[attr-defined]
            raise DataError("--r_drop excludes --flat_batches: leave one of them out")
        return False


def check_r_drop(alpha: float, has_class_weights: bool = False) -> None:
    if not 0 <= alpha < float("inf"):
        raise DataError(f"--r_drop {alpha}: must be at least 0, such as 1")
    if alpha and has_class_weights:
        raise DataError("--r_drop excludes --class_weights: leave one of them out")
