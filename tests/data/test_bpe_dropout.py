# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""BPE-dropout: other tokens, the same text, and at the ends of the scale the tokenizer's own tokens and characters."""

from functools import cache

import numpy as np
import pytest
from transformers import PreTrainedTokenizerBase

from modeling_scratch.data.bpe_dropout import BpeDropout, RespelledPairs, word_numbers
from modeling_scratch.utils.errors import DataError
from tokenization import KINDS

TEXTS = [f"a newer dog {'runs' * (number % 3 + 1)} lower, slower and {number} times" for number in range(60)]
CERTAIN = 1 - 1e-12


@cache
def tokenizer_of(kind: str) -> PreTrainedTokenizerBase:
    return KINDS[kind](TEXTS, 330 if kind == "byte_bpe" else 80, style="marian", show_progress=False)


def respelt(kind: str, probability: float, seed: int = 0, texts: list[str] = TEXTS) -> list[list[int]]:
    tokenizer = tokenizer_of(kind)
    dropout, generator = BpeDropout(tokenizer, probability), np.random.default_rng(seed)
    encoding = tokenizer(texts)
    return [
        dropout.respell(ids, word_numbers(encoding, row), generator) for row, ids in enumerate(encoding["input_ids"])
    ]


@pytest.mark.parametrize("kind", ["byte_bpe", "bpe"])
def test_without_dropout_the_tokens_are_those_of_the_tokenizer(kind: str) -> None:
    assert respelt(kind, 0.0) == tokenizer_of(kind)(TEXTS)["input_ids"]


@pytest.mark.parametrize("kind", ["byte_bpe", "bpe"])
def test_with_certain_dropout_each_token_is_a_character(kind: str) -> None:
    for ids in respelt(kind, CERTAIN):
        *tokens, end = tokenizer_of(kind).convert_ids_to_tokens(ids)
        assert end == tokenizer_of(kind).eos_token
        assert {len(token.removesuffix("</w>")) for token in tokens} == {1}


@pytest.mark.parametrize("kind", ["byte_bpe", "bpe"])
@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_other_tokens_are_the_same_text(kind: str, probability: float) -> None:
    tokenizer = tokenizer_of(kind)
    own = tokenizer(TEXTS)["input_ids"]
    spelt = respelt(kind, probability)
    assert tokenizer.batch_decode(spelt) == tokenizer.batch_decode(own)
    assert spelt != own
    assert spelt != respelt(kind, probability, seed=1)
    assert spelt == respelt(kind, probability)


def test_a_single_merge_is_skipped_with_the_given_probability() -> None:
    tokenizer = KINDS["byte_bpe"](["ab"] * 10, 300, style="marian", show_progress=False)
    encoding = tokenizer(["ab"] * 2000)
    merged = tokenizer("ab")["input_ids"]
    generator = np.random.default_rng(0)
    skipped = 0
    for seed in range(10):  # spellings are drawn once for a word, so that one object knows few of them
        dropout = BpeDropout(tokenizer, 0.3)
        words = [[word + seed for word in word_numbers(encoding, row)[:1]] for row in range(2000)]
        skipped += sum(dropout.respell(merged[:1], row, generator) != merged[:1] for row in words)
    assert 0.2 < skipped / 20_000 < 0.4


def test_unknown_characters_stay_unknown() -> None:
    tokenizer = tokenizer_of("bpe")
    ids = respelt("bpe", 0.5, texts=["漢字"])[0]
    assert ids == tokenizer("漢字")["input_ids"]
    assert tokenizer.unk_token_id in ids


def test_a_tokenizer_without_merges_is_refused() -> None:
    with pytest.raises(DataError, match="--tokenizer_kind byte_bpe"):
        BpeDropout(tokenizer_of("wordlevel"), 0.1)


def collator(max_length: int = 100, seed: int = 0) -> RespelledPairs:
    dropout = BpeDropout(tokenizer_of("byte_bpe"), 0.5)
    return RespelledPairs(lambda rows: {"rows": rows}, dropout, dropout, max_length, seed)


def rows() -> list[dict[str, list[int]]]:
    encoding = tokenizer_of("byte_bpe")(TEXTS)
    ids, words = encoding["input_ids"], [word_numbers(encoding, row) for row in range(len(TEXTS))]
    names = "input_ids", "input_words", "labels", "label_words"
    return [dict(zip(names, (ids[row], words[row], ids[-row], words[-row]))) for row in range(len(TEXTS))]


def test_a_batch_has_the_same_spellings_each_time_and_other_batches_have_others() -> None:
    assert collator()(rows()) == collator()(rows())
    assert collator()(rows())["rows"][0] != collator()(rows()[:30])["rows"][0]
    assert collator()(rows()) != collator(seed=1)(rows())


def test_a_text_that_gets_too_long_keeps_its_tokens() -> None:
    free = collator(max_length=1000)(rows())["rows"]
    limit = int(np.median([len(row["input_ids"]) for row in free]))
    for old, new, kept in zip(rows(), free, collator(max_length=limit)(rows())["rows"]):
        assert kept["input_ids"] == (new if len(new["input_ids"]) <= limit else old)["input_ids"]
