# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sentences of a small grammar with labelled names: the words around a name tell its type, not the name alone."""

import random
from pathlib import Path

FIRST, LAST = ("Anna", "Karl", "Ines", "Jorge", "Mina"), ("Berg", "London", "Ross", "Vila", "Paris")
TOWNS = (("Paris",), ("Berg",), ("New", "London"), ("Porto", "Alto"), ("Vila",))
PATTERNS = (
    "{per} lives in {loc} .",
    "In {loc} , {per} opened a small shop .",
    "{per} met {per} near {loc} .",
    "The train to {loc} was late again .",
    "Nobody asked {per} about the letter .",
    "It rained all day .",
)
TAGS = {".": "PUNCT", ",": "PUNCT", "in": "ADP", "In": "ADP", "near": "ADP", "to": "ADP", "about": "ADP", "a": "DET"}
Tagged = list[tuple[str, str]]


def sentences(number: int, seed: int) -> list[Tagged]:
    """Each a list of (word, label of BIO)."""
    generator = random.Random(seed)
    return [_sentence(generator) for _ in range(number)]


def _sentence(generator: random.Random) -> Tagged:
    words: Tagged = []
    for part in generator.choice(PATTERNS).split():
        if part == "{per}":
            person = [generator.choice(FIRST), *([generator.choice(LAST)] * generator.randint(0, 1))]
            words += [(word, f"{'I' if index else 'B'}-PER") for index, word in enumerate(person)]
        elif part == "{loc}":
            words += [(word, f"{'I' if index else 'B'}-LOC") for index, word in enumerate(generator.choice(TOWNS))]
        else:
            words.append((part, "O"))
    return words


def write_conll(path: Path, number: int, seed: int) -> Path:
    """Write a CoNLL file with four columns: word, part of speech, a constant, label."""
    blocks = ["-DOCSTART- -X- -X- O\n"]
    for sentence in sentences(number, seed):
        blocks.append("".join(f"{word} {TAGS.get(word, 'X')} _ {label}\n" for word, label in sentence))
    path.write_text("\n".join(blocks), encoding="utf-8")
    return path
