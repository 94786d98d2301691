# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tokenizer of characters gives back every text, knows exactly what it has seen, and loads anywhere."""

from pathlib import Path

import pytest
from conftest import run_without_package

from tokenization import KINDS, STYLES, special_token_ids, train_character_tokenizer

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


def test_a_special_token_in_a_text_is_text_where_that_is_asked_for():
    tokenizer = train(["<|eos|>abc"])
    assert tokenizer("a<|eos|>")["input_ids"][1:] == [tokenizer.eos_token_id]
    ids = tokenizer("a<|eos|>", split_special_tokens=True)["input_ids"]
    assert tokenizer.eos_token_id not in ids
    assert tokenizer.decode(ids) == "a<|eos|>"


def test_where_there_is_little_room_the_most_frequent_characters_are_kept():
    tokenizer = train(["ccc bb  aa d"], vocab_size=4 + 3)
    assert set(tokenizer.get_vocab()) - set(STYLES["gpt"].roles.values()) == {" ", "c", "a"}  # a and b tie
    assert "d" not in train(["ccc d"], min_frequency=2).get_vocab()


def test_normalisation_comes_before_counting():
    assert "A" not in train(["AaB"], lowercase=True).get_vocab()
    composed = train(["e\u0301"], normalization="NFC")
    assert len(composed("e\u0301")["input_ids"]) == len(composed("é")["input_ids"]) == 1


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        ([], {}, "no words"),
        (["abc"], {"vocab_size": 4}, "at least 5"),
        (["abc"], {"vocab_size": 0}, "vocab_size=0"),
        (["abc"], {"style": "t5"}, "choices are"),
        (["\ud800"], {}, "surrogate"),
    ],
)
def test_what_cannot_be_trained_is_refused(texts, options, said):
    with pytest.raises(ValueError, match=said):
        train(texts, **options)


def test_a_single_text_is_no_corpus():
    with pytest.raises(TypeError, match=r"\[text\]"):
        train("abc")


@pytest.mark.slow
def test_it_is_one_of_the_kinds_and_loads_where_the_project_is_not_installed(tmp_path: Path):
    KINDS["character"](TEXTS, 100, show_progress=False).save_pretrained(tmp_path)
    code = """
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
text = "hear \\n  me"
print(tokenizer.decode(tokenizer(text)["input_ids"]) == text)
"""
    assert run_without_package(code, str(tmp_path)).strip() == "True"
