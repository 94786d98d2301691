# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whether a classifier is better than the best constant answer, and than the strongest linear baseline.

One rule for all problem types: the paired-bootstrap interval of the difference in the score that decides. A comparison
is the entry of evaluation.json: baseline, verdict, score, evidence, and the difference with its interval.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..tasks.card import MODEL
from .significance import Score, verdict, with_intervals

Comparison = dict[str, Any]


def headline_of(
    score: Score, labels: np.ndarray, predicted: np.ndarray, constant: np.ndarray, shown: Callable[[Any], str]
) -> str | None:
    """Return the sentence on a model that nobody should use, as it answers like the best constant answer; or None.

    Too few texts, of which even the true labels are not significantly better than the constant answer, say nothing.
    labels, predicted, constant: (texts, ...).
    """
    if len(np.unique(predicted, axis=0)) == 1 < len(np.unique(labels, axis=0)):
        return f"The {MODEL} predicts {shown(predicted[0])} for every text: it has not learned."
    found, of_truth = (
        compared(score, labels, answers, constant, f"the answer {shown(constant[0])} for every text")
        for answers in (predicted, labels)
    )
    word = found["verdict"]
    if word == "better" or (word != "worse" and of_truth["verdict"] != "better"):
        return None
    relation = "is worse than" if word == "worse" else "is not significantly better than"
    return f"The {MODEL} {relation} {found['baseline']}: {found['evidence']}."


def strongest(score: Score, labels: np.ndarray, baselines: Mapping[str, np.ndarray]) -> str:
    """Return the name of the baseline with the best score; of equal ones, the first.

    The verdict compares the model with this one. The choice on the evaluated texts favours the baselines: a model that
    is better than the strongest is better than each, and no table shows a baseline that has beaten it unmentioned. A
    choice on held-out training texts could name a weaker one, as phrases of one sentence are on both sides in SST-2.
    """

    def value(name: str) -> float:
        found = float(score.of_means(score.parts(baselines[name], labels).mean(0)))
        return found if score.greater_is_better else -found

    return max(baselines, key=value)


def compared(score: Score, labels: np.ndarray, answers: np.ndarray, others: np.ndarray, name: str) -> Comparison:
    """Compare answers with those of a baseline of this name."""
    found = with_intervals((score,), {MODEL: answers, name: others}, labels)
    values = " and ".join(score.shown(each[score.name]["value"]) for each in found["models"].values())
    difference = found["differences"][name][score.name]
    about = {"baseline": name, "verdict": verdict(difference, score, len(labels)), "score": score.name}
    return {**about, "evidence": f"{score.heading} {values} (paired bootstrap)", **difference}


def verdict_of(
    score: Score, values: np.ndarray, others: Mapping[str, np.ndarray], answers: Sequence[str]
) -> dict[str, Any]:
    """Return what evaluation.json says of a model beside the strongest baseline: a headline, and the comparison.

    score: the `Score` that decides. values, and others by the name of a baseline: what it counts of each text (N, ...).
    answers: of the model. One that always gives the same, and not the right one, has learned nothing.
    """
    name = strongest(score, values, others)
    is_right = score.of_means(score.parts(values, values).mean(0)) == 1
    is_constant = len(set(answers)) == 1 < len(answers) and not is_right
    same = f"answers {answers[0]!r}" if answers[0] else "gives no answer"
    headline = f"The {MODEL} {same} to everything: it has not learned." if is_constant else None
    return {"headline": headline, "comparison": compared(score, values, values, others[name], f"the baseline ({name})")}
