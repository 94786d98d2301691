# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of training: the loss, its gradients, and what `Trainer` takes for granted."""

import copy
import inspect
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.trainer_pt_utils import LabelSmoother

from ..tasks import ANSWER, CLASSIFY, FILL, TAG, TRANSLATE, WRITE
from .findings import FallsShort, check, listed, only_if, require
from .subject import BASE, CLASSIFIES_TEXTS, LOSS, TOLERANCE, Batch, Subject, distance, require_close, run

DISTRIBUTED = "https://github.com/pytorch/pytorch/issues/43259"
# What is wrong with the labels of models that do not write, and of those that do.
SHIFTS = (
    " The labels are shifted by one, which is for causal models (self.loss_type).",
    " The labels are not shifted: each token learns to predict itself.",
)


def loss_of(model: PreTrainedModel, batch: Batch, **options: Any) -> Tensor:
    """Return the loss, with a graph for its gradients."""
    return with_loss(model(**batch, return_dict=True, **options))["loss"]


def with_loss(outputs: Any) -> Any:
    """Return the outputs as they are. Raises `FallsShort` if there is no loss."""
    require(outputs.get("loss") is not None, "With labels, `forward` returns no loss.")
    return outputs


def gradients(model: PreTrainedModel, *losses: Tensor) -> dict[str, Tensor]:
    """Return the gradient of the sum of losses by parameter."""
    model.zero_grad()
    for loss in losses:
        loss.backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    return found


def labelled(subject: Subject) -> Batch:
    """Return a batch of four texts with their labels."""
    batch = subject.batch([subject.ids(seed=seed) for seed in range(4)])
    return {**batch, **subject.labels(batch)}


@check("Causal models shift labels by one; encoder-decoders do not; -100 is ignored.", LOSS, link="17960")
def loss(subject: Subject) -> None:
    """The loss is that of its logits and labels."""
    batch = labelled(subject)
    outputs = with_loss(run(subject.redrawn, batch))
    found, wanted = outputs["loss"], _reference(subject, outputs, batch)
    if distance(found, wanted) < TOLERANCE:
        return
    what = f"The loss is {float(found):.4g}; that of its logits and labels is {float(wanted):.4g}."
    if subject.head in (WRITE, TRANSLATE, FILL, TAG):
        otherwise = _token_loss if subject.head == WRITE else _shifted_loss
        if distance(found, otherwise(outputs["logits"], batch["labels"])) < TOLERANCE:
            what += SHIFTS[subject.head == WRITE]
    raise FallsShort(what)


def _reference(subject: Subject, outputs: Any, batch: Batch) -> Tensor:
    if subject.head == ANSWER:
        starts, ends = outputs["start_logits"], outputs["end_logits"]
        losses = F.cross_entropy(starts, batch["start_positions"]), F.cross_entropy(ends, batch["end_positions"])
        return (losses[0] + losses[1]) / 2
    logits, labels = outputs["logits"], batch["labels"]
    if subject.head == CLASSIFY:
        return text_loss(logits, labels)
    return (_shifted_loss if subject.head == WRITE else _token_loss)(logits, labels)


def text_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean loss of texts: cross-entropy of classes, squared error of numbers, binary cross-entropy of several."""
    if not labels.is_floating_point():
        return F.cross_entropy(logits, labels)
    if logits.shape[-1] == 1:
        return F.mse_loss(logits.squeeze(-1), labels)
    return F.binary_cross_entropy_with_logits(logits, labels)


def _token_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def _shifted_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return _token_loss(logits[:, :-1], labels[:, 1:])


@check("Use squared error, cross-entropy and binary cross-entropy for the three types.", CLASSIFIES_TEXTS)
def problem_types(subject: Subject) -> None:
    """config.problem_type chooses the loss."""
    batch = subject.batch()
    of_classes = ["multi_label_classification", "single_label_classification"]
    kinds: list[Any] = of_classes if subject.config.num_labels > 1 else ["regression"]
    for kind in kinds:
        model = copy.deepcopy(subject.redrawn)
        model.config.problem_type = kind
        labels = subject.text_labels(len(batch["input_ids"]), kind)
        outputs = run(model, {**batch, "labels": labels})
        wanted = text_loss(outputs["logits"], labels)
        what = f"problem_type={kind!r}: the loss is {float(outputs['loss']):.4g}, not {float(wanted):.4g}."
        require(distance(outputs["loss"], wanted) < TOLERANCE, what)


@check(
    "Leave out the parts that a head does not use: distributed training waits for their gradients.", link=DISTRIBUTED
)
def every_gradient(subject: Subject) -> None:
    """Every parameter gets a gradient."""
    model = subject.redrawn
    batch = subject.batch()
    if subject.head == BASE:
        outputs = model(**batch, return_dict=True)
        total = torch.stack([value.sum() for value in outputs.values() if torch.is_tensor(value)]).sum()
        found = gradients(model, total)
    else:
        found = gradients(model, loss_of(model, {**batch, **subject.labels(batch)}))
    without = [name for name, each in model.named_parameters() if each.requires_grad and name not in found]
    require(not without, f"{len(without)} parameters get no gradient from the loss: {listed(without)}.")


@check("Divide the summed loss by num_items_in_batch, or set `accepts_loss_kwargs = False`.", LOSS, link="47688")
def accumulation(subject: Subject) -> None:
    """Accumulated gradients are those of one large batch.

    Trainer hands over num_items_in_batch, and then does not divide by the number of accumulated batches.
    """
    batch = labelled(subject)
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in subject.parameters.values())
    only_if(getattr(subject.model, "accepts_loss_kwargs", takes_any), "Trainer sees that the loss takes no count.")
    only_if(subject.head != ANSWER, "Trainer counts the items of `labels` only.")
    model, labels = subject.redrawn, batch["labels"]
    shifted = labels[:, 1:] if subject.head == WRITE else labels
    items = (shifted != -100).sum()  # as Trainer counts them
    whole = gradients(model, loss_of(model, batch, num_items_in_batch=items))
    halves = ({name: value[rows] for name, value in batch.items()} for rows in (slice(0, 2), slice(2, 4)))
    parts = gradients(model, *(loss_of(model, half, num_items_in_batch=items) for half in halves))
    largest = max(float(gradient.abs().max()) for gradient in whole.values())
    apart = max(float((whole[name] - parts[name]).abs().max()) for name in whole) / max(largest, 1e-9)
    what = (
        f"Gradients of 2 batches of 2 texts are {apart:.2g} away from those of 1 batch of 4: `forward` takes **kwargs"
    )
    require(apart < 1e-3, f"{what}, so Trainer relies on num_items_in_batch, which the loss ignores.")


@check("Add the class to MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, or give Trainer a compute_loss_func.", LOSS, link="17960")
def label_smoothing(subject: Subject) -> None:
    """Label smoothing shifts the labels."""
    only_if(subject.head == WRITE, "Only the labels of causal models are shifted.")
    batch = labelled(subject)
    outputs = run(subject.redrawn, batch)
    is_known = subject.name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
    found = LabelSmoother(epsilon=1e-6)(outputs, batch["labels"], shift_labels=is_known)
    wanted = _shifted_loss(outputs["logits"], batch["labels"])
    what = f"Trainer does not know that {subject.name} is a causal model: with label_smoothing_factor its loss is that"
    require_close(found, wanted, f"{what} of unshifted labels ({float(found):.4g}, not {float(wanted):.4g}).", 1e-3)


@check("Derive the blocks from GradientCheckpointingLayer, or set supports_gradient_checkpointing = False.", LOSS)
def gradient_checkpointing(subject: Subject) -> None:
    """Gradient checkpointing changes no gradient."""
    batch = labelled(subject)
    only_if(subject.model.supports_gradient_checkpointing, "The model says that it has none.")
    model = copy.deepcopy(subject.redrawn)
    wanted = gradients(model, loss_of(model, batch, **_uncached(subject)))
    enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)  # its newer name
    enable({"use_reentrant": False})
    _train_without_dropout(model)
    found = gradients(model, loss_of(model, batch, **_uncached(subject)))
    largest = max(float(gradient.abs().max()) for gradient in wanted.values())
    lost = wanted.keys() - found.keys()
    require(not lost, f"With gradient checkpointing, {len(lost)} parameters get no gradient: {listed(lost)}.")
    apart = max(distance(found[name], wanted[name]) for name in wanted if wanted[name].abs().max() > 1e-3 * largest)
    require(apart < 1e-3, f"Gradients with gradient checkpointing are {apart:.2g} away from those without.")


def _train_without_dropout(model: PreTrainedModel) -> None:
    """Turn on training mode, in which blocks are checkpointed, with dropout of probability 0."""
    for module in model.train().modules():
        for name, value in vars(module).items():
            if isinstance(value, float) and (
                "dropout" in name or (isinstance(module, torch.nn.Dropout) and name == "p")
            ):
                setattr(module, name, 0.0)
    for name, value in vars(model.config).items():
        if isinstance(value, float) and ("dropout" in name or "pdrop" in name):
            setattr(model.config, name, 0.0)


def _uncached(subject: Subject) -> dict[str, Any]:
    return {"use_cache": False} if subject.reads("use_cache") else {}


@check("Name the other outputs in config.keys_to_ignore_at_inference.", LOSS, link="8476")
def evaluation_outputs(subject: Subject) -> None:
    """Evaluation gathers logits alone.

    Trainer gathers all outputs of an evaluation but for the loss and the keys that the config names.
    """
    batch = labelled(subject)
    ignored = getattr(subject.config, "keys_to_ignore_at_inference", [])
    outputs = run(subject.redrawn, batch)
    kept = [name for name in outputs if name not in (*ignored, "loss", "logits", "start_logits", "end_logits")]
    require(not kept, f"Trainer would gather {', '.join(kept)} of every batch of an evaluation.")


@check("Name every input; set tokenizer.model_input_names to what the model takes.", link="29458")
def named_arguments(subject: Subject) -> None:
    """`forward` names its inputs.

    Trainer drops the columns that `forward` does not name.
    """
    needed = ["input_ids", "attention_mask", *(["labels"] if subject.head not in (BASE, ANSWER) else [])]
    needed += ["start_positions", "end_positions"] if subject.head == ANSWER else []
    if subject.tokenizer is not None:
        needed += [name for name in subject.tokenizer.model_input_names if name not in needed]
    missing = [name for name in needed if not subject.reads(name)]
    require(not missing, f"`forward` does not name {', '.join(missing)}, which Trainer would drop or a call refuse.")
