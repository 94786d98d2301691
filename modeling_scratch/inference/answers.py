# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The answers of a classifier: from logits to labels with scores."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from typing_extensions import TypedDict

MULTI_LABEL = "multi_label_classification"


class Scored(TypedDict):
    """A class with its probability, or a number with its name."""

    label: str
    score: float


def is_multi_label(config: Any) -> bool:
    """Return whether a text has any number of a model's labels."""
    return config.problem_type == MULTI_LABEL


def gives_numbers(config: Any) -> bool:
    """Return whether a model predicts numbers rather than probabilities of classes."""
    return config.problem_type == "regression"


def has_sigmoids(config: Any) -> bool:
    """Return whether each label has its own probability: several a text, or one class, as the pipeline reads it."""
    return is_multi_label(config) or (config.num_labels == 1 and not gives_numbers(config))


def names_of(config: Any) -> list[str]:
    """Return the names of a model's classes, in the order of its logits."""
    return [config.id2label[label] for label in range(config.num_labels)]


def to_scores(logits: torch.Tensor, config: Any) -> list[list[Scored]]:
    """Convert logits (B, C) to the probabilities of the classes, or to the numbers that they are, in their order.

    They have the digits of `shortest`.
    """
    if has_sigmoids(config):
        logits = logits.sigmoid()
    elif not gives_numbers(config):
        logits = logits.softmax(-1)
    names, rows = names_of(config), shortest(logits.numpy())
    return [[{"label": name, "score": score} for name, score in zip(names, row)] for row in rows]


def shortest(values: Any) -> Any:
    """Return numbers of float32, or one, with the digits that tell them apart in it: 0.7, not 0.699999988079071."""
    return np.asarray(values, np.float32).astype(str).astype(float).tolist()


def ranked(scores: Sequence[Scored]) -> list[Scored]:
    """Return the classes with their scores, the highest first."""
    return sorted(scores, key=lambda each: -each["score"])


def chosen(scores: Sequence[Scored], config: Any, threshold: float | None = None) -> tuple[Any, Any]:
    """Return the most likely label and its score; lists of both for multi-label and multi-output models.

    threshold: the lowest probability of an answer. Below it, the label is None. Of several labels, the lists have those
    that reach it, by default those above 0.5, which are those that their report counts.
    """
    if gives_numbers(config) or is_multi_label(config):
        least = math.nextafter(0.5, 1) if threshold is None else threshold
        kept = [each for each in scores if gives_numbers(config) or each["score"] >= least]
        labels, values = [each["label"] for each in kept], [each["score"] for each in kept]
        return (labels, values) if is_multi_label(config) or len(scores) > 1 else (labels[0], values[0])
    best = max(scores, key=lambda each: each["score"])
    return best["label"] if best["score"] >= (threshold or 0) else None, best["score"]


def log_odds(logits: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Return log(p / (1 - p)) of the entries at `index`, p = softmax(logits): (..., C), (...) -> (...), differentiable.

    It changes with a word also where the model is sure, and p stays at 1.
    """
    index = index[..., None]
    others = logits.scatter(-1, index, -math.inf).logsumexp(-1)
    return logits.gather(-1, index)[..., 0] - others


def explained(logits: torch.Tensor, index: int, config: Any) -> torch.Tensor:
    """Return what words contribute to: the log-odds of a class, or the number; (B, C) -> (B,), differentiable."""
    if gives_numbers(config) or has_sigmoids(config):
        return logits[:, index]  # of a sigmoid, these are the log-odds
    return log_odds(logits, torch.full_like(logits[:, 0], index, dtype=torch.long))
