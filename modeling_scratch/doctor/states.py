# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of states: after other calls, in training, with frozen parts, in half precision, on a device, and traced."""

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._python_dispatch import TorchDispatchMode

from .comparing import Batch, redraw, require_close, rows, run, tensors_in, values, without
from .findings import check, listed, only_if, require, tried
from .losses import gradients, require_same_gradients, ways
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
    model, first = copy.deepcopy(new), subject.padded_batch()
    calls = [first, rows(first, [1, 0])]
    if subject.is_seq2seq and subject.reads("encoder_outputs"):
        calls += [subject.encoded(call, copy.deepcopy(new)) for call in calls]
    calls.append(subject.batch([subject.ids(subject.shorter, seed=3)]))
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


@check("Clone what the caller gave before it is changed (`labels = labels.clone()`).")
def leaves_inputs(subject: Subject) -> None:
    """`forward` leaves its inputs as they are."""
    for way, batch in ways(subject).items():
        given = {name: value.clone() for name, value in batch.items()}
        with torch.no_grad():
            subject.redrawn(**batch, return_dict=True)
        changed = [name for name, value in batch.items() if not value.equal(given[name])]
        require(not changed, f"{way}`forward` changes the caller's {listed(changed)}.")


# The expected value of each random number, by torch's function and its arguments.
EXPECTED: dict[str, Callable[..., Any]] = {
    "bernoulli": lambda tensor, probability=None: tensor if probability is None else probability,
    "bernoulli_": lambda drawn, probability=0.5: probability,
    "uniform_": lambda drawn, low=0.0, high=1.0: (low + high) / 2,
    "normal_": lambda drawn, mean=0.0, deviation=1.0: mean,
    "normal": lambda mean, *others: mean,
    "rand": lambda *sizes: 0.5,
    "randn": lambda *sizes: 0.0,
}


class ExpectedDraws(TorchDispatchMode):
    """Meanwhile each random number is its expected value, with which dropout under any name changes nothing."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        drawn = function(*args, **(kwargs or {}))
        expected = EXPECTED.get(function.overloadpacket.__name__.removesuffix("_like"))
        return drawn.copy_(torch.as_tensor(expected(*args))) if expected else drawn


@check("Let `self.training` decide about dropout alone.")
def training_mode(subject: Subject) -> None:
    """Without dropout, training computes what evaluation does."""
    when, model = "In training mode without dropout", copy.deepcopy(subject.redrawn).train()
    for part in (*model.modules(), model.config):
        for name, value in vars(part).items():
            # For what has no expected value at that of its random number, as stochastic depth, which rounds it down.
            is_rate = "drop" in name or "jitter" in name or (name == "p" and isinstance(part, nn.Dropout))
            if is_rate and isinstance(value, float):
                setattr(part, name, 0.0)
    for batch in subject.batches:
        with ExpectedDraws():
            found = values(run(model, batch))
        subject.same(when, found, subject.answers(batch), at=subject.real(batch), tolerance=1e-3)
    if subject.head != BASE:
        _check_training(subject, model, copy.deepcopy(subject.redrawn), when, ExpectedDraws)


@check(CHECKPOINTING, LOSS)
def gradient_checkpointing(subject: Subject) -> None:
    """Gradient checkpointing changes no gradient, and draws the same dropout again."""
    only_if(subject.model.supports_gradient_checkpointing, "The model says that it has none.")
    plain, model = (copy.deepcopy(subject.redrawn).train() for _ in range(2))
    enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)  # its newer name
    enable({"use_reentrant": False})
    _check_training(subject, model, plain, "With gradient checkpointing", contextlib.nullcontext)


def _check_training(subject: Subject, model: Any, plain: Any, when: str, drawing: Any) -> None:
    """Check that a model has the gradients of a plain one, whether a cache is kept or not.

    drawing: the context of their random numbers.
    """
    padded = subject.labelled()
    cases = [(when, padded, {"use_cache": False}), (f"{when} and with a cache", padded, {"use_cache": True})]
    for state, batch, options in [(f"{when} and without padding", subject.labelled(subject.batch()), {}), *cases]:
        given = options if subject.reads("use_cache") else {}
        with tried(state), drawing():
            torch.manual_seed(0)
            wanted = gradients(plain, loss_of(plain, batch))
            torch.manual_seed(0)
            found = gradients(model, loss_of(model, batch, **given))
        require_same_gradients(found, wanted, f"{state}, gradients are {{}} away from those without.")


@check(GRADIENTS, link=DISTRIBUTED)
def every_gradient(subject: Subject) -> None:
    """Every parameter gets a gradient, that of the loss, also beside frozen embeddings, and so do inputs_embeds."""
    model, batch = copy.deepcopy(subject.redrawn), subject.batch()
    ids = batch["input_ids"]
    # Inputs by which alone some parameters are reached: segments, and in XLNet the place of what is predicted.
    types = torch.arange(ids.shape[1]) % max(1, getattr(subject.config, "type_vocab_size", 2))
    more = {"token_type_ids": types.expand_as(ids), "target_mapping": torch.eye(ids.shape[1]).expand(len(ids), -1, -1)}
    batch |= {name: value for name, value in more.items() if subject.reads(name)}
    found = gradients(model, _sum(model(**batch, **subject.labels(batch), return_dict=True)))
    missing = [name for name, each in model.named_parameters() if each.requires_grad and name not in found]
    require(not missing, f"{len(missing)} parameters get no gradient from the loss: {listed(missing)}.")
    if subject.reads("inputs_embeds"):
        given = subject.embedded(subject.batch())
        given["inputs_embeds"].requires_grad_()
        _sum(model(**given, return_dict=True)).backward()
        is_reached = given["inputs_embeds"].grad is not None
        require(is_reached, "No gradient reaches inputs_embeds, of which tools that explain answers need one.")
    if subject.head != BASE:
        wanted = _check_slopes(model, subject.labelled())
        model.get_input_embeddings().requires_grad_(False)
        learning = {name for name, each in model.named_parameters() if each.requires_grad}
        others = {name: gradient for name, gradient in wanted.items() if name in learning}
        found = gradients(model, loss_of(model, subject.labelled()))
        what = "With frozen embeddings, gradients are {} away from those without."
        require_same_gradients(found, others, what)


def _sum(outputs: Any) -> Tensor:
    """Return the loss, or else the sum of what is returned."""
    if (loss := outputs.get("loss")) is not None:
        return loss
    return torch.stack([each.sum() for each in outputs.values() if torch.is_tensor(each)]).sum()


def _check_slopes(model: Any, batch: Batch) -> dict[str, Tensor]:
    """Compare gradients with finite differences along random directions. Return the gradients."""
    found, named = gradients(model, loss_of(model, batch)), dict(model.named_parameters())
    errors, sizes = [], []
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        ways = {name: torch.randn(each.shape, generator=generator) * each.norm() for name, each in found.items()}
        length = torch.stack([way.norm() for way in ways.values()]).norm().clamp(min=1e-12)
        slope = sum(float((found[name] * way).sum() / length) for name, way in ways.items())
        ends = []
        for step in (STEP, -STEP):
            moved = {name: named[name].detach() + way * (step / length) for name, way in ways.items()}
            with torch.no_grad():
                ends.append(float(functional_call(model, moved, kwargs={**batch, "return_dict": True})["loss"]))
        difference = (ends[0] - ends[1]) / (2 * STEP)
        errors.append(abs(slope - difference))
        sizes.append(abs(difference))
    apart = max(errors) / max(*sizes, 1e-9)
    require(apart < 0.1, f"The gradient is {apart:.2g} of its size away from the slope of the loss.")
    return found


@check(
    "Make constants in the dtype of what they meet, and cast to that of what is written to: under autocast, layers "
    "return bfloat16. Use torch.finfo(dtype).min for masks: float16 ends at 65504."
)
def half_precision(subject: Subject) -> None:
    """It computes in bfloat16 and float16, and trains under autocast, as with bf16=True of Trainer."""
    batches = {"": subject.padded_batch(), " without padding": subject.batch()}
    batches[" to a long text"] = subject.longest_batch()
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
        model, batch = copy.deepcopy(subject.redrawn), subject.labelled()
        with tried("Under autocast, `forward`"), torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(model, batch)
        is_finite = all(each.isfinite().all() for each in (loss, *gradients(model, loss).values()))
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

    found = ""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.overloadpacket.__name__
        devices = {each.device.type for each in tensors_in([*args, *(kwargs or {}).values()]) if each.ndim}
        if len(devices) > 1 and "copy" not in name and not name.startswith("index"):  # CPU tensors index others
            self.found = self.found or name
        return function(*args, **(kwargs or {}))


@check("Let no Python value depend on what tensors hold, and let `forward` set no attribute.")
def one_graph(subject: Subject) -> None:
    """torch.compile and torch.export see one graph, which the next call takes again."""
    model, batch = copy.deepcopy(subject.redrawn), subject.batch()
    torch.compiler.reset()
    try:
        compiled = torch.compile(lambda **given: values(model(**given)), backend="eager", fullgraph=True)
        with torch.no_grad():
            with tried("torch.compile(fullgraph=True)"):
                found = compiled(**batch, return_dict=True)
            with tried("A second call of what is compiled"), torch.compiler.set_stance("fail_on_recompile"):
                compiled(**batch, return_dict=True)
    finally:
        torch.compiler.reset()
    subject.same("Compiled", found, batch)
    given = {**batch, "return_dict": True, **({"use_cache": False} if subject.reads("use_cache") else {})}
    with tried("torch.export"), torch.no_grad():
        found = values(torch.export.export(model, (), given, strict=False).module()(**given))
    subject.same("Exported", found, batch)
