# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The words and phrases that speak for each class, by a linear model.

s[c, f] = (W[c, f] - mean over classes of W[f]) · mean of x[f] over the texts of class c: what the n-gram f adds, on
average, to the logit of c relative to the others, for features x and weights W.

Shapes: N texts, C classes, F n-grams.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from ..data.text_pairs import SEPARATOR
from ..inference.linear_models import LinearWeights
from ..run.layout import CLASS_WORDS
from ..utils.files import write_csv
from ..utils.markdown import escaped, table

SAMPLE = 1_000  # texts of a class
JOINT = SEPARATOR.strip(" []").lower()  # the word between the texts of a pair
MOST, SHOWN, MOST_CLASSES = 50, 8, 20  # n-grams of a class, in the file and in the report; classes in the report


class ClassWord(NamedTuple):
    """An n-gram that speaks for a class. in_class, in_others: the shares of the texts that have it."""

    label: str
    words: str
    contribution: float
    in_class: float
    in_others: float


def find_class_words(
    weights: LinearWeights, names: Sequence[str], texts: Sequence[str], labels: Sequence[int], seed: int = 0
) -> list[list[ClassWord]]:
    """Return the n-grams that speak most for each class, the strongest first, by a sample of its training texts."""
    sizes = np.bincount(labels, minlength=len(names))
    means, shares = np.zeros((2, len(names), len(weights.ngrams)))
    for index in np.flatnonzero(sizes).tolist():
        rows = np.flatnonzero(np.asarray(labels) == index).tolist()
        counts = weights.counter.transform([texts[row] for row in Random(seed).sample(rows, min(SAMPLE, len(rows)))])
        means[index] = np.asarray(weights.features(counts).mean(0)).ravel()
        shares[index] = np.asarray(counts.sign().mean(0)).ravel()
    scores = (weights.weight - weights.weight.mean(0)) * means
    scores[:, [at for at, ngram in enumerate(weights.ngrams) if JOINT in ngram.split()]] = 0
    found = []
    for index, name in enumerate(names):
        best = [at for at in np.argsort(-scores[index], kind="stable")[:MOST] if scores[index, at] > 0]
        others = np.where(np.arange(len(names)) == index, 0, sizes)
        elsewhere = others @ shares[:, best] / max(1, others.sum())
        rows_of_words = zip(best, shares[index, best], elsewhere)
        found.append([ClassWord(name, weights.ngrams[at], scores[index, at], *each) for at, *each in rows_of_words])
    return found


def save_class_words(found: Sequence[Sequence[ClassWord]], path: Path) -> None:
    """Write a table of all of them."""
    rows = [[*word[:2], *(f"{value:.4f}" for value in word[2:])] for of_class in found for word in of_class]
    write_csv(path, [["class", "words", "contribution", "in_class", "in_others"], *rows])


def class_words_text(found: Sequence[Sequence[ClassWord]], model: str) -> str:
    """Return the strongest ones as Markdown; "" if there are none."""
    rows = [
        [of_class[0].label, ", ".join(word.words for word in of_class[:SHOWN])]
        for of_class in [each for each in found if each][:MOST_CLASSES]
    ]
    if not rows:
        return ""
    head = f"The words that speak most for each class in {escaped(model)} ({CLASS_WORDS} has up to {MOST} of each):"
    return f"\n{head}\n\n{table(['class', 'words'], rows)}\n"
