# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The words and phrases that speak for each class, by a linear model.

s[c, f] = (W[c, f] - mean over classes of W[f]) · mean of x[f] over the texts of class c: what the n-gram f adds, on
average, to the logit of c relative to the others, for features x and weights W.

Shapes: N texts, C classes, F n-grams.
"""

from collections.abc import Sequence
from random import Random

import numpy as np

from ..data.text_pairs import SEPARATOR
from ..inference.linear_models import LinearWeights
from ..utils.markdown import escaped, table

SAMPLE = 1_000  # texts of a class
JOINT = SEPARATOR.strip(" []").lower()  # the word between the texts of a pair
SHOWN, MOST_CLASSES = 8, 20  # n-grams of a class, and classes


def class_scores_of_ngrams(
    weights: LinearWeights, classes: int, texts: Sequence[str], labels: Sequence[int], seed: int = 0
) -> np.ndarray:
    """Return s (C, F), by a sample of the training texts of each class."""
    means = np.zeros((classes, len(weights.ngrams)))
    for index in np.unique(labels).tolist():
        rows = np.flatnonzero(np.asarray(labels) == index).tolist()
        counts = weights.counter.transform([texts[row] for row in Random(seed).sample(rows, min(SAMPLE, len(rows)))])
        means[index] = np.asarray(weights.features(counts).mean(0)).ravel()
    scores = (weights.weight - weights.weight.mean(0)) * means
    scores[:, [at for at, ngram in enumerate(weights.ngrams) if JOINT in ngram.split()]] = 0
    return scores


def class_words_text(
    weights: LinearWeights, names: Sequence[str], texts: Sequence[str], labels: Sequence[int], model: str
) -> str:
    """Return the n-grams that speak most for each class as Markdown, the strongest first; "" if there are none."""
    rows = []
    for name, scores in zip(names, class_scores_of_ngrams(weights, len(names), texts, labels)):
        best = [at for at in np.argsort(-scores, kind="stable")[:SHOWN] if scores[at] > 0]
        rows += [[name, ", ".join(weights.ngrams[at] for at in best)]] if best else []
    if not rows:
        return ""
    head = f"The words that speak most for each class in {escaped(model)}:"
    return f"\n{head}\n\n{table(['class', 'words'], rows[:MOST_CLASSES])}\n"
