# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Linear models of TF-IDF for sets of classes and for numbers: the baselines of these kinds."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits

from ..inference.linear_models import LinearWeights
from .baselines import HELD_OUT_SHARE, TfIdf

C_GRID = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # 1 / strength of the L2 penalty
ALPHA_GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # strength of the L2 penalty


@dataclass(frozen=True)
class Baseline:
    """Predictions of the judged texts, (N, C) of 0 and 1 or (N,) of numbers, the settings, wall time and weights."""

    name: str
    predictions: np.ndarray
    settings: dict[str, Any]
    seconds: float
    weights: LinearWeights


def one_versus_rest(texts: Sequence[str], labels: np.ndarray, judged: Sequence[str], seed: int = 0) -> Baseline:
    """Train a logistic regression for each class; the C with the best micro F1 on held-out texts is that of all.

    labels (N, C). Raises ValueError if no text has a word, or there are fewer than two texts.
    """
    name = "TF-IDF + logistic regression"
    model = "TF-IDF (1-2 grams, sublinear) + one logistic regression per class (lbfgs)"

    def untrained(c: float) -> Any:
        return OneVsRestClassifier(LogisticRegression(C=c, solver="lbfgs", max_iter=1_000))

    def score(expected: np.ndarray, found: np.ndarray) -> float:
        return float(f1_score(expected, found, average="micro", zero_division=0))

    settings = {"model": model, "chosen_by": "micro F1"}
    return _train(name, untrained, "C", C_GRID, score, labels.astype(int), texts, judged, seed, settings)


def ridge(texts: Sequence[str], labels: np.ndarray, judged: Sequence[str], seed: int = 0) -> Baseline:
    """Train a ridge regression with the penalty that has the least squared error on held-out texts. labels (N,)."""
    model = "TF-IDF (1-2 grams, sublinear) + ridge regression"

    def untrained(alpha: float) -> Any:
        return Ridge(alpha=alpha, solver="sparse_cg", tol=1e-6)

    def score(expected: np.ndarray, found: np.ndarray) -> float:
        return -float(root_mean_squared_error(expected, found))

    settings = {"model": model, "chosen_by": "RMSE, negative"}
    return _train("TF-IDF + ridge", untrained, "alpha", ALPHA_GRID, score, labels, texts, judged, seed, settings)


def _train(
    name: str,
    untrained: Callable[[float], Any],
    penalty: str,
    grid: Sequence[float],
    score: Callable[[np.ndarray, np.ndarray], float],
    labels: np.ndarray,
    texts: Sequence[str],
    judged: Sequence[str],
    seed: int,
    settings: dict[str, Any],
) -> Baseline:
    """Select the penalty on a tenth of the training texts, refit on all of them, and predict the judged ones.

    The held-out texts have words that the vocabulary lacks, as the judged ones have: the norm of a text, and so the
    scale of its prediction, depends on the words that are known.
    """
    start = time.perf_counter()
    held_out = max(int(HELD_OUT_SHARE * len(texts)), 1)
    fit_texts, check_texts, fit_y, check_y = train_test_split(texts, labels, test_size=held_out, random_state=seed)
    fit_x, check_x = (fitted := TfIdf(fit_texts)).of_training, fitted.of(check_texts)
    tf_idf = TfIdf(texts)
    # As for the other baselines: a single thread is faster, and independent of the number of cores.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class that none or all of the texts have is predicted as such
        found = {value: score(check_y, untrained(value).fit(fit_x, fit_y).predict(check_x)) for value in grid}
        best = max(found, key=found.__getitem__)
        trained = untrained(best).fit(tf_idf.of_training, labels)
    predictions = np.asarray(trained.predict(tf_idf.of(judged)), dtype=np.float64)
    settings = {
        **settings,
        penalty: best,
        "held_out_score": {str(value): result for value, result in found.items()},
        "held_out_share": HELD_OUT_SHARE,
        "features": tf_idf.of_training.shape[1],
        "seed": seed,
        "scikit_learn": sklearn.__version__,
    }
    return Baseline(name, predictions, settings, time.perf_counter() - start, tf_idf.weights(trained))
