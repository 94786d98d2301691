# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Embeddings of pairs and triples of tokens: which ones a text has, wherever it stands in a batch."""

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import redraw
from huggingface_hub.errors import StrictDataclassError
from model_cases import MASK, TINY, assert_close, tiny
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from modeling_scratch import ScratchEncoderForSequenceClassification, export_pretrained, fast

WORDS = range(1, 6)  # the tokens of these texts; the tables have each pair of them and each third triple
PAIRS = [(a, b) for a in WORDS for b in WORDS]
KNOWN = [*PAIRS, *[(a, *pair) for a in WORDS for pair in PAIRS][::3]]
SETTINGS: dict[str, Any] = {
    "ngram_vocab_size": 100, "position_type": "rotary", "norm_position": "pre", "classifier_pooling": "mean",
}  # fmt: skip


def key(tokens: tuple[int, ...]) -> int:
    return sum((token + 1) << 21 * back for back, token in enumerate(reversed(tokens)))


def filled(model: Any) -> Any:
    model = redraw(model).eval()
    keys = torch.tensor(sorted(map(key, KNOWN)))
    ngrams = model.base_model.embeddings.ngrams
    ngrams.keys[-len(keys) :] = keys
    with torch.no_grad():
        ngrams.table.weight[0] = 0
    return model


@pytest.fixture(scope="module")
def model() -> Any:
    return filled(ScratchEncoderForSequenceClassification(tiny(**SETTINGS)))


def draw(*shape: int) -> Tensor:
    return torch.randint(1, 6, shape, generator=torch.Generator().manual_seed(0))


def test_each_token_has_the_ngrams_that_end_with_it(model: Any) -> None:
    layer, ids = model.model.embeddings, draw(2, 12)
    rows = {number: row for row, number in enumerate(layer.ngrams.keys.tolist(), start=1) if number}
    expected = layer.tokens.weight[ids].clone()
    for text, tokens in enumerate(ids.tolist()):
        for end in range(2, 13):
            for ngram in {tuple(tokens[end - 2 : end]), tuple(tokens[max(0, end - 3) : end])}:
                if ngram in KNOWN:
                    expected[text, end - 1] += layer.ngrams.table.weight[rows[key(ngram)]]
    assert_close(layer.embed_tokens(ids, torch.arange(12)[None]), expected)


def test_padding_on_either_side_and_masked_tokens_change_nothing(model: Any, engine: str) -> None:
    ids, mask = draw(*MASK.shape), MASK.clone()
    mask[0, 3] = 0
    answers = model(ids, mask).logits
    assert_close(model(ids.where(mask.bool(), 5), mask).logits, answers)
    for text in (1, 2):
        assert_close(model(ids[text, MASK[text].bool()][None]).logits[0], answers[text])


def test_texts_that_arrive_packed_have_no_ngrams_in_common(model: Any, engine: str) -> None:
    ids = draw(3, 8)
    positions = torch.arange(8).repeat(3)[None]
    assert_close(model(ids.view(1, -1), position_ids=positions).logits, model(ids).logits)


def test_both_engines_have_the_same_gradients(model: Any) -> None:
    """With a hidden token between two that are read."""
    mask = MASK.clone()
    mask[0, 3] = 0

    def gradients() -> list[Tensor]:
        model.zero_grad()
        model(draw(*MASK.shape), mask, labels=torch.tensor([0, 1, 2])).loss.backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    ours = gradients()
    with fast.disabled():
        assert_close(gradients(), ours)
    assert not model.model.embeddings.ngrams.table.weight.grad[0].any()  # of the n-grams that the table lacks


def test_a_saved_model_knows_its_ngrams(model: Any, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert torch.equal(loaded.model.embeddings.ngrams.keys, model.model.embeddings.ngrams.keys)
    assert_close(loaded(draw(2, 9)).logits, model(draw(2, 9)).logits)
    with pytest.raises(ValueError, match="ngram_vocab_size"):
        export_pretrained(model, tmp_path / "native")


def test_an_exported_graph_takes_other_lengths(model: Any) -> None:
    batch, length = (torch.export.Dim(name, min=2, max=30) for name in ("batch", "length"))
    shapes = {"input_ids": {0: batch, 1: length}}
    graph = torch.export.export(model, (), {"input_ids": draw(3, 7)}, dynamic_shapes=shapes).module()
    assert_close(graph(input_ids=draw(4, 11)).logits, model(draw(4, 11)).logits)


def test_embeddings_that_a_caller_gives_do_not_tell_the_ngrams(model: Any) -> None:
    with pytest.raises(ValueError, match=r"inputs_embeds.*give input_ids"):
        model(inputs_embeds=torch.zeros(1, 4, TINY["hidden_size"]))


@pytest.mark.parametrize("length", [1, 3])
def test_a_first_token_has_no_ngram_wherever_positions_start(model: Any, length: int) -> None:
    layer = model.model.embeddings
    ids, positions = torch.full((1, length), 1), torch.arange(length)[None]
    for start in (1, 2):
        assert_close(layer.embed_tokens(ids, positions + start), layer.embed_tokens(ids, positions))


@pytest.mark.parametrize(("setting", "value"), [("ngram_vocab_size", -1), ("vocab_size", 2**21)])
def test_sizes_out_of_range_are_refused(setting: str, value: int) -> None:
    with pytest.raises(StrictDataclassError, match=f"{setting}={value}"):
        tiny(**{**SETTINGS, setting: value})
