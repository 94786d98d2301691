# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whoever hooks, patches or wraps a part of a model gets the textbook's tensors: all of them, at padding, too."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import cycle, product
from typing import Any

import pytest
import torch
from model_cases import (
    DECODER,
    SEQ2SEQ_LM,
    TEXTS,
    Case,
    low_thresholds,  # noqa: F401  (a fixture)
)
from torch import Tensor, nn
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
        expected = outputs(model, case)
    for each, value in zip(found, expected):
        torch.testing.assert_close(each, value)
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


def test_a_method_of_a_part_is_replaced() -> None:
    model, seen = TEXTS.model(), []
    residual = model.model.stack.layers[1].attention_residual
    method = residual.after
    residual.after = lambda *states: seen.append(states) or method(*states)
    assert_of_the_textbook(model, TEXTS)
    assert {part.shape for states in seen for part in states} == {(3, 9, 16)}
    del residual.after
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
    for case in (TEXTS, DECODER):
        model = case.model()
        inner = part(model, case, place)
        scope = Scope(inner)
        parent, _, name = place.rpartition(".")
        setattr(part(model, case, parent), name, scope)
        assert_of_the_textbook(model, case)
        assert {states.shape for states in scope.seen} == {(3, 9, 16)}
        setattr(part(model, case, parent), name, inner)
        assert_fast(model, case)
