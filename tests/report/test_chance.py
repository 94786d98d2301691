# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report says first: near chance, worse than a linear model, or nothing."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from modeling_scratch.report.chance import headline
from modeling_scratch.report.classification_metrics import ClassificationMetrics, f1_averages, macro_f1_decides
from modeling_scratch.report.imbalance import CONSTANT, MacroF1Comparison

NAMES = ["no", "yes"]
LABELS = np.array([0] * 40 + [1] * 60)
TRAIN = [1] * 6 + [0] * 4


def right_in(share: float, labels: np.ndarray = LABELS) -> np.ndarray:
    """Return predictions of which this share, spread over the texts, is right."""
    wrong = np.arange(len(labels)) % 100 >= round(100 * share)
    shuffled = np.random.default_rng(0).permutation(wrong)
    return np.where(shuffled, 1 - labels, labels)


def told(predicted: np.ndarray, rival: float = 0.5) -> str | None:
    return headline(NAMES, TRAIN, LABELS, predicted, {"NB-SVM": right_in(rival)})


def test_one_answer_is_named() -> None:
    assert "predicts no for every text" in (told(np.zeros_like(LABELS)) or "")


def test_a_model_near_the_most_frequent_class_of_train_is_said_to_be() -> None:
    assert "not significantly better than the answer yes for every text: 65.00 % and 60.00 %" in (
        told(right_in(0.65)) or ""
    )


def test_a_model_that_a_linear_one_beats_is_said_to_be() -> None:
    sentence = told(right_in(0.8), rival=1.0)
    assert sentence
    assert "is worse than NB-SVM: 80.00 % and 100.00 %" in sentence


@pytest.mark.parametrize("rival", [0.5, 0.88])
def test_a_model_that_is_better_or_equal_has_no_headline(rival: float) -> None:
    assert told(right_in(0.9), rival) is None


@pytest.mark.parametrize("labels", [np.ones(50, dtype=int), np.array([0, 1] * 5)], ids=["of one class", "too few"])
def test_texts_that_cannot_show_that_a_model_is_better_say_nothing(labels: np.ndarray) -> None:
    assert headline(NAMES, TRAIN, labels, labels, {"NB-SVM": labels}) is None


RARE, RARE_TRAIN = np.array([0] * 900 + [1] * 100), [0] * 90 + [1] * 9


def told_by_macro_f1(predicted: np.ndarray, rival: np.ndarray) -> str | None:
    assert macro_f1_decides(RARE_TRAIN, is_weighted=False)
    return headline(NAMES, RARE_TRAIN, RARE, predicted, {"NB-SVM": rival}, compared(RARE, predicted, rival))


def compared(labels: np.ndarray, predicted: np.ndarray, rival: np.ndarray) -> MacroF1Comparison:
    return MacroF1Comparison(RARE_TRAIN, labels, predicted, {"NB-SVM": rival})


def test_imbalanced_classes_are_judged_by_macro_f1() -> None:
    """Where a model that finds the rare class has the lower accuracy."""
    finds, never = right_in(0.84, RARE), np.zeros_like(RARE)
    assert "is worse than the answer no" in (headline(NAMES, RARE_TRAIN, RARE, finds, {"NB-SVM": never}) or "")
    assert told_by_macro_f1(finds, rival=never) is None
    better = right_in(0.95, RARE)
    values = " and ".join(f"{f1_score(RARE, each, average='macro'):.2%}" for each in (finds, better))
    assert f"is worse than NB-SVM: macro F1 {values.replace('%', ' %')}" in (told_by_macro_f1(finds, better) or "")
    assert "predicts no for every text" in (told_by_macro_f1(never, better) or "")
    chance = np.random.default_rng(0).permutation(RARE)
    assert "is not significantly better than the answer no" in (told_by_macro_f1(chance, better) or "")


def test_classes_of_similar_size_are_judged_by_accuracy_unless_they_are_weighted() -> None:
    assert not macro_f1_decides(TRAIN, is_weighted=False)
    assert macro_f1_decides(TRAIN, is_weighted=True)


def test_true_answers_have_no_headline_however_few_texts_are_rare() -> None:
    """Resamples without the rare class leave the interval of any model at 0."""
    few = np.array([0] * 200 + [1])
    comparison = compared(few, few, np.zeros_like(few))
    assert comparison.verdict(CONSTANT) != "better"
    assert headline(NAMES, RARE_TRAIN, few, few, {"NB-SVM": few}, comparison) is None


def test_classes_that_no_text_has_are_left_out_of_the_average() -> None:
    labels, predicted = np.array([0] * 30 + [1] * 3), np.array([0] * 28 + [2] * 2 + [1] * 3)
    found = compared(labels, predicted, labels).values["Transformer"]
    assert found == f1_averages(labels, predicted)["f1_macro"]
    assert found == pytest.approx(f1_score(labels, predicted, average=None)[:2].mean())
    assert ClassificationMetrics(["a", "b", "c"]).compute(predicted, labels)["f1"] == found
