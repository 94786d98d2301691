# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tokenizer of characters knows exactly what it has seen; see test_tokenization.py for what all kinds have."""

import pytest

from tokenization import STYLES, special_token_ids, train_character_tokenizer

TEXTS = ["First Citizen:\nBefore we proceed,\n\n\thear me  speak. ", "naïve 日本 🤗\r\n"]


def train(texts=TEXTS, **options):
    return train_character_tokenizer(texts, **{"show_progress": False, **options})


@pytest.mark.parametrize("style", STYLES)
def test_one_token_a_character_and_back(style):
    tokenizer = train(style=style)
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert len(ids) == len(text)
        assert tokenizer.decode(ids) == text
        assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_ids_run_over_special_tokens_and_characters_in_the_order_of_their_code_points():
    tokenizer = train()
    characters = sorted(set("".join(TEXTS)))
    special = list(STYLES["gpt"].roles.values())
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer))) == [*special, *characters]
    assert special_token_ids(tokenizer) == {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def test_an_unseen_character_is_unknown_and_the_others_keep_their_places():
    encoded = train(["abc"])("aXbé", return_offsets_mapping=True)
    tokenizer = train(["abc"])
    assert encoded["input_ids"] == [4, tokenizer.unk_token_id, 5, tokenizer.unk_token_id]
    assert encoded["offset_mapping"] == [(place, place + 1) for place in range(4)]


def test_where_there_is_little_room_the_most_frequent_characters_are_kept():
    tokenizer = train(["ccc bb  aa d"], vocab_size=4 + 3)
    assert set(tokenizer.get_vocab()) - set(STYLES["gpt"].roles.values()) == {" ", "c", "a"}  # a and b tie
    assert "d" not in train(["ccc d"], min_frequency=2).get_vocab()


def test_normalisation_comes_before_counting():
    assert "A" not in train(["AaB"], lowercase=True).get_vocab()
    composed = train(["e\u0301"], normalization="NFC")
    assert len(composed("e\u0301")["input_ids"]) == len(composed("é")["input_ids"]) == 1
