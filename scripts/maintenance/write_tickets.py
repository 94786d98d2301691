# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write generated support tickets: 20 classes, or two of which one has a text in 51.

python scripts/maintenance/write_tickets.py topics tickets_folder
python scripts/maintenance/write_tickets.py rare rare_folder

The words are invented. Each topic has 30 words, and shares 20 of them with one other topic each. A ticket
says five words of its topic behind a phrase that asks ("help with"), and every second ticket says five words of
another topic behind a phrase that declines ("not about"), in either order, among frequent and rare words of no topic.
So most words do not tell the class, and of two topics, only the phrases tell which one is meant. The classes are the
topics, and 5 % of them are drawn at random; or whether a ticket is of the one topic that is rare.
"""

import random
from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import pandas as pd

TOPICS, SHARED_WORDS, OWN_WORDS, OTHER_WORDS, SAID = 20, 20, 10, 2_000, 5
NOISE, RARE_SHARE = 0.05, 1 / 51
ASKING = "help with", "please check", "i need", "it concerns", "still waiting for"
DECLINING = "not about", "already solved", "no longer", "please ignore", "unlike last time"
SPLITS = {"train": 10_000, "validation": 2_000, "test": 4_000}
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


class Tickets:
    """A seeded source of tickets. topics: the words of each."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        words = list(dict.fromkeys("".join(self.rng.choices(SYLLABLES, k=3)) for _ in range(2 * OTHER_WORDS)))
        orders = [self.rng.sample(range(TOPICS), TOPICS) for _ in range(SHARED_WORDS)]
        owners = [set(order[at : at + 2]) for order in orders for at in range(0, TOPICS, 2)]
        owners += [{topic} for topic in range(TOPICS) for _ in range(OWN_WORDS)]
        self.topics = [[word for word, owner in zip(words, owners) if topic in owner] for topic in range(TOPICS)]
        self.others = words[len(owners) : len(owners) + OTHER_WORDS]
        self.frequencies = list(accumulate(1 / rank for rank in range(1, OTHER_WORDS + 1)))  # Zipf's law

    def text(self, topic: int) -> str:
        clauses = [self.clause(ASKING, topic)]
        if self.rng.random() < 0.5:
            other = self.rng.choice([each for each in range(TOPICS) if each != topic])
            clauses.insert(self.rng.randint(0, 1), self.clause(DECLINING, other))
        return " ".join(f"{self.filler()} {clause}" for clause in clauses) + f" {self.filler()}"

    def clause(self, phrases: Sequence[str], topic: int) -> str:
        words = self.rng.choices(self.topics[topic], k=SAID)
        for _ in range(2):
            words.insert(self.rng.randint(0, len(words)), self.other())
        return f"{self.rng.choice(phrases)} {' '.join(words)}"

    def filler(self) -> str:
        return " ".join(self.other() for _ in range(self.rng.randint(2, 6)))

    def other(self) -> str:
        return self.rng.choices(self.others, cum_weights=self.frequencies)[0]

    def of_topics(self) -> tuple[str, str]:
        topic = self.rng.randrange(TOPICS)
        label = self.rng.randrange(TOPICS) if self.rng.random() < NOISE else topic
        return self.text(topic), f"topic-{label:02}"

    def of_rare(self) -> tuple[str, str]:
        is_rare = self.rng.random() < RARE_SHARE
        return self.text(0 if is_rare else self.rng.randrange(1, TOPICS)), "rare" if is_rare else "other"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("kind", choices=["topics", "rare"])
    parser.add_argument("folder", type=Path, help="The folder of train.csv, validation.csv and test.csv to write.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tickets = Tickets(given.seed)
    draw = tickets.of_topics if given.kind == "topics" else tickets.of_rare
    given.folder.mkdir(parents=True, exist_ok=True)
    for split, rows in SPLITS.items():
        table = pd.DataFrame([draw() for _ in range(rows)], columns=["text", "label"])
        table.to_csv(given.folder / f"{split}.csv", index=False)


if __name__ == "__main__":
    main()
