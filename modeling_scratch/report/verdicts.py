# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whether a classifier is better than the best constant answer, and than the strongest linear baseline.

One rule for all problem types: the paired-bootstrap interval of the difference in the score that decides. A comparison
is the entry of evaluation.json: baseline, verdict, score, evidence, and the difference with its interval.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .significance import Score, verdict, with_intervals

MODEL = "Transformer"
Comparison = dict[str, Any]


class Outcome(NamedTuple):
    """The comparison with the strongest baseline. headline: a sentence on a model that nobody should use, or None."""

    comparison: Comparison
    headline: str | None


def only_answer_headline(answer: str) -> str:
    return f"The {MODEL} predicts {answer} for every text: it has not learned."


def has_one_answer(labels: np.ndarray, predicted: np.ndarray) -> bool:
    """Return whether all predictions are equal but the true labels are not. Both are (texts, ...)."""
    return len(np.unique(predicted, axis=0)) == 1 < len(np.unique(labels, axis=0))


def outcome_of(
    score: Score,
    labels: np.ndarray,
    predicted: np.ndarray,
    constant: tuple[np.ndarray, str],
    baselines: Mapping[str, np.ndarray],
) -> Outcome:
    """Compare with the best constant answer and its name, and with the strongest baseline.

    Too few texts, of which even the true labels are not significantly better than the constant answer, say nothing.
    """
    best = strongest(score, labels, baselines)
    answer, name = constant[0], f"the answer {constant[1]} for every text"
    of_best = compared(score, labels, predicted, baselines[best], best)
    of_constant = compared(score, labels, predicted, answer, name)
    can_show = compared(score, labels, labels, answer, name)["verdict"] == "better"
    if of_constant["verdict"] == "worse" or (of_constant["verdict"] != "better" and can_show):
        worst = of_constant
    elif of_best["verdict"] == "worse":
        worst = of_best
    else:
        return Outcome(of_best, None)
    relation = "is worse than" if worst["verdict"] == "worse" else "is not significantly better than"
    return Outcome(of_best, f"The {MODEL} {relation} {worst['baseline']}: {worst['evidence']}.")


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
