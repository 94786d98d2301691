# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Macro F1 in place of accuracy, where a model that never predicts a rare class would have the better accuracy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..utils.markdown import escaped
from .judges import MODEL, shown_difference, verdict
from .kind_scores import CLASS_SET_SCORES, KindMetrics, class_sets

[MACRO_F1] = (score for score in CLASS_SET_SCORES if score.name == "f1_macro")
METRICS = KindMetrics((MACRO_F1,), class_sets)
CONSTANT = "the most frequent class"


def one_hot(indices: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the indices (N,) as sets of classes (N, C), of the given ones (C,)."""
    return (indices[:, None] == classes).astype(np.float64)


class MacroF1Comparison:
    """The macro F1 of a classifier, of its baselines, and of the answer that is the most frequent class.

    labels, predicted (texts,): class indices. rivals: the predictions of each baseline, by its name. Differences from
    the model have 95 % intervals of the paired bootstrap, and count as significant if these exclude 0. The average is
    over the classes of the labels.
    """

    def __init__(
        self, train_labels: Sequence[int], labels: np.ndarray, predicted: np.ndarray, rivals: Mapping[str, np.ndarray]
    ) -> None:
        self.frequent, self.classes = int(np.bincount(train_labels).argmax()), np.unique(labels)
        self.labels, self.constant, model = (
            one_hot(indices, self.classes) for indices in (labels, np.full_like(labels, self.frequent), predicted)
        )
        answers = {MODEL: model, CONSTANT: self.constant}
        answers |= {name: one_hot(found, self.classes) for name, found in rivals.items()}
        found = METRICS.with_intervals(answers, self.labels)
        self.values = {name: scores[MACRO_F1.name]["value"] for name, scores in found["models"].items()}
        self.differences = {name: scores[MACRO_F1.name] for name, scores in found["differences"].items()}
        self.strongest = max(rivals, key=self.values.__getitem__)

    def verdict(self, rival: str) -> str:
        """Return whether the model is better or worse than a baseline, or than `CONSTANT`."""
        return verdict(self.differences[rival], MACRO_F1)

    def comparison(self) -> dict[str, Any]:
        """Return the entry of evaluation.json: the comparison with the strongest baseline."""
        rival = self.strongest
        return {"baseline": rival, **self.differences[rival], "verdict": self.verdict(rival)}

    def headline(self, names: Sequence[str]) -> str | None:
        """Return a sentence if the model is no use, as `chance.headline` does by accuracy."""
        of_constant = f"the answer {names[self.frequent]} for every text"
        for rival, name in {CONSTANT: of_constant, self.strongest: self.strongest}.items():
            found = self.verdict(rival)
            if found == "worse" or (found != "better" and rival == CONSTANT and self.can_be_better()):
                relation = "is worse than" if found == "worse" else "is not significantly better than"
                values = " and ".join(MACRO_F1.shown(self.values[each]) for each in (MODEL, rival))
                return f"The {MODEL} {relation} {name}: macro F1 {values} (paired bootstrap)."
        return None

    def can_be_better(self) -> bool:
        """Return whether true answers alone are significantly better than `CONSTANT`: too few rare texts are not."""
        found = METRICS.with_intervals({MODEL: self.labels, CONSTANT: self.constant}, self.labels)
        return verdict(found["differences"][CONSTANT][MACRO_F1.name], MACRO_F1) == "better"


def macro_f1_text(comparison: Mapping[str, Any]) -> str:
    """Return the comparison of evaluation.json as a sentence."""
    difference, low, high = (
        shown_difference(MACRO_F1, number) for number in (comparison["value"], *comparison["interval_95"])
    )
    return (
        "The classes are weighted or imbalanced, so macro F1 says more than accuracy. The difference from "
        f"{escaped(comparison['baseline'])} is {difference} percentage points, with a 95 % interval of {low} to {high} "
        f"(paired bootstrap): {comparison['verdict']}."
    )
