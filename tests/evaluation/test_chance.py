# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report says first: near chance, worse than a linear model, or nothing."""

import numpy as np
import pytest

from modeling_scratch.evaluation.chance import headline

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
    assert "not significantly better than the answer yes for every text: 65.00% and 60.00%" in (
        told(right_in(0.65)) or ""
    )


def test_a_model_that_a_linear_one_beats_is_said_to_be() -> None:
    sentence = told(right_in(0.8), rival=1.0)
    assert sentence
    assert "is worse than NB-SVM: 80.00% and 100.00%" in sentence


@pytest.mark.parametrize("rival", [0.5, 0.88])
def test_a_model_that_is_better_or_equal_has_no_headline(rival: float) -> None:
    assert told(right_in(0.9), rival) is None


@pytest.mark.parametrize("labels", [np.ones(50, dtype=int), np.array([0, 1] * 5)], ids=["of one class", "too few"])
def test_texts_that_cannot_show_that_a_model_is_better_say_nothing(labels: np.ndarray) -> None:
    assert headline(NAMES, TRAIN, labels, labels, {"NB-SVM": labels}) is None


def test_a_model_with_weighted_classes_is_not_judged_by_the_most_frequent_one() -> None:
    labels, train = np.array([0] * 900 + [1] * 100), [0] * 9 + [1]
    predicted = right_in(0.84, labels)
    rivals = {"NB-SVM": np.zeros_like(labels)}
    assert "is worse than the answer no" in (headline(NAMES, train, labels, predicted, rivals) or "")
    weighted = headline(NAMES, train, labels, predicted, {"NB-SVM": right_in(0.8, labels)}, is_weighted=True)
    assert weighted is None
