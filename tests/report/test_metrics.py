# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The metrics of classifiers are those of scikit-learn and SciPy."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics
from transformers import EvalPrediction

from modeling_scratch.report.metrics import CLASS_SETS, CLASSES, NUMBERS
from modeling_scratch.utils.errors import DataError


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("num_labels", [2, 7])
def test_scores_of_classes_equal_those_of_scikit_learn(num_labels: int) -> None:
    logits = np.random.default_rng(num_labels).normal(size=(500, num_labels))
    predictions, references = logits.argmax(-1), np.arange(500) % num_labels
    scores = CLASSES(EvalPrediction(logits, references))
    macro = metrics.f1_score(references, predictions, average="macro")
    assert scores == pytest.approx({"accuracy": np.mean(predictions == references), "f1_macro": macro})
    assert all(type(value) is float for value in scores.values())
    # What would divide by zero counts as zero, and a class that no text has is left out.
    for answers, right, accuracy, f1_macro in (
        ([0, 0], [0, 1], 1 / 2, 1 / 3),
        ([0, 0], [0, 0], 1, 1),
        ([0, 0, 0], [0, 1, 1], 1 / 3, 1 / 4),
        ([2], [1], 0, 0),
        ([0, 2, 1], [0, 0, 1], 2 / 3, 5 / 6),
    ):
        found = CLASSES.compute(np.array(answers), np.array(right))
        assert found == pytest.approx({"accuracy": accuracy, "f1_macro": f1_macro})


def test_scores_of_sets_are_those_of_scikit_learn(random: np.random.Generator) -> None:
    labels, logits = (random.random((50, 4)) < 0.3).astype(np.float32), random.normal(size=(50, 4))
    labels[:, 3], logits[:, 3] = 0, -1  # a class that no text has, and that none is given, has no F1
    found = CLASS_SETS(EvalPrediction(logits, labels))
    answers = logits > 0
    expected = {
        "f1_micro": metrics.f1_score(labels, answers, average="micro"),
        "f1_macro": metrics.f1_score(labels, answers, average="macro", zero_division=np.nan),
        "exact_match": metrics.accuracy_score(labels, answers),
        "hamming_loss": metrics.hamming_loss(labels, answers),
    }
    assert found == pytest.approx(expected)
    assert CLASS_SETS(EvalPrediction(np.full((50, 4), -1.0), np.zeros((50, 4))))["f1_micro"] == 0


def test_scores_of_numbers_are_those_of_scikit_learn_and_scipy(random: np.random.Generator) -> None:
    labels, logits = random.integers(5, size=50).astype(float), random.normal(size=(50, 1))
    expected = {
        "mae": metrics.mean_absolute_error(labels, logits),
        "rmse": metrics.root_mean_squared_error(labels, logits),
        "pearson": stats.pearsonr(labels, logits[:, 0]).statistic,
        "spearman": stats.spearmanr(labels, logits[:, 0]).statistic,
    }
    assert NUMBERS(EvalPrediction(logits, labels)) == pytest.approx(expected)
    constant = NUMBERS(EvalPrediction(np.ones((50, 1)), labels))
    assert constant["pearson"] == constant["spearman"] == 0


def test_scores_of_counts_are_those_of_the_drawn_texts(random: np.random.Generator) -> None:
    """The last resample has one text only: equal numbers have no correlation. Ranks are those in all texts."""
    draws = [*random.integers(30, size=(3, 30)), np.full(30, 4)]
    sets = [(random.random((30, 4)) < share).astype(float) for share in (0.3, 0.4)]
    rounded = [random.normal(size=30).round(1) for _ in range(2)]
    for each, (answers, labels) in ((CLASS_SETS, sets), (NUMBERS, rounded)):
        for draw in draws:
            counts, expected = np.bincount(draw, minlength=30), each.compute(answers[draw], labels[draw])
            for score in each.scores:
                found = score.of_means(counts @ score.parts(answers, labels) / 30)
                tolerance = 0.1 if score.name == "spearman" else 1e-6
                assert found == pytest.approx(expected[score.name], abs=tolerance)


@pytest.mark.parametrize("each", [CLASSES, CLASS_SETS, NUMBERS], ids=["classes", "sets", "numbers"])
def test_a_diverged_model_has_no_scores(each: Any) -> None:
    with pytest.raises(DataError, match="diverged"):
        each(EvalPrediction(np.full((2, 1), np.nan), np.zeros((2, 1))))
