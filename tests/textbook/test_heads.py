# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pooling sees real tokens alone, and losses are torch's, counted the way a training step needs them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import CAUSAL_LM, HEADS, MASK, MASKED_LM, TINY, Case, assert_close, tiny
from shared import redraw
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from modeling_scratch import ScratchEncoderForSequenceClassification
from modeling_scratch.heads import cross_entropy, pooled_output, span_loss
from modeling_scratch.inputs import Inputs

STATES = torch.randn(*MASK.shape, TINY["hidden_size"], generator=torch.Generator().manual_seed(1))
REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda tokens: tokens[0],
    "last": lambda tokens: tokens[-1],
    "mean": lambda tokens: tokens.mean(0),
    "max": lambda tokens: tokens.max(0).values,
}


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """Of a base model whose hidden states these are."""
    base: Any = lambda **_: BaseModelOutput(states)  # noqa: E731
    base.config = tiny()
    return pooled_output(base, Inputs(inputs_embeds=states, attention_mask=mask), pooling)[0]


@pytest.mark.parametrize("pooling", REDUCTIONS)
def test_a_text_is_pooled_from_its_real_tokens(pooling: str) -> None:
    """Padded on neither side, on the right and on the left; negative states, so that zeros would win a maximum."""
    states = torch.where(MASK.bool()[..., None], STATES - 10, 1e6)
    expected = [REDUCTIONS[pooling](text[real]) for text, real in zip(states, MASK.bool())]
    assert_close(pool(states, MASK, pooling), torch.stack(expected))
    expected = [REDUCTIONS[pooling](text) for text in STATES]
    assert_close(pool(STATES, torch.ones_like(MASK), pooling), torch.stack(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("pooling", REDUCTIONS)
def test_a_text_of_no_tokens_is_zeros(pooling: str, dtype: torch.dtype) -> None:
    states = STATES.to(dtype, copy=True).requires_grad_()
    mask = MASK.clone()
    mask[1] = 0
    pooled = pool(states, mask, pooling)
    assert (pooled[1] == 0).all()
    assert torch.equal(pooled[[0, 2]], pool(states, MASK, pooling)[[0, 2]])
    pooled.sum().backward()
    assert states.grad.isfinite().all()
    assert (states.grad[1] == 0).all()


@pytest.mark.parametrize("pooling", REDUCTIONS)
def test_a_text_that_overflows_spoils_no_other_in_its_row(pooling: str) -> None:
    states = STATES[:1].repeat(1, 2, 1)[:, :10]
    states[:, 4:7] = torch.nan
    base: Any = lambda **_: BaseModelOutput(states)  # noqa: E731
    base.config = tiny()
    inputs = Inputs(inputs_embeds=states, cu_seq_lens=torch.tensor([0, 3, 4, 7, 10]))
    pooled = pooled_output(base, inputs, pooling)[0]
    assert pooled.isnan().all(-1).tolist() == [False, False, True, False]


def test_the_mean_of_a_long_text_fits_16_bits_though_its_sum_does_not() -> None:
    states = torch.full((1, 4096, 2), 20.0, dtype=torch.float16)
    assert torch.equal(pool(states, torch.ones(1, 4096), "mean"), states[:, 0])


@pytest.mark.parametrize("case", [CAUSAL_LM, MASKED_LM], ids=["causal_lm", "masked_lm"])
def test_a_head_may_be_wider_than_the_embeddings(case: Case, tmp_path: Path) -> None:
    model = case.model(embedding_size=6, output_embedding_size=16, tie_word_embeddings=False)
    table = model.get_output_embeddings()
    assert table.weight.shape == (64, 16)
    states = model.model(MASK * 7, MASK).last_hidden_state
    if case is MASKED_LM:
        states = model.lm_head.norm(model.lm_head.dense(states).relu())
    expected = states @ table.weight.T + (0 if table.bias is None else table.bias)
    assert_close(model(MASK * 7, MASK).logits[MASK.bool()], expected[MASK.bool()])
    model.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path).eval()
    assert torch.equal(again(MASK * 7, MASK).logits, model(MASK * 7, MASK).logits)


# Losses


def test_cross_entropy_is_the_mean_over_labelled_tokens() -> None:
    """Of a part of a step, its share."""
    logits, labels = draw(12, 4), torch.where(torch.arange(12) % 5 > 0, torch.arange(12) % 4, -100)
    expected = F.cross_entropy(logits, labels)
    assert_close(cross_entropy(logits.view(3, 4, 4), labels.view(3, 4)), expected)
    for count in 9, torch.tensor(9):
        parts = [cross_entropy(logits[i : i + 3], labels[i : i + 3], count) for i in range(0, 12, 3)]
        assert_close(torch.stack(parts).sum(), expected)


def test_no_labels_are_no_loss_and_no_gradient() -> None:
    nothing, starts, ends = torch.full((2, 8), -100), torch.tensor([8, -1]), torch.tensor([-100, 9])
    for loss_of in (
        *(lambda logits, count=count: cross_entropy(logits, nothing, count) for count in (None, 0, torch.tensor(0), 5)),
        lambda logits: span_loss(logits[..., 0], logits[..., 1], starts, ends),
    ):
        logits = draw(2, 8, 7)
        loss = loss_of(logits)
        loss.backward()
        assert loss.item() == 0
        assert (logits.grad == 0).all()


def test_losses_are_computed_in_float32() -> None:
    logits, labels = draw(4, 300).detach().bfloat16() * 5, torch.arange(4)
    loss = cross_entropy(logits, labels)
    assert loss.dtype == torch.float32
    assert_close(loss, F.cross_entropy(logits.float(), labels))
    assert abs(loss - F.cross_entropy(logits, labels)) > 1e-4  # what bfloat16 would have made of it


# What labels are taken for where the config says nothing; several numbers a text have to be named.
PROBLEMS: dict[str, tuple[Tensor, Callable[..., Tensor]]] = {
    "single_label_classification": (torch.tensor([2, 0, 3]), F.cross_entropy),
    "multi_label_classification": ((draw(3, 4) > 0).float(), F.binary_cross_entropy_with_logits),
    "regression": (torch.tensor([[0.5], [-2], [3]]), F.mse_loss),
    "regression without an axis": (torch.tensor([1.5, -2, 3]), F.mse_loss),
    "regression of whole numbers": (torch.tensor([1, 0, 2]), F.mse_loss),
    "regression of several": (draw(3, 4).detach(), F.mse_loss),
}


@pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # sockets that other tests left are collected here
@pytest.mark.parametrize("count", [None, 30])
@pytest.mark.parametrize("told", [True, False], ids=["told", "inferred"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_classification_losses(name: str, told: bool, count: int | None) -> None:
    """Those of torch, without a warning, and the config remembers which one it was."""
    (labels, loss), problem_type = PROBLEMS[name], name.split()[0]
    several = "several" in name
    num_labels = 1 if problem_type == "regression" and not several else 4
    settings = {"num_labels": num_labels, "problem_type": problem_type if told or several else None}
    model = redraw(ScratchEncoderForSequenceClassification(tiny(**settings))).eval()
    outputs = model(MASK * 7, MASK, labels=labels, num_items_in_batch=count)
    target = labels if problem_type != "regression" else labels.float().view_as(outputs.logits)
    expected = loss(outputs.logits, target, reduction="mean" if count is None else "sum")
    assert_close(outputs.loss, expected if count is None else expected / count)
    assert model.config.problem_type == problem_type


def test_span_loss_is_the_mean_of_both_ends() -> None:
    """Of answers within the text: what lies outside, or in the padding, does not count."""
    starts, ends, mask = draw(5, 8), draw(5, 8, seed=1), torch.ones(5, 8)
    mask[4, 5:] = 0
    first, last = torch.tensor([3, 8, -1, -100, 6]), torch.tensor([5, 8, 12, 7, 6])
    expected = (F.cross_entropy(starts[:1], first[:1]) + F.cross_entropy(ends[[0, 3]], last[[0, 3]])) / 2
    assert_close(span_loss(starts, ends, first, last, mask), expected)
    assert_close(span_loss(starts, ends, first[:, None], last[:, None], mask), expected)


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8], ids=str)
@pytest.mark.parametrize("case", HEADS, ids=lambda case: case.model_class.__name__)
def test_labels_of_any_whole_number_count_the_same(case: Case, dtype: torch.dtype) -> None:
    """NumPy on Windows and Arrow make them of 32 bits."""
    model, batch = case.model(), case.batch()
    names = batch.keys() - case.inputs().keys()
    small = {name: batch[name].clamp(min=0).to(dtype) for name in names}
    long = {name: value.long() for name, value in small.items()}
    inputs = {name: value for name, value in case.inputs().items() if not name.startswith("decoder")}
    losses = [model(**inputs, **labels).loss for labels in (small, long)]
    torch.testing.assert_close(*losses, rtol=0, atol=0)
