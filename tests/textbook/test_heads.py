# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pooling sees real tokens alone, and losses are torch's, counted the way a training step needs them."""

import math
from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch
import torch.nn.functional as F
from conftest import redraw
from model_cases import MASK, TINY
from torch import Tensor

from modeling_scratch import ScratchEncoderConfig, ScratchEncoderForSequenceClassification
from modeling_scratch.configuration_scratch import Pooling
from modeling_scratch.heads import POOLED_TOKENS, POOLINGS, cross_entropy, infer_problem_type, pool
from modeling_scratch.modeling_encoder import ClassificationHead, MaskedLMHead, span_loss

STATES = torch.randn(*MASK.shape, TINY["hidden_size"], generator=torch.Generator().manual_seed(1))
REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda tokens: tokens[0],
    "last": lambda tokens: tokens[-1],
    "mean": lambda tokens: tokens.mean(0),
    "max": lambda tokens: tokens.max(0).values,
}


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def tiny(**settings: Any) -> ScratchEncoderConfig:
    return ScratchEncoderConfig(**{**TINY, **settings})


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_every_pooling_is_tested() -> None:
    assert (
        set(get_args(Pooling)) | {"last"} == {*POOLED_TOKENS, *POOLINGS} == set(REDUCTIONS)
    )  # "last" is for decoders alone


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_text_is_pooled_from_its_real_tokens(pooling: str) -> None:
    """Padded on neither side, on the right and on the left; negative states, so that zeros would win a maximum."""
    states = torch.where(MASK.bool()[..., None], STATES - 10, 1e6)
    expected = [REDUCTIONS[pooling](text[real]) for text, real in zip(states, MASK.bool())]
    assert_close(pool(states, MASK, pooling), torch.stack(expected))
    assert_close(pool(STATES, None, pooling), torch.stack([REDUCTIONS[pooling](text) for text in STATES]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("pooling", POOLINGS)
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


@pytest.mark.parametrize(
    ("name", "function"),
    [("tanh", math.tanh), ("relu", lambda x: max(x, 0)), ("gelu", lambda x: x * (1 + math.erf(x / 2**0.5)) / 2)],
)
def test_classification_head_with_a_hidden_layer(name: str, function: Callable[[float], float]) -> None:
    head = redraw(ClassificationHead(tiny(classifier_activation=name))).eval()
    hidden = (STATES[0] @ head.dense.weight.T + head.dense.bias).detach().apply_(function)
    assert_close(head(STATES[0]), hidden @ head.out_proj.weight.T + head.out_proj.bias)


def test_classification_head_without_a_hidden_layer() -> None:
    head = redraw(ClassificationHead(tiny()))
    assert head.state_dict().keys() == {"out_proj.weight", "out_proj.bias"}
    assert_close(head(STATES[0]), STATES[0] @ head.out_proj.weight.T + head.out_proj.bias)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"hidden_dropout": 0.3}, 0.3),
        ({"hidden_dropout": 0.3, "classifier_dropout": 0.0}, 0.0),
        ({"hidden_dropout": 0.3, "classifier_dropout": 0.2}, 0.2),
    ],
    ids=["as_elsewhere", "none", "its_own"],
)
def test_dropout_before_the_last_layer(settings: dict, expected: float) -> None:
    assert ClassificationHead(tiny(**settings)).dropout.p == expected


def test_masked_language_head_of_factorised_embeddings() -> None:
    head = redraw(MaskedLMHead(tiny(embedding_size=6, hidden_act="relu", norm_type="rms_norm")))
    inner = (STATES @ head.dense.weight.T + head.dense.bias).clamp(min=0)
    inner = inner / (inner.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * head.norm.weight
    assert_close(head(STATES), inner @ head.decoder.weight.T + head.decoder.bias)
    assert head(STATES).shape == (*MASK.shape, TINY["vocab_size"])


# Losses


def test_cross_entropy_is_the_mean_over_labelled_tokens() -> None:
    logits = draw(3, 5, 7)
    labels = torch.randint(0, 7, (3, 5), generator=torch.Generator().manual_seed(1))
    labels[0, 2:] = labels[2] = -100
    assert_close(cross_entropy(logits, labels), F.cross_entropy(logits.flatten(0, 1), labels.flatten()))


@pytest.mark.parametrize("count", [12, torch.tensor(12)], ids=["number", "tensor"])
def test_cross_entropy_of_a_part_of_a_step_is_its_share(count: int | Tensor) -> None:
    logits, labels = draw(12, 4), torch.arange(12) % 4
    parts = [cross_entropy(logits[i : i + 3], labels[i : i + 3], count) for i in range(0, 12, 3)]
    assert_close(torch.stack(parts).sum(), F.cross_entropy(logits, labels))


@pytest.mark.parametrize("count", [None, 0, torch.tensor(0), 5], ids=["uncounted", "number", "tensor", "elsewhere"])
def test_no_labels_are_no_loss_and_no_gradient(count: int | Tensor | None) -> None:
    logits = draw(2, 5, 7)
    loss = cross_entropy(logits, torch.full((2, 5), -100), count)
    loss.backward()
    assert loss.item() == 0
    assert (logits.grad == 0).all()


def test_losses_are_computed_in_float32() -> None:
    logits, labels = draw(4, 300).detach().bfloat16() * 5, torch.arange(4)
    loss = cross_entropy(logits, labels)
    assert loss.dtype == torch.float32
    assert_close(loss, F.cross_entropy(logits.float(), labels))
    assert abs(loss - F.cross_entropy(logits, labels)) > 1e-4  # what bfloat16 would have made of it


def logits_and_loss(labels: Tensor, count: int | None = None, **settings: Any) -> tuple[Tensor, Tensor, str]:
    model = redraw(ScratchEncoderForSequenceClassification(tiny(**settings))).eval()
    outputs = model(MASK * 7, MASK, labels=labels, num_items_in_batch=count)
    return outputs.logits, outputs.loss, model.config.problem_type


@pytest.mark.parametrize("count", [None, 30])
@pytest.mark.parametrize("told", [True, False], ids=["told", "inferred"])
@pytest.mark.parametrize(
    ("problem_type", "labels", "loss"),
    [
        ("single_label_classification", torch.tensor([2, 0, 3]), F.cross_entropy),
        ("multi_label_classification", (draw(3, 4) > 0).float(), F.binary_cross_entropy_with_logits),
        ("regression", torch.tensor([[0.5], [-2], [3]]), F.mse_loss),
    ],
    ids=["single", "multi", "regression"],
)
def test_classification_losses(
    problem_type: str, labels: Tensor, loss: Callable, told: bool, count: int | None
) -> None:
    num_labels = 1 if problem_type == "regression" else 4
    told_type = problem_type if told else None
    logits, found, remembered = logits_and_loss(labels, count, num_labels=num_labels, problem_type=told_type)
    expected = loss(logits, labels) if count is None else loss(logits, labels, reduction="sum") / count
    assert_close(found, expected)
    assert remembered == problem_type


@pytest.mark.parametrize("labels", [torch.tensor([1.5, -2, 3]), torch.tensor([1, 0, 2])], ids=["floats", "integers"])
def test_numbers_need_no_axis_of_their_own(labels: Tensor) -> None:
    logits, loss, _ = logits_and_loss(labels, num_labels=1)
    assert_close(loss, F.mse_loss(logits[:, 0], labels.float()))


def test_regression_to_several_numbers() -> None:
    labels = draw(3, 4).detach()
    logits, loss, _ = logits_and_loss(labels, num_labels=4, problem_type="regression")
    assert_close(loss, F.mse_loss(logits, labels))


@pytest.mark.parametrize(
    ("num_labels", "labels", "expected"),
    [
        (1, torch.tensor([1]), "regression"),
        (1, torch.tensor([1.0]), "regression"),
        (2, torch.tensor([1]), "single_label_classification"),
        (2, torch.tensor([[1.0, 1.0]]), "multi_label_classification"),
    ],
)
def test_what_labels_are_taken_for(num_labels: int, labels: Tensor, expected: str) -> None:
    assert infer_problem_type(num_labels, labels) == expected


def test_span_loss_is_the_mean_of_both_ends() -> None:
    starts, ends = draw(3, 8), draw(3, 8, seed=1)
    first, last = torch.tensor([0, 3, 7]), torch.tensor([2, 3, 7])
    expected = (F.cross_entropy(starts, first) + F.cross_entropy(ends, last)) / 2
    assert_close(span_loss(starts, ends, first, last), expected)
    assert_close(span_loss(starts, ends, first[:, None], last[:, None]), expected)


def test_spans_outside_the_text_do_not_count() -> None:
    starts, ends = draw(4, 8), draw(4, 8, seed=1)
    first, last = torch.tensor([3, 8, -1, -100]), torch.tensor([5, 8, 12, 7])
    expected = (F.cross_entropy(starts[:1], first[:1]) + F.cross_entropy(ends[[0, 3]], last[[0, 3]])) / 2
    assert_close(span_loss(starts, ends, first, last), expected)


def test_no_span_at_all_is_no_loss_and_no_gradient() -> None:
    starts, ends = draw(2, 8), draw(2, 8, seed=1)
    loss = span_loss(starts, ends, torch.tensor([8, -1]), torch.tensor([-100, 9]))
    loss.backward()
    assert loss.item() == 0
    assert (starts.grad == 0).all()
    assert (ends.grad == 0).all()
