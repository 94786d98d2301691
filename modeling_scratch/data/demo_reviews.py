# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generate film reviews from a signed grammar in which sentence structure, not word counts, determines the label.

The label is the writer's own verdict on the film under review. Other people's opinions, expectations, other films and
conceded details never determine it. Every pattern serves both labels equally: replacing each opinion word by its
opposite flips the label. A bag of words therefore carries little information. `review_grammar.txt` has the patterns.

The splits share the opinion words, but each pairing of an adjective, a noun or a verb with its pattern occurs in one
split only. Some titles, people and sentence orders occur only in the test split. `opinion_words.txt` has the
opinion words by kind, one negative and one positive a line, the commonest of a kind first.
"""

import random
import re
from collections import Counter
from collections.abc import Collection
from functools import cache, lru_cache
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Literal

Split = Literal["train", "validation", "test"]

Review = tuple[str, int]

LABEL_NAMES = ("NEGATIVE", "POSITIVE")
MOST_WORDS = 40
TRAIN_SIZE = 60_000


def read_patterns(path: Path) -> dict[str, list[str]]:
    """Return the patterns of each symbol, which begins its line. Indented lines continue it; # starts a comment.

    In a pattern, <+x> carries the review's opinion, <-x> the opposite, <?x> a random one, <x> none.
    """
    text = re.sub(r"\n +", " ", re.sub(r"\n#.*", "", path.read_text(encoding="utf-8")))
    rows = (line.split(maxsplit=1) for line in text.split("\n") if line)
    return {symbol: patterns.split(" | ") for symbol, patterns in rows}


def read_pairs(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Read the opinion words: lines such as `adj bad/good`, with _ for a blank within a word, also around its own /."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, pair = line.split()
        negative, positive = (word.replace("_", " ") for word in re.split("(?<!_)/", pair))
        pairs.setdefault(kind, []).append((negative, positive))
    return pairs


HERE = Path(__file__).parent
PAIRS = read_pairs(HERE / "opinion_words.txt")
PATTERNS = read_patterns(HERE / "review_grammar.txt")
NEW_PATTERNS = read_patterns(HERE / "review_grammar_of_test.txt")  # unseen in training
SLOT = re.compile(r"<([-+?]?)(\w+)>")
BEFORE_A_VOWEL = re.compile(r"\b([aA])(?= (?:[aeio]|u(?!ni[qf]|s[ei])|hono?[nu]))")

# The turns of each split, among ten pairings of a pattern with a word. Successive patterns of a kind are offset by
# three: with an offset of one, a word could be held out of all patterns in which it agrees with the review.
TURNS = {"train": range(7), "validation": range(7, 8), "test": range(8, 10)}
SMALLEST_DIVIDED = 30

# The commonest words of a kind fill this share of its slots. The structure is learned from them, and the rarer words
# from the structure: where all words are equally rare, training stays at chance for long.
COMMON_SHARE = 0.6
DRAFTS, CANDIDATES = 4, 8  # to choose from, for balance


@cache
def parts_of(pattern: str) -> list[str]:
    """Split a pattern at its slots: text, then the sign, the symbol and the text behind of each slot."""
    return SLOT.split(pattern)


@cache
def patterns_with(kind: str) -> list[str]:
    """Return the patterns that hold a word of a kind."""
    return [pattern for pattern in dict.fromkeys(chain(*PATTERNS.values())) if re.search(rf"<.{kind}>", pattern)]


@cache
def pairs_for(kind: str, pattern: str, split: Split, common: bool = False) -> list[int]:
    """Return the numbers of the pairs that may stand in a pattern: all, if the kind is too small to divide.

    common: only those of them that are common, if there are any.
    """
    numbers = list(range(len(PAIRS[kind])))
    if len(numbers) >= SMALLEST_DIVIDED:
        offset = 3 * patterns_with(kind).index(pattern)
        numbers = [n for n in numbers if (n + offset) % 10 in TURNS[split]]
    most = max(10, len(PAIRS[kind]) // 16) if common else len(PAIRS[kind])
    return [n for n in numbers if n < most] or numbers


# An opinion word of a review: its kind, the word, +1 if it says what the review says, and -1 for the opposite
Choice = tuple[str, str, int]


class Writer:
    """Generate the reviews of one split, without repeating a choice within a review.

    The words are balanced: each one occurs about equally often in positive and in negative reviews. A slot takes the
    word, and a review the draft, that makes up for what came before.
    """

    def __init__(self, split: Split, seed: int, common_share: float = COMMON_SHARE) -> None:
        self.split, self.common_share = split, common_share
        self.random = random.Random(f"{split} {seed}")  # a string seed is stable across processes and versions
        self.patterns = PATTERNS
        if split == "test":
            self.patterns = {symbol: known + NEW_PATTERNS.get(symbol, []) for symbol, known in PATTERNS.items()}
        self.uses: Counter[str] = Counter()
        self.excess: Counter[str] = Counter()  # of a word, or a kind: uses that agree with the review, minus the others

    def review(self, label: int, known: Collection[str]) -> str:
        """Return a review of at most `MOST_WORDS` words that is not in `known`."""
        drafts: list[tuple[str, list[Choice]]] = []
        while len(drafts) < DRAFTS:
            text, choices = self.draft(1 if label else -1)
            if text not in known and len(text.split()) <= MOST_WORDS:
                drafts.append((text, choices))
        text, choices = min(drafts, key=lambda draft: self.imbalance(draft[1]))
        for kind, word, agrees in choices:
            self.uses[word] += 1
            self.excess[word] += agrees
            self.excess[kind] += agrees
        return text

    def imbalance(self, choices: list[Choice]) -> int:
        """Return by how much a draft would take words, and kinds of words, away from balance."""
        return sum(agrees * (self.excess[word] + self.excess[kind]) for kind, word, agrees in choices)

    def draft(self, sign: int) -> tuple[str, list[Choice]]:
        """Return a review and its opinion words. sign: +1 to praise, -1 to criticise."""
        self.sign, self.used, self.choices = sign, set[tuple[str, int]](), list[Choice]()
        self.unused: dict[str, list[int]] = {}  # the patterns of each symbol that the draft has not had yet
        text = self.expand("review", sign)
        text = text.replace("this film", self.random.choice(("this ", "this ", "the ")) + self.expand("genre", sign))
        text = BEFORE_A_VOWEL.sub(r"\1n", text)
        return re.sub(r"(^|[.!] )(\w)", lambda start: start[1] + start[2].upper(), text), self.choices

    def expand(self, symbol: str, sign: int, around: str = "") -> str:
        """Expand a symbol into text. around: the pattern with the symbol."""
        if symbol in PAIRS:
            return self.opinion_word(symbol, sign, around)
        patterns = self.patterns[symbol]
        unused = self.unused.setdefault(symbol, [*range(len(patterns))])
        number = self.random.choice(unused or range(len(patterns)))
        if unused:
            unused.remove(number)
        signs = {"+": sign, "-": -sign, "?": self.random.choice((-1, 1)), "": sign}
        text, *slots = parts_of(patterns[number])
        for which, inner, after in zip(slots[::3], slots[1::3], slots[2::3]):
            text += self.expand(inner, signs[which], patterns[number]) + after
        return text

    def opinion_word(self, kind: str, sign: int, around: str) -> str:
        numbers = pairs_for(kind, around, self.split, self.random.random() < self.common_share)
        agrees = sign * self.sign
        numbers = [n for n in self.random.choices(numbers, k=CANDIDATES) if (kind, n) not in self.used] or numbers
        words = {n: PAIRS[kind][n][sign > 0] for n in numbers}
        number = min(numbers, key=lambda n: 8 * agrees * self.excess[words[n]] + self.uses[words[n]])
        self.used.add((kind, number))
        self.choices.append((kind, words[number], agrees))
        return words[number]


def generate(
    split: Split, size: int, seed: int, known: Collection[str] = (), common_share: float = COMMON_SHARE
) -> list[Review]:
    """Generate `size` distinct reviews, none of them in `known`, with alternating labels (indices into LABEL_NAMES)."""
    writer, reviews, taken = Writer(split, seed, common_share), list[Review](), {*known}
    for label in islice(cycle(range(len(LABEL_NAMES))), size):
        reviews.append((writer.review(label, taken), label))
        taken.add(reviews[-1][0])
    return reviews


@lru_cache(maxsize=1)  # each run of a lab reads the same, and generating takes longer than a short training
def demo_splits(
    train_size: int = TRAIN_SIZE,
    validation_size: int = 1_000,
    test_size: int = 2_000,
    seed: int = 0,
    common_share: float = COMMON_SHARE,
) -> dict[str, list[Review]]:
    """Generate the three splits. No review occurs in two splits.

    common_share: of the slots of opinion words that common words fill; 1 gives reviews that are learned in fewer steps.
    """
    validation = generate("validation", validation_size, seed, (), common_share)
    test = generate("test", test_size, seed, {text for text, _ in validation}, common_share)
    train = generate("train", train_size, seed, {text for text, _ in validation + test}, common_share)
    return {"train": train, "validation": validation, "test": test}
