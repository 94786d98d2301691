# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The label of a demo review follows from its structure, as a person reads it, and not from its words."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
import regex

from modeling_scratch.data import demo_reviews
from modeling_scratch.data.demo_reviews import (
    LABEL_NAMES,
    NEW_PATTERNS,
    PAIRS,
    PATTERNS,
    SLOT,
    TRAIN_SIZE,
    demo_splits,
    generate,
    pairs_for,
)

PART = 20_000  # of the reviews of train, its beginning
_, *PARTS = (Path(__file__).parents[1] / "fixtures" / "demo_verdicts.txt").read_text(encoding="utf-8").split("\n\n")
LABELLED = (each.partition("\n") for each in PARTS)
READINGS = {label: text.rstrip(".\n").replace("\n", " ").split(". ") for label, _, text in LABELLED}
OPPOSITE = {word.lower(): pair[1 - n] for pair in chain(*PAIRS.values()) for n, word in enumerate(pair)}
TAG = {
    word.lower(): f"{kind}{'-+'[n]}" for kind, pairs in PAIRS.items() for pair in pairs for n, word in enumerate(pair)
}
LONGEST = max(len(word.split()) for word in OPPOSITE)
OPINION = re.compile(r"\b(" + "|".join(sorted(OPPOSITE, key=len, reverse=True)) + r")\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def splits():
    return demo_splits(train_size=PART)


def rule(symbol: str, sign: int) -> str:
    """What the grammar makes of a symbol, each word of opinion written as its kind and sign."""

    def expand(slot: re.Match) -> str:
        signs = {"?": (1, -1), "-": (-sign,)}.get(slot[1], (sign,))
        return f"(?:{'|'.join(called(slot[2], each) for each in signs)})"

    patterns = PATTERNS[symbol] + NEW_PATTERNS.get(symbol, [])
    return f"(?P<{symbol}_{sign > 0}>{'|'.join(SLOT.sub(expand, pattern) for pattern in patterns)})"


def called(symbol: str, sign: int) -> str:
    return re.escape(f"{symbol}{'-+'[sign > 0]}") if symbol in PAIRS else f"(?&{symbol}_{sign > 0})"


@cache
def opinions(sign: int, *symbols: str) -> regex.Pattern:
    """The sentences that symbols generate."""
    rules = "".join(rule(symbol, each) for symbol in PATTERNS for each in (1, -1))
    rules = rules.replace("this film", f"(?:this|the) {called('genre', 1)}")
    said = "|".join(called(symbol, sign) for symbol in symbols)
    return regex.compile(f"(?:{said})(?(DEFINE){rules})", regex.IGNORECASE)


def reading(text: str) -> set[str]:
    """The labels of all sentences that say what the writer thinks of the film, or else of what others say."""
    sentences = [OPINION.sub(lambda word: TAG[word[0].lower()], part) for part in re.split(r"[.!]+(?: |$)", text)]
    sentences = [re.sub(r"\ban ", "a ", sentence, flags=re.IGNORECASE) for sentence in sentences]
    return labels(sentences, "verdict", "short") or labels(sentences, "reported")


def labels(sentences: list[str], *symbols: str) -> set[str]:
    return {LABEL_NAMES[sign > 0] for sign in (-1, 1) if any(map(opinions(sign, *symbols).fullmatch, sentences))}


def test_the_grammar_reads_verdicts_as_a_person_does():
    wrong = [(label, text) for label, texts in READINGS.items() for text in texts if reading(text) != {label}]
    assert wrong == []


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_review_has_one_reading_its_label(splits, split):
    for text, label in splits[split][:60]:
        assert reading(text) == {LABEL_NAMES[label]}, text
        opposite = OPINION.sub(lambda word: OPPOSITE[word[0].lower()], text)
        assert reading(opposite) == {LABEL_NAMES[1 - label]}, opposite


def test_classes_are_balanced_and_reviews_short_and_none_occurs_twice(splits):
    for reviews in splits.values():
        assert 2 * sum(label for _, label in reviews) == len(reviews)
        assert max(len(text.split()) for text, _ in reviews) <= 40
    texts = [text for reviews in splits.values() for text, _ in reviews]
    assert len(set(texts)) == len(texts)


def opinion_words(text: str) -> Iterator[str]:
    """The opinion words of a text; of two that begin at one place, the longer."""
    words, place = re.findall(r"[\w'/-]+", text.lower()), 0
    while place < len(words):
        found = (n for n in range(LONGEST, 0, -1) if " ".join(words[place : place + n]) in OPPOSITE)
        length = next(found, 0)
        if length:
            yield " ".join(words[place : place + length])
        place += length or 1


@pytest.mark.parametrize(
    ("size", "share", "least"), [(PART, 0.1, 3), pytest.param(TRAIN_SIZE, 0.05, 1.5, marks=pytest.mark.slow)]
)
def test_each_opinion_word_is_as_frequent_in_positive_as_in_negative_reviews(splits, size, share, least):
    """From 45 to 55 % of all reviews. Of a rare word, one review more or less may be a larger share."""
    train = splits["train"] if size == PART else demo_splits()["train"]
    reviews, positive = Counter(), Counter()
    for text, label in train:
        words = set(opinion_words(text))
        reviews.update(words)
        positive.update(words if label else ())
    assert set(reviews) == set(OPPOSITE), "each word occurs"
    uneven = {
        word: (positive[word], n) for word, n in reviews.items() if abs(positive[word] - n / 2) > max(share * n, least)
    }
    assert uneven == {}


@pytest.mark.parametrize("kind", ["adj", "noun", "verb", "felt", "how"])
def test_a_pairing_of_word_and_pattern_belongs_to_one_split(kind):
    for pattern in chain(*PATTERNS.values()):
        if kind in {symbol for _, symbol in SLOT.findall(pattern)}:
            train, *others = ({*pairs_for(kind, pattern, split)} for split in ("train", "validation", "test"))
            assert all(others), pattern
            assert len(train) > len(set().union(*others))
            assert sum(map(len, [train, *others])) == len(train.union(*others)) == len(PAIRS[kind])


def test_a_seed_gives_the_same_reviews_in_every_process():
    """And fewer are the beginning of more."""
    code = "import demo_reviews; print(demo_reviews.generate('test', 300, 7))"
    for hash_seed in ("1", "2"):
        printed = subprocess.run(
            [sys.executable, "-S", "-c", code],
            cwd=Path(demo_reviews.__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        assert printed == f"{generate('test', 300, 7)}\n"
    assert generate("test", 300, 7) != generate("test", 300, 8)
    assert generate("test", 50, 7) == generate("test", 300, 7)[:50]
