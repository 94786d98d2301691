# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of sets of classes and of numbers, with bootstrap intervals of the scores and of paired differences.

Shapes: N examples, C classes, R resamples. Sets of classes are (N, C), 1 for a class that a text has; numbers are (N,).
A resample is the number of times that it has each example, so that the scores of all are products of matrices.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from transformers import EvalPrediction

from ..utils.markdown import percent
from .classification_metrics import check_converged, percentile_interval

RESAMPLES = 1_000
LARGEST_BLOCK = 2**22  # counts of resamples in memory at once
ROUNDING = 1e-12  # relative: equal numbers differ no more


ScoreFunction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Score(NamedTuple):
    """A score of predictions and references. An undefined one counts as 0.

    function: (counts (R, N), predictions, references) -> (R,).
    """

    name: str
    heading: str
    function: ScoreFunction
    is_share: bool = True  # from 0 to 1
    greater_is_better: bool = True

    def shown(self, value: float) -> str:
        return percent(value) if self.is_share else f"{value:.4f}"


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole) > 0)


def _mean(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the mean in each resample of values (N,), or of those that differ between resamples, (R, N)."""
    sums = counts @ values if values.ndim == 1 else np.einsum("rn,rn->r", counts, values)
    return sums / counts.sum(-1)


def _f1_micro(counts: np.ndarray, predictions: np.ndarray, references: np.ndarray) -> np.ndarray:
    both = counts @ (predictions * references).sum(-1)
    return ratio(2 * both, counts @ (predictions + references).sum(-1))


def _f1_macro(counts: np.ndarray, predictions: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return the mean over classes; a class that texts have, but not those of a resample, is left out there."""
    both, either = counts @ (predictions * references), counts @ (predictions + references)
    is_drawn = (either > 0) | ((predictions + references).sum(0) == 0)
    return ratio((ratio(2 * both, either) * is_drawn).sum(-1), is_drawn.sum(-1))


def _pearson(counts: np.ndarray, predictions: np.ndarray, references: np.ndarray) -> np.ndarray:
    """predictions, references: (N,), or (R, N)."""
    return _mean(counts, _standardised(counts, predictions) * _standardised(counts, references))


def _standardised(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return (values - mean) / standard deviation of each resample, (R, N); 0 if they are equal."""
    centred = values - _mean(counts, values)[:, None]
    deviation = np.sqrt(_mean(counts, centred**2))[:, None]
    differs = deviation > ROUNDING * np.abs(values).max()
    return np.divide(centred, deviation, out=np.zeros_like(centred), where=differs)


def _spearman(counts: np.ndarray, predictions: np.ndarray, references: np.ndarray) -> np.ndarray:
    return _pearson(counts, _ranks(counts, predictions), _ranks(counts, references))


def _ranks(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the ranks (R, N) of values (N,) in each resample; equal ones have the mean of their ranks."""
    order = np.argsort(values)
    different, starts = np.unique(values[order], return_index=True)
    of_each = np.add.reduceat(counts[:, order], starts, axis=-1)  # (R, different values)
    ranks = of_each.cumsum(-1) - (of_each - 1) / 2
    return ranks[:, np.searchsorted(different, values)]


CLASS_SET_SCORES = (
    Score("f1_micro", "micro F1", _f1_micro),
    Score("f1_macro", "macro F1", _f1_macro),
    Score("exact_match", "exact match", lambda counts, x, y: _mean(counts, (x == y).all(-1).astype(float))),
    Score(
        "hamming_loss", "Hamming loss", lambda counts, x, y: _mean(counts, (x != y).mean(-1)), greater_is_better=False
    ),
)
NUMBER_SCORES = (
    Score("mae", "MAE", lambda counts, x, y: _mean(counts, np.abs(x - y)), is_share=False, greater_is_better=False),
    Score(
        "rmse",
        "RMSE",
        lambda counts, x, y: np.sqrt(_mean(counts, (x - y) ** 2)),
        is_share=False,
        greater_is_better=False,
    ),
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
        (row,) = self._table(np.ones((1, len(references))), predictions, references)
        return dict(zip((score.name for score in self.scores), row.tolist()))

    def with_intervals(
        self, predictions: Mapping[str, np.ndarray], references: np.ndarray, seed: int = 0
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the value of each score of each model, and its 95 % percentile-bootstrap interval.

        "differences" are those from the first model to each other: all models are scored on the same resamples
        (Efron and Tibshirani 1993, chapter 13).
        """
        models, examples = list(predictions.values()), len(references)
        blocks = [[self._table(counts, one, references) for one in models] for counts in resamples(examples, seed)]
        drawn = np.concatenate(blocks, axis=1)  # (models, resamples, scores)
        table = np.array([self._table(np.ones((1, examples)), one, references)[0] for one in models])
        found = {name: self._named(table[index], drawn[index]) for index, name in enumerate(predictions)}
        differences = {
            name: self._named(table[0] - table[index], drawn[0] - drawn[index])
            for index, name in enumerate(predictions)
            if index
        }
        return {"models": found, "differences": differences}

    def _table(self, counts: np.ndarray, predictions: np.ndarray, references: np.ndarray) -> np.ndarray:
        """(R, scores)."""
        columns = [score.function(counts, predictions, references) for score in self.scores]
        return np.stack(columns, axis=-1)

    def _named(self, values: np.ndarray, drawn: np.ndarray) -> dict[str, dict[str, Any]]:
        """values (scores,); drawn (resamples, scores)."""
        low, high = percentile_interval(drawn)
        return {
            score.name: {"value": float(values[at]), "interval_95": [float(low[at]), float(high[at])]}
            for at, score in enumerate(self.scores)
        }


def resamples(examples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the counts (R, N) of the examples in resamples, drawn with replacement, in blocks that fit in memory."""
    random, size = np.random.default_rng(seed), max(1, LARGEST_BLOCK // examples)
    for start in range(0, RESAMPLES, size):
        draws = (random.integers(examples, size=examples) for _ in range(start, min(start + size, RESAMPLES)))
        yield np.array([np.bincount(draw, minlength=examples) for draw in draws], dtype=np.float64)


def randomization_p_value(
    score: Score, one: np.ndarray, other: np.ndarray, references: np.ndarray, seed: int = 0
) -> float:
    """p = P(predictions exchanged at random between two models, text by text, differ at least as much), two-sided.

    Approximate randomization (Noreen 1989; Yeh 2000), a paired test of any score. The observed predictions are one of
    the exchanges, so that p is at least 1 / (RESAMPLES + 1).
    """
    both, labels = np.concatenate([one, other]), np.concatenate([references, references])

    def differences(swaps: np.ndarray) -> np.ndarray:
        first, second = (
            score.function(np.hstack(sides), both, labels) for sides in ((1 - swaps, swaps), (swaps, 1 - swaps))
        )
        return np.abs(first - second)

    (observed,) = differences(np.zeros((1, len(references))))
    random, size = np.random.default_rng(seed), max(1, LARGEST_BLOCK // len(both))
    drawn = (random.integers(2, size=(min(size, RESAMPLES - at), len(one))) for at in range(0, RESAMPLES, size))
    least = observed * (1 - ROUNDING)
    as_great = sum(int((differences(swaps.astype(np.float64)) >= least).sum()) for swaps in drawn)
    return (1 + as_great) / (1 + RESAMPLES)
