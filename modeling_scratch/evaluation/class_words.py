# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The words and phrases that speak for each class, by a linear model.

s[c, f] = (W[c, f] - mean over classes of W[f]) · mean of x[f] over the texts of class c: what the n-gram f adds, on
average, to the logit of c relative to the others, for features x and weights W.

Shapes: N texts, C classes, F n-grams.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from ..inference.linear_models import LinearWeights
from ..utils.files import write_text
from ..utils.markdown import escaped, percent, table

CLASS_WORDS = "class_words.csv"
SAMPLE = 3_000  # texts
MOST, SHOWN, MOST_CLASSES = 50, 8, 20  # n-grams of a class, in the file and in the report; classes in the report


@dataclass(frozen=True)
class ClassWord:
    """An n-gram that speaks for a class. in_class, in_others: the shares of the texts that have it."""

    label: str
    words: str
    contribution: float
    in_class: float
    in_others: float


def find_class_words(
    weights: LinearWeights, names: Sequence[str], texts: Sequence[str], labels: Sequence[int], seed: int = 0
) -> list[list[ClassWord]]:
    """Return the n-grams that speak most for each class, the strongest first, by a sample of the training texts."""
    rows = sorted(Random(seed).sample(range(len(texts)), min(SAMPLE, len(texts))))
    of_rows = np.asarray(labels)[rows]
    counts = weights.counter.transform([texts[row] for row in rows])
    features, occurs = weights.features(counts), counts.sign()
    relative = weights.weight - weights.weight.mean(0)
    found: list[list[ClassWord]] = []
    for index, name in enumerate(names):
        is_one = of_rows == index
        if not is_one.any():
            found.append([])
            continue
        scores = relative[index] * np.asarray(features[is_one].mean(0)).ravel()
        best = [at for at in np.argsort(-scores, kind="stable")[:MOST] if scores[at] > 0]
        inside, outside = (np.asarray(occurs[part].sum(0)).ravel() / max(1, part.sum()) for part in (is_one, ~is_one))
        found.append([ClassWord(name, weights.ngrams[at], scores[at], inside[at], outside[at]) for at in best])
    return found


def save_class_words(found: Sequence[Sequence[ClassWord]], path: Path) -> None:
    """Write a table of all of them."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["class", "words", "contribution", "in_class", "in_others"])
    for word in (word for of_class in found for word in of_class):
        shares = percent(word.in_class), percent(word.in_others)
        writer.writerow([word.label, word.words, f"{word.contribution:.4f}", *shares])
    write_text(path, written.getvalue().encode("utf-8", "replace").decode())


def class_words_text(found: Sequence[Sequence[ClassWord]], model: str) -> str:
    """Return the strongest ones as Markdown; "" if there are none."""
    rows = [
        [of_class[0].label, ", ".join(word.words for word in of_class[:SHOWN])]
        for of_class in [each for each in found if each][:MOST_CLASSES]
    ]
    if not rows:
        return ""
    head = f"The words that speak most for each class in {escaped(model)} ({CLASS_WORDS} has {MOST} of each):"
    return f"\n{head}\n\n{table(['class', 'words'], rows)}\n"
