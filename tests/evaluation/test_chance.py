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


def test_texts_of_one_class_leave_nothing_to_be_better_at() -> None:
    ones = np.ones(50, dtype=int)
    sentence = headline(NAMES, TRAIN, ones, ones, {"NB-SVM": ones})
    assert sentence
    assert "not significantly better than the answer yes" in sentence
