# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of labels of words: those of seqeval, and those of counts of each sentence, for resamples of sentences.

Shapes: N sentences, C labels.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from sklearn.metrics import classification_report

from ..data.tagged_sentences import OUTSIDE
from .metrics import ScoreMetrics, f1_of_means, macro_of_means
from .predictions import ENTITIES, WORD_CLASSES
from .significance import Score, ratio, with_intervals

Labels = Sequence[Sequence[str]]  # of the words of each sentence
NAMES = "precision", "recall", "f1", "number"
AVERAGES = {"micro avg", "macro avg", "weighted avg"}


def score_labels(gold: Labels, predicted: Labels, are_entities: bool) -> dict[str, Any]:
    """Return accuracy of words, and precision, recall and F1: micro averages of entities, or macro averages of classes.

    An entity counts if its type and both ends are right (Tjong Kim Sang and De Meulder 2003). labels: the scores of
    each type or class. Classes that are never predicted have precision 0.
    """
    sides: Any = [[list(labels) for labels in side] for side in (gold, predicted)]  # seqeval compares lists
    flat: Any = [[*chain.from_iterable(side)] for side in sides]
    report: Any = {}
    if not are_entities:
        report = classification_report(*flat, output_dict=True, zero_division=0)
    elif {*flat[0], *flat[1]} != {OUTSIDE}:
        from seqeval.metrics import classification_report as of_entities  # an extra

        report = of_entities(*sides, output_dict=True, zero_division=0)
    named = {name: dict(zip(NAMES, map(float, row.values()))) for name, row in report.items() if name != "accuracy"}
    average = named.get("micro avg" if are_entities else "macro avg", dict.fromkeys(NAMES, 0.0))
    labels = {name: row for name, row in sorted(named.items()) if name not in AVERAGES}
    scores = {name: average[name] for name in NAMES[:3]}
    return {"accuracy": float(np.mean(np.array(flat[0]) == np.array(flat[1]))), **scores, "labels": labels}


# Counts of each sentence. Whole sentences are drawn, as the words of one are not independent.


def sentence_interval(gold: Labels, predicted: Labels, are_entities: bool) -> tuple[float, float]:
    """Return the 95 % percentile-bootstrap interval of entity F1, or of the accuracy of words."""
    metrics = TAG_METRICS[ENTITIES if are_entities else WORD_CLASSES]
    counts = sentence_counts(gold, predicted, are_entities)
    found = with_intervals((metrics.score,), {"": counts}, counts)
    low, high = found["models"][""][metrics.decisive]["interval_95"]
    return low, high


def sentence_counts(gold: Labels, predicted: Labels, are_entities: bool) -> np.ndarray:
    """Count right words and words, then the right entities, predicted entities and given entities of each sentence.

    (N, 5). Without entities, (N, 2 + 2 C): of each label, the words that are right, and those that are predicted or
    given, with repeats.
    """
    pairs = [(list(given), list(found)) for given, found in zip(gold, predicted)]
    words = np.array([[sum(map(str.__eq__, *pair)), len(pair[0])] for pair in pairs], np.float64)
    if are_entities:
        from seqeval.metrics.sequence_labeling import get_entities

        entities = [[set(get_entities(labels)) for labels in pair] for pair in pairs]
        return np.hstack([words, [(len(given & found), len(found), len(given)) for given, found in entities]])
    names = sorted({*chain.from_iterable(gold), *chain.from_iterable(predicted)})
    right = [[sum(a == b == name for a, b in zip(*pair)) for name in names] for pair in pairs]
    either = [[(given + found).count(name) for name in names] for given, found in pairs]
    return np.hstack([words, right, either])


def _share(name: str, heading: str, part: int, whole: int) -> Score:
    """Return the score that divides the counts of one column by those of another."""
    return Score(
        name, heading, lambda rows, _: rows[:, [part, whole]], lambda means: ratio(means[..., 0], means[..., 1])
    )


ACCURACY = _share("accuracy", "accuracy of words", 0, 1)
TAG_METRICS = {
    ENTITIES: ScoreMetrics(
        (
            # Of the right entities, and the predicted and given ones.
            Score("f1", "F1 of entities", lambda rows, _: np.stack([rows[:, 2], rows[:, 3:].sum(-1)], -1), f1_of_means),
            _share("precision", "precision", 2, 3),
            _share("recall", "recall", 2, 4),
            ACCURACY,
        ),
        "f1",
    ),
    WORD_CLASSES: ScoreMetrics(
        (ACCURACY, Score("f1", "macro F1", lambda rows, _: rows[:, 2:], macro_of_means)),
        "accuracy",
    ),
}
