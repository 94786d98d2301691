# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Calibration of a classifier's probabilities: temperature, expected calibration error, and thresholds.

Shapes: N examples, C classes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from ..utils.markdown import percent, table

LOWEST, HIGHEST = 0.05, 20.0  # temperatures
LEAST_ROWS = 100  # fewer validation texts do not determine a temperature
LEAST_WRONG = 5  # nor do fewer wrong answers: T follows each of them, and of none it would be 0
BINS = 15
OVERFLOW = 1e30  # in place of infinite logits, in scores
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """T = argmin of the mean of -log softmax(logits / T)[label], from 0.05 to 20 (Guo et al. 2017, 4.2).

    logits (N, C), labels (N,) of class numbers. The loss is convex in 1 / T, so that it has one minimum. Logits that
    are constant in each row determine no T: 1. The loss is never above that of T = 1.
    """
    logits = np.asarray(logits, np.float64)
    logits = logits - logits.max(-1, keepdims=True)

    def loss(inverse: float) -> float:
        return negative_log_likelihood(logits * inverse, labels)

    found = minimize_scalar(loss, bounds=(1 / HIGHEST, 1 / LOWEST), method="bounded", options={"xatol": 1e-9})
    return float(1 / min((1.0, found.x, 1 / LOWEST, 1 / HIGHEST), key=loss))


def negative_log_likelihood(logits: np.ndarray, labels: np.ndarray) -> float:
    """The mean of -log softmax(logits)[label] in nats."""
    return float(-log_softmax(logits, -1)[np.arange(len(labels)), labels].mean())


def expected_calibration_error(logits: np.ndarray, labels: np.ndarray) -> float:
    """ECE = sum over bins of |B| / N · |accuracy(B) - confidence(B)| (Guo et al. 2017, 2).

    The confidence of an example is its largest probability, max softmax(logits). Bin i of M has the examples with a
    confidence in ((i - 1) / M, i / M]; confidence(B) is their mean. Even if all probabilities are right, the value is
    above 0 by chance, and more so with fewer examples.
    """
    confidences, correct = softmax(logits, -1).max(-1), logits.argmax(-1) == labels
    chosen = np.clip(np.ceil(confidences * BINS).astype(int) - 1, 0, BINS - 1)
    return float(np.abs(np.bincount(chosen, correct - confidences)).sum() / len(labels))


def threshold_rows(logits: np.ndarray, labels: np.ndarray) -> list[dict[str, float]]:
    """Of each threshold that a probability reaches, the share of such examples, and their accuracy."""
    confidences, correct = softmax(logits, -1).max(-1), logits.argmax(-1) == labels
    return [
        {"threshold": each, "answered": float(kept.mean()), "accuracy": float(correct[kept].mean())}
        for each in THRESHOLDS
        if (kept := confidences >= each).any()
    ]


class Calibration(NamedTuple):
    """The temperature of a model, and the number of validation texts. obstacle: why there is none, which means 1."""

    temperature: float = 1.0
    rows: int = 0
    obstacle: str | None = None


def calibration_of(logits: np.ndarray, labels: np.ndarray) -> Calibration:
    """Fit the temperature on validation, unless the texts do not determine it."""
    obstacle = None
    if len(labels) < LEAST_ROWS:
        obstacle = f"the validation split has {len(labels):,} texts, fewer than {LEAST_ROWS}"
    elif not np.isfinite(logits).all():
        obstacle = "some logits of the validation split are not finite"
    elif len(np.unique(labels)) < 2:
        obstacle = "all texts of the validation split are of one class"
    elif (wrong := int(np.sum(np.argmax(logits, -1) != labels))) < LEAST_WRONG:
        obstacle = f"{wrong} answers to the validation split are wrong, fewer than {LEAST_WRONG}"
    elif (temperature := fit_temperature(logits, labels)) in (LOWEST, HIGHEST):
        obstacle = f"the best temperature is beyond {LOWEST} to {HIGHEST:g}, as of a model that has not learned"
    return Calibration(1.0 if obstacle else temperature, len(labels), obstacle)


def finite(logits: Any) -> np.ndarray:
    """Return logits in float64, with large ones in place of infinite ones."""
    return np.nan_to_num(np.asarray(logits, np.float64), posinf=OVERFLOW, neginf=-OVERFLOW)


def calibration_scores(calibration: Calibration, logits: np.ndarray, labels: np.ndarray, split: str) -> dict[str, Any]:
    """Return what evaluation.json records of the logits (N, C) of the saved model on a split."""
    after = finite(logits)
    before = after * calibration.temperature
    scores = {
        "expected_calibration_error": expected_calibration_error,
        "negative_log_likelihood": negative_log_likelihood,
    }
    return {
        "temperature": calibration.temperature,
        "validation_texts": calibration.rows,
        "obstacle": calibration.obstacle,
        "on_validation": split == "validation",
        **{name: {"before": of(before, labels), "after": of(after, labels)} for name, of in scores.items()},
        "thresholds": threshold_rows(after, labels),
    }


def calibration_text(scores: Mapping[str, Any]) -> str:
    """Return the scores as Markdown: what the temperature did, and a table of the probabilities that are calibrated."""
    if scores["obstacle"]:
        return f"The probabilities are not calibrated: {scores['obstacle']}."
    error, loss = scores["expected_calibration_error"], scores["negative_log_likelihood"]
    text = (
        f"The probabilities are calibrated: the saved weights divide the logits by the temperature "
        f"{scores['temperature']:.3f}, fitted on the {scores['validation_texts']:,} texts of the validation split. "
        f"Expected calibration error ({BINS} bins of equal width): {percent(error['before'])} before, "
        f"{percent(error['after'])} after. Negative log likelihood: {loss['before']:.4f} before, "
        f"{loss['after']:.4f} after."
    )
    if loss["after"] > loss["before"]:
        text += " **It did not help on these texts: train with --calibrate False, or with more validation texts.**"
    if scores["on_validation"]:
        text += " The figures are of these texts: on others, they are a little worse."
    rows = [[row["threshold"], percent(row["answered"]), percent(row["accuracy"])] for row in scores["thresholds"]]
    if not rows:
        return text
    heading = "Answers with at least this probability, their share of the texts, and their accuracy:"
    return "\n\n".join([text, heading, table(["probability", "share", "accuracy"], rows)])
