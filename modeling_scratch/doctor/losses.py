# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of training: the loss, its gradients, and what `Trainer` takes for granted."""

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.trainer_pt_utils import LabelSmoother

from ..tasks import ANSWER, WRITE
from .findings import check, listed, only_if, require, tried
from .references import is_loss_of, loss_of, mistake, other_labels, reference, shifted_loss, text_loss, with_loss
from .subject import BASE, CLASSIFIES_TEXTS, LOSS, Batch, Subject, embedded, require_close, run, takes_any

TARGETS = "labels", "start_positions", "end_positions"
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


def ways(subject: Subject) -> dict[str, Batch]:
    """Return the labelled batch in each way in which callers give it."""
    batch = labelled(subject)
    found = {"": batch}
    if subject.reads("inputs_embeds"):
        found["With inputs_embeds: "] = embedded(subject, batch)
    if subject.is_seq2seq and "labels" in batch:
        found["With labels alone: "] = {name: value for name, value in batch.items() if name != "decoder_input_ids"}
    return found


@check(
    "Causal models shift labels by one, others do not; numbers take squared error; -100 is ignored.",
    LOSS,
    link="17960",
)
def loss(subject: Subject) -> None:
    """The loss is that of its logits and labels."""
    for way, batch in ways(subject).items():
        kinds = {str(batch[name].dtype).removeprefix("torch.") for name in batch if name in TARGETS}
        with tried(f"{way}`forward` with labels of {listed(kinds)} and num_labels={subject.config.num_labels}"):
            outputs = with_loss(run(subject.redrawn, batch))
        found, wanted = outputs["loss"], reference(subject, outputs, batch)
        what = f"{way}The loss is {float(found):.4g}; that of its logits and labels is {float(wanted):.4g}."
        require(is_loss_of(subject, batch), what + mistake(subject, outputs, batch))


@check("Use squared error, cross-entropy and binary cross-entropy for the three types.", CLASSIFIES_TEXTS)
def problem_types(subject: Subject) -> None:
    """config.problem_type chooses the loss."""
    batch, classes = subject.batch(), subject.config.num_labels
    _check_types(replace(subject), batch)
    with suppress(RuntimeError, ValueError):  # a head that refuses another number of labels is no fault
        _check_types(_with_labels(subject, 3 if classes == 1 else 1), batch)


def _check_types(subject: Subject, batch: Batch) -> None:
    classes = subject.config.num_labels
    of_classes = ["multi_label_classification", "single_label_classification"]
    kinds: list[Any] = of_classes if classes > 1 else ["regression", None]
    for kind in kinds:
        subject.redrawn.config.problem_type = kind
        target = {**batch, "labels": subject.text_labels(len(batch["input_ids"]), kind)}
        outputs = with_loss(run(subject.redrawn, target))
        wanted = text_loss(outputs["logits"], target["labels"])
        what = f"problem_type={kind!r}, num_labels={classes}: the loss is {float(outputs['loss']):.4g}"
        is_right = is_loss_of(subject, target)
        require(is_right, f"{what}, not {float(wanted):.4g}.{mistake(subject, outputs, target)}")


def _with_labels(subject: Subject, number: int) -> Subject:
    """Return a new model of the class, with this number of labels."""
    config = copy.deepcopy(subject.model.config)
    config.num_labels = number
    return Subject(type(subject.model)(config), subject.tokenizer, subject.folder, subject.is_trusted)


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
    only_if(subject.model.supports_gradient_checkpointing, "The model says that it has none.")
    model = copy.deepcopy(subject.redrawn)
    enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)  # its newer name
    enable({"use_reentrant": False})
    check_training(subject, model, "With gradient checkpointing")


def check_training(subject: Subject, model: PreTrainedModel, when: str) -> None:
    """Check that training without dropout has the gradients of evaluation, whether a cache is kept or not."""
    evaluated, batch = copy.deepcopy(subject.redrawn), labelled(subject)
    wanted = gradients(evaluated, loss_of(evaluated, batch))
    states = {when: {"use_cache": False}, f"{when} and a cache": {"use_cache": True}}
    for state, options in states.items() if subject.reads("use_cache") else [(when, {})]:
        with tried(state), ExpectedDraws():
            found = gradients(without_dropout(model), loss_of(model, batch, **options))
        require_same_gradients(found, wanted, state)


class ExpectedDraws(TorchDispatchMode):
    """Meanwhile each random number is its expected value, with which dropout under any name changes nothing."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        drawn, name = function(*args, **(kwargs or {})), function.overloadpacket.__name__
        given = args[1] if len(args) > 1 else None
        if name == "bernoulli":  # of a tensor of probabilities
            return drawn.copy_(args[0] if given is None else torch.full_like(drawn, given))
        if name == "bernoulli_":
            return drawn.copy_(given) if isinstance(given, Tensor) else drawn.fill_(0.5 if given is None else given)
        if name == "uniform_":
            return drawn.fill_(sum(args[1:3]) / 2 if len(args) > 2 else 0.5)
        if name in ("normal_", "randn", "randn_like"):
            return drawn.fill_(given if isinstance(given, float) else 0.0)
        return drawn.fill_(0.5) if name in ("rand", "rand_like") else drawn


def without_dropout(model: PreTrainedModel) -> PreTrainedModel:
    """Turn on training mode, with rates of dropout that are 0 where their names tell. `ExpectedDraws` are for others.

    Stochastic depth, floor(1 - rate + a random number) / (1 - rate), has no expected value at that of the number.
    """
    for part in (*model.train().modules(), model.config):
        for name, value in vars(part).items():
            is_rate = "drop" in name or "jitter" in name or (name == "p" and isinstance(part, torch.nn.Dropout))
            if is_rate and isinstance(value, float):
                setattr(part, name, 0.0)
    return model


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
