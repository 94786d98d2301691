# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pooling sees real tokens alone, and losses are torch's, counted the way a training step needs them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    CAUSAL_LM,
    DECODER_TEXTS,
    HEADS,
    LENGTHS,
    MASK,
    MASKED_LM,
    TEXTS,
    TINY,
    TOKENS,
    Case,
    assert_close,
    draw_ids,
    engines,
    low_thresholds,  # noqa: F401  (a fixture)
    padded,
    parametrize_cases,
    texts,
    tiny,
)
from shared import redraw
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from modeling_scratch import ScratchEncoderForSequenceClassification
from modeling_scratch.heads import cross_entropy, pooled_output, span_loss
from modeling_scratch.inputs import Inputs

IDS = draw_ids()
STATES = torch.randn(*MASK.shape, TINY["hidden_size"], generator=torch.Generator().manual_seed(1))
REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda tokens: tokens[0],
    "last": lambda tokens: tokens[-1],
    "mean": lambda tokens: tokens.mean(0),
    "max": lambda tokens: tokens.max(0).values,
}
every_pooling = pytest.mark.parametrize("pooling", REDUCTIONS)


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def pool(states: Tensor, pooling: str, **inputs: Any) -> Tensor:
    """Of a base model whose hidden states these are."""
    base: Any = lambda **_: BaseModelOutput(states)  # noqa: E731
    base.config = tiny()
    return pooled_output(base, Inputs(inputs_embeds=states, **inputs), pooling)[0]


@every_pooling
def test_a_text_is_pooled_from_its_real_tokens(pooling: str) -> None:
    """Padded on neither side, on the right and on the left; negative states, so that zeros would win a maximum."""
    states = torch.where(MASK.bool()[..., None], STATES - 10, 1e6)
    expected = [REDUCTIONS[pooling](text[real]) for text, real in zip(states, MASK.bool())]
    assert_close(pool(states, pooling, attention_mask=MASK), torch.stack(expected))
    expected = [REDUCTIONS[pooling](text) for text in STATES]
    assert_close(pool(STATES, pooling, attention_mask=torch.ones_like(MASK)), torch.stack(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@every_pooling
def test_a_text_of_no_tokens_is_zeros(pooling: str, dtype: torch.dtype) -> None:
    states = STATES.to(dtype, copy=True).requires_grad_()
    mask = MASK.clone()
    mask[1] = 0
    pooled = pool(states, pooling, attention_mask=mask)
    assert (pooled[1] == 0).all()
    assert torch.equal(pooled[[0, 2]], pool(states, pooling, attention_mask=MASK)[[0, 2]])
    pooled.sum().backward()
    assert states.grad.isfinite().all()
    assert (states.grad[1] == 0).all()


@every_pooling
def test_a_text_that_overflows_spoils_no_other_in_its_row(pooling: str) -> None:
    states = STATES[:1].repeat(1, 2, 1)[:, :10]
    states[:, 4:7] = torch.nan
    pooled = pool(states, pooling, cu_seq_lens=torch.tensor([0, 3, 4, 7, 10]))
    assert pooled.isnan().all(-1).tolist() == [False, False, True, False]
    long = torch.full((1, 4096, 2), 20.0, dtype=torch.float16)  # the sum of which does not fit 16 bits
    assert torch.equal(pool(long, pooling, attention_mask=torch.ones(1, 4096)), long[:, 0])


@pytest.mark.parametrize("case", [CAUSAL_LM, MASKED_LM], ids=["causal_lm", "masked_lm"])
def test_a_head_may_be_wider_than_the_embeddings(case: Case, tmp_path: Path) -> None:
    model = case.model(embedding_size=6, output_embedding_size=16, tie_word_embeddings=False)
    table = model.get_output_embeddings()
    assert table.weight.shape == (64, 16)
    states = model.model(IDS, MASK).last_hidden_state
    if case is MASKED_LM:
        states = model.lm_head.norm(model.lm_head.dense(states).relu())
    expected = states @ table.weight.T + (0 if table.bias is None else table.bias)
    assert_close(model(IDS, MASK).logits[MASK.bool()], expected[MASK.bool()])
    model.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path).eval()
    assert torch.equal(again(IDS, MASK).logits, model(IDS, MASK).logits)


# Losses of any head


def test_cross_entropy_is_the_mean_over_labelled_tokens() -> None:
    """Of a part of a step, its share; in float32, whatever the logits are in."""
    logits, labels = draw(12, 4), torch.where(torch.arange(12) % 5 > 0, torch.arange(12) % 4, -100)
    expected = F.cross_entropy(logits, labels)
    assert_close(cross_entropy(logits.view(3, 4, 4), labels.view(3, 4)), expected)
    for count in 9, torch.tensor(9):
        parts = [cross_entropy(logits[i : i + 3], labels[i : i + 3], count) for i in range(0, 12, 3)]
        assert_close(torch.stack(parts).sum(), expected)
    half, labels = draw(4, 300).detach().bfloat16() * 5, torch.arange(4)
    assert_close(cross_entropy(half, labels), F.cross_entropy(half.float(), labels))


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


def test_span_loss_is_the_mean_of_both_ends() -> None:
    """Of answers within the text: what lies outside, or in the padding, does not count."""
    starts, ends, mask = draw(5, 8), draw(5, 8, seed=1), torch.ones(5, 8)
    mask[4, 5:] = 0
    first, last = torch.tensor([3, 8, -1, -100, 6]), torch.tensor([5, 8, 12, 7, 6])
    expected = (F.cross_entropy(starts[:1], first[:1]) + F.cross_entropy(ends[[0, 3]], last[[0, 3]])) / 2
    assert_close(span_loss(starts, ends, first, last, mask), expected)
    assert_close(span_loss(starts, ends, first[:, None], last[:, None], mask), expected)


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
@pytest.mark.parametrize("told", [True, False], ids=["told", "inferred"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_classification_losses(name: str, told: bool) -> None:
    """Those of torch, without a warning, and the config remembers which one it was."""
    (labels, loss), problem_type = PROBLEMS[name], name.split()[0]
    several = "several" in name
    num_labels = 1 if problem_type == "regression" and not several else 4
    settings = {"num_labels": num_labels, "problem_type": problem_type if told or several else None}
    model = redraw(ScratchEncoderForSequenceClassification(tiny(**settings))).eval()
    outputs = model(IDS, MASK, labels=labels)
    target = labels if problem_type != "regression" else labels.float().view_as(outputs.logits)
    assert_close(outputs.loss, loss(outputs.logits, target))
    of_a_step = model(IDS, MASK, labels=labels, num_items_in_batch=30).loss
    assert_close(of_a_step, loss(outputs.logits, target, reduction="sum") / 30)
    assert model.config.problem_type == problem_type


@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.uint8], ids=str)
@parametrize_cases(HEADS)
def test_labels_of_any_whole_number_count_the_same(case: Case, dtype: torch.dtype) -> None:
    """NumPy on Windows and Arrow make them of 32 bits."""
    model, batch = case.model(), case.batch()
    names = batch.keys() - case.inputs().keys()
    small = {name: batch[name].clamp(min=0).to(dtype) for name in names}
    long = {name: value.long() for name, value in small.items()}
    inputs = {name: value for name, value in case.inputs().items() if not name.startswith("decoder")}
    losses = [model(**inputs, **labels).loss for labels in (small, long)]
    torch.testing.assert_close(*losses, rtol=0, atol=0)


@pytest.mark.usefixtures("low_thresholds")
@engines
@parametrize_cases((TEXTS, TOKENS))
def test_classifiers_drop_what_their_last_layer_reads(case: Case) -> None:
    """The mean over many draws is what is said without dropout, since the last layer is linear."""
    model = case.model(classifier_dropout=0.5)
    inputs = {name: value[:1] for name, value in case.inputs().items()}  # of the text without padding
    with torch.no_grad():
        expected = model(**inputs).logits
        model.train()
        torch.manual_seed(0)
        draws = torch.stack([model(**inputs).logits for _ in range(100)])
    assert draws.std(0).min() > 0
    error = (draws.mean(0) - expected).abs() / (draws.std(0) / 10)
    assert error.mean() < 1.5  # in standard errors, whose mean is 0.8


# Tokens


def test_sparse_prediction_sends_the_labelled_tokens_alone_through_the_head() -> None:
    batch = MASKED_LM.batch()
    labelled = batch["labels"] != -100
    everywhere, sparse = (MASKED_LM.model(sparse_prediction=choice) for choice in (False, True))
    expected, found = everywhere(**batch), sparse(**batch)
    torch.testing.assert_close(found.loss, expected.loss)
    torch.testing.assert_close(found.logits, expected.logits[labelled])
    expected.loss.backward()
    found.loss.backward()
    for one, other in zip(everywhere.parameters(), sparse.parameters()):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4)
    unlabelled = {name: value for name, value in batch.items() if name != "labels"}
    assert sparse(**unlabelled).logits.shape[:2] == labelled.shape
    assert sparse(**unlabelled, labels=torch.full_like(batch["labels"], -100)).loss == 0


def next_tokens(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy by hand, each position against the label after it: the sum over all that count."""
    losses = [
        -row[t].log_softmax(-1)[label_row[t + 1]]
        for row, label_row in zip(logits, labels)
        for t in range(len(label_row) - 1)
        if label_row[t + 1] != -100
    ]
    return torch.stack(losses).sum()


@engines
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_loss_of_a_decoder_is_that_of_the_texts_one_by_one(side: str) -> None:
    """Whatever labels padding has, they are ignored, and it predicts nothing: not even the first token of a text."""
    model = CAUSAL_LM.model()
    batch = padded(texts(), side, 11)
    labels = torch.where(batch["attention_mask"].bool(), batch["input_ids"], -100)
    total = sum(next_tokens(model(row[None]).logits, row[None]) for row in texts() if len(row) > 1)
    for given in labels, batch["input_ids"]:
        assert_close(model(**batch, labels=given).loss, total / (sum(LENGTHS) - len(LENGTHS)))
    items = (labels[:, 1:] != -100).sum()  # by Trainer, which also counts a first token behind padding
    for given in items, int(items):
        assert_close(model(**batch, labels=labels, num_items_in_batch=given).loss, total / items)


def test_labels_of_a_decoder_are_shifted_once_and_kept_logits_with_them() -> None:
    model, length = CAUSAL_LM.model(), IDS.shape[1]
    labels = IDS.masked_fill(IDS % 4 == 0, -100)
    logits = model(IDS).logits
    expected = next_tokens(logits, labels) / (labels[:, 1:] != -100).sum()
    shifted = F.pad(labels[:, 1:], (0, 1), value=-100)
    for given in {"labels": labels}, {"shift_labels": shifted}, {"labels": IDS, "shift_labels": shifted}:
        assert_close(model(IDS, **given).loss, expected)
    assert_close(model.loss_function(logits, labels, TINY["vocab_size"]), expected)  # the library's own
    for kept in 0, 1, 4, torch.tensor([0, 3, 8]):
        places = torch.arange(length)[-kept:] if isinstance(kept, int) else kept
        assert_close(model(IDS, logits_to_keep=kept).logits, logits[:, places])
        labels, following = torch.full_like(IDS, -100), places[places < length - 1] + 1
        labels[:, following] = IDS[:, following]
        assert_close(model(IDS, labels=IDS, logits_to_keep=kept).loss, model(IDS, labels=labels).loss)


def test_without_a_mask_padding_is_known_by_its_token() -> None:
    model = DECODER_TEXTS.model()
    expected = torch.cat([model.score(model.model(row[None]).last_hidden_state[:, -1]) for row in texts()])
    assert_close(model(padded(texts(), "right", 11)["input_ids"]).logits, expected)  # nobody looks to the right
    ids = padded(texts(), "left", 11)["input_ids"]
    assert_close(model(ids).logits, model.score(model.model(ids).last_hidden_state[:, -1]))
    embeds = model.get_input_embeddings()(IDS)
    assert_close(model(inputs_embeds=embeds).logits, model(IDS).logits)
    assert_close(DECODER_TEXTS.model(pad_token_id=None)(IDS).logits, model(IDS).logits)
