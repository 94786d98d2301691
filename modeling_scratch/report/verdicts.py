# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whether a classifier is better than the best constant answer, and than the strongest linear baseline.

A comparison is the entry of evaluation.json: baseline, verdict, evidence and the figures of the test.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..utils.markdown import percent
from .metrics import MACRO_F1
from .significance import Score, mcnemar, verdict, with_intervals

MODEL = "Transformer"
Comparison = dict[str, Any]
Test = Callable[[np.ndarray, np.ndarray, str], Comparison]  # of answers, those of a baseline, and its name


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
    test: Test,
    value: Callable[[np.ndarray], float],
    labels: np.ndarray,
    predicted: np.ndarray,
    constant: tuple[np.ndarray, str],
    baselines: Mapping[str, np.ndarray],
) -> Outcome:
    """Compare with the best constant answer and its name, and with the strongest baseline.

    Too few texts, of which even the true labels are not significantly better than the constant answer, say nothing.
    """
    best = strongest(value, baselines)
    answer, name = constant[0], f"the answer {constant[1]} for every text"
    of_best, of_constant = test(predicted, baselines[best], best), test(predicted, answer, name)
    is_no_better = of_constant["verdict"] != "better" and test(labels, answer, name)["verdict"] == "better"
    if of_constant["verdict"] == "worse" or is_no_better:
        worst = of_constant
    elif of_best["verdict"] == "worse":
        worst = of_best
    else:
        return Outcome(of_best, None)
    relation = "is worse than" if worst["verdict"] == "worse" else "is not significantly better than"
    return Outcome(of_best, f"The {MODEL} {relation} {worst['baseline']}: {worst['evidence']}.")


def strongest(value: Callable[[np.ndarray], float], baselines: Mapping[str, np.ndarray]) -> str:
    """Return the name of the baseline whose predictions have the greatest value; of equal ones, the first.

    The verdict compares the model with this one. The choice on the evaluated texts favours the baselines: a model that
    is better than the strongest is better than each, and no table shows a baseline that has beaten it unmentioned. A
    choice on held-out training texts could name a weaker one, as phrases of one sentence are on both sides in SST-2.
    """
    return max(baselines, key=lambda name: value(baselines[name]))


def by_score(
    score: Score,
    labels: np.ndarray,
    predicted: np.ndarray,
    constant: tuple[np.ndarray, str],
    baselines: Mapping[str, np.ndarray],
) -> Outcome:
    """Compare by the paired-bootstrap interval of the difference in a score."""

    def test(answers: np.ndarray, others: np.ndarray, name: str) -> Comparison:
        found = with_intervals((score,), {MODEL: answers, name: others}, labels)
        values = " and ".join(score.shown(each[score.name]["value"]) for each in found["models"].values())
        difference = found["differences"][name][score.name]
        about = {"baseline": name, "verdict": verdict(difference, score, len(labels)), "score": score.name}
        return {**about, "evidence": f"{score.heading} {values} (paired bootstrap)", **difference}

    def value(answers: np.ndarray) -> float:
        found = float(score.of_means(score.parts(answers, labels).mean(0)))
        return found if score.greater_is_better else -found

    return outcome_of(test, value, labels, predicted, constant, baselines)


# Texts with one class each. Arguments: class indices (texts,), the model's and, by their names, those of the baselines


def by_accuracy(
    names: Sequence[str],
    train_labels: np.ndarray,
    labels: np.ndarray,
    predicted: np.ndarray,
    baselines: Mapping[str, np.ndarray],
) -> Outcome:
    """Compare by McNemar's exact test."""

    def test(answers: np.ndarray, others: np.ndarray, name: str) -> Comparison:
        correct, of_others = answers == labels, others == labels
        found = mcnemar(correct, of_others)
        values = f"{percent(correct.mean())} and {percent(of_others.mean())} of the texts"
        evidence = f"{values} (McNemar's exact test, p = {found.p_value:.3g})"
        alone = {"only_model_correct": found.only_model_correct, "only_baseline_correct": found.only_baseline_correct}
        return {"baseline": name, "verdict": found.verdict, "evidence": evidence, "p_value": found.p_value, **alone}

    def accuracy(answers: np.ndarray) -> float:
        return float(np.mean(answers == labels))

    frequent = int(np.bincount(train_labels).argmax())
    constant = np.full_like(labels, frequent), names[frequent]
    return outcome_of(test, accuracy, labels, predicted, constant, baselines)


def one_hot(indices: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the indices (N,) as sets of classes (N, C), of the given ones (C,)."""
    return (np.asarray(indices)[:, None] == classes).astype(np.float64)


def by_macro_f1(
    names: Sequence[str],
    train_labels: np.ndarray,
    labels: np.ndarray,
    predicted: np.ndarray,
    baselines: Mapping[str, np.ndarray],
) -> Outcome:
    """Compare by macro F1, where a model that never predicts a rare class would have the better accuracy.

    The average is over the classes of the labels.
    """
    frequent, classes = int(np.bincount(train_labels).argmax()), np.unique(labels)
    true, answers, constant = (one_hot(each, classes) for each in (labels, predicted, np.full_like(labels, frequent)))
    sets = {name: one_hot(found, classes) for name, found in baselines.items()}
    return by_score(MACRO_F1, true, answers, (constant, names[frequent]), sets)
