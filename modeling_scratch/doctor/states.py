# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of states: in training, half precision and autocast, with frozen parts, and after other calls."""

import copy
from typing import Any

import torch
from torch import Tensor

from .findings import check, listed, only_if, require
from .losses import ExpectedDraws, check_training, gradients, labelled, require_same_gradients, ways, without_dropout
from .references import loss_of
from .subject import BASE, LOSS, Subject, distance, encoded, redraw, require_close, run, values

STEP = 2e-3  # of finite differences, in float32


@check("Keep nothing on `self` in `forward`, and change neither buffers nor the config.")
def stateless(subject: Subject) -> None:
    """A call changes nothing for the next one."""
    new: Any = redraw(copy.deepcopy(subject.model))  # that no check has called
    model, calls = copy.deepcopy(new), _calls(subject, copy.deepcopy(new))
    config, drawn = model.config.to_dict(), torch.get_rng_state()
    run(model, calls[-1])
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    answers = [values(run(model, call)) for call in calls]
    require(
        drawn.equal(torch.get_rng_state()), "A call in evaluation draws from torch's random numbers, or seeds them."
    )
    changed = [name for name, each in model.config.to_dict().items() if config.get(name) != each]
    require(not changed, f"A call changes the config: {listed(changed)}.")
    changed = [name for name, each in model.named_buffers() if name in buffers and not each.equal(buffers[name])]
    require(not changed, f"A call in evaluation changes the buffer {listed(changed)}.")
    for call, found in zip(calls, answers):
        real, wanted = subject.real(call), values(run(copy.deepcopy(new), call))
        what = "After other texts, the answers to one differ by {} from those of a new model: something is kept."
        require_close(found[real], wanted[real], what, 1e-6)
    model.train()
    run(model, calls[0])
    new.load_state_dict(model.eval().state_dict())
    found, wanted = (values(run(each, calls[0])) for each in (model, new))
    what = "After a call in training, the answers differ by {} from those of its state_dict: something is not saved."
    require_close(found, wanted, what, 1e-6)


def _calls(subject: Subject, model: Any) -> list[Any]:
    """Return two batches of one shape, by what an encoder returns, too, and a shorter one."""
    first = subject.padded_batch()
    calls: list[Any] = [first, {name: value.flip(0) for name, value in first.items()}]
    if subject.is_seq2seq and subject.reads("encoder_outputs"):
        calls += [encoded(model, call) for call in calls]
    return [*calls, subject.batch([subject.ids(subject.shorter, seed=3)])]


@check("Clone what the caller gave before it is changed (`labels = labels.clone()`).")
def leaves_inputs(subject: Subject) -> None:
    """`forward` leaves its inputs as they are."""
    for way, batch in ways(subject).items():
        given = {name: value.clone() for name, value in batch.items()}
        with torch.no_grad():
            subject.redrawn(**batch, return_dict=True)
        changed = [name for name, value in batch.items() if not value.equal(given[name])]
        require(not changed, f"{way}`forward` changes the caller's {listed(changed)}.")


@check("Let `self.training` decide about dropout alone.")
def training_mode(subject: Subject) -> None:
    """Without dropout, training computes what evaluation does."""
    model, batch = copy.deepcopy(subject.redrawn), subject.padded_batch()
    with ExpectedDraws():
        found, wanted = values(run(without_dropout(model), batch)), subject.answers(batch)
    real = subject.real(batch)
    require_close(found[real], wanted[real], "In training mode without dropout, the answers differ by {}.", 1e-3)
    if subject.head != BASE:
        check_training(subject, model, "With training mode and no dropout")


@check("Detach nothing that the loss depends on, and compute gradients by autograd.", LOSS)
def right_gradients(subject: Subject) -> None:
    """Gradients are the slopes of the loss."""
    model, batch = copy.deepcopy(subject.redrawn), labelled(subject)
    found = gradients(model, loss_of(model, batch))
    errors, sizes = [], []
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        ways = {name: torch.randn(each.shape, generator=generator) * each.norm() for name, each in found.items()}
        length = torch.stack([way.norm() for way in ways.values()]).norm().clamp(min=1e-12)
        ways = {name: way / length for name, way in ways.items()}
        slope = float(sum((found[name] * way).sum() for name, way in ways.items()))
        measured = (_moved(model, batch, ways, STEP) - _moved(model, batch, ways, -STEP)) / (2 * STEP)
        errors.append(abs(slope - measured))
        sizes.append(abs(measured))
    apart = max(errors) / max(*sizes, 1e-9)
    require(apart < 0.1, f"The gradient is {apart:.2g} of its size away from the slope of the loss.")


@torch.no_grad()
def _moved(model: Any, batch: Any, ways: dict[str, Tensor], step: float) -> float:
    """Return the loss at parameters that are moved along their ways."""
    named = dict(model.named_parameters())
    for name, way in ways.items():
        named[name].add_(way, alpha=step)
    loss = float(loss_of(model, batch))
    for name, way in ways.items():
        named[name].sub_(way, alpha=step)
    return loss


@check("Cut no gradient where parameters are frozen: what comes before and after them still learns.", LOSS)
def frozen_parts(subject: Subject) -> None:
    """Frozen embeddings change no other gradient."""
    model, batch = copy.deepcopy(subject.redrawn), labelled(subject)
    wanted = gradients(model, loss_of(model, batch))
    table: Any = model.get_input_embeddings()
    table.requires_grad_(False)
    found = gradients(model, loss_of(model, batch))
    learning = {name for name, each in model.named_parameters() if each.requires_grad}
    others = {name: gradient for name, gradient in wanted.items() if name in learning}
    require_same_gradients(found, others, "With frozen embeddings")


@check("Make constants in the dtype of what they meet; use torch.finfo(dtype).min for masks.")
def bfloat16(subject: Subject) -> None:
    """It computes in bfloat16."""
    _check_half(subject, torch.bfloat16)


@check("Use torch.finfo(dtype).min for masks: float16 ends at 65504.")
def float16(subject: Subject) -> None:
    """It computes in float16."""
    try:
        _check_half(subject, torch.float16)
    except RuntimeError as error:
        only_if("not implemented for" not in str(error), "The processor cannot compute it in float16.")
        raise


def _check_half(subject: Subject, dtype: torch.dtype) -> None:
    half: Any = copy.deepcopy(subject.redrawn)
    half.to(dtype)
    name = str(dtype).removeprefix("torch.")
    left = {" to a text padded on the left": subject.padded_batch("left")} if subject.pads_left else {}
    for when, batch in {"": subject.padded_batch(), **left, " to a long text": subject.longest_batch()}.items():
        found, real = values(run(half, batch)), subject.real(batch)
        require(found[real].isfinite().all(), f"Answers{when} in {name} are not finite.")
        what = f"Answers{when} in {name} are {{}} of the largest one away from those in float32."
        require_close(found[real], subject.answers(batch)[real], what, 0.2)


@check("Cast to the dtype of what is written to: under autocast, layers return bfloat16.", LOSS)
def autocast(subject: Subject) -> None:
    """It trains under autocast, as with bf16=True of Trainer."""
    model, batch = copy.deepcopy(subject.redrawn), labelled(subject)
    with torch.autocast("cpu", torch.bfloat16):
        loss = loss_of(model, batch)
    found = gradients(model, loss)
    require(
        loss.isfinite() and all(each.isfinite().all() for each in found.values()),
        "Its loss or gradients are not finite.",
    )
    apart = distance(loss.detach(), loss_of(subject.redrawn, batch).detach())
    require(apart < 0.25, f"Under autocast, the loss is {apart:.2g} away.")
