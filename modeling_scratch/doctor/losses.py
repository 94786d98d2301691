# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of labels and of the loss: what it reads, what the answers must not know of it, and what `Trainer` expects."""

import copy
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.trainer_pt_utils import LabelSmoother

from ..tasks import ANSWER, CLASSIFY, FILL, TRANSLATE, WRITE
from .comparing import Batch, require_close, rows, run, without
from .findings import DoesNotApply, check, listed, only_if, require, tried
from .references import fault_of_loss, loss_of, other_labels, shifted_loss
from .subject import BASE, LOSS, SEQ2SEQ, Subject, takes_any

TARGETS = "labels", "start_positions", "end_positions"
SHIFTED = "Shift labels to the right behind decoder_start_token_id, and replace -100 by pad_token_id."
LOSSES = (
    "Return the scores of the last layer, of which the loss takes the softmax itself. Causal models shift labels by "
    "one, others do not; numbers take squared error, several labels binary cross-entropy; -100 alone is ignored, and "
    "answers outside of the text."
)
ITEMS = "Divide the summed loss by num_items_in_batch, or set `accepts_loss_kwargs = False`."


def ways(subject: Subject) -> dict[str, Batch]:
    """Return the labelled batch in each way in which callers give it. Where any id is a label, one is of padding."""
    batch = subject.labelled()
    if subject.head in (FILL, WRITE, TRANSLATE):
        batch["labels"][0, 1] = subject.pad_token_id
    found = {"": batch, "Without padding: ": subject.labelled(subject.batch())}
    if subject.reads("inputs_embeds"):
        found["With inputs_embeds: "] = subject.embedded(batch)
    if subject.is_seq2seq and "labels" in batch:
        found["With labels alone: "] = without(batch, "decoder_input_ids")
    return found


@check("Let `labels` reach the loss alone, and return the logits beside it.", LOSS)
def labels_change_nothing(subject: Subject) -> None:
    """The answers are the same with labels and without."""
    for batch in (subject.labelled(), subject.labelled(subject.batch())):
        try:
            found = subject.answers(batch)
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            raise DoesNotApply("With labels, `forward` fails: `loss` tells.") from error
        subject.same("With labels", found, without(batch, *TARGETS))


@check(SHIFTED, LOSS, SEQ2SEQ)
def labels_alone(subject: Subject) -> None:
    """Labels alone make what the decoder reads: each token sees the labels before it."""
    batch = without(subject.batch(), "decoder_input_ids")
    whole = torch.stack([subject.ids(7, seed=seed) for seed in (21, 22)])
    labels = whole.index_fill(1, torch.tensor(5), -100)
    batch["labels"] = labels
    other = subject.changed(batch, 3, "labels")
    before, after = (subject.answers(each) for each in (batch, other))
    what = "With labels alone, the decoder reads the label that it has to write: the answers there differ by {}."
    require_close(after[:, :4], before[:, :4], what)
    require((after[:, 4:] != before[:, 4:]).any(), "With labels alone, the decoder does not read the labels before.")
    padded = labels.masked_fill(labels == -100, subject.redrawn.config.pad_token_id)
    subject.same("With labels of padding in place of -100", {**batch, "labels": padded}, batch)
    name = "prepare_decoder_input_ids_from_labels"
    prepare = getattr(subject.redrawn, name, None)
    require(prepare, f"There is no {name}, which data collators call, and need for label smoothing.")
    when = f"By {name} in place of labels alone"
    subject.same(when, {**batch, "decoder_input_ids": prepare(labels=labels)}, batch)
    first = getattr(subject.model.generation_config, "decoder_start_token_id", None)
    if first is not None:
        whole[:, -1] = first  # which mBART puts before the others
        batch["labels"] = whole
        begun = {"decoder_input_ids": F.pad(whole[:, :-1], (1, 0), value=first)}
        subject.same(f"With labels behind decoder_start_token_id ({first})", {**batch, **begun}, batch)


@check(LOSSES, LOSS, link="17960")
def loss(subject: Subject) -> None:
    """The loss is that of logits, which are no probabilities, and labels; config.problem_type chooses it.

    A label with the id of padding counts: where pad_token is eos_token, a model that ignores it never learns to end.
    """
    if subject.head != ANSWER:
        _check_scores(subject.answers(subject.batch([subject.ids(seed=seed) for seed in range(24)])))
    for way, batch in ways(subject).items():
        dtypes = " and ".join({str(batch[name].dtype).removeprefix("torch.") for name in batch if name in TARGETS})
        with tried(f"{way}`forward` with labels of {dtypes} and num_labels={subject.config.num_labels}"):
            fault = fault_of_loss(subject, batch)
        require(not fault, f"{way}{fault}")
    batch = subject.batch()
    if subject.head == ANSWER:
        places = torch.tensor([1, batch["input_ids"].shape[1] + 3])
        batch |= {"start_positions": places, "end_positions": places}
        with tried("With an answer outside of the text, `forward`"):
            found, wanted = (run(subject.redrawn, each)["loss"] for each in (batch, rows(batch, slice(1))))
        require_close(found, wanted, "An answer outside of the text changes the loss by {}.")
    if subject.head == CLASSIFY:
        _check_problem_types(replace(subject))
        config = copy.deepcopy(subject.config)
        config.num_labels = 3 if config.num_labels == 1 else 1
        with suppress(RuntimeError, ValueError):  # a head that refuses another number of labels is no fault
            _check_problem_types(replace(subject, model=type(subject.model)(config)))


def _check_scores(logits: Tensor) -> None:
    function = "softmax" if (logits.sum(-1) - 1).abs().max() < 1e-4 else "sigmoid"
    what = f"All logits are between 0 and 1: a {function} comes before the loss, which takes another."
    require(logits.shape[-1] == 1 or not ((logits >= 0) & (logits <= 1)).all(), what)


def _check_problem_types(subject: Subject) -> None:
    """subject: one of its own, whose config is changed."""
    classes, batch = subject.config.num_labels, subject.batch()
    of_classes = ["multi_label_classification", "single_label_classification"]
    kinds: list[Any] = of_classes if classes > 1 else ["regression", None]
    for kind in kinds:
        subject.redrawn.config.problem_type = kind
        target = {**batch, "labels": subject.text_labels(len(batch["input_ids"]), kind)}
        fault = fault_of_loss(subject, target)
        require(not fault, f"With problem_type={kind!r} and num_labels={classes}: {fault}")


@check(ITEMS, LOSS, link="47688")
def accumulation(subject: Subject) -> None:
    """Accumulated gradients are those of one large batch.

    Trainer hands over num_items_in_batch, and then does not divide by the number of accumulated batches.
    """
    batch = subject.labelled()
    counts = getattr(subject.model, "accepts_loss_kwargs", takes_any(subject.signature))
    only_if(counts, "Trainer sees that the loss takes no count.")
    only_if(subject.head != ANSWER, "Trainer counts the items of `labels` only.")
    labels = batch["labels"]
    items = ((labels[:, 1:] if subject.head == WRITE else labels) != -100).sum()  # as Trainer counts them
    others = {**batch, "labels": other_labels(subject, labels)}

    def difference(*parts: slice) -> dict[str, Tensor]:
        """The gradient of some labels less that of others: a term that none changes, as a router's, is not counted."""
        given = [(sign, rows(each, part)) for sign, each in ((1, batch), (-1, others)) for part in parts]
        losses = [sign * loss_of(subject.redrawn, each, num_items_in_batch=items) for sign, each in given]
        return gradients(subject.redrawn, *losses)

    what = "With 2 batches of 2 texts, gradients are {} away from those of 1 batch of 4"
    reason = "`forward` takes **kwargs, so Trainer relies on num_items_in_batch, which the loss ignores"
    require_same_gradients(difference(slice(0, 2), slice(2, 4)), difference(slice(4)), f"{what}: {reason}.")


def gradients(model: PreTrainedModel, *losses: Tensor) -> dict[str, Tensor]:
    """Return the gradient of the sum of losses by parameter."""
    model.zero_grad()
    for loss in losses:
        loss.backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    return found


def require_same_gradients(found: dict[str, Tensor], wanted: dict[str, Tensor], what: str) -> None:
    """Raises `FallsShort` where a parameter has no gradient, or another one, by the largest of all.

    what: a format for the difference.
    """
    lost = wanted.keys() - found.keys()
    require(not lost, f"{what.partition(',')[0]}, {len(lost)} parameters get no gradient: {listed(lost)}.")
    largest = max((float(each.abs().max()) for each in wanted.values()), default=0.0)
    apart = max((float((found[name] - wanted[name]).abs().max()) for name in wanted), default=0.0) / max(largest, 1e-9)
    require(apart < 1e-3, what.format(f"{apart:.2g}"))


@check("Add the class to MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, or give Trainer a compute_loss_func.", LOSS, link="17960")
def label_smoothing(subject: Subject) -> None:
    """Label smoothing shifts the labels."""
    only_if(subject.head == WRITE, "Only the labels of causal models are shifted.")
    batch = subject.labelled()
    outputs = run(subject.redrawn, batch)
    is_known = subject.name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
    found = LabelSmoother(epsilon=1e-6)(outputs, batch["labels"], shift_labels=is_known)
    wanted = shifted_loss(outputs["logits"], batch["labels"])
    what = f"Trainer does not know that {subject.name} is a causal model: with label_smoothing_factor its loss is that"
    require_close(found, wanted, f"{what} of unshifted labels ({float(found):.4g}, not {float(wanted):.4g}).", 1e-3)


@check("Name the other outputs in config.keys_to_ignore_at_inference.", LOSS, link="8476")
def evaluation_outputs(subject: Subject) -> None:
    """Evaluation gathers logits alone.

    Trainer gathers all outputs of an evaluation but for the loss and the keys that the config names.
    """
    ignored = getattr(subject.config, "keys_to_ignore_at_inference", [])
    model = copy.deepcopy(subject.redrawn)
    model.config.use_cache = False  # as Trainer sets it
    outputs = run(model, subject.labelled())
    kept = [name for name in outputs if name not in (*ignored, "loss", "logits", "start_logits", "end_logits")]
    require(not kept, f"Trainer would gather {', '.join(kept)} of every batch of an evaluation.")


@check("Name every input; set tokenizer.model_input_names to what the model takes.", link="29458")
def named_arguments(subject: Subject) -> None:
    """`forward` names its inputs: Trainer drops the columns of others."""
    targets = {BASE: [], ANSWER: ["start_positions", "end_positions"]}.get(subject.head, ["labels"])
    of_tokenizer = [] if subject.tokenizer is None else subject.tokenizer.model_input_names
    needed = dict.fromkeys(["input_ids", "attention_mask", *targets, *of_tokenizer])
    missing = [name for name in needed if name not in subject.signature]
    require(not missing, f"`forward` does not name {', '.join(missing)}, which Trainer would drop or a call refuse.")
