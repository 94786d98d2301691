# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of labels of words, from counts of each sentence, with which resamples of sentences are scored.

Shapes: N sentences, C labels, R resamples.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from .kind_scores import KindMetrics, Score, ScoreFunction, ratio
from .predictions import ENTITIES, Predictions


def sentence_counts(gold: Sequence[str], predicted: Sequence[str], are_entities: bool) -> tuple[int, int, int]:
    """Return the numbers of entities, or of words, that are right, that are predicted, and that are given."""
    if not are_entities:
        return sum(map(str.__eq__, gold, predicted)), len(gold), len(gold)
    from seqeval.metrics.sequence_labeling import get_entities  # an extra, which other comparisons do without

    given, found = set(get_entities(list(gold))), set(get_entities(list(predicted)))
    return len(given & found), len(found), len(given)


def tag_counts(run: Predictions) -> np.ndarray:
    """Return what the scores read of each sentence.

    (N, 5): right, predicted and given entities, right words, words. Without entities, (N, 2 + 2 C): right words, words,
    and of each label the words that are right, and those that are predicted or given, with repeats.
    """
    pairs = list(zip(run.references, run.predicted))
    words = np.array([sentence_counts(*pair, False)[:2] for pair in pairs], np.float64)
    if run.problem_type == ENTITIES:
        return np.hstack([[sentence_counts(*pair, True) for pair in pairs], words])
    names = sorted({*run.label_names, *chain.from_iterable(run.references)})
    right = [[sum(a == b == name for a, b in zip(*pair)) for name in names] for pair in pairs]
    either = [[(given + found).count(name) for name in names] for given, found in pairs]
    return np.hstack([words, right, either])


def _share(part: int, whole: int) -> ScoreFunction:
    """Return the score that divides the counts of one column by those of another."""
    return lambda counts, rows, _: ratio(counts @ rows[:, part], counts @ rows[:, whole])


def _of_entities(counts: np.ndarray, rows: np.ndarray, _: np.ndarray) -> np.ndarray:
    """2 right / (predicted + given), the harmonic mean of precision and recall."""
    right, found, given = (counts @ rows[:, :3]).T
    return ratio(2 * right, found + given)


def _macro(counts: np.ndarray, rows: np.ndarray, _: np.ndarray) -> np.ndarray:
    """The mean F1 of the labels that are predicted or given."""
    right, either = np.split(counts @ rows[:, 2:], 2, axis=-1)
    return ratio(ratio(2 * right, either).sum(-1), (either > 0).sum(-1))


ENTITY_METRICS = KindMetrics(
    (
        Score("f1", "F1 of entities", _of_entities),
        Score("precision", "precision", _share(0, 1)),
        Score("recall", "recall", _share(0, 2)),
        Score("accuracy", "accuracy of words", _share(3, 4)),
    ),
    np.asarray,
)
WORD_METRICS = KindMetrics(
    (
        Score("accuracy", "accuracy of words", _share(0, 1)),
        Score("f1", "macro F1", _macro),
    ),
    np.asarray,
)
