# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of labels: what the loss reads, and what the answers must not know of it."""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..tasks import ANSWER, CLASSIFY, FILL, TAG, TRANSLATE, WRITE
from .findings import DoesNotApply, Need, check, only_if, require
from .losses import TARGETS, labelled
from .references import is_loss_of, with_loss
from .subject import LOSS, SEQ2SEQ, Batch, Subject, require_close, run, values

SHIFTED = "Shift labels to the right behind decoder_start_token_id, and replace -100 by pad_token_id."
HAS_LOGITS = Need(lambda subject: subject.head in (CLASSIFY, TAG, FILL, WRITE, TRANSLATE), "The model has no logits.")
ANSWERS = Need(lambda subject: subject.head == ANSWER, "The model does not point into a text.")


@check("Return the scores of the last layer: the loss takes their softmax itself.", HAS_LOGITS)
def logits_are_scores(subject: Subject) -> None:
    """Logits are scores, and no probabilities."""
    logits = subject.answers(subject.batch([subject.ids(seed=seed) for seed in range(24)]))
    only_if(logits.shape[-1] > 1, "There is one logit.")
    function = "softmax" if (logits.sum(-1) - 1).abs().max() < 1e-4 else "sigmoid"
    what = f"All logits are between 0 and 1: a {function} comes before the loss, which takes another."
    require(not ((logits >= 0) & (logits <= 1)).all(), what)


@check("Let `labels` reach the loss alone, and return the logits beside it.", LOSS)
def labels_change_nothing(subject: Subject) -> None:
    """The answers are the same with labels and without."""
    batch = labelled(subject)
    unlabelled = {name: value for name, value in batch.items() if name not in TARGETS}
    wanted, real = subject.answers(unlabelled), subject.real(batch)
    try:
        found = values(run(subject.redrawn, batch))
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise DoesNotApply("With labels, `forward` fails: `loss` tells.") from error
    require_close(found[real], wanted[real], "With labels, the answers differ by {} from those without.")


@check(
    "Ignore -100 alone, which the data collators write where nothing is to be learned.", LOSS, HAS_LOGITS, link="2210"
)
def padding_as_label(subject: Subject) -> None:
    """A label with the id of padding counts.

    Where pad_token is eos_token, a model that ignores it never learns to end.
    """
    only_if(subject.head in (FILL, WRITE, TRANSLATE), "Its labels are no tokens.")
    batch = subject.batch()
    batch |= subject.labels(batch)
    batch["labels"][:, 2] = subject.pad_token_id
    what = "A label with the id of padding is ignored. If pad_token is eos_token, the model never learns to end."
    counted = batch["labels"].masked_fill(batch["labels"] == subject.pad_token_id, -100)
    is_ignored = is_loss_of(subject, batch, {**batch, "labels": counted})
    require(is_loss_of(subject, batch) or not is_ignored, what)


@check(SHIFTED, LOSS, SEQ2SEQ)
def labels_alone(subject: Subject) -> None:
    """Labels alone make what the decoder reads: each token sees the labels before it."""
    batch = subject.batch()
    batch.pop("decoder_input_ids")
    whole = torch.stack([subject.ids(7, seed=seed) for seed in (21, 22)])
    labels = whole.clone()
    labels[:, 5] = -100
    _check_unseen(subject, batch, labels)
    padded = labels.masked_fill(labels == -100, subject.redrawn.config.pad_token_id)
    what = "A label of -100 is not read as padding: the answers are {} away."
    require_close(_written(subject, batch, labels), _written(subject, batch, padded), what)
    if prepare := getattr(subject.redrawn, "prepare_decoder_input_ids_from_labels", None):
        what = "prepare_decoder_input_ids_from_labels, which data collators call, answers {} away from labels alone."
        _check_read(subject, batch, labels, prepare(labels=labels), what)
    first = getattr(subject.model.generation_config, "decoder_start_token_id", None)
    if first is not None:
        whole[:, -1] = first  # which mBART puts before the others
        what = f"decoder_start_token_id is {first}: behind it, labels answer {{}} away from labels alone."
        _check_read(subject, batch, whole, F.pad(whole[:, :-1], (1, 0), value=first), what)


def _check_read(subject: Subject, batch: Batch, labels: Tensor, ids: Tensor, what: str) -> None:
    """Check that these are the ids that the decoder reads for labels alone."""
    found = _written(subject, {**batch, "decoder_input_ids": ids}, labels)
    require_close(found, _written(subject, batch, labels), what)


def _check_unseen(subject: Subject, batch: Batch, labels: Tensor) -> None:
    others = labels.clone()
    others[:, 3] = subject.others(labels[:, 3])
    before, after = (_written(subject, batch, each) for each in (labels, others))
    what = "With labels alone, the decoder reads the label that it has to write: the answers there differ by {}."
    require_close(after[:, :4], before[:, :4], what)
    require((after[:, 4:] != before[:, 4:]).any(), "With labels alone, the decoder does not read the labels before.")


def _written(subject: Subject, batch: Batch, labels: Tensor) -> Tensor:
    return values(with_loss(run(subject.redrawn, {**batch, "labels": labels})))


@check("Clamp positions to the length, and ignore those that are outside.", ANSWERS)
def answers_outside(subject: Subject) -> None:
    """An answer outside of the text is ignored."""
    batch = subject.batch()
    length = batch["input_ids"].shape[1]
    outside = torch.tensor([1, length + 3])
    loss = run(subject.redrawn, {**batch, "start_positions": outside, "end_positions": outside})["loss"]
    first = {name: value[:1] for name, value in batch.items()}
    wanted = run(subject.redrawn, {**first, "start_positions": outside[:1], "end_positions": outside[:1]})["loss"]
    require(loss.isfinite(), "An answer outside of the text makes the loss infinite.")
    require_close(loss, wanted, "An answer outside of the text changes the loss by {}.")
