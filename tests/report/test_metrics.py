# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The metrics of classifiers are those of scikit-learn and SciPy."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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


# Of few texts, a class is often never predicted, or never seen, and all of a side are equal.
SIZES = given(st.integers(1, 12), st.integers(2, 5), st.integers(0, 10**6))


@SIZES
def test_scores_of_classes_equal_those_of_scikit_learn(texts: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, labels = random.normal(size=(texts, classes)), random.integers(classes, size=texts)
    found, answers = CLASSES(EvalPrediction(logits, labels)), logits.argmax(-1)
    macro = metrics.f1_score(labels, answers, average="macro", zero_division=0)
    assert found == pytest.approx({"accuracy": metrics.accuracy_score(labels, answers), "f1_macro": macro})
    assert all(type(value) is float for value in found.values())


@SIZES
def test_scores_of_sets_are_those_of_scikit_learn(texts: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, labels = random.normal(size=(texts, classes)), (random.random((texts, classes)) < 0.3) * 1.0
    answers = logits > 0
    macro = metrics.f1_score(labels, answers, average="macro", zero_division=np.nan)
    expected = {
        "f1_micro": metrics.f1_score(labels, answers, average="micro", zero_division=0),
        "f1_macro": 0 if np.isnan(macro) else macro,  # without classes neither predicted nor given, as its rule says
        "exact_match": metrics.accuracy_score(labels, answers),
        "hamming_loss": metrics.hamming_loss(labels, answers),
    }
    assert CLASS_SETS(EvalPrediction(logits, labels)) == pytest.approx(expected)


@SIZES
def test_scores_of_numbers_are_those_of_scikit_learn_and_scipy(texts: int, different: int, seed: int) -> None:
    labels, answers = np.random.default_rng(seed).integers(different, size=(2, texts)).astype(float)
    are_equal = 1 in (len({*labels}), len({*answers}))  # SciPy: not a number
    expected = {
        "mae": metrics.mean_absolute_error(labels, answers),
        "rmse": metrics.root_mean_squared_error(labels, answers),
        "pearson": 0 if are_equal else stats.pearsonr(labels, answers).statistic,
        "spearman": 0 if are_equal else stats.spearmanr(labels, answers).statistic,
    }
    assert NUMBERS(EvalPrediction(answers[:, None], labels)) == pytest.approx(expected)


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
