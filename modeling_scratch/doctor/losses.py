# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of training: the loss, its gradients, and what `Trainer` takes for granted."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.trainer_pt_utils import LabelSmoother

from ..tasks import ANSWER, WRITE
from .findings import FallsShort, check, listed, only_if, require
from .references import is_loss_of, loss_of, mistake, other_labels, reference, shifted_loss, text_loss, with_loss
from .subject import BASE, CLASSIFIES_TEXTS, LOSS, Batch, Subject, require_close, run, takes_any

DISTRIBUTED = "https://github.com/pytorch/pytorch/issues/43259"


def _types(subject: Subject, ids: Tensor) -> Tensor:
    return (torch.arange(ids.shape[1]) % max(1, getattr(subject.config, "type_vocab_size", 2))).expand_as(ids)


# Inputs by which alone some parameters are reached: segments, and in XLNet the place of what is predicted.
MORE_INPUTS: dict[str, Callable[[Subject, Tensor], Tensor]] = {
    "token_type_ids": _types,
    "target_mapping": lambda subject, ids: torch.eye(ids.shape[1]).expand(len(ids), -1, -1),
}


def gradients(model: PreTrainedModel, *losses: Tensor) -> dict[str, Tensor]:
    """Return the gradient of the sum of losses by parameter."""
    model.zero_grad()
    for loss in losses:
        loss.backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    return found


def require_same_gradients(found: dict[str, Tensor], wanted: dict[str, Tensor], when: str) -> None:
    """Raises `FallsShort` where a parameter has no gradient, or another one, by the largest of all."""
    lost = wanted.keys() - found.keys()
    require(not lost, f"{when}, {len(lost)} parameters get no gradient: {listed(lost)}.")
    apart = largest_difference(found, wanted)
    require(apart < 1e-3, f"{when}, gradients are {apart:.2g} away from those without.")


def largest_difference(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> float:
    """Return the largest difference of gradients, relative to the largest wanted one."""
    largest = max((float(each.abs().max()) for each in wanted.values()), default=0.0)
    return max((float((found[name] - wanted[name]).abs().max()) for name in wanted), default=0.0) / max(largest, 1e-9)


def labelled(subject: Subject) -> Batch:
    """Return a batch of four texts with their labels, of which one is padded."""
    third = subject.length if subject.head == ANSWER else subject.shorter  # where padding is no place of an answer
    lengths = subject.length, subject.length, third, subject.length
    batch = subject.batch([subject.ids(length, seed=seed) for seed, length in enumerate(lengths)])
    return {**batch, **subject.labels(batch)}


@check("Causal models shift labels by one; encoder-decoders do not; -100 is ignored.", LOSS, link="17960")
def loss(subject: Subject) -> None:
    """The loss is that of its logits and labels."""
    batch = labelled(subject)
    if is_loss_of(subject, batch):
        return
    outputs = with_loss(run(subject.redrawn, batch))
    found, wanted = outputs["loss"], reference(subject, outputs, batch)
    what = f"The loss is {float(found):.4g}; that of its logits and labels is {float(wanted):.4g}."
    raise FallsShort(what + mistake(subject, outputs, batch))


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
        require(is_loss_of(subject, {**batch, "labels": labels}, model=model), what)


@check(
    "Leave out the parts that a head does not use: distributed training waits for their gradients.", link=DISTRIBUTED
)
def every_gradient(subject: Subject) -> None:
    """Every parameter gets a gradient."""
    model, batch = subject.redrawn, subject.batch()
    batch |= {name: make(subject, batch["input_ids"]) for name, make in MORE_INPUTS.items() if subject.reads(name)}
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
    counts = getattr(subject.model, "accepts_loss_kwargs", takes_any(subject.signature))
    only_if(counts, "Trainer sees that the loss takes no count.")
    only_if(subject.head != ANSWER, "Trainer counts the items of `labels` only.")
    model, labels = subject.redrawn, batch["labels"]
    shifted = labels[:, 1:] if subject.head == WRITE else labels
    items = (shifted != -100).sum()  # as Trainer counts them
    others = {**batch, "labels": other_labels(subject, labels)}
    apart = largest_difference(
        _difference(model, _halves(batch), _halves(others), items), _difference(model, [batch], [others], items)
    )
    what = f"Gradients of 2 batches of 2 texts are {apart:.2g} away from those of 1 batch of 4"
    reason = "`forward` takes **kwargs, so Trainer relies on num_items_in_batch, which the loss ignores"
    require(apart < 1e-3, f"{what}: {reason}.")


def _halves(batch: Batch) -> list[Batch]:
    return [{name: value[rows] for name, value in batch.items()} for rows in (slice(0, 2), slice(2, 4))]


def _difference(model: PreTrainedModel, some: list[Batch], others: list[Batch], items: Tensor) -> dict[str, Tensor]:
    """Return the gradient of the loss of some labels less that of others.

    A term that no label changes, such as a router's, is none of Trainer's count.
    """
    losses = (loss_of(model, each, num_items_in_batch=items) for each in some)
    return gradients(model, *losses, *(-loss_of(model, each, num_items_in_batch=items) for each in others))


@check("Add the class to MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, or give Trainer a compute_loss_func.", LOSS, link="17960")
def label_smoothing(subject: Subject) -> None:
    """Label smoothing shifts the labels."""
    only_if(subject.head == WRITE, "Only the labels of causal models are shifted.")
    batch = labelled(subject)
    outputs = run(subject.redrawn, batch)
    is_known = subject.name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
    found = LabelSmoother(epsilon=1e-6)(outputs, batch["labels"], shift_labels=is_known)
    wanted = shifted_loss(outputs["logits"], batch["labels"])
    what = f"Trainer does not know that {subject.name} is a causal model: with label_smoothing_factor its loss is that"
    require_close(found, wanted, f"{what} of unshifted labels ({float(found):.4g}, not {float(wanted):.4g}).", 1e-3)


@check("Derive the blocks from GradientCheckpointingLayer, or set supports_gradient_checkpointing = False.", LOSS)
def gradient_checkpointing(subject: Subject) -> None:
    """Gradient checkpointing changes no gradient."""
    batch = labelled(subject)
    only_if(subject.model.supports_gradient_checkpointing, "The model says that it has none.")
    model = copy.deepcopy(subject.redrawn)
    wanted = gradients(model, loss_of(model, batch, **uncached(subject)))
    enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)  # its newer name
    enable({"use_reentrant": False})
    train_without_dropout(model)
    found = gradients(model, loss_of(model, batch, **uncached(subject)))
    require_same_gradients(found, wanted, "With gradient checkpointing")


def train_without_dropout(model: PreTrainedModel) -> None:
    """Turn on training mode, in which blocks are checkpointed, with dropout of probability 0."""
    for part in (*model.train().modules(), model.config):
        for name, value in vars(part).items():
            is_rate = "drop" in name or "jitter" in name or (name == "p" and isinstance(part, torch.nn.Dropout))
            if is_rate and isinstance(value, float):
                setattr(part, name, 0.0)


def uncached(subject: Subject) -> dict[str, Any]:
    return {"use_cache": False} if subject.reads("use_cache") else {}


@check("Name the other outputs in config.keys_to_ignore_at_inference.", LOSS, link="8476")
def evaluation_outputs(subject: Subject) -> None:
    """Evaluation gathers logits alone.

    Trainer gathers all outputs of an evaluation but for the loss and the keys that the config names.
    """
    batch = labelled(subject)
    ignored = getattr(subject.config, "keys_to_ignore_at_inference", [])
    model = copy.deepcopy(subject.redrawn)
    model.config.use_cache = False  # as Trainer sets it
    outputs = run(model, batch)
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
    missing = [name for name in needed if name not in subject.signature]
    require(not missing, f"`forward` does not name {', '.join(missing)}, which Trainer would drop or a call refuse.")
