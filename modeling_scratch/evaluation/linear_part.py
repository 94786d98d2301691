# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the linear part of a classifier brought, for the report, the model card and the table of stages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..utils.markdown import percent
from .stages import Stage


@dataclass(frozen=True)
class LinearPart:
    """The linear model that was added to a classifier, or why there is none (obstacle).

    texts, features: that it was trained on. c: 1 / strength of the L2 penalty. share: of the linear part in the logits,
    when both parts have the same spread. before, after: the score on validation, accuracy or macro F1 (metric).
    is_fitted: whether validation chose c and the share, which it does if the report is about another split.
    """

    texts: int = 0
    features: int = 0
    c: float = 0.0
    share: float = 0.0
    before: float = 0.0
    after: float = 0.0
    minutes: float = 0.0
    obstacle: str | None = None
    is_fitted: bool = True
    metric: str = "accuracy"

    def stage(self) -> Stage:
        """Return the row of the report."""
        read = f"{self.texts:,} texts, {self.features:,} tokens and n-grams"
        result = f"validation {self.metric} {percent(self.before)}, then {percent(self.after)}"
        return Stage("linear part", read, 0, self.minutes, result)


def linear_part_text(scores: Mapping[str, Any]) -> str:
    """Return the record of a linear part as text."""
    if scores["obstacle"]:
        return f"The model has no linear part: {scores['obstacle']}."
    return (
        f"The model includes a linear model of {scores['features']:,} tokens and n-grams, in coordinates of its "
        f"embeddings, trained on the same {scores['texts']:,} texts. Its share in the logits is "
        f"{percent(scores['share'])}, "
        f"{'fitted on validation' if scores['is_fitted'] else 'as no split is left to fit it on'}. "
        f"On validation, {scores.get('metric', 'accuracy')} is {percent(scores['before'])} without it and "
        f"{percent(scores['after'])} with it."
    )
