# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Decoders: nobody sees the future, padding or another text, and a cache changes nothing but the time it takes."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    CAUSAL_LM,
    DECODER_TEXTS,
    LENGTHS,
    MASK,
    POSITIONS,
    SEQ2SEQ_LM,
    SWITCHES,
    TINY,
    Case,
    assert_close,
    boundaries,
    draw_ids,
    engines,
    in_turn,
    padded,
    parametrize_cases,
    restarting,
    texts,
)
from torch import Tensor
from transformers import Cache, DynamicCache, StaticCache

IDS = draw_ids()
LENGTH = IDS.shape[1]


def next_tokens(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy by hand, each position against the label after it: the sum over all that count."""
    losses = [
        -row[t].log_softmax(-1)[label_row[t + 1]]
        for row, label_row in zip(logits, labels)
        for t in range(len(label_row) - 1)
        if label_row[t + 1] != -100
    ]
    return torch.stack(losses).sum()


# Caches


def in_steps(model: Any, batch: dict, ends: list[int], cache: Cache | None, prefix: str = "") -> Tensor:
    """Logits of a batch that comes piece by piece, each piece behind the tokens that the cache holds."""
    logits, start, (ids, mask) = [], 0, (f"{prefix}input_ids", f"{prefix}attention_mask")
    for end in ends:
        piece = {**batch, ids: batch[ids][:, start:end], mask: batch[mask][:, :end]}
        outputs = model(**piece, past_key_values=cache, use_cache=True)
        logits.append(outputs.logits)
        cache, start = outputs.past_key_values, end
    assert cache.get_seq_length() == ends[-1]
    return torch.cat(logits, dim=1)


def static(config: Any) -> Cache:
    return StaticCache(config=config, max_cache_len=16)


@in_turn((CAUSAL_LM,), {**POSITIONS, **SWITCHES})
def test_cached_equals_uncached(case: Case, settings: dict) -> None:
    """Prefill, one token at a time, several at a time, and one again; a text is padded on the left, another right.

    Also without a mask, where positions go on from the cache.
    """
    model = case.model(**settings)
    batch, real = {"input_ids": IDS, "attention_mask": MASK}, MASK.bool()
    for cache in None, static(model.config):
        found = in_steps(model, batch, [4, 5, 6, 8, 9], cache)
        assert_close(found[real], model(**batch).logits[real])
    cache = DynamicCache(config=model.config)
    pieces = [model(ids, past_key_values=cache, use_cache=True).logits for ids in (IDS[:, :5], IDS[:, 5:])]
    assert_close(torch.cat(pieces, dim=1), model(IDS).logits)


TWO_TEXTS = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])


def test_a_cache_is_kept_where_it_is_of_use() -> None:
    model = CAUSAL_LM.model(use_cache=True)
    assert isinstance(model(IDS).past_key_values, DynamicCache)
    assert model(IDS, use_cache=False).past_key_values is None
    assert model(IDS, labels=IDS).past_key_values is None
    assert model(IDS[:1], position_ids=TWO_TEXTS).past_key_values is None  # whose next token would it be?
    assert model.train()(IDS).past_key_values is None


@pytest.mark.parametrize("traced", [False, True], ids=["called", "traced"])
def test_packed_sequences_stay_apart_where_a_cache_is_the_rule(traced: bool) -> None:
    """Also in a traced graph, where nobody can look at position_ids, nor does one predict the first of the other."""
    model = CAUSAL_LM.model(use_cache=True, position_type="learned", num_hidden_layers=1)
    parts = IDS[:1, :4], IDS[:1, 4:]
    apart = [model(part).logits for part in parts]
    run: Any = torch.compile(model, backend="eager") if traced else model
    outputs = run(IDS[:1], position_ids=TWO_TEXTS, **({"labels": IDS[:1]} if traced else {}))
    assert_close(outputs.logits, torch.cat(apart, 1))
    if traced:
        assert_close(outputs.loss, sum(next_tokens(*each) for each in zip(apart, parts)) / 7)


# Causality


def changed_after(t: int) -> Tensor:
    return torch.where(torch.arange(LENGTH) > t, IDS % (TINY["vocab_size"] - 1) + 1, IDS)


@pytest.mark.parametrize("backend", ["eager", "sdpa", pytest.param("flex_attention", marks=pytest.mark.slow)])
@parametrize_cases((CAUSAL_LM, SEQ2SEQ_LM))
@torch.no_grad()
def test_the_future_changes_nothing(case: Case, backend: str) -> None:
    model = case.model(position_type="rotary", attn_implementation=backend)
    name = "decoder_input_ids" if case is SEQ2SEQ_LM else "input_ids"
    before = model(**{"input_ids": IDS, name: IDS}).logits
    for t in 0, 3, LENGTH - 2:
        after = model(**{"input_ids": IDS, name: changed_after(t)}).logits
        assert_close(after[:, : t + 1], before[:, : t + 1])
        assert not torch.allclose(after[:, t + 1], before[:, t + 1], atol=1e-3)


# Batches that arrive packed

PACKED_IDS = torch.cat(texts())[None]
PACKED_PLACES = {"position_ids": restarting(LENGTHS)}
FORMS = {
    "positions": PACKED_PLACES,
    "boundaries": boundaries(torch.tensor(LENGTHS)),
    "both": {**PACKED_PLACES, **boundaries(torch.tensor(LENGTHS))},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("position_type", "backend"), [("learned", "eager"), ("rotary", "sdpa")])
def test_packed_sequences_train_as_separate_runs(position_type: str, backend: str, form: dict) -> None:
    """Logits, loss and gradients, though every token has a label: none predicts the first token of another text."""
    settings = {"position_type": position_type, "attn_implementation": backend}
    packed, separate = (CAUSAL_LM.model(**settings).train() for _ in range(2))
    outputs = packed(PACKED_IDS, **form, labels=PACKED_IDS)
    logits = [separate(row[None]).logits for row in texts()]
    assert_close(outputs.logits, torch.cat(logits, dim=1))
    count = sum(LENGTHS) - len(LENGTHS)
    loss = sum(next_tokens(one, row[None]) for one, row in zip(logits, texts()) if len(row) > 1) / count
    assert_close(outputs.loss, loss)
    outputs.loss.backward()
    loss.backward()
    for one, other in zip(packed.parameters(), separate.parameters(), strict=True):
        assert_close(one.grad, other.grad)


# Losses


@engines
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_loss_is_that_of_the_texts_one_by_one(side: str) -> None:
    """Whatever labels padding has, they are ignored, and it predicts nothing: not even the first token of a text."""
    model = CAUSAL_LM.model()
    batch = padded(texts(), side, 11)
    labels = torch.where(batch["attention_mask"].bool(), batch["input_ids"], -100)
    total = sum(next_tokens(model(row[None]).logits, row[None]) for row in texts() if len(row) > 1)
    count = sum(LENGTHS) - len(LENGTHS)
    for given in labels, batch["input_ids"]:
        assert_close(model(**batch, labels=given).loss, total / count)
    items = (labels[:, 1:] != -100).sum()  # by Trainer, which also counts a first token behind padding
    for given in items, int(items):
        assert_close(model(**batch, labels=labels, num_items_in_batch=given).loss, total / items)
    rows = [{name: value[i : i + 1] for name, value in batch.items()} for i in range(len(labels))]
    losses = [model(**row, labels=labels[i : i + 1], num_items_in_batch=items).loss for i, row in enumerate(rows)]
    assert_close(sum(losses), total / items)  # accumulated one by one


def test_labels_are_shifted_once() -> None:
    model = CAUSAL_LM.model()
    labels = IDS.masked_fill(IDS % 4 == 0, -100)
    outputs = model(IDS, labels=labels)
    expected = next_tokens(outputs.logits, labels) / (labels[:, 1:] != -100).sum()
    assert_close(outputs.loss, expected)
    shifted = F.pad(labels[:, 1:], (0, 1), value=-100)
    assert_close(model(IDS, shift_labels=shifted).loss, expected)
    assert_close(model(IDS, labels=IDS, shift_labels=shifted).loss, expected)
    assert_close(model.loss_function(outputs.logits, labels, TINY["vocab_size"]), expected)  # the library's own


def test_logits_to_keep() -> None:
    model = CAUSAL_LM.model()
    expected = model(IDS).logits
    for kept in 0, 1, 4, torch.tensor([0, 3, 8]):
        places = torch.arange(LENGTH)[-kept:] if isinstance(kept, int) else kept
        assert_close(model(IDS, logits_to_keep=kept).logits, expected[:, places])
        labels, following = torch.full_like(IDS, -100), places[places < LENGTH - 1] + 1
        labels[:, following] = IDS[:, following]
        assert_close(model(IDS, labels=IDS, logits_to_keep=kept).loss, model(IDS, labels=labels).loss)


# Classification


def test_without_a_mask_padding_is_known_by_its_token() -> None:
    model = DECODER_TEXTS.model()
    expected = torch.cat([model.score(model.model(row[None]).last_hidden_state[:, -1]) for row in texts()])
    assert_close(model(padded(texts(), "right", 11)["input_ids"]).logits, expected)  # nobody looks to the right
    ids = padded(texts(), "left", 11)["input_ids"]
    assert_close(model(ids).logits, model.score(model.model(ids).last_hidden_state[:, -1]))
    embeds = model.get_input_embeddings()(IDS)
    assert_close(model(inputs_embeds=embeds).logits, model(IDS).logits)
    assert_close(DECODER_TEXTS.model(pad_token_id=None)(IDS).logits, model(IDS).logits)
