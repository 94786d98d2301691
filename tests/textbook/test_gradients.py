# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Gradients reach every parameter, nothing but real tokens, and are the same however a step is computed."""

import pytest
import torch
import torch.nn.functional as F
from model_cases import CAUSAL_LM, HEADS, MASK, SEQ2SEQ_LM, TEXTS, Case, engines, in_turn
from shared import watch
from torch import Tensor
from transformers import PreTrainedModel


def score(model: PreTrainedModel, case: Case) -> Tensor:
    """The loss of a head; of a base model a random projection of its real states."""
    outputs = model(**case.batch())
    if case in HEADS:
        return outputs.loss
    states = outputs.last_hidden_state[MASK.bool()]
    return (states * torch.randn(states.shape, generator=torch.Generator().manual_seed(1))).mean()


def step(model: PreTrainedModel, case: Case, seed: int = 0) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss and gradients; the seed is that of dropout."""
    model.zero_grad()
    torch.manual_seed(seed)
    loss = score(model, case)
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


ROUNDING = 2e-7  # what the order of summation may change: recomputed blocks are computed whole, for all tokens


@engines
@in_turn()
def test_no_gradient_reaches_padding(case: Case, settings: dict) -> None:
    model = case.model(**{**settings, "classifier_pooling": "mean"})  # a maximum reaches few tokens
    batch = case.batch()
    embeds = model.get_input_embeddings()(batch.pop("input_ids")).detach().requires_grad_()
    outputs = model(**batch, inputs_embeds=embeds)
    (outputs.loss if case in HEADS else outputs.last_hidden_state[MASK.bool()].square().sum()).backward()
    assert (embeds.grad[~MASK.bool()] == 0).all()
    reached = MASK.bool()
    if case is CAUSAL_LM:  # a text's last token predicts nothing
        reached = reached & F.pad(reached[:, 1:], (0, 1))
    assert (embeds.grad[reached].abs().sum(-1) > 0).all()


# One stack, one whose last block asks for few tokens, and two stacks; each kind of checkpointing.
@engines
@pytest.mark.parametrize(("case", "reentrant"), [(CAUSAL_LM, True), (TEXTS, False), (SEQ2SEQ_LM, True)])
def test_checkpointing_recomputes_and_changes_nothing(case: Case, reentrant: bool) -> None:
    """The same bits, with dropout on: what is computed twice draws the same numbers twice."""
    model = case.model(hidden_dropout=0.3, attention_dropout=0.3, activation_dropout=0.3).train()
    calls: list[str] = []
    projections = [name for name, _ in model.named_modules() if name.endswith("q_proj")]
    for name in projections:
        watch(model.get_submodule(name), lambda _, name=name: calls.append(name))
    expected = step(model, case)
    assert sorted(calls) == sorted(projections)

    calls.clear()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    torch.testing.assert_close(step(model, case), expected, atol=ROUNDING, rtol=0)
    assert sorted(calls) == sorted(2 * projections)

    calls.clear()
    model.gradient_checkpointing_disable()
    torch.testing.assert_close(step(model, case), expected, atol=0, rtol=0)
    assert sorted(calls) == sorted(projections)
