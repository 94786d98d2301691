# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report says first of a classifier that nobody should use: it is near chance, or a linear model is better."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from .classification_metrics import McNemarResult, mcnemar, strongest


def headline(
    names: Sequence[str],
    train_labels: Sequence[int],
    labels: np.ndarray,
    predicted: np.ndarray,
    rivals: Mapping[str, np.ndarray],
) -> str | None:
    """Return a sentence if the model is not significantly better than the most frequent class, or worse than a rival.

    labels, predicted (texts,): class indices. rivals: the predictions of each baseline, by its name. Significance is
    that of McNemar's exact test at the 5 % level. Returns None for any other model.
    """
    if len(set(predicted)) == 1 < len(set(labels)):
        return f"The Transformer predicts {names[predicted[0]]} for every text: it has not learned."
    frequent = Counter(train_labels).most_common(1)[0][0]
    correct, constant = predicted == labels, labels == frequent
    test = mcnemar(correct, constant)
    if test.verdict != "better":
        always = f"the answer {names[frequent]} for every text"
        return _sentence("is not significantly better than", always, test, constant)
    rival = strongest(labels, rivals)
    test = mcnemar(correct, rivals[rival] == labels)
    return _sentence("is worse than", rival, test, rivals[rival] == labels) if test.verdict == "worse" else None


def _sentence(relation: str, rival: str, test: McNemarResult, rival_correct: np.ndarray) -> str:
    accuracy = rival_correct.mean() + (test.only_model_correct - test.only_baseline_correct) / len(rival_correct)
    return (
        f"The Transformer {relation} {rival}: {accuracy:.2%} and {rival_correct.mean():.2%} of the texts "
        f"(McNemar's exact test, p = {test.p_value:.3g})."
    )
