# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report says first of a classifier that nobody should use: it is near chance, or a linear model is better."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..utils.markdown import percent
from .classification_metrics import McNemarResult, mcnemar, strongest
from .imbalance import MacroF1Comparison

# What to do about a tagger, or a model that answers questions, of this kind.
LONGER_OR_PRETRAINED = "Train longer (--num_train_epochs), or fine-tune a pretrained encoder (--model_name_or_path)."


def only_answer(names: Sequence[str], labels: np.ndarray, predicted: np.ndarray) -> str | None:
    """Return the name of the class if all predictions are equal but the true labels are not."""
    return names[predicted[0]] if len(set(predicted)) == 1 < len(set(labels)) else None


def headline(
    names: Sequence[str],
    train_labels: Sequence[int],
    labels: np.ndarray,
    predicted: np.ndarray,
    rivals: Mapping[str, np.ndarray],
    macro_f1: MacroF1Comparison | None = None,
) -> str | None:
    """Return a sentence if the model is not significantly better than the most frequent class, or worse than a rival.

    labels, predicted (texts,): class indices. rivals: the predictions of each baseline, by its name. Significance is
    that of McNemar's exact test at the 5 % level. macro_f1: where it decides in place of accuracy. Returns None for
    any other model, and if the texts are too few for any model to be better.
    """
    if answer := only_answer(names, labels, predicted):
        return f"The Transformer predicts {answer} for every text: it has not learned."
    if macro_f1:
        return macro_f1.headline(names)
    frequent = Counter(train_labels).most_common(1)[0][0]
    correct, constant = predicted == labels, labels == frequent
    test = mcnemar(correct, constant)
    can_be_better = mcnemar(np.ones_like(constant), constant).verdict == "better"
    if can_be_better and test.verdict != "better":
        relation = "is worse than" if test.verdict == "worse" else "is not significantly better than"
        return _sentence(relation, f"the answer {names[frequent]} for every text", test, constant)
    rival = strongest(labels, rivals)
    test = mcnemar(correct, rivals[rival] == labels)
    return _sentence("is worse than", rival, test, rivals[rival] == labels) if test.verdict == "worse" else None


def _sentence(relation: str, rival: str, test: McNemarResult, rival_correct: np.ndarray) -> str:
    accuracy = rival_correct.mean() + (test.only_model_correct - test.only_baseline_correct) / len(rival_correct)
    return (
        f"The Transformer {relation} {rival}: {percent(accuracy)} and {percent(rival_correct.mean())} of the texts "
        f"(McNemar's exact test, p = {test.p_value:.3g})."
    )
