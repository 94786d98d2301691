# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The linear baseline that a text classifier has to beat: TF-IDF of words and word pairs, and logistic regression."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

C_GRID = (0.3, 1.0, 3.0, 10.0, 30.0)  # 1 / strength of the L2 penalty
HELD_OUT_SHARE = 0.1
WORD = r"\b\w+\b"  # of one letter too ("I", "a", "7 of 10"), which scikit-learn's own pattern leaves out
LARGE_CORPUS = 1_000  # texts; from here on terms that only one text has are dropped: most of all terms on IMDb


@dataclass(frozen=True)
class BaselineResult:
    """Predicted class (examples,) of each evaluation text, what was chosen and how, and the wall time in seconds."""

    predictions: np.ndarray
    settings: dict[str, Any]
    seconds: float


def run_baseline(
    train_texts: Sequence[str], train_labels: Sequence[int], eval_texts: Sequence[str], seed: int = 0
) -> BaselineResult:
    """tf-idf = (1 + log tf) · idf, L2-normalised, of 1- and 2-grams; then argmax of a multinomial logistic regression.

    C is chosen on a stratified tenth of the training texts, then all of them are fitted; nothing is learned or
    chosen from the evaluation texts. Deterministic for a seed. Settings can be saved as JSON.

    Raises ValueError where texts and labels do not match, a class has fewer than two texts, or no text has a word.
    Source: Wang and Manning 2012, whose bigram features make linear models strong on sentiment.
    """
    start = time.perf_counter()
    labels = _checked_labels(train_texts, train_labels)
    min_df = 2 if len(train_texts) >= LARGE_CORPUS else 1
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=min_df, token_pattern=WORD)
    features = vectorizer.fit_transform(train_texts)
    held_out_accuracy = _accuracy_of_each_c(features, labels, seed)
    best_c = max(C_GRID, key=held_out_accuracy.__getitem__)  # the first, most regularised, of equals
    predictions = _fit(features, labels, best_c).predict(vectorizer.transform(eval_texts))
    settings = {
        "model": "TF-IDF (1-2 grams, sublinear) + logistic regression (lbfgs)",
        "C": best_c,
        "held_out_accuracy": {str(c): accuracy for c, accuracy in held_out_accuracy.items()},
        "held_out_share": HELD_OUT_SHARE,
        "min_df": min_df,
        "features": features.shape[1],
        "seed": seed,
        "scikit_learn": sklearn.__version__,
    }
    return BaselineResult(predictions, settings, time.perf_counter() - start)


def _checked_labels(texts: Sequence[str], labels: Sequence[int]) -> np.ndarray:
    if len(texts) != len(labels):
        raise ValueError(f"the baseline got {len(texts)} training texts and {len(labels)} labels")
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"the baseline needs training texts of at least two classes, got only {classes.tolist()}")
    if counts.min() < 2:
        rare = classes[counts.argmin()]
        raise ValueError(
            f"class {rare} has a single training text; the baseline needs two, one to fit and one to hold out"
        )
    if not any(re.search(WORD, text) for text in texts):
        raise ValueError("no training text has a word: the baseline has nothing to learn from")
    return np.asarray(labels)


def _accuracy_of_each_c(features: csr_matrix, labels: np.ndarray, seed: int) -> dict[float, float]:
    """Held-out accuracy of each C. Good for ranking only: the vocabulary has seen those texts, and phrases of one
    sentence on both sides (SST-2) inflate it."""
    num_classes = len(np.unique(labels))
    held_out = max(int(HELD_OUT_SHARE * len(labels)), num_classes)  # at least one text of each class
    fit_x, check_x, fit_y, check_y = train_test_split(
        features, labels, test_size=held_out, stratify=labels, random_state=seed
    )
    return {c: float(_fit(fit_x, fit_y, c).score(check_x, check_y)) for c in C_GRID}


def _fit(features: csr_matrix, labels: np.ndarray, c: float) -> LogisticRegression:
    # Sparse products use one thread anyway, and the threads of BLAS wait for each other: 15 times slower on two busy
    # cores. With one thread the result is also the same on any number of cores.
    with threadpool_limits(limits=1):
        return LogisticRegression(C=c, solver="lbfgs", max_iter=1_000).fit(features, labels)
