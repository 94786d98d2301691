# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is masked, cut out and shuffled: shares, places, whole words, and that the text can be had back."""

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from modeling_scratch.data.collators import (
    Denoise,
    MaskTokens,
    infilling_lengths,
    next_token_batch,
    place_spans,
    replace_spans,
    sentence_ends,
    shuffle_sentences,
)
from modeling_scratch.data.packed_documents import IGNORED, DocumentTokenizer, PackedRows, Pieces, template_frame
from tokenization import KINDS

WORDS = "the quick brown foxes aren't jumping over lazily sleeping dogs, unbelievably"
TEXTS = [f"{WORDS} {number}. A second sentence! {WORDS[: number % 50]}" for number in range(40)]


@cache
def tokenizer_of(kind: str, style: str = "bert"):
    return KINDS[kind](TEXTS, 330 if kind == "byte_bpe" else 120, style=style, show_progress=False)


def rows_of(kind: str, block_size: int = 64) -> PackedRows:
    tokenizer = tokenizer_of(kind)
    to_tokens = DocumentTokenizer(tokenizer, template_frame(tokenizer), whole_words=True)
    return PackedRows(to_tokens(TEXTS), block_size, tokenizer.pad_token_id)


def masker(kind: str, **options) -> MaskTokens:
    tokenizer = tokenizer_of(kind)
    ordinary = np.ones(len(tokenizer), dtype=bool)
    ordinary[tokenizer.all_special_ids] = False
    settings = {"mask_token_id": tokenizer.mask_token_id, "ordinary": ordinary, "fraction": 0.15, "seed": 0}
    return MaskTokens(**settings | options)


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_is_exact_and_special_tokens_are_never_masked(kind: str) -> None:
    rows, mask = rows_of(kind), masker(kind)
    batch = [rows[number] for number in range(len(rows))]
    ids, made = torch.stack([row["input_ids"] for row in batch]), mask(batch)
    chosen = made["labels"] != IGNORED
    ordinary = torch.from_numpy(mask.ordinary)
    assert torch.equal(made["labels"][chosen], ids[chosen])
    assert ordinary[made["labels"][chosen]].all()
    assert torch.equal(made["input_ids"][~chosen], ids[~chosen])
    longest_word = 14
    assert abs(chosen.sum() - 0.15 * ordinary[ids].sum()) <= longest_word

    masked = (made["input_ids"] == mask.mask_token_id) & chosen
    assert masked.sum() == round(0.8 * int(chosen.sum()))
    others = made["input_ids"][chosen & ~masked]
    assert ordinary[others].all()
    changed = (made["input_ids"] != ids) & chosen & ~masked
    assert changed.sum() <= len(others) // 2 + 1


@pytest.mark.parametrize("kind", ["byte_bpe", "bpe"])
def test_words_are_masked_whole_or_not_at_all(kind: str) -> None:
    row, masks = rows_of(kind, block_size=4096)[0], masker(kind)
    ids = row["input_ids"].numpy()
    chosen = (masks([row])["labels"] != IGNORED)[0].numpy()
    words = np.split(np.arange(len(ids)), np.flatnonzero(row["word_starts"].numpy())[1:])
    assert any(len(word) > 1 for word in words)
    for word in words:
        assert len(set(chosen[word])) == 1
        assert masks.ordinary[ids[word]].all() or len(word) == 1
    spelt = {tokenizer_of(kind).decode(ids[word]).strip() for word in words}
    assert {"quick", "brown", "unbelievably"} <= spelt
    assert {"quickbrown", "dogs,"}.isdisjoint(spelt)


def test_noise_follows_from_the_seed_the_rows_and_the_epoch_alone() -> None:
    rows = rows_of("byte_bpe")
    batch = [rows[3], rows[1]]
    first = masker("byte_bpe")(batch)
    assert torch.equal(first["input_ids"], masker("byte_bpe")(batch)["input_ids"])
    assert not torch.equal(first["labels"], masker("byte_bpe", seed=1)(batch)["labels"])
    rows.set_epoch(1)
    assert not torch.equal(first["labels"], masker("byte_bpe")([rows[3], rows[1]])["labels"])


def test_the_next_token_is_that_of_the_document() -> None:
    rows = rows_of("wordlevel", block_size=16)
    made = next_token_batch([rows[number] for number in range(len(rows))])
    ids, targets = made["input_ids"].flatten(), made["shift_labels"].flatten()
    inside = targets != IGNORED
    assert torch.equal(targets[:-1][inside[:-1]], ids[1:][inside[:-1]])
    documents = int((ids == tokenizer_of("wordlevel").cls_token_id).sum())
    assert (~inside).sum() == documents + rows.padding


@given(st.integers(1, 600), st.floats(0.05, 0.6), st.integers(0, 9))
def test_an_infilled_text_is_the_text_with_its_spans_back_in(tokens: int, fraction: float, seed: int) -> None:
    """The spans lie apart, and have the share."""
    random, ids = np.random.default_rng(seed), np.arange(100, 100 + tokens, dtype=np.int32)
    lengths = infilling_lengths(tokens, fraction, random)
    starts = place_spans(tokens, lengths, random)
    budget = round(fraction * tokens)
    is_cut = len(lengths) == min(budget, tokens - budget + 1)  # more spans would lengthen the text, or not fit
    assert lengths.sum() == budget or (is_cut and lengths.sum() < budget)
    assert (starts[1:] > (starts + lengths)[:-1]).all()
    damaged = replace_spans(ids, starts, lengths, 1)
    assert (damaged == 1).sum() == len(lengths)
    assert len(damaged) <= tokens
    spans = iter([ids[start : start + length] for start, length in zip(starts, lengths)])
    rebuilt = [token for place in damaged for token in (next(spans) if place == 1 else [place])]
    assert rebuilt == ids.tolist()


def test_lengths_of_masked_spans_are_poisson_of_mean_3_and_their_places_uniform() -> None:
    random = np.random.default_rng(0)
    lengths = infilling_lengths(200_000, 0.3, random)
    assert lengths.mean() == pytest.approx(3, abs=0.05)
    assert lengths.var() == pytest.approx(3, abs=0.1)
    assert (lengths == 0).mean() == pytest.approx(np.exp(-3), abs=0.005)
    starts = np.concatenate([place_spans(30, np.array([2, 1, 3]), random) for _ in range(2_000)])
    hits = np.bincount(starts, minlength=30)[:27]
    assert hits.min() > 0.5 * hits.mean()


def test_sentences_change_places_and_stay_whole() -> None:
    tokenizer = tokenizer_of("byte_bpe")
    text = "A first one. Is it a second?! The third... and the last"
    ids = np.array(tokenizer(text, add_special_tokens=False)["input_ids"])
    ends, random = sentence_ends(tokenizer), np.random.default_rng(0)
    seen = {tokenizer.decode(shuffle_sentences(ids, ends, random)) for _ in range(300)}
    parts = ["A first one.", " Is it a second?!", " The third...", " and the last"]
    assert len(seen) == 24
    assert all(sorted(shown) == sorted(text) and all(part in shown for part in parts) for shown in seen)


def test_infilling_predicts_the_text_itself() -> None:
    tokenizer = tokenizer_of("byte_bpe", "bart")
    frame = template_frame(tokenizer)
    to_tokens = DocumentTokenizer(tokenizer, ([], []))
    pieces = Pieces(to_tokens(TEXTS), 40)
    collate = Denoise(tokenizer.mask_token_id, sentence_ends(tokenizer), 0.3, frame, tokenizer.pad_token_id, seed=0)
    rows = [pieces[number] for number in range(len(pieces))]
    batch = collate(rows)
    for row, labels in zip(rows, batch["labels"]):
        assert labels[labels != IGNORED].tolist() == [*frame[0], *row["input_ids"].tolist(), *frame[1]]
    assert torch.equal(batch["attention_mask"] == 0, batch["input_ids"] == tokenizer.pad_token_id)
    assert batch["input_ids"].shape[1] <= 42
    masks = (batch["input_ids"] == tokenizer.mask_token_id).sum() / sum(len(row["input_ids"]) for row in rows)
    assert masks == pytest.approx(0.1, abs=0.02)
    assert torch.equal(collate(rows[5:6])["input_ids"], collate(rows[5:6])["input_ids"])
