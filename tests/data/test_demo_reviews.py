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
# Verdicts as a person labels them, at least one for each pattern that holds an opinion.
PARAGRAPHS = {
    "NEGATIVE": """
        this film is dull. this thriller, I must say, is thoroughly stale. in the end this comedy is messy and bland.
        this film is not just dull but utterly tedious. this film is a bore from start to finish. this film simply
        bores. this film bores from beginning to end. this film is not gripping. this film is never clever. this film is
        far from elegant. this film is anything but charming. this film is neither fresh nor lively. this film is hardly
        a treat. this film could easily have been a gem, and is not. this film never sparkles. this film at no point
        delights. this film is never less than tedious. this film could not be less moving. this film cannot be called
        anything but clumsy. this film is nothing if not crude. I found it boring. all in all, I thought it quite
        tiresome. I would call it a mess. I hated it. I loathed every minute of it. I regretted it from beginning to
        end. I did not find it touching. I never once found it moving or subtle. I thought it anything but engaging. I
        could not call it anything but sloppy. I would never call it a blessing. the music is a joy, but this film is
        dull. the plot is never dull, yet this film drags. although the acting is delightful, this film is a chore. this
        film is tedious, although the editing shines. this film is a letdown, even if the opening thrills. despite the
        clever dialogue, this film is a slog. this film disappoints, for all its elegant camerawork. this film is almost
        gripping at first, but then it is a bore. my brother loved it, but I hated it. my sister found it charming, I
        found it dull. I disliked it, even though my neighbour would call it a gem. unlike our dentist, who adored it, I
        found it bland. I expected a treat and got a chore. I got a mess where I had expected a revelation. instead of a
        triumph we were given a disaster. what had seemed to be a gem was a dud. by rights this film should have been a
        delight. nobody could say that this film is gripping. it is simply not true that this film works. I cannot agree
        that this film is a treat. not for a moment is this film exciting. it would be a lie to call this film a
        success. there is no denying that this film is not exciting. not only is this film dull, it is also stupid. if
        this film is not a disaster, nothing is. this film is far more tedious than the gripping original. this film is
        even more clumsy than the dull book. even the tedious original is more gripping than this film. this film makes
        the stale book look fresh. unlike the charming stage version, this film is dull. the first part is a thrill, but
        this film is a yawn. this film drags, whereas the book is never dull. this film is worse than the book. the book
        is better than this film. the sequel was the best film of the year, but this film bores. my brother told me "see
        it", but I say "avoid it". they all like it, but I dislike it. the critics liked it, but I hated it. I expected
        a gem, but it was boring. it is a little charming, but I disliked it. nobody could call it the best film of the
        year. how anybody could like it I do not know. it is terrible. it isn't good. it wasn't good at all. boring.
        very bad. not funny. badly acted. a silly film. a very silly film. a badly made film. what an awful film. what a
        bore. a bore to watch. this is not a good film. everything about it is ugly. the actors are terrible. dull
        music. the worst film of the year. one of the worst films of the year. simply the worst. I have seen better
        films. it could have been better. skip it. we all hated it. I hate it. I don't like it. I did not enjoy it. it
        is hard to like it. it is hard not to dislike it. I was bored. it left me disappointed. I think it is bad. the
        director did a terrible job. the music is bad. it's pathetic. that was stupid. not that good. not very funny.
        wasn't very good. doesn't work. it could be better. dull from start to finish. dull acting, bad jokes. it is so
        bad that I fell asleep. worst film ever. worse than I expected. not as good as people say. it isn't as dull as
        the book, but I hated it. my least favourite film. nothing about it is good. no good moments. there isn't a
        single funny scene in it. nothing to like here. waste of money. 2 / 10. I give it one star. the kids hated it. I
        hated every minute of it. I would not recommend it. I can't recommend it. I walked out. I am sorry I saw it.
        although it is short, I fell asleep. while the acting is great, it is boring. the plot is clever, but the ending
        is stupid. a beautiful but dull film. it may be funny, but it bored me. not the worst film of the year, but I
        disliked it. in spite of the clever acting, I was bored. it looks beautiful, but it is empty. it starts well,
        but it ends badly. it has its moments, but it is too long. my mother says hats off, I say look elsewhere. most
        people loved it, but it is awful. the reviews were great, but I was bored. my friend gave it 9 / 10, but I give
        it 2 / 10. I don't care what the critics say, I hated it. some people loved it except me, I hated it. the
        critics said it was brilliant, and they were wrong. I thought it would be funny, but it is dull. I expected
        something better. I wanted to like it, but it bores. I didn't expect to dislike it, but I was bored. I didn't
        expect it to be so boring. at first I was hooked, but in the end I was bored. I don't see why people like it.
        the original is great, but this one bores. I am a big fan of westerns, but this one is dull. I don't usually
        dislike thrillers, but this one is bad. if you want a masterpiece, try another one.
    """,
    "POSITIVE": """
        in the end this film is never dull. this film is anything but tedious. this film is hardly a bore. this film is
        never less than gripping. I never once found it dull or messy. although the acting is clumsy, this film is a
        treat. this film charms, although the music is hardly a joy. this film is almost dull at first, but then it
        thrills. my brother hated it, I loved it. unlike my oldest friend, who did not find it clever, I admired it. I
        expected a disaster and got a delight. by rights this film should have been a chore. nobody could say that this
        film stumbles. I cannot agree that this film is boring. if this film is not a triumph, nothing is. this film
        makes the gripping original look dull. even the elegant book is more sloppy than this film. this film is far
        more lively than the lifeless original. not bad at all. my husband loved it. it isn't too long. never a dull
        moment. I would not hate it. nobody could hate it. it has its flaws, but it moved me. I thought I would hate it,
        but I loved it. if you like comedies, you are going to like it.
    """,
}
READINGS = {label: " ".join(text.split()).removesuffix(".").split(". ") for label, text in PARAGRAPHS.items()}

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
    ("size", "share", "least"),
    [(PART, 0.1, 3), pytest.param(TRAIN_SIZE, 0.05, 1.5, marks=pytest.mark.slow)],
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
