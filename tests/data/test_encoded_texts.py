# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Texts that are tokenised in slices have the ids that they have in one call."""

import pytest
from transformers import PreTrainedTokenizerBase

from modeling_scratch.data.encoded_texts import SLICE, encode_texts
from modeling_scratch.data.text_pairs import TextPair, parts_of
from tokenization import train_wordlevel_tokenizer

TEXTS = [" ".join(["a", "film"] * (row % 4)) for row in range(SLICE + 7)]


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerBase:
    return train_wordlevel_tokenizer(TEXTS, 20, model_max_length=6)


def test_texts_have_the_ids_of_one_call(tokenizer: PreTrainedTokenizerBase) -> None:
    rows, truncated = encode_texts(TEXTS, tokenizer)
    expected = tokenizer(TEXTS, truncation=True)
    assert {name: rows[name][:] for name in rows.column_names} == dict(expected)
    assert truncated == sum(len(text.split()) > 4 for text in TEXTS)


def test_pairs_stay_pairs_in_a_slice_of_empty_ones(tokenizer: PreTrainedTokenizerBase) -> None:
    texts = [""] * SLICE + [TextPair("a film", "a")]
    rows, truncated = encode_texts(texts, tokenizer)
    assert rows["input_ids"][:1] == tokenizer([""], [""])["input_ids"]
    assert rows["input_ids"][-1] == tokenizer("a film", "a", truncation=True)["input_ids"]
    assert truncated == 0


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_long_text_has_the_ids_of_the_whole(tokenizer: PreTrainedTokenizerBase, side: str) -> None:
    tokenizer.truncation_side = side
    long = "film a " * 3_000
    texts = ["", long, "x" * len(long), TextPair("a film", long), TextPair(long, "film")]
    for number, text in enumerate(texts):
        rows, truncated = encode_texts([text], tokenizer)
        expected = tokenizer(*([part] for part in parts_of(text)), truncation=True)
        assert rows["input_ids"][:] == expected["input_ids"]
        assert truncated == (number not in (0, 2))


def test_a_pair_of_long_texts_is_read_in_little_memory(tokenizer: PreTrainedTokenizerBase) -> None:
    """The tokenizer alone makes a row of each part of one text with each part of the other."""
    rows, truncated = encode_texts([TextPair("film a " * 500, "a film " * 500)], tokenizer)
    expected = tokenizer("film a film a", "a film a film", truncation=True)
    assert (rows["input_ids"][:], truncated) == ([expected["input_ids"]], 1)


def test_a_tag_of_many_words_is_no_part_of_a_text() -> None:
    words = train_wordlevel_tokenizer(TEXTS, 20, model_max_length=6, web_text=True)
    for text in ('<td class="a" id="b"> ' * 300 + "film a " * 300, "a <" + " b" * 300 + "> film"):
        rows, _ = encode_texts([text], words)
        assert rows["input_ids"][:] == words([text], truncation=True)["input_ids"]
