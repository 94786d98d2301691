# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The label of a demo review follows from its structure, as a person reads it, and not from its words."""

import os
import re
import subprocess
import sys
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from modeling_scratch.data import demo_reviews
from modeling_scratch.data.demo_reviews import (
    LABEL_NAMES,
    NEW_PATTERNS,
    PAIRS,
    PATTERNS,
    SLOT,
    Writer,
    demo_splits,
    generate,
)

# Verdicts as a person labels them, at least one for each pattern that holds an opinion.
PARAGRAPHS = {
    "NEGATIVE": """
        this film is dull. this thriller, I must say, is thoroughly stale. in the end this comedy is messy and bland.
        this film is not just dull but utterly tedious. this film is a bore from start to finish. this film simply
        bores. this film bores to the very end. this film is not gripping. this film is never clever. this film is far
        from elegant. this film is anything but charming. this film is neither fresh nor lively. this film is hardly a
        treat. this film could easily have been a gem, and is not. this film never sparkles. this film at no point
        delights. this film is never less than tedious. this film could not be less moving. this film cannot be called
        anything but clumsy. this film is nothing if not crude. I found it boring. all in all, I thought it quite
        tiresome. I would call it a mess. I hated it. I loathed every minute of it. I regretted it from beginning to
        end. I did not find it touching. I never once found it moving or subtle. I thought it anything but engaging. I
        could not call it anything but sloppy. I would never call it a blessing. the music is a joy, but this film is
        dull. the plot is never dull, yet this film drags. although the acting is delightful, this film is a chore. this
        film is tedious, although the editing shines. this film is a letdown, even if the opening thrills. despite the
        clever dialogue, this film is a slog. this film disappoints, for all its elegant camera work. this film is
        almost gripping at first, but then it is a bore. my brother loved it, but I hated it. my sister found it
        charming, I found it dull. I disliked it, even though my neighbour would call it a gem. unlike our dentist, who
        adored it, I found it bland. I expected a treat and got a chore. I got a mess where I had expected a revelation.
        instead of a triumph we were given a disaster. what had looked like a gem was a dud. by rights this film should
        have been a delight. nobody could say that this film is gripping. it is simply not true that this film works. I
        cannot agree that this film is a treat. not for a moment is this film exciting. it would be a lie to call this
        film a success. there is no denying that this film is not exciting. not only is this film dull, it is also
        stupid. if this film is not a disaster, nothing is. this film is far more tedious than the gripping original.
        this film is even more clumsy than the dull book. even the tedious original is more gripping than this film.
        this film makes the stale book look fresh. unlike the charming stage version, this film is dull. the first part
        is a thrill, but this film is a yawn. this film drags, whereas the book is never dull.
    """,
    "POSITIVE": """
        in the end this film is never dull. this film is anything but tedious. this film is hardly a bore. this film is
        never less than gripping. I never once found it dull or messy. although the acting is clumsy, this film is a
        treat. this film charms, although the music is hardly a joy. this film is almost dull at first, but then it
        thrills. my brother hated it, I loved it. unlike my best friend, who did not find it clever, I admired it. I
        expected a disaster and got a delight. by rights this film should have been a chore. nobody could say that this
        film stumbles. I cannot agree that this film is boring. if this film is not a triumph, nothing is. this film
        makes the gripping original look dull. even the elegant book is more sloppy than this film. this film is far
        more lively than the lifeless original.
    """,
}
READINGS = {label: " ".join(text.split()).removesuffix(".").split(". ") for label, text in PARAGRAPHS.items()}

OPPOSITE = {word: pair[1 - n] for pair in chain(*PAIRS.values()) for n, word in enumerate(pair)}
TAG = {word: f"{kind}{'-+'[n]}" for kind, pairs in PAIRS.items() for pair in pairs for n, word in enumerate(pair)}
OPINION = re.compile(r"\b(" + "|".join(sorted(OPPOSITE, key=len, reverse=True)) + r")\b")


@pytest.fixture(scope="module")
def splits():
    return demo_splits()


@cache
def regex(symbol: str, sign: int) -> str:
    """What the grammar makes of a symbol, each word of opinion written as its kind and sign."""
    if symbol in PAIRS:
        return re.escape(f"{symbol}{'-+'[sign > 0]}")

    def expand(slot: re.Match) -> str:
        if slot[1] == "?":
            return f"(?:{regex(slot[2], 1)}|{regex(slot[2], -1)})"
        return regex(slot[2], -sign if slot[1] == "-" else sign)

    return (
        "(?:" + "|".join(SLOT.sub(expand, pattern) for pattern in PATTERNS[symbol] + NEW_PATTERNS.get(symbol, [])) + ")"
    )


@cache
def verdicts(sign: int) -> re.Pattern:
    return re.compile(regex("verdict", sign).replace("this film", f"this {regex('genre', 1)}"), re.IGNORECASE)


def reading(text: str) -> set[str]:
    """The labels of all sentences that are verdicts."""
    sentences = [OPINION.sub(lambda word: TAG[word[0]], sentence) for sentence in re.split(r"\. |\.$", text)]
    return {LABEL_NAMES[sign > 0] for sign in (-1, 1) if any(map(verdicts(sign).fullmatch, sentences))}


def test_the_grammar_reads_verdicts_as_a_person_does():
    wrong = [(label, text) for label, texts in READINGS.items() for text in texts if reading(text) != {label}]
    assert wrong == []


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_review_has_one_reading_its_label(splits, split):
    for text, label in splits[split][:300]:
        assert reading(text) == {LABEL_NAMES[label]}, text
        opposite = OPINION.sub(lambda word: OPPOSITE[word[0]], text)
        assert reading(opposite) == {LABEL_NAMES[1 - label]}, opposite


def test_classes_are_balanced_and_reviews_short_and_none_occurs_twice(splits):
    for reviews in splits.values():
        assert 2 * sum(label for _, label in reviews) == len(reviews)
        assert {8 <= len(text.split()) <= 40 for text, _ in reviews} == {True}
    texts = [text for reviews in splits.values() for text, _ in reviews]
    assert len(set(texts)) == len(texts)


class Recorder(Writer):
    """Notes which word stands in which pattern."""

    def expand(self, symbol, sign, around=""):
        text = super().expand(symbol, sign, around)
        if symbol in PAIRS:
            self.pairings.add((around, min(text, OPPOSITE[text])))
        return text


def test_pairings_of_word_and_pattern_belong_to_one_split():
    pairings = {}
    for split in ("train", "validation", "test"):
        recorder = Recorder(split, seed=0)
        recorder.pairings = pairings[split] = set()
        for n in range(4000):
            recorder.review(n % 2)
    for split in ("validation", "test"):
        assert not pairings[split] & pairings["train"]
        for known, there in zip(zip(*pairings["train"]), zip(*pairings[split])):
            assert set(there) <= set(known), "each pattern and each word is known, but not together"
    assert not pairings["validation"] & pairings["test"]


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
