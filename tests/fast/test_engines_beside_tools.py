# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The engine beside tools that shard, checkpoint, compile, adapt or replace parts of it: the textbook's numbers."""

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
import torch
import torch.distributed as dist
from model_cases import (
    CAUSAL_LM,
    DECODER,
    ENCODER,
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
from transformers import AttentionInterface, PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from modeling_scratch import fast

pytestmark = pytest.mark.usefixtures("low_thresholds")


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {
        name: getattr(weight.grad, "full_tensor", lambda grad=weight.grad: grad)()
        for name, weight in model.named_parameters()
        if weight.grad is not None
    }


def step(model: PreTrainedModel, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    model.zero_grad()
    torch.manual_seed(0)
    loss = model(**batch).loss
    loss.backward()
    return loss.detach(), gradients(model)


def assert_same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)


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
    for block in model.model.stack.layers:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    assert_same(step(model, batch), expected)


@pytest.mark.parametrize("kind", CheckpointImpl, ids=str)
def test_a_wrapper_that_recomputes_draws_the_same_dropout(kind: CheckpointImpl) -> None:
    """Wrapped around the feed-forward part, where the engine would swap the forwards of plain layers."""
    model = TEXTS.model(hidden_dropout=0.4, attention_dropout=0.0).train()
    for block in model.model.stack.layers:
        block.feed_forward = checkpoint_wrapper(block.feed_forward, kind)
    assert directional_error(model, TEXTS.batch()) < 0.02


def directional_error(model: PreTrainedModel, batch: dict[str, Tensor]) -> float:
    """How far the gradient is from the slope of the loss along it, measured by a small step with the same draws."""
    loss, grads = step(model.double(), batch)
    scale = 1e-4 / sum(grad.pow(2).sum() for grad in grads.values()).sqrt()
    squared = sum(grad.pow(2).sum() for grad in grads.values())
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight += scale * grads.get(name, 0)
    moved = step(model, batch)[0]
    return abs((moved - loss) / (scale * squared) - 1).item()


def doubled(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **kwargs: Any) -> Any:
    """A backend of a user, with scores of its own."""
    return ALL_ATTENTION_FUNCTIONS["sdpa"](module, query * 2, key, value, mask, **kwargs)


@pytest.mark.parametrize(("case", "registered"), [(ENCODER, True), (DECODER, False)])
def test_attention_of_a_user_computes_every_block(case: Case, registered: bool) -> None:
    """A backend that is registered, or a function of the caller."""
    AttentionInterface.register("doubled", doubled)
    model, inputs = case.model(), case.inputs() | {"attention_mask": None}
    asked = {} if registered else {"attention_fn": doubled}
    if registered:
        model.set_attn_implementation("doubled")
    with fast.disabled():
        expected = model(**inputs, **asked)[0]
    assert_same(model(**inputs, **asked)[0], expected)


def test_threads_share_a_model() -> None:
    model, inputs = TEXTS.model(), TEXTS.inputs()
    writer, ids = lively(CAUSAL_LM.model()), CAUSAL_LM.inputs()["input_ids"]
    with torch.no_grad():
        expected = model(**inputs).logits
    written = writer.generate(ids, max_new_tokens=8)
    start, answers = Barrier(4), []

    def answer() -> None:
        start.wait()
        with torch.no_grad():
            answers.append((model(**inputs).logits, writer.generate(ids, max_new_tokens=8)))

    threads = [Thread(target=answer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    for logits, texts in answers:
        assert_same(logits, expected)
        assert torch.equal(texts, written)
    assert not any("forward" in vars(module) for each in (model, writer) for module in each.modules())


# What others put inside of a model, in batches with padding: noise, adapters, prefixes, their masks


def test_a_prefix_is_trained_as_it_is_judged() -> None:
    """With a cache that is given, targets stand behind what it holds, in training as in evaluation."""
    torch.manual_seed(0)
    config = PrefixTuningConfig(task_type="SEQ_2_SEQ_LM", num_virtual_tokens=5)
    model = get_peft_model(SEQ2SEQ_LM.model(), config)
    batch = {name: value for name, value in SEQ2SEQ_LM.batch().items() if not name.startswith("decoder")}
    losses = [model.train(training)(**batch).loss for training in (False, True)]
    torch.testing.assert_close(losses[1], losses[0])
