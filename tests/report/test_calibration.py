# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The temperature is that of maximum likelihood, and the error and the thresholds are what their definitions say."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

from modeling_scratch.report.calibration import (
    HIGHEST,
    LOWEST,
    Calibration,
    calibration_of,
    calibration_scores,
    calibration_text,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
    threshold_rows,
)


def calibrated(rows: int, classes: int, seed: int, spread: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Logits whose probabilities are right: the labels are drawn from them."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=spread, size=(rows, classes))
    return logits, (softmax(logits, -1).cumsum(-1) > rng.random((rows, 1))).argmax(-1)


@pytest.mark.parametrize(("distortion", "classes"), [(0.2, 5), (1.0, 2), (1.7, 5), (6.0, 2)])
def test_a_known_distortion_is_found_and_undone(distortion, classes):
    logits, labels = calibrated(20_000, classes, seed=classes)
    distorted = logits * distortion
    temperature = fit_temperature(distorted, labels)
    assert temperature == pytest.approx(distortion, rel=0.05)
    assert fit_temperature(distorted + 7, labels) == pytest.approx(temperature), "a constant changes no probability"
    assert negative_log_likelihood(logits, labels) == pytest.approx(log_loss(labels, softmax(logits, -1)))
    assert expected_calibration_error(distorted / temperature, labels) < 0.015
    if distortion != 1:
        assert expected_calibration_error(distorted, labels) > 0.05


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_is_the_lowest_of_all_temperatures_and_no_answer_changes(seed):
    rng = np.random.default_rng(seed)
    rows, classes = int(rng.integers(1, 300)), int(rng.integers(2, 8))
    logits = rng.normal(scale=10.0 ** rng.uniform(-3, 3), size=(rows, classes))
    labels = rng.integers(classes, size=rows)
    temperature = fit_temperature(logits, labels)
    assert LOWEST <= temperature <= HIGHEST
    found = negative_log_likelihood(logits / temperature, labels)
    assert all(found <= negative_log_likelihood(logits / t, labels) + 1e-9 for t in np.geomspace(LOWEST, HIGHEST, 50))
    assert found <= negative_log_likelihood(logits, labels)
    assert np.array_equal((logits / temperature).argmax(-1), logits.argmax(-1))


@pytest.mark.parametrize(("classes", "spread"), [(2, 1.0), (3, 4.0), (10, 0.3)])
def test_the_error_is_that_of_the_reliability_curve_of_scikit_learn(classes, spread):
    logits, labels = calibrated(700, classes, seed=classes)
    logits *= spread
    confidences, correct = softmax(logits, -1).max(-1), logits.argmax(-1) == labels
    accuracy, confidence = calibration_curve(correct, confidences, n_bins=15, strategy="uniform")
    counts = np.histogram(confidences, bins=15, range=(0, 1))[0]
    expected = np.abs(accuracy - confidence) @ counts[counts > 0] / 700
    assert expected_calibration_error(logits, labels) == pytest.approx(expected)


def test_thresholds_count_the_answers_that_reach_them():
    probabilities = np.array([[0.995, 0.005], [0.3, 0.7], [0.45, 0.55], [0.92, 0.08]])
    rows = {row.pop("threshold"): row for row in threshold_rows(np.log(probabilities), np.array([0, 1, 0, 1]))}
    assert rows[0.5] == {"answered": 1, "accuracy": 0.5}
    assert rows[0.6] == {"answered": 0.75, "accuracy": pytest.approx(2 / 3)}
    assert rows[0.9] == {"answered": 0.5, "accuracy": 0.5}
    assert rows[0.99] == {"answered": 0.25, "accuracy": 1}
    assert threshold_rows(np.zeros((2, 4)), np.array([0, 1])) == []


@pytest.mark.parametrize(
    ("rows", "labels_of", "obstacle"),
    [
        (99, lambda right: right ^ 1, "99 texts, fewer than 100"),
        (100, np.zeros_like, "one class"),
        (100, lambda right: right, "0 answers to the validation split are wrong, fewer than 5"),
        (100, lambda right: right ^ (np.arange(100) < 4), "4 answers"),
        (100, lambda right: np.arange(100) // 50, "the best temperature is beyond 0.05 to 20"),
    ],
)
def test_texts_that_determine_no_temperature_leave_it_at_one(rows, labels_of, obstacle):
    logits = np.random.default_rng(0).normal(size=(rows, 2))
    labels = labels_of(logits.argmax(-1))
    calibration = calibration_of(logits, labels)
    assert calibration.temperature == 1
    assert obstacle in (calibration.obstacle or "")
    scores = calibration_scores(calibration, logits, labels, "validation")
    assert scores["expected_calibration_error"]["before"] == scores["expected_calibration_error"]["after"]
    assert calibration_text(scores) == f"The probabilities are not calibrated: {calibration.obstacle}."


def test_extreme_logits_have_a_temperature_within_the_bounds_or_none():
    assert fit_temperature(np.full((9, 3), 7.0), np.arange(9) % 3) == 1
    assert LOWEST <= fit_temperature(np.array([[0.0, 1e30], [1e30, 0.0]]), np.array([0, 1])) <= HIGHEST
    logits = np.random.default_rng(0).normal(size=(200, 2))
    labels = logits.argmax(-1)
    logits[:50, 0] = np.inf
    calibration = calibration_of(logits, labels)
    assert "not finite" in (calibration.obstacle or "")
    assert np.isfinite(calibration_scores(calibration, logits, labels, "test")["negative_log_likelihood"]["after"])


def test_before_is_the_model_without_its_temperature():
    logits, labels = calibrated(5_000, 3, seed=6)
    saved = logits * 4 / 2  # trained with a distortion of 4, saved with a temperature of 2
    scores = calibration_scores(Calibration(2.0, 300), saved, labels, "test")
    for name, score in (
        ("expected_calibration_error", expected_calibration_error),
        ("negative_log_likelihood", negative_log_likelihood),
    ):
        assert scores[name] == {"before": pytest.approx(score(logits * 4, labels)), "after": score(saved, labels)}
    assert scores["thresholds"] == threshold_rows(saved, labels)
    of_validation = calibration_scores(Calibration(2.0, 5_000), saved, labels, "validation")
    worse = calibration_scores(Calibration(20.0, 300), logits / 20, labels, "test")
    texts = [calibration_text(each) for each in (scores, of_validation, worse)]
    assert "temperature 2.000, fitted on the 300 texts of the validation split" in texts[0]
    assert ["on others, they are a little worse" in text for text in texts] == [False, True, False]
    assert ["train with --calibrate False" in text for text in texts] == [False, False, True]
