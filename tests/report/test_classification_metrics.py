# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The scores are those of the definitions, the intervals cover, the test is exact; no network or file is needed."""

import math
import warnings

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support
from transformers import EvalPrediction

from modeling_scratch.report.classification_metrics import (
    ClassificationMetrics,
    bootstrap_interval,
    comparison_table,
    mcnemar,
    strongest,
)
from modeling_scratch.utils.markdown import percent


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def of(num_labels: int) -> ClassificationMetrics:
    return ClassificationMetrics([f"class {index}" for index in range(num_labels)])


def outcomes(right: int, wrong: int) -> np.ndarray:
    return np.repeat([True, False], [right, wrong])


@pytest.mark.parametrize("num_labels", [2, 3, 7])
def test_scores_of_classes_and_of_logits_equal_those_of_scikit_learn(num_labels):
    logits = np.random.default_rng(num_labels).normal(size=(500, num_labels))
    predictions, references = logits.argmax(-1), np.arange(500) % num_labels
    scores = of(num_labels).compute(predictions, references)
    average = "binary" if num_labels == 2 else "macro"
    theirs = dict(
        zip(("precision", "recall", "f1"), precision_recall_fscore_support(references, predictions, average=average))
    )
    theirs |= {"accuracy": np.mean(predictions == references)}
    theirs |= {"f1_macro": f1_score(references, predictions, average="macro")}
    assert scores == pytest.approx(theirs)
    assert of(num_labels)(EvalPrediction(logits, references)) == scores
    assert all(type(value) is float for value in scores.values())
    theirs = confusion_matrix(references, predictions)
    assert np.array_equal(of(num_labels).confusion_matrix(predictions, references), theirs)


@pytest.mark.parametrize(
    ("num_labels", "predictions", "references", "expected"),
    [
        (2, [0, 0], [0, 1], {"accuracy": 1 / 2, "precision": 0, "recall": 0, "f1": 0, "f1_macro": 1 / 3}),
        (2, [0, 0], [0, 0], {"accuracy": 1, "precision": 0, "recall": 0, "f1": 0, "f1_macro": 1}),
        (
            3,
            [0, 0, 0],
            [0, 1, 1],
            {"accuracy": 1 / 3, "precision": 1 / 6, "recall": 1 / 2, "f1": 1 / 4, "f1_macro": 1 / 4},
        ),
        (3, [2], [1], {"accuracy": 0, "precision": 0, "recall": 0, "f1": 0, "f1_macro": 0}),
    ],
)
def test_what_would_divide_by_zero_counts_as_zero_without_a_warning(num_labels, predictions, references, expected):
    """And a class that never occurs keeps its row of the confusion matrix."""
    assert of(num_labels).compute(predictions, references) == pytest.approx(expected)
    assert of(num_labels).confusion_matrix(predictions, references).shape == (num_labels, num_labels)


def test_what_is_no_prediction_or_no_reference_is_named():
    """As logits of a diverged or of another model are, and examples without a label."""
    with pytest.raises(ValueError, match=r"references\[1\] is -1.*unlabelled"):
        of(2).compute([0, 1], [0, -1])
    with pytest.raises(ValueError, match="2 predictions for 1 references"):
        of(2).compute([0, 1], [0])
    with pytest.raises(ValueError, match="1 of 2 examples are NaN"):
        of(2)(EvalPrediction(np.array([[0.1, 0.2], [np.nan, 0.0]]), np.array([0, 1])))
    with pytest.raises(ValueError, match="3 logits for 2 labels"):
        of(2)(EvalPrediction(np.zeros((2, 3)), np.array([0, 1])))
    with pytest.raises(ValueError, match="at least 2 labels"):
        ClassificationMetrics(["only"])


def wilson_interval(right: int, n: int) -> tuple[float, float]:
    z, share = 1.959963984540054, right / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return centre - half, centre + half


@pytest.mark.parametrize("right", [20_000])
def test_bootstrap_of_many_examples_is_the_score_interval(right):
    interval = bootstrap_interval(outcomes(right, 25_000 - right))
    assert interval == pytest.approx(wilson_interval(right, 25_000), abs=3e-4)


@pytest.mark.parametrize("n", [1, 20])
def test_few_answers_that_are_all_right_are_not_certain(n):
    assert bootstrap_interval(outcomes(n, 0)) == pytest.approx(wilson_interval(n, n))
    assert bootstrap_interval(outcomes(0, n)) == pytest.approx(wilson_interval(0, n), abs=1e-12)


def paired(both: int, only_model: int, only_baseline: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    counts = [both, only_model, only_baseline, neither]
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


@pytest.mark.parametrize(("only_model", "only_baseline"), [(0, 0), (0, 1), (0, 11), (4, 4), (12, 4), (30, 11)])
def test_mcnemar_is_the_exact_binomial_test(only_model, only_baseline):
    result = mcnemar(*paired(50, only_model, only_baseline, 7))
    assert (result.only_model_correct, result.only_baseline_correct) == (only_model, only_baseline)
    n = only_model + only_baseline
    expected = binomtest(only_model, n).pvalue if n else 1
    assert result.p_value == pytest.approx(expected)
    assert mcnemar(*paired(7, only_baseline, only_model, 50)).p_value == pytest.approx(expected)


def test_the_verdict_changes_at_five_percent():
    assert mcnemar(*paired(3, 6, 0, 3)).verdict == "better"  # p = 2 / 2^6 = 0.031
    assert mcnemar(*paired(3, 0, 6, 3)).verdict == "worse"
    assert mcnemar(*paired(3, 5, 0, 3)).verdict == "no significant difference (p = 0.0625)"  # 2 / 2^5
    assert mcnemar(*paired(5, 0, 0, 5)).verdict == "no significant difference (p = 1)"


@pytest.mark.parametrize(
    ("only_model", "only_baseline", "finding"),
    [
        (40, 10, "Transformer is better than TF-IDF + logistic regression: of 200 examples, 40 are correct only"),
        (10, 40, "Transformer is worse than TF-IDF + logistic regression: of 200 examples, 10 are correct only"),
        (12, 10, "Transformer and TF-IDF + logistic regression do not differ significantly"),
    ],
)
def test_the_table_says_in_a_sentence_which_is_better(only_model, only_baseline, finding):
    pairs = paired(100, only_model, only_baseline, 100 - only_model - only_baseline)
    references = np.arange(200) % 2
    model, baseline = (np.where(correct, references, 1 - references) for correct in pairs)
    header, rule, model_row, baseline_row, _, sentence = comparison_table(
        ["negative", "positive"], references, model, {"TF-IDF + logistic regression": baseline}
    ).split("\n")
    assert header.endswith("| F1 (positive) |")
    assert {line.count("|") for line in (header, rule, model_row, baseline_row)} == {5}
    low, high = bootstrap_interval(pairs[0])
    assert f"| {percent((100 + only_model) / 200)} | {percent(low)} to {percent(high)} |" in model_row
    assert f"| {percent((100 + only_baseline) / 200)} |" in baseline_row
    assert sentence.startswith(finding)


def test_the_sentence_compares_with_the_strongest_baseline():
    """Others have a row, however strong; of equal baselines, the first is compared."""
    references = np.ones(20, dtype=int)
    right = {count: np.arange(20) < count for count in (8, 14, 20)}
    model, weak, strong, perfect = (right[count].astype(int) for count in (14, 8, 20, 20))
    for baselines, name in (
        ({"weak": weak, "strong": strong}, "strong"),
        ({"strong": strong, "weak": weak}, "strong"),
        ({"weak": weak, "first": strong, "second": strong.copy()}, "first"),
        ({"weak": weak}, "weak"),
    ):
        assert strongest(references, baselines) == name
        lines = comparison_table(["negative", "positive"], references, model, baselines, {"mean": perfect}).split("\n")
        assert [line.split(" | ")[0] for line in lines[2:-2]] == [
            f"| {each}" for each in ("Transformer", *baselines, "mean")
        ]
        assert f"Transformer is {'better' if name == 'weak' else 'worse'} than {name}: of 20 examples" in lines[-1]
