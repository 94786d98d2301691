# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Static shapes: a filled batch has the loss and the gradients of the plain one, at a few sizes that hold the data."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import CLASSES, DECODER_TEXTS, TEXTS, TINY, TOKENS, WHOLE, Case
from torch import Tensor, nn

from modeling_scratch.data.collators import FlatBatches
from modeling_scratch.fast.static_shapes import MOST_SIZES, MULTIPLE, Size, choose_sizes, fill

PAD, VOCABULARY = 0, int(TINY["vocab_size"])
SIZES = [Size(64, 14, 16), Size(128, 22, 16)]
LENGTHS = st.lists(st.integers(1, 16), min_size=1, max_size=9)
HEADS: dict[str, tuple[Case, dict[str, Any]]] = {
    "first": (TEXTS, {}),
    "mean, rotary": (TEXTS, {"classifier_pooling": "mean", "position_type": "rotary", "norm_position": "pre"}),
    "max, learned": (TEXTS, {"classifier_pooling": "max", "position_type": "learned", "type_vocab_size": 2}),
    "tokens": (TOKENS, {}),
    "decoder": (DECODER_TEXTS, {"position_type": "rotary"}),
}


def flat(lengths: list[int], seed: int = 0, types: bool = False) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    rows = [
        {"input_ids": random.integers(1, VOCABULARY, length).tolist(), "label": int(random.integers(3))}
        for length in lengths
    ]
    return FlatBatches()([{**row, "token_type_ids": [1] * len(row["input_ids"])} if types else row for row in rows])


def model_and_batch(head: str, lengths: list[int]) -> tuple[Any, dict[str, Any]]:
    case, changes = HEADS[head]
    batch = flat(lengths, types="type_vocab_size" in changes)
    if case is TOKENS:
        batch["labels"] = batch["input_ids"] % 3
    return case.model(**WHOLE, **CLASSES, attention_dropout=0.0, **changes).train(), batch


def loss_and_gradients(model: nn.Module, batch: dict[str, Any], call: Any = None) -> dict[str, Tensor]:
    model.zero_grad()
    loss = (model if call is None else call)(**batch).loss
    loss.backward()
    gradients = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    return {"loss": loss.detach(), **gradients}


@settings(max_examples=50)
@given(LENGTHS, st.booleans())
def test_a_filled_batch_has_the_size_and_keeps_each_text(lengths: list[int], types: bool) -> None:
    plain = flat(lengths, types=types)
    filled = fill(plain, SIZES, PAD)
    tokens, size = sum(lengths), next(size for size in SIZES if size.holds(sum(lengths), len(lengths), max(lengths)))
    assert filled.keys() == plain.keys()
    assert filled["input_ids"].shape == filled["position_ids"].shape == (1, size.tokens)
    assert filled["cu_seq_lens_q"].shape == (size.texts + 1,)
    assert filled["labels"].shape == (size.texts,)
    assert filled["max_length_q"] == filled["max_length_k"] == size.longest
    ends, texts = filled["cu_seq_lens_q"], len(lengths)
    assert ends[: texts + 1].equal(plain["cu_seq_lens_q"])
    assert ends[-1] == size.tokens
    assert (ends.diff() >= 0).all()
    assert ends.diff().max() <= size.longest
    for name in plain.keys() & {"input_ids", "position_ids", "token_type_ids"}:
        assert filled[name][:, :tokens].equal(plain[name])
        assert filled[name].dtype == plain[name].dtype
    assert (filled["input_ids"][:, tokens:] == PAD).all()
    assert filled["labels"].tolist() == [*plain["labels"].tolist(), *[-100] * (size.texts - texts)]
    for start, end in pairwise(ends.tolist()):
        assert filled["position_ids"][0, start:end].tolist() == list(range(end - start))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("lengths", [[5, 9, 3], [16, 16, 16, 16], [1]], ids=str)
def test_a_filled_batch_has_the_same_loss_and_gradients(head: str, lengths: list[int], engine: str) -> None:
    model, batch = model_and_batch(head, lengths)
    expected, found = (loss_and_gradients(model, each) for each in (batch, fill(batch, SIZES, PAD)))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


# The mean of texts has a look at their lengths, which cuts the graph.
COMPILED = [
    ("decoder", "eager"),
    *(pytest.param("mean, rotary", backend, marks=pytest.mark.slow) for backend in ("aot_eager", "inductor")),
]


@pytest.mark.parametrize(("head", "backend"), COMPILED)
def test_compiled_code_meets_its_shapes_again(head: str, backend: str) -> None:
    model, _ = model_and_batch(head, [1])
    model.config.num_hidden_layers, model.model.stack.layers = 1, model.model.stack.layers[:1]
    batches = [flat([5, 9, 3]), flat([16] * 5), flat([1, 2]), flat([7] * 10)]
    torch._dynamo.reset()
    compiled = torch.compile(model, dynamic=False, backend=backend)
    loss_and_gradients(model, fill(batches[0], SIZES[1:], PAD), compiled)
    for batch in batches:
        with torch.compiler.set_stance("fail_on_recompile"):
            found = loss_and_gradients(model, fill(batch, SIZES[1:], PAD), compiled)
        torch.testing.assert_close(found, loss_and_gradients(model, batch), rtol=1e-4, atol=1e-5)


def test_the_sizes_have_the_least_padding() -> None:
    lengths, drawn, count = [3, 5, 60, 100, 190], 400, 3
    sizes = choose_sizes(lengths, 4, count=count)
    random = np.random.default_rng(1)
    totals = [int(random.choice(lengths, 4).sum()) for _ in range(drawn)]
    tiles = sorted({-(-total // MULTIPLE) * MULTIPLE for total in totals})

    def filled(chosen: Any) -> int:
        return sum(min(tokens for tokens in chosen if tokens >= total) for total in totals)

    least = min(filled((*chosen, tiles[-1])) for chosen in combinations(tiles[:-1], count - 1))
    assert filled([size.tokens for size in sizes]) <= 1.01 * least  # which these other batches have


@settings(max_examples=25)
@given(st.lists(st.integers(1, 512), min_size=1, max_size=40), st.integers(1, 32), st.integers(1, MOST_SIZES))
def test_sizes_hold_nearly_all_random_batches(lengths: list[int], batch_size: int, count: int) -> None:
    sizes = choose_sizes(lengths, batch_size, count)
    assert 1 <= len(sizes) <= count
    assert sizes == sorted(set(sizes))
    assert all(size.tokens % MULTIPLE == 0 and size.longest == max(lengths) for size in sizes)
    drawn = np.random.default_rng(1).choice(lengths, (500, batch_size))
    held = [any(size.holds(int(texts.sum()), batch_size, int(texts.max())) for size in sizes) for texts in drawn]
    assert np.mean(held) > 0.98
    assert sizes[-1].holds(1, 1, 1)  # the last batch of an epoch


@pytest.mark.parametrize(
    ("name", "value"),
    [("attention_mask", torch.ones(1, 12)), ("seq_idx", torch.zeros(1, 12)), ("inputs_embeds", torch.ones(1, 12, 8))],
)
def test_what_it_cannot_pad_is_refused_by_name(name: str, value: Tensor) -> None:
    with pytest.raises(ValueError, match=rf"{name} \(1, 12.*: a packed batch with it cannot be filled up"):
        fill({**flat([5, 7]), name: value}, SIZES, PAD)


def test_a_batch_that_no_size_holds_and_labels_without_one_to_ignore_stay_as_they_are() -> None:
    for lengths in [16] * 9, [1] * 23, [17]:  # too many tokens, too many texts, a text that is too long
        batch = flat(lengths)
        assert fill(batch, SIZES[:1], PAD) == batch
    for labels in torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.long), torch.ones(2):  # no class numbers
        batch = {**flat([3, 4]), "labels": labels}
        assert fill(batch, SIZES, PAD) == batch
