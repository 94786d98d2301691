# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rows and pieces hold every token once; what is masked, cut out and shuffled can be had back; texts in slices."""

from functools import cache
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from shared import redraw
from text_samples import fault
from torch.utils.data import DataLoader, default_collate
from transformers import PreTrainedTokenizerBase

from modeling_scratch import ScratchDecoderForCausalLM, ScratchEncoderForMaskedLM, presets
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
from modeling_scratch.data.encoded_texts import SLICE, encode_texts
from modeling_scratch.data.packed_documents import (
    IGNORED,
    DocumentTokenizer,
    PackedRows,
    Pieces,
    SimilarLengths,
    join,
    template_frame,
)
from modeling_scratch.data.text_pairs import TextPair, parts_of
from tokenization import KINDS, train_character_tokenizer, train_wordlevel_tokenizer
from tokenization.training import LONG_TEXT

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


WORDS = "the quick brown foxes aren't jumping over lazily sleeping dogs, unbelievably"
SENTENCES = [f"{WORDS} {number}. A second sentence! {WORDS[: number % 50]}" for number in range(40)]


@cache
def tokenizer_of(kind: str, style: str = "bert"):
    return KINDS[kind](SENTENCES, 330 if kind == "byte_bpe" else 120, style=style, show_progress=False)


def rows_of(kind: str, block_size: int = 64) -> PackedRows:
    tokenizer = tokenizer_of(kind)
    to_tokens = DocumentTokenizer(tokenizer, template_frame(tokenizer), whole_words=True)
    return PackedRows(to_tokens(SENTENCES), block_size, tokenizer.pad_token_id)


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
    pieces = Pieces(to_tokens(SENTENCES), 40)
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


FILMS = [" ".join(["a", "film"] * (row % 4)) for row in range(SLICE + 7)]


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerBase:
    return train_wordlevel_tokenizer(FILMS, 20, model_max_length=6)


def test_texts_have_the_ids_of_one_call(tokenizer: PreTrainedTokenizerBase) -> None:
    rows, truncated = encode_texts(FILMS, tokenizer)
    expected = tokenizer(FILMS, truncation=True)
    assert {name: rows[name][:] for name in rows.column_names} == dict(expected)
    assert truncated == sum(len(text.split()) > 4 for text in FILMS)


def test_pairs_stay_pairs_in_a_slice_of_empty_ones_and_long_ones_need_little_memory(
    tokenizer: PreTrainedTokenizerBase,
) -> None:
    """The tokenizer alone makes a row of each part of one text with each part of the other."""
    texts = [""] * SLICE + [TextPair("a film", "a")]
    rows, truncated = encode_texts(texts, tokenizer)
    assert rows["input_ids"][:1] == tokenizer([""], [""])["input_ids"]
    assert rows["input_ids"][-1] == tokenizer("a film", "a", truncation=True)["input_ids"]
    assert truncated == 0
    rows, truncated = encode_texts([TextPair("film a " * 500, "a film " * 500)], tokenizer)
    expected = tokenizer("film a film a", "a film a film", truncation=True)
    assert (rows["input_ids"][:], truncated) == ([expected["input_ids"]], 1)


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


def test_a_tag_of_many_words_is_no_part_of_a_text() -> None:
    words = train_wordlevel_tokenizer(FILMS, 20, model_max_length=6, web_text=True)
    for text in ('<td class="a" id="b"> ' * 300 + "film a " * 300, "a <" + " b" * 300 + "> film"):
        rows, _ = encode_texts([text], words)
        assert rows["input_ids"][:] == words([text], truncation=True)["input_ids"]
