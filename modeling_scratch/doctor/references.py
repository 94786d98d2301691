# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a loss has to be: that of logits and labels, up to weights of classes and terms that labels do not change."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel

from ..tasks import ANSWER, CLASSIFY, TAG, WRITE
from .comparing import TOLERANCE, Batch, distance, values
from .findings import require
from .subject import Subject


def outputs_of(model: PreTrainedModel, batch: Batch, **options: Any) -> Any:
    """Return the outputs, with a graph for gradients. Raises `FallsShort` if there is no loss."""
    outputs = model(**batch, return_dict=True, **options)
    require(outputs.get("loss") is not None, "With labels, `forward` returns no loss.")
    return outputs


def loss_of(model: PreTrainedModel, batch: Batch, **options: Any) -> Tensor:
    return outputs_of(model, batch, **options)["loss"]


def fault_of_loss(subject: Subject, batch: Batch, targets: Batch | None = None) -> str:
    """Return what is wrong with the loss of a batch; empty if it is that of its logits and labels.

    targets: a batch of other labels, whose loss it has to be.
    """
    targets = targets or batch
    outputs = outputs_of(subject.redrawn, batch)
    found, wanted = outputs["loss"].detach(), reference(subject, outputs, targets).detach()
    if distance(found, wanted) < TOLERANCE:
        return ""
    known = mistake(subject, outputs, targets)
    if subject.head != ANSWER and not known:
        if _is_weighted(subject, outputs, targets["labels"]):
            return ""
        if targets is batch and _has_a_term_more(subject, batch, found - wanted):
            return ""
    return f"The loss is {float(found):.4g}; that of its logits and labels is {float(wanted):.4g}.{known}"


def _has_a_term_more(subject: Subject, batch: Batch, term: Tensor) -> bool:
    """Return whether other labels have the same difference to the loss due, such as a router's loss."""
    others = {**batch, "labels": other_labels(subject, batch["labels"])}
    outputs = outputs_of(subject.redrawn, others)
    return distance(outputs["loss"] - reference(subject, outputs, others), term) < 1e-3


def other_labels(subject: Subject, labels: Tensor) -> Tensor:
    """Return other labels of the same kind, ignored where these are."""
    if labels.is_floating_point():
        return 1 - labels
    classes = subject.config.num_labels if subject.head in (CLASSIFY, TAG) else subject.vocab_size
    return torch.where(labels == -100, labels, (labels + 1) % classes)


def _is_weighted(subject: Subject, outputs: Any, labels: Tensor) -> bool:
    """Return whether each label is learned where it is due, some with a greater weight than others."""
    logits = outputs["logits"]
    (slope,) = torch.autograd.grad(outputs["loss"], logits, retain_graph=True, allow_unused=True)
    if slope is None:
        return False
    if labels.is_floating_point():
        wanted = logits.sigmoid() - labels if labels.ndim == 2 else logits.squeeze(-1) - labels
        return bool((slope.view_as(wanted) * wanted > 0).all())
    if subject.head == WRITE:
        labels = F.pad(labels[:, 1:], (0, 1), value=-100)
    labels, slope, logits = labels.flatten(), slope.flatten(0, -2), logits.detach().flatten(0, -2)
    counted, size = labels != -100, slope.abs().max()
    wanted = logits[counted].softmax(-1) - F.one_hot(labels[counted], logits.shape[-1])
    weights = (slope[counted] * wanted).sum(-1, keepdim=True) / wanted.square().sum(-1, keepdim=True)
    is_due = slope[~counted].abs().sum() < 1e-6 * size and distance(slope[counted], weights * wanted) < 1e-3
    return bool(is_due and (weights > 0).all() and (weights.sum() - 1).abs() < 1e-3)


def token_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def shifted_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return token_loss(logits[:, :-1], labels[:, 1:])


def text_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean loss of texts: cross-entropy of classes, squared error of numbers, binary cross-entropy of several."""
    if not labels.is_floating_point():
        return F.cross_entropy(logits, labels)
    if logits.shape[-1] == 1:
        return F.mse_loss(logits.squeeze(-1), labels)
    return F.binary_cross_entropy_with_logits(logits, labels)


def _mean_of_means(logits: Tensor, labels: Tensor) -> Tensor:
    rows = [F.cross_entropy(*row) for row in zip(logits, labels) if (row[1] != -100).any()]
    return torch.stack(rows).mean()


def mistake(subject: Subject, outputs: Any, batch: Batch) -> str:
    """Return what is wrong with a loss, as a sentence after a blank; empty if it is none of the known mistakes."""
    if subject.head == ANSWER:
        return ""
    logits, labels = values(outputs), batch["labels"]
    losses: dict[str, Callable[[], Tensor]] = {}
    if subject.head == WRITE:
        losses["The labels are not shifted: each token learns to predict itself."] = partial(token_loss, logits, labels)
        rolled = partial(token_loss, logits, labels.roll(-1, 1))
        losses["The labels are rolled: the last token learns to predict the first."] = rolled
        logits, labels = logits[:, :-1], labels[:, 1:]
    elif subject.head != CLASSIFY:
        what = "The labels are shifted by one, which is for causal models (self.loss_type)."
        losses[what] = partial(shifted_loss, logits, labels)
    if labels.is_floating_point():
        losses["Numbers (B, 1) less labels (B,) are (B, B)."] = lambda: (logits - labels).square().mean()
    else:
        without_0 = labels.masked_fill(labels == 0, -100)
        losses |= {
            "Labels of 0 are ignored.": partial(token_loss, logits, without_0),
            "Labels of -100 count as class 0.": partial(token_loss, logits, labels.clamp(min=0)),
            "A softmax comes before the loss.": partial(token_loss, logits.softmax(-1), labels),
            "It is the mean of the means of texts: tokens of short ones weigh more.": partial(
                _mean_of_means, logits, labels
            ),
        }
    return next((f" {what}" for what, loss in losses.items() if distance(outputs["loss"], loss()) < TOLERANCE), "")


def reference(subject: Subject, outputs: Any, batch: Batch) -> Tensor:
    """Return the loss of these outputs and labels as it is due."""
    if subject.head == ANSWER:
        starts, ends = outputs["start_logits"], outputs["end_logits"]
        losses = F.cross_entropy(starts, batch["start_positions"]), F.cross_entropy(ends, batch["end_positions"])
        return (losses[0] + losses[1]) / 2
    of_head = {CLASSIFY: text_loss, WRITE: shifted_loss}.get(subject.head, token_loss)
    return of_head(values(outputs), batch["labels"])
