# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whoever hooks, patches or wraps a part of a model gets the textbook's tensors: all of them, at padding, too.

Also beside tools that shard, recompute or adapt parts of it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import cycle, product
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
import torch
import torch.distributed as dist
from model_cases import (
    CAUSAL_LM,
    DECODER,
    MASKED_LM,
    SEQ2SEQ_LM,
    TEXTS,
    Case,
    low_thresholds,  # noqa: F401  (a fixture)
    parametrize_cases,
)
from peft import PrefixTuningConfig, get_peft_model
from shared import lively
from torch import Tensor, nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper
from torch.distributed.fsdp import fully_shard
from transformers import PreTrainedModel

from modeling_scratch import fast

pytestmark = pytest.mark.usefixtures("low_thresholds")

Patch = Callable[[nn.Module], AbstractContextManager]
STACKS = {TEXTS: "model", DECODER: "", SEQ2SEQ_LM: "model.encoder"}
PLACES = (
    "", "embeddings", "embeddings.tokens", "embeddings.dropout", "stack", "stack.layers.0", "stack.layers.1.attention",
    "stack.layers.1.attention.q_proj", "stack.layers.0.feed_forward", "stack.layers.0.feed_forward_residual.norm",
    "stack.norm",
)  # fmt: skip


def changed(output: Any) -> Any:
    """The same with other hidden states, also to a norm."""
    if isinstance(output, Tensor):
        return output * torch.linspace(0.5, 2, output.shape[-1])
    if isinstance(output, tuple):
        return (changed(output[0]), *output[1:])
    output.last_hidden_state = changed(output.last_hidden_state)
    return output


def hook(module: nn.Module) -> AbstractContextManager:
    return module.register_forward_hook(lambda _, inputs, output: changed(output))


def pre_hook(module: nn.Module) -> AbstractContextManager:
    return module.register_forward_pre_hook(lambda _, args: changed(args))


def hook_of_every_module(module: nn.Module) -> AbstractContextManager:
    register = nn.modules.module.register_module_forward_hook
    return register(lambda each, _, output: changed(output) if each is module else None)


@contextmanager
def own_forward(module: nn.Module) -> Iterator[None]:
    forward = module.forward
    module.forward = lambda *args, **kwargs: changed(forward(*args, **kwargs))
    yield
    del module.forward


@contextmanager
def forward_of_the_class(module: nn.Module) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        forward = type(module).forward
        patch.setattr(type(module), "forward", lambda *args, **kwargs: changed(forward(*args, **kwargs)))
        yield


PATCHES: dict[str, Patch] = {
    "hook": hook, "hook of every module": hook_of_every_module, "pre-hook": pre_hook, "forward": own_forward,
    "forward of the class": forward_of_the_class,
}  # fmt: skip
READS_IDS = "", "embeddings", "embeddings.tokens"
# The base model's class is where the engine is called from.
PAIRS = [
    pytest.param(patch, place, case, id=f"{name}-{place or 'base model'}")
    for ((name, patch), place), case in zip(product(PATCHES.items(), PLACES), cycle(STACKS))
    if not (patch is pre_hook and place in READS_IDS) and not (patch is forward_of_the_class and not place)
]


def part(model: PreTrainedModel, case: Case, place: str) -> nn.Module:
    return model.get_submodule(".".join(filter(None, (STACKS[case], place))))


def outputs(model: PreTrainedModel, case: Case) -> list[Tensor]:
    """The logits of texts, and the hidden states of the stack that is looked into."""
    inputs = case.inputs()
    if case is SEQ2SEQ_LM:
        return [model(**inputs).encoder_last_hidden_state]
    return [model(**inputs)[0], part(model, case, "")(**inputs).last_hidden_state]


def assert_of_the_textbook(model: PreTrainedModel, case: Case) -> list[Tensor]:
    found = outputs(model, case)
    with fast.disabled():
        torch.testing.assert_close(found, outputs(model, case))
    return found


def assert_fast(model: PreTrainedModel, case: Case) -> None:
    """The engine leaves padding out."""
    assert not outputs(model, case)[-1][case.inputs()["attention_mask"] == 0].any()


@pytest.mark.parametrize(("patch", "place", "case"), PAIRS)
def test_a_patch_changes_what_it_changes_in_the_textbook(patch: Patch, place: str, case: Case) -> None:
    model = case.model(norm_position="pre")
    before = outputs(model, case)[0]
    with patch(part(model, case, place)):
        after = assert_of_the_textbook(model, case)[0]
        assert not torch.allclose(after, before)
    assert_fast(model, case)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # of the table, which is given no gradients
@pytest.mark.parametrize("place", PLACES[1:])
def test_a_backward_hook_sees_the_gradients_of_the_textbook(place: str) -> None:
    model, seen = TEXTS.model(norm_position="pre"), []
    handle = part(model, TEXTS, place).register_full_backward_hook(
        lambda _, inputs, found: seen.append([getattr(each, "shape", None) for each in found])
    )
    for switch in (nullcontext, fast.disabled):
        with switch():
            outputs(model, TEXTS)[0].sum().backward()
    handle.remove()
    assert seen[0] == seen[1] != []
    assert_fast(model, TEXTS)


class Scope(nn.Module):
    """A wrapper of a user, which keeps what passes."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.seen = inner, []

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(hidden_states)
        return self.inner(hidden_states, *args, **kwargs)


@pytest.mark.parametrize("place", ["stack.layers.1", "stack.layers.0.attention", "stack.layers.1.attention.o_proj"])
def test_a_wrapper_sees_the_shapes_of_the_textbook(place: str) -> None:
    """Of a part, and of a method."""
    for case in (TEXTS, DECODER):
        model = case.model()
        inner, residual = part(model, case, place), part(model, case, "stack.layers.1.attention_residual")
        scope, method, seen = Scope(inner), residual.after, []
        parent, _, name = place.rpartition(".")
        setattr(part(model, case, parent), name, scope)
        assert_of_the_textbook(model, case)
        setattr(part(model, case, parent), name, inner)
        residual.after = lambda *states, method=method, seen=seen: seen.extend(states) or method(*states)
        assert_of_the_textbook(model, case)
        assert {states.shape for states in (*scope.seen, *seen)} == {(3, 9, 16)}
        del residual.after
        assert_fast(model, case)


# Beside tools


def step(model: PreTrainedModel, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss and every gradient, put together from its shards."""
    model.zero_grad()
    torch.manual_seed(0)
    loss = model(**batch).loss
    loss.backward()
    grads = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    return loss.detach(), {name: getattr(grad, "full_tensor", lambda grad=grad: grad)() for name, grad in grads.items()}


@pytest.fixture
def process_group(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("process_group")
@parametrize_cases((TEXTS, MASKED_LM))
def test_blocks_of_fsdp_gather_their_weights(case: Case) -> None:
    settings, batch = {"sparse_prediction": case is MASKED_LM}, case.batch()
    with fast.disabled():
        expected = step(case.model(**settings), batch)
    model = case.model(**settings)
    mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
    for each in (*model.model.stack.layers, model):
        fully_shard(each, mesh=mesh)
    torch.testing.assert_close(step(model, batch), expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", CheckpointImpl, ids=str)
def test_a_wrapper_that_recomputes_draws_the_same_dropout(kind: CheckpointImpl) -> None:
    """Around the feed-forward part, whose plain layers the engine computes: the gradient is the slope of the loss.

    The slope along it is measured by a small step with the same draws.
    """
    model = TEXTS.model(hidden_dropout=0.4, attention_dropout=0.0).train().double()
    for block in model.model.stack.layers:
        block.feed_forward = checkpoint_wrapper(block.feed_forward, kind)
    loss, grads = step(model, TEXTS.batch())
    squared = sum(grad.pow(2).sum() for grad in grads.values())
    scale = 1e-4 / squared.sqrt()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight += scale * grads.get(name, 0)
    assert abs((step(model, TEXTS.batch())[0] - loss) / (scale * squared) - 1) < 0.02


def test_threads_share_a_model() -> None:
    model, inputs = TEXTS.model(), TEXTS.inputs()
    writer, ids = lively(CAUSAL_LM.model()), CAUSAL_LM.inputs()["input_ids"]
    start, answers = Barrier(4), []

    @torch.no_grad()
    def answer() -> tuple[Tensor, Tensor]:
        return model(**inputs).logits, writer.generate(ids, max_new_tokens=8)

    def wait_and_answer() -> None:
        start.wait()
        answers.append(answer())

    expected = answer()
    threads = [Thread(target=wait_and_answer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.testing.assert_close(answers, [expected] * 4, atol=2e-5, rtol=1e-4)
    assert not any("forward" in vars(module) for each in (model, writer) for module in each.modules())


def test_a_prefix_is_trained_as_it_is_judged() -> None:
    """With a cache that is given, targets stand behind what it holds, in training as in evaluation."""
    torch.manual_seed(0)
    config = PrefixTuningConfig(task_type="SEQ_2_SEQ_LM", num_virtual_tokens=5)
    model = get_peft_model(SEQ2SEQ_LM.model(), config)
    batch = {name: value for name, value in SEQ2SEQ_LM.batch().items() if not name.startswith("decoder")}
    losses = [model.train(training)(**batch).loss for training in (False, True)]
    torch.testing.assert_close(losses[1], losses[0])
