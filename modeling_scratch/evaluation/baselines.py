# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Linear models of word sequences: the baselines that a classifier is compared with.

for result in run_baselines(train_texts, train_labels, texts):
    print(result.name, result.predictions)
"""

import re
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy.sparse import csr_matrix, hstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.sparsefuncs import inplace_column_scale
from threadpoolctl import threadpool_limits

HELD_OUT_SHARE = 0.1
WORD = r"\b\w+\b"  # includes one-letter words ("I", "a", "7 of 10"), unlike scikit-learn's default
UNKNOWN, NO_KEY = -1, -2
LARGE_CORPUS = 1_000  # texts; larger corpora drop terms that occur in one text only (most terms on IMDb)


class Baseline(NamedTuple):
    """A kind of baseline: name, description, the longest n-grams it reads, and C (1 / strength of the L2 penalty)."""

    name: str
    model: str
    longest: int
    c_grid: tuple[float, ...]

    def features(self, train_counts: csr_matrix, eval_counts: csr_matrix) -> tuple[csr_matrix, csr_matrix]:
        """Return what is known of the texts without labels."""
        if self is NB_SVM:
            return train_counts.sign(), eval_counts.sign()
        weights = TfidfTransformer(sublinear_tf=True).fit(train_counts)
        return weights.transform(train_counts), weights.transform(eval_counts)

    def classifier(self, c: float) -> Any:
        """Return an untrained classifier of the features."""
        regression = LogisticRegression(C=c, solver="lbfgs", max_iter=1_000)
        return OneVsRestClassifier(make_pipeline(LogCountRatio(), regression)) if self is NB_SVM else regression


TF_IDF = Baseline(
    "TF-IDF + logistic regression",
    "TF-IDF (1-2 grams, sublinear) + logistic regression (lbfgs)",
    longest=2,
    c_grid=(0.3, 1.0, 3.0, 10.0, 30.0),
)
NB_SVM = Baseline(
    "NB-SVM",
    "NB-SVM (1-3 grams, binary, times log-count ratio; logistic regression, lbfgs)",
    longest=3,
    c_grid=(0.01, 0.03, 0.1, 0.3, 1.0),
)
BASELINES = (TF_IDF, NB_SVM)


@dataclass(frozen=True)
class BaselineResult:
    """Predicted classes (examples,), probabilities (examples, classes), the selected settings and what they reached.

    classes: those of the training texts, in the order of the probabilities.
    seconds: wall time, with that of counting n-grams, which the baselines share.
    """

    name: str
    predictions: np.ndarray
    classes: np.ndarray
    probabilities: np.ndarray
    held_out_accuracy: float
    settings: dict[str, Any]
    seconds: float


class LogCountRatio(TransformerMixin, BaseEstimator):
    """x · r of binary features x, with r = log((p / |p|₁) / (q / |q|₁)), for labels of 1 and of 0.

    p = alpha + the number of texts of class 1 that have the feature, q = the same for class 0.
    Source: Wang and Manning 2012.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, features: csr_matrix, labels: np.ndarray) -> "LogCountRatio":
        is_one = np.asarray(labels) == 1
        p, q = (self.alpha + np.asarray(features[rows].sum(axis=0)).ravel() for rows in (is_one, ~is_one))
        self.ratio_ = np.log(p / p.sum()) - np.log(q / q.sum())
        return self

    def transform(self, features: csr_matrix) -> csr_matrix:
        scaled = features.copy()
        inplace_column_scale(scaled, self.ratio_)
        return scaled


class NGramCounts:
    """Counts of n-grams that at least min_df of the training texts have, as CountVectorizer's, in a third of its time.

    An n-gram is numbered by the number of its first n - 1 words and that of its last word. No string is built for the
    millions that occur once, and one that begins with a rare one is dropped with it.
    """

    def __init__(self, longest: int, min_df: int) -> None:
        self.longest, self.min_df = longest, min_df
        self._words: dict[str, int] = {}
        self._keys: list[np.ndarray] = []  # of each n, ascending: the keys of the n-grams, whose places are the numbers

    def fit_transform(self, texts: Sequence[str]) -> list[csr_matrix]:
        """Return the counts (texts, n-grams) in the training texts, for n = 1 to longest."""
        words: defaultdict[str, int] = defaultdict(lambda: len(words))
        self._keys = []
        counts = self._counts(texts, words.__getitem__, self._learned)
        self._words = dict(words)
        return counts

    def transform(self, texts: Sequence[str]) -> list[csr_matrix]:
        """Return the counts in other texts of the n-grams of the training texts."""
        return self._counts(texts, lambda word: self._words.get(word, UNKNOWN), self._looked_up)

    def _counts(
        self, texts: Sequence[str], number_of_word: Callable[[str], int], numbers_of: Callable[..., np.ndarray]
    ) -> list[csr_matrix]:
        words, rows = _words_of(texts, number_of_word)
        starts, keys, counts = np.arange(len(words)), words, []
        for n in range(1, self.longest + 1):
            grams = numbers_of(n, keys, rows[starts])
            starts, grams = starts[grams != UNKNOWN], grams[grams != UNKNOWN]
            shape = len(texts), len(self._keys[n - 1])
            counts.append(csr_matrix((np.ones(len(grams)), (rows[starts], grams)), shape=shape))
            if n == 1:
                words = np.full(len(words) + 1, UNKNOWN)  # the last: no word
                words[starts] = grams
                rows = np.append(rows, UNKNOWN)
            following = starts + n
            goes_on = (rows[following] == rows[starts]) & (words[following] != UNKNOWN)
            starts = starts[goes_on]
            keys = grams[goes_on] * len(self._keys[0]) + words[following[goes_on]]
        return counts

    def _learned(self, _: int, keys: np.ndarray, rows: np.ndarray) -> np.ndarray:
        distinct, places = np.unique(keys, return_inverse=True)
        shape = rows.max(initial=-1) + 1, len(distinct)
        is_in = csr_matrix((np.ones(len(rows), dtype=bool), (rows, places)), shape)  # once for each text
        is_kept = np.bincount(is_in.indices, minlength=len(distinct)) >= self.min_df
        self._keys.append(distinct[is_kept])
        return np.where(is_kept, np.cumsum(is_kept) - 1, UNKNOWN)[places]

    def _looked_up(self, n: int, keys: np.ndarray, _: np.ndarray) -> np.ndarray:
        places = np.searchsorted(self._keys[n - 1], keys)
        return np.where(np.append(self._keys[n - 1], NO_KEY)[places] == keys, places, UNKNOWN)


def _words_of(texts: Sequence[str], number_of_word: Callable[[str], int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each word of the texts, one text after the other, and the number of its text."""
    find, words, ends = re.compile(WORD).findall, array("q"), [0]
    for text in texts:
        words.extend(map(number_of_word, find(text.lower())))
        ends.append(len(words))
    return np.array(words, dtype=np.int64), np.repeat(np.arange(len(texts)), np.diff(ends))


def run_baselines(
    train_texts: Sequence[str], train_labels: Sequence[int], eval_texts: Sequence[str], seed: int = 0
) -> list[BaselineResult]:
    """Train each baseline on the training texts, and predict the evaluation texts.

    - TF-IDF + logistic regression: (1 + log tf) · idf of 1- and 2-grams, L2-normalised; multinomial.
    - NB-SVM: `LogCountRatio` of 1- to 3-grams, then a logistic regression in place of the SVM; one against the rest
      for more than two classes. On IMDb, it is better than the paper's SVM whose weights are drawn to their mean.

    Each selects its C on a stratified tenth of the training texts, then is refitted on all of them. The evaluation
    texts are not used for either. Deterministic for a seed. The settings are JSON-serialisable.

    Raises ValueError if texts and labels differ in number, a class has fewer than two texts, or no text has a word.
    Source: Wang and Manning 2012, whose bigram features make linear models strong on sentiment.
    """
    start = time.perf_counter()
    labels = _checked_labels(train_texts, train_labels)
    ngrams = NGramCounts(
        longest=max(baseline.longest for baseline in BASELINES),
        min_df=2 if len(train_texts) >= LARGE_CORPUS else 1,
    )
    train_counts, eval_counts = ngrams.fit_transform(train_texts), ngrams.transform(eval_texts)
    if not train_counts[0].shape[1]:
        raise ValueError("no word occurs in two training texts: the baseline has nothing to learn from")
    counting = time.perf_counter() - start
    # Sparse products are single-threaded, and contending BLAS threads are 15 times slower on two busy cores. A single
    # thread also makes the result independent of the number of cores.
    with threadpool_limits(limits=1):
        results = [_run(baseline, train_counts, labels, eval_counts, seed) for baseline in BASELINES]
    return [
        replace(result, settings={**result.settings, "min_df": ngrams.min_df}, seconds=counting + result.seconds)
        for result in results
    ]


def _run(
    baseline: Baseline,
    train_counts: Sequence[csr_matrix],
    labels: np.ndarray,
    eval_counts: Sequence[csr_matrix],
    seed: int,
) -> BaselineResult:
    start = time.perf_counter()
    counts = (hstack(of_n[: baseline.longest], format="csr") for of_n in (train_counts, eval_counts))
    features, eval_features = baseline.features(*counts)
    accuracies = _accuracy_of_each_c(baseline, features, labels, seed)
    best_c = max(accuracies, key=accuracies.__getitem__)  # ties: the first, most regularised
    classifier = baseline.classifier(best_c).fit(features, labels)
    predictions, probabilities = classifier.predict(eval_features), classifier.predict_proba(eval_features)
    settings = {
        "model": baseline.model,
        "C": best_c,
        "held_out_accuracy": {str(c): accuracy for c, accuracy in accuracies.items()},
        "held_out_share": HELD_OUT_SHARE,
        "features": features.shape[1],
        "seed": seed,
        "scikit_learn": sklearn.__version__,
    }
    seconds = time.perf_counter() - start
    best = accuracies[best_c]
    return BaselineResult(baseline.name, predictions, classifier.classes_, probabilities, best, settings, seconds)


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


def _accuracy_of_each_c(baseline: Baseline, features: csr_matrix, labels: np.ndarray, seed: int) -> dict[float, float]:
    """Return the held-out accuracy of each C, for ranking only: the vocabulary includes the held-out texts, and
    phrases of one sentence on both sides (SST-2) inflate it."""
    num_classes = len(np.unique(labels))
    held_out = max(int(HELD_OUT_SHARE * len(labels)), num_classes)  # at least one text of each class
    fit_x, check_x, fit_y, check_y = train_test_split(
        features, labels, test_size=held_out, stratify=labels, random_state=seed
    )
    return {c: float(baseline.classifier(c).fit(fit_x, fit_y).score(check_x, check_y)) for c in baseline.c_grid}
