# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Metrics of texts with one class, several classes or a number each, as `compute_metrics` of Trainer.

Trainer(..., compute_metrics=METRICS["single_label_classification"])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from transformers import EvalPrediction

from ..data.labels import is_imbalanced
from ..tasks.card import Metric
from ..utils.errors import DivergedError
from .significance import ROUNDING, Score, ratio

# What a text has: one class, several, or a number.
ONE_CLASS, SEVERAL, NUMBER = "single_label_classification", "multi_label_classification", "regression"


@dataclass(frozen=True)
class ScoreMetrics:
    """Scores of Trainer's predictions. decisive: the name of the one that a verdict is about.

    answers: from logits (examples, num_labels) to predictions. rule: what scikit-learn or SciPy counts otherwise.
    """

    scores: tuple[Score, ...]
    decisive: str
    answers: Callable[[np.ndarray], np.ndarray] = np.asarray
    rule: str | None = None

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """Raises `DivergedError` if a logit is NaN, which argmax would take for a prediction."""
        logits = np.asarray(prediction.predictions)
        if diverged := int(np.isnan(logits).any(axis=1).sum()):
            raise DivergedError(
                f"the logits of {diverged} of {len(logits)} examples are NaN: training has diverged. "
                "Lower the learning rate, lengthen the warm-up or clip gradients."
            )
        return self.compute(self.answers(logits), np.asarray(prediction.label_ids))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(score.name for score in self.scores)

    @property
    def score(self) -> Score:
        return next(score for score in self.scores if score.name == self.decisive)

    def compute(self, predictions: Any, references: Any) -> dict[str, float]:
        """Return the scores of predictions beside what is right."""
        parts = ((score, score.parts(predictions, references)) for score in self.scores)
        return {score.name: float(score.of_means(part.mean(0))) for score, part in parts}


def macro_f1_decides(train_labels: Sequence[int] | np.ndarray, is_weighted: bool) -> bool:
    """Return whether macro F1 tells more than accuracy: training weights the classes, or they are imbalanced."""
    return is_weighted or is_imbalanced(train_labels)


# Scores as means over texts


def f1_of_means(means: np.ndarray) -> np.ndarray:
    """2 TP / (predicted + true), of the means of TP, and of predicted + true: (..., 2) -> (...)."""
    return ratio(2 * means[..., 0], means[..., 1])


def macro_of_means(means: np.ndarray) -> np.ndarray:
    """The mean F1 of the classes that are predicted or given: (..., C of TP and C of predicted + true) -> (...)."""
    both, either = np.split(means, 2, axis=-1)
    return ratio(ratio(2 * both, either).sum(-1), (either > 0).sum(-1))


def _of_each_class(predictions: np.ndarray, references: np.ndarray) -> np.ndarray:
    return np.hstack([predictions * references, predictions + references])


def _of_class_indices(predictions: np.ndarray, references: np.ndarray) -> np.ndarray:
    """As of sets (N, C) of the classes that occur on either side."""
    classes = np.union1d(predictions, references)
    return _of_each_class(*((np.asarray(each)[:, None] == classes) * 1.0 for each in (predictions, references)))


def _column(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)[:, None]


def _products(*sides: Any) -> np.ndarray:
    """Return x, y, x², y² and xy of standardised numbers, where equal numbers are all 0."""
    numbers = np.asarray(sides, dtype=np.float64)
    deviations = numbers.std(axis=1, keepdims=True)
    centred = numbers - numbers.mean(axis=1, keepdims=True)
    are_equal = deviations <= ROUNDING * np.abs(numbers).max(axis=1, keepdims=True)
    x, y = np.where(are_equal, 0, centred / np.where(are_equal, 1, deviations))
    return np.stack([x, y, x * x, y * y, x * y], axis=-1)


def _correlation(means: np.ndarray) -> np.ndarray:
    """(E[xy] - E[x] E[y]) / sqrt(Var[x] Var[y]); 0 if the numbers of one side are equal."""
    x, y, xx, yy, xy = np.moveaxis(means, -1, 0)
    variances = (xx - x * x) * (yy - y * y)
    return ratio(xy - x * y, np.sqrt(np.where(variances > ROUNDING, variances, 0)))


CLASSES = ScoreMetrics(
    (
        Score("accuracy", "accuracy", lambda x, y: _column(x == y)),
        Score("f1_macro", "macro F1", _of_class_indices, macro_of_means),
    ),
    "accuracy",
    lambda logits: np.asarray(logits).argmax(-1),
)
CLASS_SETS = ScoreMetrics(
    (
        Score("f1_micro", "micro F1", lambda x, y: np.stack([(x * y).sum(-1), (x + y).sum(-1)], -1), f1_of_means),
        Score("f1_macro", "macro F1", _of_each_class, macro_of_means),
        Score("exact_match", "exact match", lambda x, y: _column((x == y).all(-1))),
        Score("hamming_loss", "Hamming loss", lambda x, y: _column((x != y).mean(-1)), greater_is_better=False),
    ),
    "f1_micro",
    lambda logits: (np.asarray(logits) > 0).astype(np.float64),
    "A class is predicted if its probability is above 0.5. Macro F1 leaves out classes neither predicted nor given.",
)
NUMBERS = ScoreMetrics(
    (
        Score("mae", "MAE", lambda x, y: _column(np.abs(x - y)), is_share=False, greater_is_better=False),
        Score("rmse", "RMSE", lambda x, y: _column((x - y) ** 2), lambda m: np.sqrt(m[..., 0]), False, False),
        Score("pearson", "Pearson", _products, _correlation, False),
        # Of resamples, too, the ranks are those in all texts.
        Score("spearman", "Spearman", lambda x, y: _products(rankdata(x), rankdata(y)), _correlation, False),
    ),
    "rmse",
    lambda logits: np.asarray(logits, dtype=np.float64).reshape(len(logits)),
    "A correlation is 0 where all predictions or all labels are equal.",
)
METRICS = {ONE_CLASS: CLASSES, SEVERAL: CLASS_SETS, NUMBER: NUMBERS}


def metrics_for_hub(evaluation: Mapping[str, Any]) -> list[Metric]:
    """Return the metrics of a run of any version; the first ones have those of one class without intervals."""
    found = evaluation.get("scores") or evaluation
    scores = METRICS[evaluation.get("problem_type") or ONE_CLASS].scores
    values = [(score, found[score.name]) for score in scores if score.name in found]
    return [
        Metric(score.name, value["value"] if isinstance(value, Mapping) else value, score.heading, evaluation["split"])
        for score, value in values
    ]


# Of all tasks.
LOWER_IS_BETTER = {"loss", "perplexity"} | {
    score.name for metrics in METRICS.values() for score in metrics.scores if not score.greater_is_better
}
