# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of sets of classes and of numbers, with bootstrap intervals of the scores and of paired differences.

Shapes: N examples, C classes. Sets of classes are (N, C), 1 for a class that a text has; numbers are (N,).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from transformers import EvalPrediction

from ..utils.markdown import percent
from .classification_metrics import check_converged, percentile_interval

RESAMPLES = 1_000


class Score(NamedTuple):
    """A score of predictions and references. An undefined one counts as 0."""

    name: str
    heading: str
    function: Callable[[np.ndarray, np.ndarray], float]
    is_share: bool = True  # from 0 to 1
    greater_is_better: bool = True

    def shown(self, value: float) -> str:
        return percent(value) if self.is_share else f"{value:.4f}"


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole) > 0)


def _f1_micro(predictions: np.ndarray, references: np.ndarray) -> float:
    both = (predictions * references).sum()
    return float(_ratio(2 * both, predictions.sum() + references.sum()))


def _f1_macro(predictions: np.ndarray, references: np.ndarray) -> float:
    both = (predictions * references).sum(0)
    return float(_ratio(2 * both, predictions.sum(0) + references.sum(0)).mean())


def _pearson(predictions: np.ndarray, references: np.ndarray) -> float:
    x, y = predictions - predictions.mean(), references - references.mean()
    return float(_ratio((x * y).mean(), x.std() * y.std()))


def _spearman(predictions: np.ndarray, references: np.ndarray) -> float:
    return _pearson(rankdata(predictions), rankdata(references))


CLASS_SET_SCORES = (
    Score("f1_micro", "micro F1", _f1_micro),
    Score("f1_macro", "macro F1", _f1_macro),
    Score("exact_match", "exact match", lambda predictions, labels: float((predictions == labels).all(-1).mean())),
    Score(
        "hamming_loss",
        "Hamming loss",
        lambda predictions, labels: float((predictions != labels).mean()),
        greater_is_better=False,
    ),
)
NUMBER_SCORES = (
    Score("mae", "MAE", lambda x, y: float(np.abs(x - y).mean()), is_share=False, greater_is_better=False),
    Score("rmse", "RMSE", lambda x, y: float(np.sqrt(((x - y) ** 2).mean())), is_share=False, greater_is_better=False),
    Score("pearson", "Pearson", _pearson, is_share=False),
    Score("spearman", "Spearman", _spearman, is_share=False),
)


def class_sets(logits: np.ndarray) -> np.ndarray:
    """Return the classes with a probability above 0.5, (N, C): those with a logit above 0."""
    return (np.asarray(logits) > 0).astype(np.float64)


def numbers(logits: np.ndarray) -> np.ndarray:
    """(N, 1) -> (N,)."""
    return np.asarray(logits, dtype=np.float64).reshape(len(logits))


class KindMetrics:
    """The `compute_metrics` of Trainer for these scores. answers: from logits to predictions."""

    def __init__(self, scores: Sequence[Score], answers: Callable[[np.ndarray], np.ndarray]) -> None:
        self.scores, self.answers = scores, answers

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """Raises `DataError` if a logit is NaN."""
        logits = np.asarray(prediction.predictions)
        check_converged(logits)
        return self.compute(self.answers(logits), np.asarray(prediction.label_ids))

    def compute(self, predictions: np.ndarray, references: np.ndarray) -> dict[str, float]:
        return {score.name: score.function(predictions, references) for score in self.scores}

    def with_intervals(
        self, predictions: Mapping[str, np.ndarray], references: np.ndarray, seed: int = 0
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the value of each score of each model, and its 95 % percentile-bootstrap interval.

        "differences" are those from the first model to each other: all models are scored on the same resamples
        (Efron and Tibshirani 1993, chapter 13).
        """
        random, rows = np.random.default_rng(seed), len(references)
        draws = (random.integers(rows, size=rows) for _ in range(RESAMPLES))
        drawn = np.array([self._table(predictions, references, draw) for draw in draws])
        table = self._table(predictions, references, np.arange(rows))
        found = {name: self._named(table[index], drawn[:, index]) for index, name in enumerate(predictions)}
        differences = {
            name: self._named(table[0] - table[index], drawn[:, 0] - drawn[:, index])
            for index, name in enumerate(predictions)
            if index
        }
        return {"models": found, "differences": differences}

    def _table(self, predictions: Mapping[str, np.ndarray], references: np.ndarray, draw: np.ndarray) -> np.ndarray:
        """(models, scores) of the drawn examples."""
        return np.array([list(self.compute(one[draw], references[draw]).values()) for one in predictions.values()])

    def _named(self, values: np.ndarray, drawn: np.ndarray) -> dict[str, dict[str, Any]]:
        """values (scores,); drawn (resamples, scores)."""
        low, high = percentile_interval(drawn)
        return {
            score.name: {"value": float(values[at]), "interval_95": [float(low[at]), float(high[at])]}
            for at, score in enumerate(self.scores)
        }
