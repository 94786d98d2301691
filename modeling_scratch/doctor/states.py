# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of states: after other calls, in training, with frozen parts, in half precision, on a device, and traced."""

import contextlib
import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedModel

from .comparing import Batch, redraw, require_close, rows, run, tensors_in, values, without
from .findings import check, listed, only_if, require, tried
from .losses import gradients, largest_difference, ways
from .references import loss_of
from .subject import BASE, LOSS, Subject

STEP = 2e-3  # of finite differences, in float32
GRADIENTS = (
    "Leave out the parts that a head does not use: distributed training waits for their gradients. Detach nothing that "
    "the loss depends on, and cut no gradient where parameters are frozen."
)
CHECKPOINTING = "Derive the blocks from GradientCheckpointingLayer, or set supports_gradient_checkpointing = False."
DISTRIBUTED = "https://github.com/pytorch/pytorch/issues/43259"


@check("Keep nothing on `self` in `forward`, and change neither buffers nor the config.")
def stateless(subject: Subject) -> None:
    """A call changes nothing for the next one."""
    new: Any = redraw(copy.deepcopy(subject.model))  # that no check has called
    model, calls = copy.deepcopy(new), _calls(subject, copy.deepcopy(new))
    config, drawn = model.config.to_dict(), torch.get_rng_state()
    run(model, calls[-1])
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    answers = [values(run(model, call)) for call in calls]
    is_drawn = not drawn.equal(torch.get_rng_state())
    require(not is_drawn, "A call in evaluation draws from torch's random numbers, or seeds them.")
    changed = [name for name, each in model.config.to_dict().items() if config.get(name) != each]
    require(not changed, f"A call changes the config: {listed(changed)}.")
    changed = [name for name, each in model.named_buffers() if name in buffers and not each.equal(buffers[name])]
    require(not changed, f"A call in evaluation changes the buffer {listed(changed)}.")
    for call, found in zip(calls, answers):
        wanted, when = values(run(copy.deepcopy(new), call)), "After other texts, as something is kept of them"
        subject.same(when, found, wanted, at=subject.real(call), tolerance=1e-6)
    model.train()
    run(model, calls[0])
    new.load_state_dict(model.eval().state_dict())
    found, wanted = (values(run(each, calls[0])) for each in (model, new))
    subject.same("After a call in training, of which its state_dict has not all", found, wanted, tolerance=1e-6)


def _calls(subject: Subject, model: Any) -> list[Any]:
    """Return two batches of one shape, by what an encoder returns, too, and a shorter one."""
    first = subject.padded_batch()
    calls: list[Any] = [first, rows(first, [1, 0])]
    if subject.is_seq2seq and subject.reads("encoder_outputs"):
        calls += [subject.encoded(call, model) for call in calls]
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
            is_rate = "drop" in name or "jitter" in name or (name == "p" and isinstance(part, nn.Dropout))
            if is_rate and isinstance(value, float):
                setattr(part, name, 0.0)
    return model


@check("Let `self.training` decide about dropout alone.")
def training_mode(subject: Subject) -> None:
    """Without dropout, training computes what evaluation does."""
    when, model = "In training mode without dropout", without_dropout(copy.deepcopy(subject.redrawn))
    for batch in subject.batches:
        with ExpectedDraws():
            found = values(run(model, batch))
        subject.same(when, found, subject.answers(batch), at=subject.real(batch), tolerance=1e-3)
    if subject.head != BASE:
        _check_training(subject, model, when)


@check(CHECKPOINTING, LOSS)
def gradient_checkpointing(subject: Subject) -> None:
    """Gradient checkpointing changes no gradient."""
    only_if(subject.model.supports_gradient_checkpointing, "The model says that it has none.")
    model = copy.deepcopy(subject.redrawn)
    enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)  # its newer name
    enable({"use_reentrant": False})
    _check_training(subject, model, "With gradient checkpointing")


def _check_training(subject: Subject, model: PreTrainedModel, when: str) -> None:
    """Check that training without dropout has the gradients of evaluation, whether a cache is kept or not."""
    evaluated = copy.deepcopy(subject.redrawn)
    plain, padded = subject.labelled(subject.batch()), subject.labelled()
    cases = [(when, padded, {"use_cache": False}), (f"{when} and with a cache", padded, {"use_cache": True})]
    for state, batch, options in [(f"{when} and without padding", plain, {}), *cases]:
        wanted = gradients(evaluated, loss_of(evaluated, batch))
        with tried(state), ExpectedDraws():
            given = options if subject.reads("use_cache") else {}
            found = gradients(without_dropout(model), loss_of(model, batch, **given))
        _require_same_gradients(found, wanted, state)


def _require_same_gradients(found: dict[str, Tensor], wanted: dict[str, Tensor], when: str) -> None:
    """Raises `FallsShort` where a parameter has no gradient, or another one, by the largest of all."""
    lost = wanted.keys() - found.keys()
    require(not lost, f"{when}, {len(lost)} parameters get no gradient: {listed(lost)}.")
    apart = largest_difference(found, wanted)
    require(apart < 1e-3, f"{when}, gradients are {apart:.2g} away from those without.")


@check(GRADIENTS, link=DISTRIBUTED)
def every_gradient(subject: Subject) -> None:
    """Every parameter gets a gradient, that of the loss, also beside frozen embeddings."""
    model, batch = copy.deepcopy(subject.redrawn), subject.batch()
    ids = batch["input_ids"]
    # Inputs by which alone some parameters are reached: segments, and in XLNet the place of what is predicted.
    types = torch.arange(ids.shape[1]) % max(1, getattr(subject.config, "type_vocab_size", 2))
    more = {"token_type_ids": types.expand_as(ids), "target_mapping": torch.eye(ids.shape[1]).expand(len(ids), -1, -1)}
    batch |= {name: value for name, value in more.items() if subject.reads(name)}
    if subject.head == BASE:
        outputs = model(**batch, return_dict=True)
        found = gradients(model, torch.stack([each.sum() for each in outputs.values() if torch.is_tensor(each)]).sum())
    else:
        found = gradients(model, loss_of(model, subject.labelled(batch)))
    missing = [name for name, each in model.named_parameters() if each.requires_grad and name not in found]
    require(not missing, f"{len(missing)} parameters get no gradient from the loss: {listed(missing)}.")
    if subject.head != BASE:
        _check_slopes(model, subject.labelled())
        _check_frozen(model, subject.labelled())


def _check_slopes(model: Any, batch: Batch) -> None:
    """Compare gradients with finite differences along random directions."""
    found = gradients(model, loss_of(model, batch))
    errors, sizes = [], []
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        ways = {name: torch.randn(each.shape, generator=generator) * each.norm() for name, each in found.items()}
        length = torch.stack([way.norm() for way in ways.values()]).norm().clamp(min=1e-12)
        slope = float(sum((found[name] * way).sum() for name, way in ways.items()) / length)
        after, before = (_moved(model, batch, ways, sign * STEP / float(length)) for sign in (1, -1))
        errors.append(abs(slope - (after - before) / (2 * STEP)))
        sizes.append(abs(after - before) / (2 * STEP))
    apart = max(errors) / max(*sizes, 1e-9)
    require(apart < 0.1, f"The gradient is {apart:.2g} of its size away from the slope of the loss.")


@torch.no_grad()
def _moved(model: Any, batch: Batch, ways: dict[str, Tensor], step: float) -> float:
    """Return the loss at parameters that are moved along their ways."""
    named = dict(model.named_parameters())
    for name, way in ways.items():
        named[name].add_(way, alpha=step)
    loss = float(loss_of(model, batch))
    for name, way in ways.items():
        named[name].sub_(way, alpha=step)
    return loss


def _check_frozen(model: Any, batch: Batch) -> None:
    wanted = gradients(model, loss_of(model, batch))
    model.get_input_embeddings().requires_grad_(False)
    learning = {name for name, each in model.named_parameters() if each.requires_grad}
    others = {name: gradient for name, gradient in wanted.items() if name in learning}
    _require_same_gradients(gradients(model, loss_of(model, batch)), others, "With frozen embeddings")


@check(
    "Make constants in the dtype of what they meet, and cast to that of what is written to: under autocast, layers "
    "return bfloat16. Use torch.finfo(dtype).min for masks: float16 ends at 65504."
)
def half_precision(subject: Subject) -> None:
    """It computes in bfloat16 and float16, and trains under autocast, as with bf16=True of Trainer."""
    batches = {
        "": subject.padded_batch(),
        " without padding": subject.batch(),
        " to a long text": subject.longest_batch(),
    }
    if subject.pads_left:
        batches[" to a text padded on the left"] = subject.padded_batch("left")
    for dtype in (torch.bfloat16, torch.float16):
        half: Any = copy.deepcopy(subject.redrawn)
        half.to(dtype)
        name = str(dtype).removeprefix("torch.")
        for when, batch in batches.items():
            try:
                found, real = values(run(half, batch)), subject.real(batch)
            except RuntimeError as error:
                only_if("not implemented for" not in str(error), f"The processor cannot compute it in {name}.")
                raise
            require(found[real].isfinite().all(), f"Answers{when} in {name} are not finite.")
            what = f"Answers{when} in {name} are {{}} of the largest one away from those in float32."
            require_close(found[real], subject.answers(batch)[real], what, 0.2)
    if subject.head != BASE:
        _check_autocast(copy.deepcopy(subject.redrawn), subject.labelled())


def _check_autocast(model: Any, batch: Batch) -> None:
    with tried("Under autocast, `forward`"), torch.autocast("cpu", torch.bfloat16):
        loss = loss_of(model, batch)
    found = gradients(model, loss)
    is_finite = all(each.isfinite().all() for each in (loss, *found.values()))
    require(is_finite, "Under autocast, its loss or gradients are not finite.")
    require_close(loss, loss_of(model, batch), "Under autocast, the loss is {} away.", 0.25)


@check("Register it as a buffer, or make it on the device of what it meets.")
def device(subject: Subject) -> None:
    """Every tensor goes where the model goes.

    The meta device stands for another device. What it cannot do, such as reading a value, is no fault here.
    """
    batch = {name: value.to("meta") for name, value in subject.batch().items()}
    for each in (batch, without(batch, "attention_mask")):  # which some look into
        mode = DevicesMet()
        with contextlib.suppress(Exception), torch.no_grad(), subject.attending("eager"), mode:
            model: Any = subject.redrawn
            model.to("meta")(**each, return_dict=True)  # fails where it reads what no meta tensor has
        require(not mode.found, f"On another device, a tensor stays on the CPU: {mode.found} gets it.")


class DevicesMet(TorchDispatchMode):
    """Meanwhile the first function that gets tensors of the CPU and of the meta device is found."""

    def __init__(self) -> None:
        super().__init__()
        self.found = ""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.overloadpacket.__name__
        devices = {each.device.type for each in tensors_in([*args, *(kwargs or {}).values()]) if each.ndim}
        if len(devices) > 1 and "copy" not in name and not name.startswith("index"):  # CPU tensors index others
            self.found = self.found or name
        return function(*args, **(kwargs or {}))


class Answers(nn.Module):
    """A model as a function of its inputs by position."""

    def __init__(self, model: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Tensor) -> Tensor:
        return values(self.model(**dict(zip(self.names, inputs)), return_dict=True))


@check("Let no Python value depend on what tensors hold.")
def one_graph(subject: Subject) -> None:
    """torch.compile and torch.export see one graph."""
    batch = subject.batch()
    wrapped, given = Answers(copy.deepcopy(subject.redrawn), list(batch)), tuple(batch.values())
    torch.compiler.reset()
    try:
        with tried("torch.compile(fullgraph=True)"), torch.no_grad():
            found = torch.compile(wrapped, backend="eager", fullgraph=True)(*given)
    finally:
        torch.compiler.reset()
    subject.same("Compiled", found, batch)
    model: Any = wrapped.model
    if subject.reads("use_cache"):
        model.config.use_cache = False
    with tried("torch.export"), torch.no_grad():
        found = torch.export.export(wrapped, given, strict=False).module()(*given)
    subject.same("Exported", found, batch)
