# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The answers of a classifier: from logits to labels with scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..utils.errors import DataError

ALL = "all"  # of --top_k
MULTI_LABEL = "multi_label_classification"
Scored = dict[str, Any]  # {"label": name, "score": probability}


@dataclass(frozen=True)
class Choice:
    """What an answer contains beside the most likely label.

    top_k: how many classes to list, most likely first, or "all". threshold: the lowest probability of an answer; of
    several labels, those above 0.5 by default, which are those that their report counts.
    """

    top_k: str | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.top_k is not None and self.top_k != ALL and not (self.top_k.isdecimal() and int(self.top_k) > 0):
            raise DataError(f"--top_k {self.top_k}: must be {ALL} or an integer from 1")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise DataError(f"--threshold {self.threshold}: must be from 0 to 1")

    def check(self, config: Any) -> None:
        """Raise `DataError` for a model without probabilities."""
        if self != Choice() and gives_numbers(config):
            raise DataError("the model predicts numbers, without the probabilities that --top_k and --threshold need")

    def keeps(self, score: float) -> bool:
        """Return whether a label of several is in the answer."""
        return score > 0.5 if self.threshold is None else score >= self.threshold

    def listed(self, classes: int) -> int:
        """Return how many of the classes are listed."""
        return classes if self.top_k == ALL else min(int(self.top_k or 0), classes)


PLAIN = Choice()  # only the most likely label


def gives_numbers(config: Any) -> bool:
    """Return whether a model predicts numbers rather than probabilities of classes."""
    return config.problem_type == "regression"


def has_one_score(config: Any) -> bool:
    """Return whether an answer has one first score, to which words contribute: not one of several numbers."""
    return not gives_numbers(config) or config.num_labels == 1


def names_of(config: Any) -> list[str]:
    """Return the names of a model's classes, in the order of its logits."""
    return [config.id2label[label] for label in range(config.num_labels)]


def to_scores(logits: torch.Tensor, config: Any) -> list[list[float]]:
    """Convert logits (B, C) to probabilities, or to the numbers that they are, in the order of the classes.

    They have the digits that tell them apart in their dtype: 0.7 of float32, not 0.699999988079071.
    """
    if config.problem_type == MULTI_LABEL or (config.num_labels == 1 and not gives_numbers(config)):
        logits = logits.sigmoid()  # of one class, as the pipeline does
    elif not gives_numbers(config):
        logits = logits.softmax(-1)
    return logits.numpy().astype(str).astype(float).tolist()


def ranked(names: Sequence[str], scores: Sequence[float]) -> list[Scored]:
    """Return the classes with their scores, the highest first."""
    pairs = sorted(zip(names, scores), key=lambda pair: -pair[1])
    return [{"label": name, "score": score} for name, score in pairs]


def to_answers(logits: torch.Tensor, config: Any, choice: Choice = PLAIN) -> list[tuple]:
    """Convert logits (B, C) to B pairs (label, score); lists of both for multi-label and multi-output models.

    Below the threshold of `choice`, the label is None. Of a multi-label model, the lists have the labels that it keeps.
    With top_k, each answer has a third item, a list of {"label", "score"}.
    """
    names = names_of(config)
    return [_answer(names, scores, config, choice) for scores in to_scores(logits, config)]


def _answer(names: list[str], scores: list[float], config: Any, choice: Choice) -> tuple:
    least, best = choice.threshold or 0, max(scores)
    answer: tuple = (names[scores.index(best)] if best >= least else None, best)
    if gives_numbers(config):
        answer = (names, scores) if len(scores) > 1 else (names[0], scores[0])
    elif config.problem_type == MULTI_LABEL:
        kept = [place for place, score in enumerate(scores) if choice.keeps(score)]
        answer = [names[place] for place in kept], [scores[place] for place in kept]
    return answer if choice.top_k is None else (*answer, ranked(names, scores)[: choice.listed(len(names))])
