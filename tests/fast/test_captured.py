# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Captured steps: what a plain loop computes, on CUDA as one graph for each shape that is met again."""

import copy
from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest
import torch
from shared import every_device
from test_static_shapes import PAD, SIZES, flat, model_and_batch
from torch import Tensor, nn

from modeling_scratch.benchmark.data import on_device as moved
from modeling_scratch.fast.captured import captured_forward, captured_step
from modeling_scratch.fast.static_shapes import Size, fill

pytestmark = pytest.mark.usefixtures("exact_products")
NORM, RATE = 0.5, 1e-2
BATCHES = [
    fill(flat(lengths, seed), SIZES, PAD)
    for seed, lengths in enumerate([[5, 9, 3], [16] * 5, [2, 4], [16, 9] * 4, [7] * 5, [1], [11] * 6, [3, 9]])
]


def make_model(device: str, dropout: float = 0.0) -> Any:
    model, _ = model_and_batch("mean, rotary", [1])
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = dropout
    return model.to(device)


def make_optimizer(model: nn.Module) -> tuple[torch.optim.Optimizer, Any]:
    """Fused AdamW, and a schedule that changes the rate at each step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))


def plain_losses(model: Any, batches: Sequence[dict[str, Any]], device: str) -> list[float]:
    optimizer, schedule = make_optimizer(model)
    losses = []
    for batch in batches:
        loss = model(**moved(batch, device)).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), NORM)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def pinned(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: value.pin_memory() if isinstance(value, Tensor) else value for name, value in batch.items()}


@every_device
def test_a_captured_step_is_the_step_of_a_plain_loop(device: str) -> None:
    """Losses and weights after eight steps of two sizes, with clipping and another rate at each step."""
    model = make_model(device)
    plain = copy.deepcopy(model)
    optimizer, schedule = make_optimizer(model)
    step = captured_step(model, optimizer, max_norm=NORM)
    found = []
    for batch in BATCHES:
        found.append(step(batch))
        schedule.step()
    expected = plain_losses(plain, BATCHES, device)
    torch.testing.assert_close([loss.item() for loss in found], expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(model.state_dict(), plain.state_dict(), rtol=1e-4, atol=1e-5)
    assert float(optimizer.param_groups[0]["lr"]) == pytest.approx(RATE / (1 + len(BATCHES)))


@every_device
def test_a_captured_forward_has_the_logits_of_the_model(device: str) -> None:
    model = make_model(device).eval()
    forward = captured_forward(model)
    inputs = [{name: batch[name] for name in batch if name != "labels"} for batch in BATCHES]
    found = [forward(batch) for batch in chain(inputs, inputs)]
    with torch.no_grad():
        expected = [model(**moved(batch, device)).logits for batch in chain(inputs, inputs)]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@every_device
def test_gradients_of_others_change_nothing(device: str) -> None:
    """A caller's own backward passes between the steps, and parameters that the optimizer does not have."""
    model = make_model(device)
    for weight in model.model.parameters():
        weight.requires_grad_(False)
    model.model.embeddings.tokens.weight.requires_grad_(True)  # has a gradient, and no optimizer
    plain, trained = copy.deepcopy(model), list(model.classifier.parameters())
    step = captured_step(model, torch.optim.AdamW(trained, lr=RATE, fused=True), max_norm=None)
    optimizer = torch.optim.AdamW(plain.classifier.parameters(), lr=RATE, fused=True)
    for batch in (BATCHES[0], BATCHES[0], BATCHES[0], BATCHES[1], BATCHES[1]):
        model(**moved(batch, device)).loss.backward()
        found = step(batch)
        assert [weight.grad for weight in model.parameters()] == [None for _ in model.parameters()]
        loss = plain(**moved(batch, device)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.testing.assert_close(found, loss.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(model.state_dict(), plain.state_dict(), rtol=1e-4, atol=1e-5)


@every_device
def test_a_restored_optimizer_goes_on(device: str) -> None:
    """Its state is loaded between the steps, as where a run is resumed: what is saved has numbers as rates."""
    model = make_model(device)
    optimizer, _ = make_optimizer(model)
    step = captured_step(model, optimizer, max_norm=NORM)
    for batch in BATCHES[:4]:
        step(batch)
    weights, state = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    assert [type(group["lr"]) for group in state["param_groups"]] == [float]
    first = [step(batch).item() for batch in BATCHES[4:]]
    model.load_state_dict(weights)
    optimizer.load_state_dict(state)
    assert [step(batch).item() for batch in BATCHES[4:]] == pytest.approx(first, rel=1e-5)
    optimizer.param_groups[0]["lr"] = 0.0
    before = copy.deepcopy(model.state_dict())
    step(BATCHES[0])
    torch.testing.assert_close(model.state_dict(), before)


@every_device
def test_training_and_evaluation_are_captured_apart(device: str) -> None:
    model = make_model(device, dropout=0.5)
    forward = captured_forward(model)
    inputs = {name: value for name, value in BATCHES[0].items() if name != "labels"}
    trained = [forward(inputs) for _ in range(4)]
    assert not trained[2].equal(trained[3])
    model.eval()
    evaluated = [forward(inputs) for _ in range(4)]
    assert evaluated[2].equal(evaluated[3])
    torch.testing.assert_close(evaluated[0], evaluated[3])  # other kernels, where nothing is captured
    model.train()
    assert not forward(inputs).equal(forward(inputs))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
class TestOnGpu:
    def test_replays_never_wait_for_the_device(self) -> None:
        model = make_model("cuda", dropout=0.1)
        optimizer, schedule = make_optimizer(model)
        step = captured_step(model, optimizer, dtype=torch.bfloat16)
        batches = [pinned(batch) for batch in BATCHES]
        for batch in chain(batches, batches):
            step(batch)
        torch.cuda.set_sync_debug_mode("error")
        try:
            for batch in batches:
                loss = step(batch)
                schedule.step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert loss.isfinite()

    def test_dropout_draws_new_numbers_at_each_replay_and_those_of_the_seed(self) -> None:
        """The same seed before the same steps gives the same losses, replayed or not."""
        runs = []
        for _ in range(2):
            torch.manual_seed(3)
            model = make_model("cuda", dropout=0.5)
            step = captured_step(model, torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.0, fused=True))
            runs.append([step(BATCHES[1]).item() for _ in range(12)])
        assert runs[0] == runs[1]
        assert len(set(runs[0])) == len(runs[0])

    def test_compiled_blocks_have_the_losses_of_plain_ones_and_one_graph(self) -> None:
        model = make_model("cuda")
        plain = copy.deepcopy(model)
        losses = []
        for each, compiled in ((model, True), (plain, False)):
            step = captured_step(each, make_optimizer(each)[0], dtype=torch.bfloat16, compiled=compiled)
            losses.append([step(batch).item() for batch in BATCHES])
            if compiled:
                others = [fill(flat([6] * 9, 9), [Size(192, 40, 16)], PAD)] * 2  # a size that compilation has not seen
                with torch.compiler.set_stance("fail_on_recompile"):
                    assert all(step(batch).isfinite() for batch in (*BATCHES, *others))
        torch.testing.assert_close(losses[0], losses[1], rtol=5e-2, atol=5e-2)

    def test_what_cannot_be_captured_is_refused(self) -> None:
        model = make_model("cuda")
        with pytest.raises(ValueError, match=r"SGD cannot be captured in a CUDA graph; torch.optim.AdamW can"):
            captured_step(model, torch.optim.SGD(model.parameters(), lr=0.1))
        with pytest.raises(ValueError, match="needs a gradient scaler"):
            captured_step(model, make_optimizer(model)[0], dtype=torch.float16)
        model.gradient_checkpointing_enable()
        with pytest.raises(ValueError, match="Gradient checkpointing copies the state of random numbers"):
            captured_step(model, make_optimizer(model)[0])
