# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Linear models of word sequences: the baselines that a classifier is compared with.

for result in run_baselines(train_texts, train_labels, texts):
    print(result.name, result.predictions)
"""

import re
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, f1_score, root_mean_squared_error
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.sparsefuncs import inplace_column_scale
from threadpoolctl import threadpool_limits

from ..inference.linear_models import WORD, LinearWeights, ngram_counter
from .metrics import macro_f1_decides

HELD_OUT_SHARE = 0.1
FOLDS, MOST_FOLDED = 5, 50_000  # a tenth of fewer texts has too few of a rare class to tell its F1
CERTAIN = 100.0  # a logit whose sigmoid is 1
LARGE_CORPUS = 1_000  # texts; larger corpora drop terms that occur in one text only (most terms on IMDb)
C_OF_TF_IDF, C_OF_NB_SVM = (0.3, 1.0, 3.0, 10.0, 30.0), (0.01, 0.03, 0.1, 0.3, 1.0)  # 1 / strength of the L2 penalty
ALPHA_OF_RIDGE = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # strength of the L2 penalty


Scorer = Callable[[np.ndarray, np.ndarray], float]  # (true, predicted) -> a score, the greater the better


@dataclass(frozen=True)
class BaselineResult:
    """What a linear model predicts for the evaluated texts, the selected settings (JSON) and what they reached.

    predictions: class indices (examples,), sets of classes (examples, classes), or numbers (examples,). classes: those
    of the training texts, in the order of the probabilities (examples, classes), where each text has one. seconds: wall
    time, with that of counting n-grams, which the baselines share. weights: those of these classes.
    """

    name: str
    predictions: np.ndarray
    settings: dict[str, Any]
    seconds: float
    weights: LinearWeights
    held_out_score: float
    classes: np.ndarray | None = None
    probabilities: np.ndarray | None = None

    def weights_over(self, labels: int) -> LinearWeights:
        """Return the weights over all labels, of which the training texts may lack some."""
        return self.weights if self.classes is None else self.weights.of_classes(self.classes, labels)


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


# One class for each text


class Baseline(NamedTuple):
    """A linear model of texts with one class each.

    longest: the longest n-grams that it reads. features: of training counts and of others, without labels.
    classifier: an untrained one of the features, for C, one of c_grid, and for scikit-learn's class_weight.
    """

    name: str
    model: str
    longest: int
    features: Callable[[csr_matrix, csr_matrix], tuple[csr_matrix, csr_matrix]]
    classifier: Callable[[float, str | None], Any]
    c_grid: tuple[float, ...]


def _tf_idf(train_counts: csr_matrix, eval_counts: csr_matrix) -> tuple[csr_matrix, csr_matrix]:
    weights = TfidfTransformer(sublinear_tf=True).fit(train_counts)
    return weights.transform(train_counts), weights.transform(eval_counts)


def _presence(train_counts: csr_matrix, eval_counts: csr_matrix) -> tuple[csr_matrix, csr_matrix]:
    return train_counts.sign(), eval_counts.sign()


def _logistic_regression(c: float, class_weight: str | None = None) -> LogisticRegression:
    return LogisticRegression(C=c, class_weight=class_weight, solver="lbfgs", max_iter=1_000)


def _of_log_count_ratios(c: float, class_weight: str | None) -> OneVsRestClassifier:
    return OneVsRestClassifier(make_pipeline(LogCountRatio(), _logistic_regression(c, class_weight)))


TF_IDF = "TF-IDF + logistic regression"
BASELINES = (
    Baseline(
        TF_IDF,
        "TF-IDF (1-2 grams, sublinear) + logistic regression (lbfgs)",
        longest=2,
        features=_tf_idf,
        classifier=_logistic_regression,
        c_grid=C_OF_TF_IDF,
    ),
    Baseline(
        "NB-SVM",
        "NB-SVM (1-3 grams, binary, times log-count ratio; logistic regression, lbfgs)",
        longest=3,
        features=_presence,
        classifier=_of_log_count_ratios,
        c_grid=C_OF_NB_SVM,
    ),
)


def run_baselines(
    train_texts: Sequence[str],
    train_labels: Sequence[int],
    eval_texts: Sequence[str],
    seed: int = 0,
    is_weighted: bool = False,
) -> list[BaselineResult]:
    """Train each baseline on the training texts, and predict the evaluation texts.

    - TF-IDF + logistic regression: (1 + log tf) · idf of 1- and 2-grams, L2-normalised; multinomial.
    - NB-SVM: `LogCountRatio` of 1- to 3-grams, then a logistic regression in place of the SVM; one against the rest
      for more than two classes. On IMDb, it is better than the paper's SVM with weights interpolated with their mean.

    Each selects its C on a stratified tenth of the training texts, then is refitted on all of them. The evaluation
    texts are not used for either. Deterministic for a seed.

    is_weighted: weight the classes in the loss by 1 / their number of texts. If so, or if the classes are imbalanced,
    macro F1 in five folds selects C, as accuracy would select a model that never predicts a rare class.

    Raises ValueError if texts and labels differ in number, a class has fewer than two texts, or no text has a word.
    Source: Wang and Manning 2012, whose bigram features make linear models strong on sentiment.
    """
    start = time.perf_counter()
    labels = _checked_labels(train_texts, train_labels)
    vectorizer = _vectorizer(max(baseline.longest for baseline in BASELINES), len(train_texts))
    train_counts = _count(vectorizer, train_texts)
    eval_counts = vectorizer.transform(eval_texts)
    ngrams = vectorizer.get_feature_names_out()
    lengths = np.array([ngram.count(" ") + 1 for ngram in ngrams])
    counting = time.perf_counter() - start
    # Sparse products are single-threaded, and contending BLAS threads are 15 times slower on two busy cores. A single
    # thread also makes the result independent of the number of cores.
    search = _Search.of(labels, seed, is_weighted)
    with threadpool_limits(limits=1):
        reads = [lengths <= baseline.longest for baseline in BASELINES]
        results = [
            _run(baseline, ngrams[is_read], train_counts[:, is_read], eval_counts[:, is_read], search)
            for baseline, is_read in zip(BASELINES, reads)
        ]
    return [
        replace(result, settings={**result.settings, "min_df": vectorizer.min_df}, seconds=counting + result.seconds)
        for result in results
    ]


def _vectorizer(longest: int, texts: int) -> CountVectorizer:
    return ngram_counter(longest, min_df=2 if texts >= LARGE_CORPUS else 1)


def tf_idf_vectorizer(texts: int) -> TfidfVectorizer:
    """Return an unfitted vectorizer of 1- and 2-grams for so many training texts."""
    min_df = 2 if texts >= LARGE_CORPUS else 1
    return TfidfVectorizer(ngram_range=(1, 2), token_pattern=WORD, sublinear_tf=True, min_df=min_df, dtype=np.float64)


def _count(vectorizer: CountVectorizer, texts: Sequence[str]) -> csr_matrix:
    """Fit the vectorizer on the training texts. Raises ValueError if none is frequent enough."""
    try:
        return vectorizer.fit_transform(texts)
    except ValueError as error:
        raise ValueError("no word occurs in two training texts: the baseline has nothing to learn from") from error


class _Search(NamedTuple):
    """How C is selected: by the score of the predictions for some rows, of models fitted on others (fit, check)."""

    labels: np.ndarray
    folds: Sequence[tuple[np.ndarray, np.ndarray]]
    scorer: Scorer
    settings: dict[str, Any]

    @classmethod
    def of(cls, labels: np.ndarray, seed: int, is_weighted: bool) -> "_Search":
        by_macro_f1 = macro_f1_decides(labels, is_weighted)
        is_folded = by_macro_f1 and len(labels) <= MOST_FOLDED
        settings = {
            "chosen_by": "macro F1" if by_macro_f1 else "accuracy",
            "class_weight": "balanced" if is_weighted else None,
            "held_out_share": 1 / FOLDS if is_folded else HELD_OUT_SHARE,
            "folds": FOLDS if is_folded else 1,
            "seed": seed,
        }
        folds = (_folds if is_folded else _one_split)(labels, seed)
        return cls(labels, folds, _macro_f1 if by_macro_f1 else accuracy_score, settings)

    def score_of(self, classifiers: Sequence[Any], features: csr_matrix) -> float:
        """Return the held-out score of one untrained classifier for each fold, for ranking only: the vocabulary
        includes the held-out texts, and phrases of one sentence on both sides (SST-2) inflate it."""
        found = [
            classifier.fit(features[fit], self.labels[fit]).predict(features[check])
            for classifier, (fit, check) in zip(classifiers, self.folds)
        ]
        true = np.concatenate([self.labels[check] for _, check in self.folds])
        return float(self.scorer(true, np.concatenate(found)))


def _macro_f1(true: np.ndarray, found: np.ndarray) -> float:
    return float(f1_score(true, found, average="macro", zero_division=0))


def _micro_f1(true: np.ndarray, found: np.ndarray) -> float:
    return float(f1_score(true, found, average="micro", zero_division=0))


def _negative_rmse(true: np.ndarray, found: np.ndarray) -> float:
    return -float(root_mean_squared_error(true, found))


def _one_split(labels: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to fit and a stratified tenth to check. The only text of a class is not held out."""
    _, class_of_row, counts = np.unique(labels, return_inverse=True, return_counts=True)
    several = np.flatnonzero(counts[class_of_row] > 1)
    held_out = max(int(HELD_OUT_SHARE * len(several)), int(np.sum(counts > 1)))  # at least one text of each class
    fit, check = train_test_split(several, test_size=held_out, stratify=labels[several], random_state=seed)
    return [(np.concatenate((fit, np.flatnonzero(counts[class_of_row] == 1))), check)]


def _folds(labels: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to fit and to check of stratified folds, no more than the most frequent class has texts."""
    folds = StratifiedKFold(min(FOLDS, np.unique(labels, return_counts=True)[1].max()), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on a class with fewer texts than folds
        return list(folds.split(labels, labels))


def _run(
    baseline: Baseline, ngrams: Sequence[str], train_counts: csr_matrix, eval_counts: csr_matrix, search: _Search
) -> BaselineResult:
    start = time.perf_counter()
    features, eval_features = baseline.features(train_counts, eval_counts)
    weighting = search.settings["class_weight"]
    scores = {
        c: search.score_of([baseline.classifier(c, weighting) for _ in search.folds], features) for c in baseline.c_grid
    }
    best_c = max(scores, key=scores.__getitem__)  # ties: the first, most regularised
    classifier = baseline.classifier(best_c, weighting).fit(features, search.labels)
    predictions, probabilities = classifier.predict(eval_features), classifier.predict_proba(eval_features)
    settings = {"model": baseline.model, **_settings("C", scores, features.shape[1]), **search.settings}
    idf = TfidfTransformer().fit(train_counts).idf_ if baseline.features is _tf_idf else None
    weights, seconds = _linear_weights(classifier, ngrams, idf), time.perf_counter() - start
    about = settings, seconds, weights, scores[best_c]
    return BaselineResult(baseline.name, predictions, *about, classifier.classes_, probabilities)


def _settings(penalty: str, scores: dict[float, float], features: int) -> dict[str, Any]:
    return {
        penalty: max(scores, key=scores.__getitem__),
        "held_out_score": {str(value): score for value, score in scores.items()},
        "features": features,
        "scikit_learn": sklearn.__version__,
    }


def _checked_labels(texts: Sequence[str], labels: Sequence[int]) -> np.ndarray:
    if len(texts) != len(labels):
        raise ValueError(f"the baseline got {len(texts)} training texts and {len(labels)} labels")
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"the baseline needs training texts of at least two classes, got only {classes.tolist()}")
    if np.sum(counts > 1) < 2:
        raise ValueError("the baseline needs two classes with two training texts each, to fit and to hold out")
    if not any(re.search(WORD, text) for text in texts):
        raise ValueError("no training text has a word: the baseline has nothing to learn from")
    return np.asarray(labels)


# Several classes, or a number, for each text


def one_versus_rest(
    texts: Sequence[str], labels: np.ndarray, eval_texts: Sequence[str], seed: int = 0
) -> BaselineResult:
    """Train a logistic regression for each class; the C with the best micro F1 on held-out texts is that of all.

    labels (N, C). Raises ValueError if no text has a word, or there are fewer than two texts.
    """
    model = "TF-IDF (1-2 grams, sublinear) + one logistic regression per class (lbfgs)"
    grid = {c: OneVsRestClassifier(_logistic_regression(c)) for c in (*C_OF_TF_IDF, 100.0)}
    settings = {"model": model, "chosen_by": "micro F1"}
    return _train(TF_IDF, "C", grid, _micro_f1, texts, labels.astype(int), eval_texts, seed, settings)


def ridge(texts: Sequence[str], labels: np.ndarray, eval_texts: Sequence[str], seed: int = 0) -> BaselineResult:
    """Train a ridge regression with the penalty that has the least squared error on held-out texts. labels (N,)."""
    grid = {alpha: Ridge(alpha=alpha, solver="sparse_cg", tol=1e-6) for alpha in ALPHA_OF_RIDGE}
    settings = {"model": "TF-IDF (1-2 grams, sublinear) + ridge regression", "chosen_by": "RMSE, negative"}
    return _train("TF-IDF + ridge", "alpha", grid, _negative_rmse, texts, labels, eval_texts, seed, settings)


def _train(
    name: str,
    penalty: str,
    grid: dict[float, Any],
    scorer: Scorer,
    texts: Sequence[str],
    labels: np.ndarray,
    eval_texts: Sequence[str],
    seed: int,
    settings: dict[str, Any],
) -> BaselineResult:
    """Select the penalty on a tenth of the training texts, refit on all of them, and predict the evaluation texts.

    grid: an untrained model for each penalty. The held-out texts have words that the vocabulary lacks, as the evaluated
    ones have: the norm of a text, and so the scale of its prediction, depends on the words that are known.
    """
    start = time.perf_counter()
    held_out = max(int(HELD_OUT_SHARE * len(texts)), 1)
    fit_texts, check_texts, fit_y, check_y = train_test_split(texts, labels, test_size=held_out, random_state=seed)
    vectorizer = tf_idf_vectorizer(len(fit_texts))
    fit_x, check_x = _count(vectorizer, fit_texts), vectorizer.transform(check_texts)
    vectorizer = tf_idf_vectorizer(len(texts))
    features = _count(vectorizer, texts)
    # As for the other baselines: a single thread is faster, and independent of the number of cores.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class that none or all of the texts have is predicted as such
        scores = {value: scorer(check_y, model.fit(fit_x, fit_y).predict(check_x)) for value, model in grid.items()}
        best = max(scores, key=scores.__getitem__)
        trained = grid[best].fit(features, labels)
    predictions = np.asarray(trained.predict(vectorizer.transform(eval_texts)), dtype=np.float64)
    about = {"held_out_share": HELD_OUT_SHARE, "seed": seed}
    settings = {**settings, **_settings(penalty, scores, features.shape[1]), **about}
    ngrams, (weight, bias) = vectorizer.get_feature_names_out(), _parameters(trained)
    weights = LinearWeights(ngrams, weight, bias, vectorizer.idf_, one_versus_rest=False)
    return BaselineResult(name, predictions, settings, time.perf_counter() - start, weights, scores[best])


# Weights


def _linear_weights(classifier: Any, ngrams: Sequence[str], idf: np.ndarray | None) -> LinearWeights:
    """Return the weights of a fitted model of one class per text, of `classes_`. idf: of TF-IDF."""
    weight, bias = _parameters(classifier)
    if len(bias) == 1:  # of two classes: the logit of the first is 0
        weight, bias = np.vstack([np.zeros_like(weight), weight]), np.append(0.0, bias)
    one_versus_rest = isinstance(classifier, OneVsRestClassifier) and len(bias) > 2
    return LinearWeights(ngrams, weight, bias, idf, one_versus_rest)


def _parameters(classifier: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (logits, n-grams) and the bias (logits,) of a fitted model."""
    if isinstance(classifier, OneVsRestClassifier):
        weights, biases = zip(*map(_parameters, classifier.estimators_))
        return np.vstack(weights), np.concatenate(biases)
    if isinstance(classifier, Pipeline):
        ratio, (weight, bias) = classifier[0].ratio_, _parameters(classifier[-1])
        return weight * ratio, bias
    if not hasattr(classifier, "coef_"):  # of a class that none or all of the training texts have
        features = np.zeros((1, classifier.n_features_in_))
        return features, np.where(classifier.predict(features), CERTAIN, -CERTAIN)
    return np.atleast_2d(classifier.coef_), np.atleast_1d(classifier.intercept_)
