# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels to check before training: a linear model that was not trained on the text is sure of another label.

A label y of a text x is in doubt if argmax_k {p_k(x) : p_k(x) >= t_k} is another class, where p is a model of the other
folds, and t_k the mean of p_k over the texts labelled k (confident learning, Northcutt, Jiang and Chuang 2021).

Shapes: N texts, C classes.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from ..data.columns import label_key, normalised
from ..data.labelled_texts import ReviewData
from ..data.text_pairs import as_fields
from ..utils.errors import DataError
from ..utils.files import write_csv
from .baselines import counter_for

FOLDS, C = 5, 3.0  # C: 1 / strength of the penalty
HEADS = ["where", "label", "answer", "probability"]


def find_doubtful_labels(data: ReviewData) -> list[dict[str, str]]:
    """Return the rows of the labels in doubt of all splits, read as those that they probably stand for.

    The first is the one whose model, of the other folds, is surest of another answer.

    Raises `DataError` if texts do not have one class each, and if they are too few.
    """
    if data.problem_type != "single_label_classification":
        raise DataError(f"--check_labels requires one class per text, and the task is {data.problem_type}")
    texts = [text for split in data.splits for text in data.texts(split)]
    places = [place for split in data.splits for place in data.places_of(split)]
    names = data.label_names
    numbers = {label_key(name): number for number, name in enumerate(names)}
    meant = np.array([numbers[label_key(str(data.proposed.get(name, name)))] for name in names])
    labels = meant[np.concatenate([data.labels(split) for split in data.splits])]
    different = {(normalised(text), label) for text, label in zip(texts, labels.tolist())}
    if sum(count >= FOLDS for count in Counter(label for _, label in different).values()) < 2:
        raise DataError(f"--check_labels: fewer than two classes have {FOLDS} different texts to learn from; remove it")
    probabilities = held_out_probabilities(texts, labels, len(names), seed=0)
    return [
        dict(zip(HEADS, (places[row], names[labels[row]], names[answer], f"{probabilities[row, answer]:.4f}")))
        | as_fields(texts[row])
        for row, answer in zip(*in_doubt(probabilities, labels))
    ]


def save_doubtful_labels(found: Sequence[dict[str, str]], path: Path) -> None:
    """Write all of them as a table, with their texts in full."""
    write_csv(path, [[*found[0]] if found else HEADS, *(row.values() for row in found)])


def in_doubt(probabilities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, C), (N,) -> the rows whose label is in doubt, and the classes that are likelier, the surest first."""
    classes = range(probabilities.shape[1])
    thresholds = [probabilities[labels == k, k].mean() if (labels == k).any() else np.inf for k in classes]
    sure = np.where(probabilities >= thresholds, probabilities, 0)
    answers = sure.argmax(-1)
    is_likelier = probabilities.argmax(-1) != labels
    rows = np.flatnonzero((sure.max(-1) > 0) & (answers != labels) & is_likelier)
    rows = rows[np.argsort(-probabilities[rows, answers[rows]], kind="stable")]
    return rows, answers[rows]


def held_out_probabilities(texts: Sequence[str], labels: np.ndarray, classes: int, seed: int) -> np.ndarray:
    """Return the probabilities (N, C) that TF-IDF + logistic regression gives texts of folds that it has not seen.

    Equal texts are in one fold.
    """
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    tf_idf = TfidfTransformer(sublinear_tf=True)
    model = make_pipeline(counter_for(2, len(texts)), tf_idf, LogisticRegression(C=C, max_iter=300))
    options: Any = {"groups": [normalised(text) for text in texts], "cv": folds, "method": "predict_proba"}
    probabilities = np.zeros((len(texts), classes))
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on classes with fewer texts than folds
        probabilities[:, np.unique(labels)] = cross_val_predict(model, texts, labels, **options)
    return probabilities
