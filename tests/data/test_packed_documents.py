# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rows and pieces hold every token once, no document sees another, and workers see the epoch."""

from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from shared import redraw
from text_samples import fault
from torch.utils.data import DataLoader, default_collate

from modeling_scratch import ScratchDecoderForCausalLM, ScratchEncoderForMaskedLM, presets
from modeling_scratch.data.packed_documents import (
    DocumentTokenizer,
    PackedRows,
    Pieces,
    SimilarLengths,
    join,
    template_frame,
)
from tokenization import train_character_tokenizer, train_wordlevel_tokenizer
from tokenization.building import LONG_TEXT

GENERATOR = np.random.default_rng(0)
TEXTS = ["".join(GENERATOR.choice(list("abcdefg \n"), size)) for size in GENERATOR.integers(1, 60, 50)]
TOKENIZER = train_character_tokenizer(TEXTS, show_progress=False)
BOS, EOS = TOKENIZER.bos_token_id, TOKENIZER.eos_token_id
TO_TOKENS = DocumentTokenizer(TOKENIZER, ([BOS], [EOS]))
GENERATED = st.lists(st.text("abcdefg \n", min_size=1, max_size=60), min_size=1, max_size=12)
PAD = TOKENIZER.pad_token_id
SIZES = {"vocab_size": len(TOKENIZER), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


def packed(block_size: int) -> PackedRows:
    return PackedRows(TO_TOKENS(TEXTS), block_size, TOKENIZER.pad_token_id)


def ids_of(texts: list[str]) -> list[list[int]]:
    return [[BOS, *TOKENIZER(text)["input_ids"], EOS] for text in texts]


@given(GENERATED, st.integers(1, 80))
def test_every_token_is_in_a_row_exactly_once_and_positions_restart_at_documents(texts: list[str], size: int) -> None:
    rows = PackedRows(TO_TOKENS(texts), size, PAD)
    parts = [rows[number] for number in range(len(rows))]
    ids = torch.cat([part["input_ids"] for part in parts]).tolist()
    expected = [*chain(*ids_of(texts))]
    assert ids == expected + [PAD] * rows.padding
    assert rows.padding < size
    assert rows.ids.tolist() == expected
    for part in parts:
        positions = part["position_ids"].tolist()
        for place, token in enumerate(part["input_ids"].tolist()):
            restarts = place == 0 or token in (BOS, PAD)
            assert positions[place] == (0 if restarts else positions[place - 1] + 1)


@given(GENERATED, st.integers(1, 80))
def test_pieces_are_the_documents_cut_evenly(texts: list[str], longest: int) -> None:
    pieces = Pieces(TO_TOKENS(texts), longest)
    documents = ids_of(texts)
    assert pieces.ids.tolist() == [*chain(*documents)]
    assert pieces.lengths.max() <= longest
    assert [len(pieces[number]["input_ids"]) for number in range(len(pieces))] == pieces.lengths.tolist()
    assert len(pieces) == sum(-(-len(ids) // longest) for ids in documents)


@pytest.mark.parametrize("family", ["decoder", "encoder"])
def test_no_document_sees_another(family: str) -> None:
    if family == "decoder":
        model = ScratchDecoderForCausalLM(presets.characters(**SIZES))
    else:
        model = ScratchEncoderForMaskedLM(presets.bert(**SIZES, max_position_embeddings=64, type_vocab_size=0))
    redraw(model).eval()
    rows = packed(64)
    batch = default_collate([rows[number] for number in range(4)])
    ids, positions = batch["input_ids"], batch["position_ids"]
    with torch.no_grad():
        logits = model(input_ids=ids, position_ids=positions).logits.flatten(0, 1)
        starts = (positions.flatten() == 0).nonzero().flatten().tolist()
        for start, end in zip(starts, [*starts[1:], ids.numel()]):
            alone = model(ids.flatten()[None, start:end]).logits[0]
            torch.testing.assert_close(logits[start:end], alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_long_document_is_tokenised_in_parts_and_is_one_document(end: str) -> None:
    text = "".join(f"line_{number}_abc{end}" for number in range(LONG_TEXT // 4))
    tokens = join(list(TO_TOKENS([text, "abc"])))
    assert tokens.documents.sum() == 2
    assert TOKENIZER.decode(tokens.ids[1 : len(text) + 1]) == TOKENIZER.decode(TOKENIZER(text)["input_ids"])
    assert (tokens.ids == BOS).sum() == (tokens.ids == EOS).sum() == 2


def test_special_tokens_in_a_text_are_text_and_a_text_of_no_token_is_an_error() -> None:
    assert (join(list(TO_TOKENS(["a<|eos|>b"]))).ids == EOS).sum() == 1
    tokenizer = train_wordlevel_tokenizer(["abc"], 50, normalization=None, show_progress=False)
    with fault("no token"):
        list(DocumentTokenizer(tokenizer, ([], []))([" "]))


@pytest.mark.parametrize("style", ["bert", "roberta", "bart", "marian", "gpt"])
def test_the_frame_is_what_the_tokenizer_puts_around_a_text(style: str) -> None:
    tokenizer = train_wordlevel_tokenizer(["some words"], 50, style=style, show_progress=False)
    before, after = template_frame(tokenizer)
    text = tokenizer("some words", add_special_tokens=False)["input_ids"]
    assert tokenizer("some words")["input_ids"] == [*before, *text, *after]


def test_workers_that_stay_see_the_epoch_change() -> None:
    rows = packed(64)
    loader = DataLoader(rows, batch_size=None, num_workers=1, persistent_workers=True)
    first = [int(row["number"]) for row in loader]
    rows.set_epoch(1)
    second = [int(row["number"]) for row in loader]
    assert first == list(range(len(rows)))
    assert second == [number + len(rows) for number in first]


def test_batches_are_of_similar_lengths_and_in_an_order_of_the_epoch() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 1_003)
    sampler = SimilarLengths(lengths, batch_size=8, seed=0)
    order = list(sampler)
    assert sorted(order) == list(range(1_003))
    spread = [np.ptp(lengths[order[start : start + 8]]) for start in range(0, 1_000, 8)]
    assert np.mean(spread) < 5
    assert order == list(sampler)
    sampler.set_epoch(1)
    assert order != list(sampler)
