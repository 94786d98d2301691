# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of labels of words: those of seqeval, and those of counts of each sentence, for resamples of sentences.

Shapes: N sentences, C labels, R resamples.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

from ..data.tagged_sentences import OUTSIDE
from .classification_metrics import percentile_interval
from .kind_scores import KindMetrics, Score, ScoreFunction, ratio
from .predictions import ENTITIES, Predictions

Labels = Sequence[Sequence[str]]  # of the words of each sentence
RESAMPLES = 1_000


# seqeval is an extra, which other comparisons do without.


def score_labels(gold: Labels, predicted: Labels, are_entities: bool) -> dict[str, Any]:
    """Return accuracy of words, and precision, recall and F1: micro averages of entities, or macro averages of classes.

    An entity counts if its type and both ends are right (Tjong Kim Sang and De Meulder 2003). labels: the scores of
    each type or class. Classes that are never predicted have precision 0.
    """
    from seqeval.metrics import accuracy_score

    gold, predicted = ([list(labels) for labels in side] for side in (gold, predicted))  # seqeval compares lists
    per_label = _of_entities(gold, predicted) if are_entities else _of_classes(gold, predicted)
    average = per_label.pop("average")
    return {"accuracy": float(accuracy_score(gold, predicted)), **average, "labels": per_label}


def _of_entities(gold: Labels, predicted: Labels) -> dict[str, dict[str, float]]:
    if not any(label != OUTSIDE for labels in (*gold, *predicted) for label in labels):
        return {"average": {"precision": 0.0, "recall": 0.0, "f1": 0.0}}
    from seqeval.metrics import classification_report

    report = classification_report(gold, predicted, output_dict=True, zero_division=0)
    micro = _named(report.pop("micro avg").values())
    kinds = sorted(report.keys() - {"macro avg", "weighted avg"})
    return {**{kind: _named(report[kind].values()) for kind in kinds}, "average": _without_support(micro)}


def _of_classes(gold: Labels, predicted: Labels) -> dict[str, dict[str, float]]:
    flat = [[label for labels in side for label in labels] for side in (gold, predicted)]
    names = sorted(set(flat[0]) | set(flat[1]))
    columns = precision_recall_fscore_support(*flat, labels=names, average=None, zero_division=0)
    average = precision_recall_fscore_support(*flat, labels=names, average="macro", zero_division=0)[:3]
    return {**{name: _named(row) for name, row in zip(names, zip(*columns))}, "average": _named(average)}


def _named(values: Any) -> dict[str, float]:
    return {name: float(value) for name, value in zip(("precision", "recall", "f1", "number"), values)}


def _without_support(scores: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in scores.items() if name != "number"}


def sentence_interval(gold: Labels, predicted: Labels, are_entities: bool, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile-bootstrap interval of entity F1, or of the accuracy of words.

    Whole sentences are drawn, as the words of one are not independent. Both scores are 2 right / (predicted + given):
    of entities, or of words.
    """
    counts = np.array([sentence_counts(*pair, are_entities) for pair in zip(gold, predicted)])
    generator = np.random.default_rng(seed)
    drawn = (counts[generator.integers(len(counts), size=len(counts))].sum(0) for _ in range(RESAMPLES))
    low, high = percentile_interval([2 * right / max(1, found + given) for right, found, given in drawn])
    return float(low), float(high)


def sentence_counts(gold: Sequence[str], predicted: Sequence[str], are_entities: bool) -> tuple[int, int, int]:
    """Return the numbers of entities, or of words, that are right, that are predicted, and that are given."""
    if not are_entities:
        return sum(map(str.__eq__, gold, predicted)), len(gold), len(gold)
    from seqeval.metrics.sequence_labeling import get_entities

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


def _entity_f1(counts: np.ndarray, rows: np.ndarray, _: np.ndarray) -> np.ndarray:
    """2 right / (predicted + given), the harmonic mean of precision and recall."""
    right, found, given = (counts @ rows[:, :3]).T
    return ratio(2 * right, found + given)


def _macro(counts: np.ndarray, rows: np.ndarray, _: np.ndarray) -> np.ndarray:
    """The mean F1 of the labels that are predicted or given."""
    right, either = np.split(counts @ rows[:, 2:], 2, axis=-1)
    return ratio(ratio(2 * right, either).sum(-1), (either > 0).sum(-1))


ENTITY_METRICS = KindMetrics(
    (
        Score("f1", "F1 of entities", _entity_f1),
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
