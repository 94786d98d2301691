# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Linear models of word sequences: the baselines that a classifier is compared with.

for result in run_baselines(train_texts, train_labels, texts):
    print(result.name, result.predictions)
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.sparsefuncs import inplace_column_scale
from threadpoolctl import threadpool_limits

from ..inference.classifiers import LinearWeights, ngram_counter
from ..utils.errors import counted

HELD_OUT_SHARE = 0.1
FOLDS, MOST_FOLDED = 5, 50_000  # a tenth of fewer texts has too few of a rare class to tell its F1
MOST_FITTED = 45_000  # texts that a penalty is selected with; more take minutes, and select the same
MOST_CHARACTERS = 2 * 10**8  # of the training texts, times the logits: some minutes; of more, a sample is fitted
CERTAIN = 100.0  # a logit whose sigmoid is 1
LARGE_CORPUS = 1_000  # texts; larger corpora drop terms that occur in one text only (most terms on IMDb)
# What selects a penalty, by the names of scikit-learn. The greatest is best, and of equal ones the strongest penalty.
# Phrases of one sentence on both sides (SST-2) inflate the scores, which therefore only rank the penalties.
SELECTING = {
    "accuracy": "accuracy", "macro F1": "f1_macro", "micro F1": "f1_micro",
    "RMSE, negative": "neg_root_mean_squared_error",
}  # fmt: skip
Folds = list[tuple[np.ndarray, np.ndarray]]  # rows to fit, and rows to check


# Models


class LogCountRatio(TransformerMixin, BaseEstimator):
    """x · r of binary features x, with r = log((p / |p|₁) / (q / |q|₁)), for labels of 1 and of 0.

    p = alpha + the number of texts of class 1 that have the feature, q = the same for class 0.
    Source: Wang and Manning 2012.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, features: csr_matrix, labels: np.ndarray) -> "LogCountRatio":
        is_one = np.asarray(labels) == 1
        p, q = (self.alpha + rows.astype(np.float64) @ features for rows in (is_one, ~is_one))
        self.ratio_ = np.log(p / p.sum()) - np.log(q / q.sum())
        return self

    def transform(self, features: csr_matrix) -> csr_matrix:
        scaled = features.copy()
        inplace_column_scale(scaled, self.ratio_)
        return scaled


class KnownNgrams(TransformerMixin, BaseEstimator):
    """Leaves out the n-grams that no text of the fit has: the norm of TF-IDF depends on what is known, as in use."""

    def fit(self, counts: csr_matrix, labels: Any = None) -> "KnownNgrams":
        self.known_ = np.flatnonzero(counts.getnnz(axis=0))
        return self

    def transform(self, counts: csr_matrix) -> csr_matrix:
        return counts[:, self.known_]


class LinearModel(NamedTuple):
    """A linear model of the counts of n-grams, unfitted."""

    name: str
    longest: int  # words of an n-gram
    features: Any  # of counts
    estimator: Any
    penalty: str  # the name of its parameter
    grid: tuple[float, ...]  # its values


def _logistic_regression(class_weight: str | None = None) -> LogisticRegression:
    # With many classes and n-grams, the vectors that L-BFGS keeps cost more than the texts. With two, it is no faster.
    return LogisticRegression(class_weight=class_weight, solver="newton-cg", tol=1e-5)


TF_IDF = TfidfTransformer(sublinear_tf=True)
C_OF_TF_IDF = (0.3, 1.0, 3.0, 10.0, 30.0)  # 1 / strength of the L2 penalty


def _classifiers(class_weight: str | None) -> list[LinearModel]:
    regression = _logistic_regression(class_weight)
    of_ratios = OneVsRestClassifier(Pipeline([("ratio", LogCountRatio()), ("regression", regression)]))
    c_of_ratios = (0.01, 0.03, 0.1, 0.3, 1.0)
    return [
        LinearModel("TF-IDF + logistic regression", 2, TF_IDF, regression, "C", C_OF_TF_IDF),
        LinearModel("NB-SVM", 3, Binarizer(), of_ratios, "estimator__regression__C", c_of_ratios),
    ]


OF_SETS = LinearModel(
    "TF-IDF + logistic regression", 2, TF_IDF, OneVsRestClassifier(_logistic_regression()), "estimator__C",
    (*C_OF_TF_IDF, 100.0),
)  # fmt: skip
OF_NUMBERS = LinearModel(
    "TF-IDF + ridge", 2, TF_IDF, Ridge(solver="sparse_cg", tol=1e-6), "alpha", (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
)


@dataclass(frozen=True)
class BaselineResult:
    """What a linear model predicts for the evaluated texts, and how it was fitted."""

    name: str
    predictions: np.ndarray  # class indices (examples,), sets of classes (examples, classes), or numbers (examples,)
    settings: dict[str, Any]  # the selected ones, for JSON
    weights: LinearWeights  # of `classes`
    mean_features: np.ndarray  # of the training texts (F,)
    classes: np.ndarray | None = None  # of the training texts, where each has one
    probabilities: np.ndarray | None = None  # (examples, classes)


# Training


def run_baselines(
    train_texts: Sequence[str],
    train_labels: Sequence[int],
    eval_texts: Sequence[str],
    seed: int = 0,
    is_weighted: bool = False,
    by_macro_f1: bool = False,
) -> list[BaselineResult]:
    """Train each baseline on the training texts, and predict the evaluation texts.

    - TF-IDF + logistic regression: (1 + log tf) · idf of 1- and 2-grams, L2-normalised; multinomial.
    - NB-SVM: `LogCountRatio` of 1- to 3-grams, then a logistic regression in place of the SVM; one against the rest
      for more than two classes. On IMDb, it is better than the paper's SVM with weights interpolated with their mean.

    Each selects its C on a stratified tenth of the training texts, of models fitted on at most MOST_FITTED others, then
    is refitted on all of them, or on a sample (MOST_CHARACTERS). The evaluation texts are not used for either.
    Deterministic for a seed.

    is_weighted: weight the classes in the loss by 1 / their number of texts. by_macro_f1: macro F1 in five folds
    selects C, where accuracy would select a model that never predicts a rare class.

    Raises ValueError if fewer than two classes have two texts, or no text has a word.
    Source: Wang and Manning 2012, whose bigram features make linear models strong on sentiment.
    """
    classes, counts = np.unique(train_labels, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"the baseline needs training texts of at least two classes, got only {classes.tolist()}")
    if np.sum(counts > 1) < 2:
        raise ValueError("the baseline needs two classes with two training texts each, to fit and to hold out")
    texts, labels = _sampled(train_texts, np.asarray(train_labels), len(classes), seed)
    folds = _stratified_folds(labels, seed, by_macro_f1 and len(labels) <= MOST_FOLDED)
    models, chosen_by = _classifiers("balanced" if is_weighted else None), "macro F1" if by_macro_f1 else "accuracy"
    return _train(models, texts, labels, eval_texts, chosen_by, folds)


def one_versus_rest(
    texts: Sequence[str], labels: np.ndarray, eval_texts: Sequence[str], seed: int = 0
) -> BaselineResult:
    """Train a logistic regression for each class; the C with the best micro F1 on held-out texts is that of all.

    labels (N, C). Raises ValueError if no text has a word, or there are fewer than two texts.
    """
    texts, labels = _sampled(texts, labels, labels.shape[1], seed)
    folds = _tenth(np.arange(len(texts)), seed)
    return _train([OF_SETS], texts, labels.astype(int), eval_texts, "micro F1", folds)[0]


def ridge(texts: Sequence[str], labels: np.ndarray, eval_texts: Sequence[str], seed: int = 0) -> BaselineResult:
    """Train a ridge regression with the penalty that has the least squared error on held-out texts. labels (N,)."""
    texts, labels = _sampled(texts, labels, 1, seed)
    return _train([OF_NUMBERS], texts, labels, eval_texts, "RMSE, negative", _tenth(np.arange(len(texts)), seed))[0]


def _train(
    models: Sequence[LinearModel],
    texts: Sequence[str],
    labels: np.ndarray,
    eval_texts: Sequence[str],
    chosen_by: str,
    folds: Folds,
) -> list[BaselineResult]:
    """Raises ValueError if no word is frequent enough."""
    least = 2 if len(texts) >= LARGE_CORPUS else 1
    vectorizer = ngram_counter(max(model.longest for model in models), min_df=least)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError as error:
        word = f"no word occurs in {counted(least, 'training text')}"
        raise ValueError(f"{word}: the baseline has nothing to learn from") from error
    eval_counts, ngrams = vectorizer.transform(eval_texts), vectorizer.get_feature_names_out()
    lengths = np.array([ngram.count(" ") + 1 for ngram in ngrams])
    results = []
    # Sparse products are single-threaded, and contending BLAS threads are 15 times slower on two busy cores. A single
    # thread also makes the result independent of the number of cores.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class that none or all of the texts have is predicted as such
        for model in models:
            reads = lengths <= model.longest
            steps = [("known", KnownNgrams()), ("features", model.features), ("model", model.estimator)]
            grid = {f"model__{model.penalty}": model.grid}
            search = GridSearchCV(Pipeline(steps), grid, scoring=SELECTING[chosen_by], cv=folds, error_score="raise")
            search.fit(counts[:, reads], labels)
            results.append(_result(model, search, ngrams[reads], counts[:, reads], eval_counts[:, reads], chosen_by))
    return results


def _result(
    model: LinearModel,
    search: GridSearchCV,
    ngrams: Sequence[str],
    counts: csr_matrix,
    eval_counts: csr_matrix,
    chosen_by: str,
) -> BaselineResult:
    _, features, estimator = search.best_estimator_
    scores = search.cv_results_["mean_test_score"]
    settings = {
        model.penalty.rpartition("_")[2]: search.best_params_[f"model__{model.penalty}"],
        "chosen_by": chosen_by,
        "held_out_score": {str(value): round(float(score), 6) for value, score in zip(model.grid, scores)},
        "texts": counts.shape[0],
    }
    has_one_class = hasattr(estimator, "classes_") and not getattr(estimator, "multilabel_", False)
    of_classes = (estimator.classes_, search.predict_proba(eval_counts)) if has_one_class else ()
    weight, bias = _parameters(estimator)
    if has_one_class and len(bias) == 1:  # of two classes: the logit of the first is 0
        weight, bias = np.vstack([np.zeros_like(weight), weight]), np.append(0.0, bias)
    one_versus_rest = has_one_class and isinstance(estimator, OneVsRestClassifier) and len(bias) > 2
    weights = LinearWeights(ngrams, weight, bias, getattr(features, "idf_", None), one_versus_rest)
    mean_features = np.asarray(features.transform(counts).mean(axis=0)).ravel()
    return BaselineResult(model.name, search.predict(eval_counts), settings, weights, mean_features, *of_classes)


# Rows


def _sampled(texts: Sequence[str], labels: np.ndarray, logits: int, seed: int) -> tuple[Sequence[str], np.ndarray]:
    """Return the texts to fit, with their labels: a random part, with all classes, where all would take too long."""
    share = MOST_CHARACTERS / max(1, logits * sum(map(len, texts)))
    if share >= 1:
        return texts, labels
    rows = np.random.default_rng(seed).permutation(len(texts))
    if labels.ndim == 1 and logits > 1:  # of classes: the first two texts of each one, and then the others
        number = pd.Series(labels[rows]).groupby(labels[rows]).cumcount()
        rows = rows[np.argsort(number >= 2, kind="stable")]
    rows = np.sort(rows[: max(int(share * len(texts)), 2 * logits)])
    return [texts[row] for row in rows], labels[rows]


def _tenth(rows: np.ndarray, seed: int, labels: np.ndarray | None = None, least: int = 1) -> Folds:
    """Return the rows to fit, and a tenth to check, or `least` rows; with labels, stratified."""
    held_out = max(int(HELD_OUT_SHARE * len(rows)), least)
    fitted = min(len(rows) - held_out, MOST_FITTED)
    return [train_test_split(rows, train_size=fitted, test_size=held_out, stratify=labels, random_state=seed)]


def _stratified_folds(labels: np.ndarray, seed: int, are_five: bool) -> Folds:
    """Return a tenth with a text of each class, or more, or five folds, but no more than the largest class has texts.

    The only text of a class has no part in the tenth.
    """
    _, class_of_row, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if not are_five:
        several = np.flatnonzero(counts[class_of_row] > 1)
        return _tenth(several, seed, labels[several], int(np.sum(counts > 1)))
    folds = StratifiedKFold(min(FOLDS, counts.max()), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on a class with fewer texts than folds
        return list(folds.split(labels, labels))


# Weights


def _parameters(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (logits, n-grams) and the bias (logits,) of a fitted model."""
    if isinstance(estimator, OneVsRestClassifier):
        weights, biases = zip(*map(_parameters, estimator.estimators_))
        return np.vstack(weights), np.concatenate(biases)
    if isinstance(estimator, Pipeline):
        ratio, (weight, bias) = estimator[0].ratio_, _parameters(estimator[-1])
        return weight * ratio, bias
    if not hasattr(estimator, "coef_"):  # of a class that none or all of the training texts have
        features = np.zeros((1, estimator.n_features_in_))
        return features, np.where(estimator.predict(features), CERTAIN, -CERTAIN)
    return np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
