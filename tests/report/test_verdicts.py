# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report says first: which model to use, and why nobody should use a classifier."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from modeling_scratch.report.classification_card import metrics_for_hub, scores_text
from modeling_scratch.report.metrics import CLASSES, METRICS, macro_f1_decides
from modeling_scratch.report.significance import with_intervals
from modeling_scratch.report.verdicts import MODEL, Outcome, has_one_answer, outcome_of

ACCURACY, MACRO_F1 = CLASSES.scores
LABELS = np.array([0] * 40 + [1] * 60)
BASELINE = "NB-SVM"


def right_in(share: float, labels: np.ndarray = LABELS) -> np.ndarray:
    """Return predictions of which this share, spread over the texts, is right."""
    wrong = np.arange(len(labels)) % 100 >= round(100 * share)
    shuffled = np.random.default_rng(0).permutation(wrong)
    return np.where(shuffled, 1 - labels, labels)


def by(score: Any, labels: np.ndarray, predicted: np.ndarray, baselines: Any, constant: int = 1) -> Outcome:
    if not isinstance(baselines, dict):
        baselines = {BASELINE: baselines}
    return outcome_of(score, labels, predicted, (np.full_like(labels, constant), ["no", "yes"][constant]), baselines)


@pytest.mark.parametrize(
    ("predicted", "of_baseline", "told"),
    [
        (right_in(0.65), 0.5, "not significantly better than the answer yes for every text: accuracy 65.00 % and 60."),
        (right_in(0.8), 1.0, "is worse than NB-SVM: accuracy 80.00 % and 100.00 %"),
        (right_in(0.9), 0.5, None),
        (right_in(0.9), 0.88, None),
    ],
    ids=["near the most frequent class", "beaten", "better", "equal"],
)
def test_a_model_that_nobody_should_use_is_named(predicted: np.ndarray, of_baseline: float, told: str | None) -> None:
    found = by(ACCURACY, LABELS, predicted, right_in(of_baseline)).headline
    assert told in found if told else found is None


@pytest.mark.parametrize("labels", [np.ones(50, dtype=int), np.array([0, 1] * 5)], ids=["of one class", "too few"])
def test_texts_that_cannot_show_that_a_model_is_better_say_nothing(labels: np.ndarray) -> None:
    assert by(ACCURACY, labels, labels, labels).headline is None


@pytest.mark.parametrize(
    ("only_model", "only_baseline", "both", "use", "finding"),
    [
        (40, 10, 100, "Use the Transformer: it is significantly better than NB-SVM.", "Transformer is better than"),
        (10, 40, 100, "Use NB-SVM: it is significantly better than", "Transformer is worse than NB-SVM: the diff"),
        (12, 10, 100, "Use either model: the Transformer and NB-SVM do not differ", "do not differ significantly"),
        (6, 0, 0, "Use either model: 6 texts are too few to compare the Transf", "6 texts are too few to compare"),
    ],
)
def test_the_first_line_says_which_model_to_use(only_model, only_baseline, both, use: str, finding: str) -> None:
    labels = np.arange(both + only_model + only_baseline) % 2
    right = np.repeat([True, True, False], [both, only_model, only_baseline])
    of_baseline = np.repeat([True, False, True], [both, only_model, only_baseline])
    model, baseline = (np.where(correct, labels, 1 - labels) for correct in (right, of_baseline))
    scores = with_intervals(CLASSES.scores, {MODEL: model, BASELINE: baseline}, labels)["models"]
    about = {"problem_type": "single_label_classification", "headline": None, "texts": len(labels), "split": "test"}
    comparison = by(ACCURACY, labels, model, baseline).comparison
    of_baselines = [{"name": BASELINE, "scores": scores[BASELINE]}]
    evaluation = {**about, "scores": scores[MODEL], "baselines": of_baselines, "comparison": comparison}
    report = scores_text(evaluation)
    assert report.startswith(f"**{use}")
    assert finding in report
    assert f"the difference in accuracy is {100 * (right.mean() - of_baseline.mean()):+.2f} percentage p" in report
    assert metrics_for_hub(evaluation)[0].value == right.mean()


@pytest.mark.parametrize("problem_type", METRICS)
def test_the_strongest_baseline_is_compared_with(problem_type: str) -> None:
    """Of equal ones, the first."""
    score = METRICS[problem_type].score
    truth = np.ones((20, 1)) if problem_type.startswith("multi") else np.ones(20, dtype=int)
    weak, strong = truth.copy(), truth.copy()
    weak[8:] = 0
    for baselines, name in (
        ({"weak": weak, "strong": strong}, "strong"),
        ({"strong": strong, "weak": weak}, "strong"),
        ({"weak": weak, "first": strong, "second": strong.copy()}, "first"),
    ):
        assert by(score, truth, weak, baselines).comparison["baseline"] == name


# Imbalanced classes

RARE, RARE_TRAIN = np.array([0] * 900 + [1] * 100), [0] * 90 + [1] * 9


def by_f1(predicted: np.ndarray, baseline: np.ndarray) -> str | None:
    return by(MACRO_F1, RARE, predicted, baseline, constant=0).headline


def test_macro_f1_decides_where_classes_are_imbalanced_or_weighted() -> None:
    assert macro_f1_decides(RARE_TRAIN, is_weighted=False)
    assert not macro_f1_decides([1] * 6 + [0] * 4, is_weighted=False)
    assert macro_f1_decides([1] * 6 + [0] * 4, is_weighted=True)


def test_imbalanced_classes_are_decided_by_macro_f1() -> None:
    """Where a model that finds the rare class has the lower accuracy."""
    finds, never, better = right_in(0.84, RARE), np.zeros_like(RARE), right_in(0.95, RARE)
    assert "is worse than the answer no" in (by(ACCURACY, RARE, finds, never, constant=0).headline or "")
    assert by_f1(finds, baseline=never) is None
    values = " and ".join(f"{f1_score(RARE, each, average='macro'):.2%}" for each in (finds, better))
    assert f"is worse than NB-SVM: macro F1 {values.replace('%', ' %')}" in (by_f1(finds, better) or "")
    assert has_one_answer(RARE, never)
    assert not has_one_answer(never, never), "it is right"
    at_random = np.random.default_rng(0).permutation(RARE)
    assert "is not significantly better than the answer no" in (by_f1(at_random, better) or "")


def test_true_answers_have_no_headline_however_few_texts_are_rare() -> None:
    """Resamples without the rare class leave the interval of any model at 0."""
    few = np.array([0] * 200 + [1])
    assert by(MACRO_F1, few, few, np.zeros_like(few), 0).comparison["verdict"] != "better"
    assert by(MACRO_F1, few, few, few, 0).headline is None


def test_classes_that_no_text_has_are_left_out_of_the_average() -> None:
    labels, predicted = np.array([0] * 30 + [1] * 3), np.array([0] * 28 + [2] * 2 + [1] * 3)
    compared = by(MACRO_F1, labels, predicted, labels, constant=0).comparison
    found = f1_score(labels, predicted, average=None)[:2].mean()
    assert compared["value"] == pytest.approx(found - 1)
    assert compared["evidence"].startswith(f"macro F1 {found:.2%}".replace("%", " %"))
