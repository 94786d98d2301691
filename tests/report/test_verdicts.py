# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report says first: which model to use, and why nobody should use a classifier."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from modeling_scratch.report.classification_card import scores_text
from modeling_scratch.report.metrics import macro_f1_decides
from modeling_scratch.report.verdicts import (
    by_accuracy,
    by_macro_f1,
    has_one_answer,
)

NAMES = ["no", "yes"]
LABELS = np.array([0] * 40 + [1] * 60)
TRAIN = [1] * 6 + [0] * 4
BASELINE = "NB-SVM"


def right_in(share: float, labels: np.ndarray = LABELS) -> np.ndarray:
    """Return predictions of which this share, spread over the texts, is right."""
    wrong = np.arange(len(labels)) % 100 >= round(100 * share)
    shuffled = np.random.default_rng(0).permutation(wrong)
    return np.where(shuffled, 1 - labels, labels)


@pytest.mark.parametrize(
    ("predicted", "of_baseline", "told"),
    [
        (right_in(0.65), 0.5, "not significantly better than the answer yes for every text: 65.00 % and 60.00 %"),
        (right_in(0.8), 1.0, "is worse than NB-SVM: 80.00 % and 100.00 %"),
        (right_in(0.9), 0.5, None),
        (right_in(0.9), 0.88, None),
    ],
    ids=["near the most frequent class", "beaten", "better", "equal"],
)
def test_a_model_that_nobody_should_use_is_named(predicted: np.ndarray, of_baseline: float, told: str | None) -> None:
    found = by_accuracy(NAMES, TRAIN, LABELS, predicted, {BASELINE: right_in(of_baseline)}).headline
    assert told in found if told else found is None


@pytest.mark.parametrize("labels", [np.ones(50, dtype=int), np.array([0, 1] * 5)], ids=["of one class", "too few"])
def test_texts_that_cannot_show_that_a_model_is_better_say_nothing(labels: np.ndarray) -> None:
    assert by_accuracy(NAMES, TRAIN, labels, labels, {BASELINE: labels}).headline is None


def report_of(only_model: int, only_baseline: int, both: int = 100) -> str:
    labels = np.arange(both + only_model + only_baseline) % 2
    right = np.repeat([True, True, False], [both, only_model, only_baseline])
    of_baseline = np.repeat([True, False, True], [both, only_model, only_baseline])
    model, baseline = (np.where(correct, labels, 1 - labels) for correct in (right, of_baseline))
    record = by_accuracy(NAMES, TRAIN, labels, model, {BASELINE: baseline}).comparison
    scores = {"accuracy": 0.5, "accuracy_interval_95": [0.4, 0.6], "f1": 0.5, "f1_name": "macro F1"}
    about = {"headline": None, "texts": len(labels), "split": "test", "baselines": [{"name": BASELINE, **scores}]}
    return scores_text({**about, **scores, "mcnemar": record})


@pytest.mark.parametrize(
    ("only_model", "only_baseline", "both", "use", "finding"),
    [
        (40, 10, 100, "Use the Transformer: it is significantly better than NB-SVM.", "Transformer is better than"),
        (10, 40, 100, "Use NB-SVM: it is significantly better than", "Transformer is worse than NB-SVM: of 150"),
        (12, 10, 100, "Use either model: the Transformer and NB-SVM do not differ", "do not differ significantly"),
        (6, 0, 0, "Use either model: 6 texts are too few to compare the Transf", "6 texts are too few to compare"),
    ],
)
def test_the_first_line_says_which_model_to_use(only_model, only_baseline, both, use: str, finding: str) -> None:
    report = report_of(only_model, only_baseline, both)
    assert report.startswith(f"**{use}")
    assert finding in report
    assert f"{only_model} are correct only with the former and {only_baseline} only with the latter" in report


def test_the_strongest_baseline_is_compared_with() -> None:
    """Of equal ones, the first."""
    references = np.ones(20, dtype=int)
    weak, strong = ((np.arange(20) < count).astype(int) for count in (8, 20))
    for baselines, name in (
        ({"weak": weak, "strong": strong}, "strong"),
        ({"strong": strong, "weak": weak}, "strong"),
        ({"weak": weak, "first": strong, "second": strong.copy()}, "first"),
    ):
        assert by_accuracy(NAMES, TRAIN, references, weak, baselines).comparison["baseline"] == name


# Imbalanced classes

RARE, RARE_TRAIN = np.array([0] * 900 + [1] * 100), [0] * 90 + [1] * 9


def by_f1(predicted: np.ndarray, baseline: np.ndarray, labels: np.ndarray = RARE) -> str | None:
    return by_macro_f1(NAMES, RARE_TRAIN, labels, predicted, {BASELINE: baseline}).headline


def test_macro_f1_decides_where_classes_are_imbalanced_or_weighted() -> None:
    assert macro_f1_decides(RARE_TRAIN, is_weighted=False)
    assert not macro_f1_decides(TRAIN, is_weighted=False)
    assert macro_f1_decides(TRAIN, is_weighted=True)


def test_imbalanced_classes_are_decided_by_macro_f1() -> None:
    """Where a model that finds the rare class has the lower accuracy."""
    finds, never, better = right_in(0.84, RARE), np.zeros_like(RARE), right_in(0.95, RARE)
    by_accuracy_alone = by_accuracy(NAMES, RARE_TRAIN, RARE, finds, {BASELINE: never}).headline
    assert "is worse than the answer no" in (by_accuracy_alone or "")
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
    assert by_macro_f1(NAMES, RARE_TRAIN, few, few, {BASELINE: np.zeros_like(few)}).comparison["verdict"] != "better"
    assert by_f1(few, few, few) is None


def test_classes_that_no_text_has_are_left_out_of_the_average() -> None:
    labels, predicted = np.array([0] * 30 + [1] * 3), np.array([0] * 28 + [2] * 2 + [1] * 3)
    compared = by_macro_f1(["a", "b", "c"], RARE_TRAIN, labels, predicted, {BASELINE: labels}).comparison
    found = f1_score(labels, predicted, average=None)[:2].mean()
    assert compared["value"] == pytest.approx(found - 1)
    assert compared["evidence"].startswith(f"macro F1 {found:.2%}".replace("%", " %"))
