# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a loss has to be: that of logits and labels, up to weights of classes and terms that labels do not change."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel

from ..tasks import ANSWER, CLASSIFY, FILL, TAG, TRANSLATE, WRITE
from .comparing import TOLERANCE, Batch, distance, values
from .findings import require
from .subject import Subject


def loss_of(model: PreTrainedModel, batch: Batch, **options: Any) -> Tensor:
    return outputs_of(model, batch, **options)["loss"]


def outputs_of(model: PreTrainedModel, batch: Batch, **options: Any) -> Any:
    """Return the outputs, with a graph for gradients. Raises `FallsShort` if there is no loss."""
    outputs = model(**batch, return_dict=True, **options)
    require(outputs.get("loss") is not None, "With labels, `forward` returns no loss.")
    return outputs


def fault_of_loss(subject: Subject, batch: Batch) -> str:
    """Return what is wrong with the loss of a batch; empty if it is that of its logits and labels."""
    outputs = outputs_of(subject.redrawn, batch)
    loss, due = outputs["loss"].detach(), due_loss(subject, outputs, batch).detach()
    if distance(loss, due) < TOLERANCE:
        return ""
    known = ""
    if subject.head != ANSWER:
        found = mistakes(subject, values(outputs), batch["labels"])
        known = next((f" {what}" for what, other in found if distance(loss, other) < TOLERANCE), "")
        if not known and _is_weighted(subject, outputs, batch["labels"]):
            return ""
        if not known and _has_a_term_more(subject, batch, loss - due):
            return ""
    return f"The loss is {float(loss):.4g}; that of its logits and labels is {float(due):.4g}.{known}"


def due_loss(subject: Subject, outputs: Any, batch: Batch) -> Tensor:
    """Return the loss of these outputs and labels as it is due."""
    if subject.head == ANSWER:
        starts, ends = outputs["start_logits"], outputs["end_logits"]
        return (F.cross_entropy(starts, batch["start_positions"]) + F.cross_entropy(ends, batch["end_positions"])) / 2
    of_head = {CLASSIFY: _loss_of_texts, WRITE: shifted_loss}.get(subject.head, token_loss)
    return of_head(values(outputs), batch["labels"])


def token_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def shifted_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return token_loss(logits[:, :-1], labels[:, 1:])


def _loss_of_texts(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean loss of texts: cross-entropy of classes, squared error of numbers, binary cross-entropy of several."""
    if not labels.is_floating_point():
        return F.cross_entropy(logits, labels)
    if logits.shape[-1] == 1:
        return F.mse_loss(logits.squeeze(-1), labels)
    return F.binary_cross_entropy_with_logits(logits, labels)


def mistakes(subject: Subject, logits: Tensor, labels: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield what is often wrong with a loss, as a sentence, and what the loss then is."""
    if subject.head == WRITE:
        yield "The labels are not shifted: each token learns to predict itself.", token_loss(logits, labels)
        rolled = token_loss(logits, labels.roll(-1, 1))
        yield "The labels are rolled: the last token learns to predict the first.", rolled
        logits, labels = logits[:, :-1], labels[:, 1:]
    elif subject.head != CLASSIFY:
        shifted = shifted_loss(logits, labels)
        yield "The labels are shifted by one, which is for causal models (self.loss_type).", shifted
    if labels.is_floating_point():
        yield "Numbers (B, 1) less labels (B,) are (B, B).", (logits - labels).square().mean()
        return
    if subject.head in (FILL, WRITE, TRANSLATE):
        without_padding = token_loss(logits, labels.masked_fill(labels == subject.pad_token_id, -100))
        what = "A label with the id of padding is ignored. If pad_token is eos_token, the model never learns to end."
        yield what, without_padding
    yield "Labels of 0 are ignored.", token_loss(logits, labels.masked_fill(labels == 0, -100))
    yield "Labels of -100 count as class 0.", token_loss(logits, labels.clamp(min=0))
    yield "A softmax comes before the loss.", token_loss(logits.softmax(-1), labels)
    texts = [F.cross_entropy(*text) for text in zip(logits, labels) if (text[1] != -100).any()]
    yield "It is the mean of the means of texts: tokens of short ones weigh more.", torch.stack(texts).mean()


def _has_a_term_more(subject: Subject, batch: Batch, term: Tensor) -> bool:
    """Return whether other labels have the same difference to the loss due, such as a router's loss."""
    others = {**batch, "labels": other_labels(subject, batch["labels"])}
    outputs = outputs_of(subject.redrawn, others)
    return distance(outputs["loss"] - due_loss(subject, outputs, others), term) < 1e-3


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
