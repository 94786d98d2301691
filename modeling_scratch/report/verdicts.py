# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The first line of a report: which model to use, the Transformer or the linear baseline, and why."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..utils.markdown import escaped, percent
from .metrics import MACRO_F1
from .significance import FEW_EXAMPLES, Score, mcnemar, verdict, with_intervals

MODEL, CONSTANT = "Transformer", "the same answer for every text"


class Comparison(NamedTuple):
    """The model beside a baseline. evidence: the scores of both and the test. record: its entry of evaluation.json."""

    baseline: str
    verdict: str
    evidence: str
    record: Mapping[str, Any]


class Comparisons(NamedTuple):
    """The model beside the best constant answer, and beside the strongest baseline.

    can_be_better: whether the true answers are significantly better than the constant one: too few texts are not.
    """

    constant: Comparison
    baseline: Comparison
    can_be_better: bool

    def headline(self) -> str | None:
        """Return a sentence if the model is not significantly better than the constant answer, or worse than the
        baseline; None for any other model."""
        if self.constant.verdict == "worse" or (self.constant.verdict != "better" and self.can_be_better):
            worst = self.constant
        elif self.baseline.verdict == "worse":
            worst = self.baseline
        else:
            return None
        relation = "is worse than" if worst.verdict == "worse" else "is not significantly better than"
        return f"The {MODEL} {relation} {worst.baseline}: {worst.evidence}."


def of_every_text(answer: str) -> str:
    return f"the answer {answer} for every text"


def only_answer_headline(answer: str) -> str:
    return f"The {MODEL} predicts {answer} for every text: it has not learned."


def has_one_answer(labels: np.ndarray, predicted: np.ndarray) -> bool:
    """Return whether all predictions are equal but the true labels are not. Both are (texts, ...)."""
    return len(np.unique(predicted, axis=0)) == 1 < len(np.unique(labels, axis=0))


def by_score(
    score: Score, found: Mapping[str, Any], labels: np.ndarray, constant: np.ndarray, name: str
) -> Comparisons:
    """Compare by the intervals of the differences of a score.

    found: what `with_intervals` returns of the model, of CONSTANT, which gives `constant` and is called `name`, and of
    the baselines, of which the one with the highest score is compared with.
    """
    values = {each: scores[score.name]["value"] for each, scores in found["models"].items()}
    best = max(values.keys() - {MODEL, CONSTANT}, key=lambda each: (values[each], each))
    of_constant = _by_interval(score, found, CONSTANT, len(labels))._replace(baseline=name)
    is_possible = can_be_better(score, labels, constant)
    return Comparisons(of_constant, _by_interval(score, found, best, len(labels)), is_possible)


def _by_interval(score: Score, found: Mapping[str, Any], name: str, texts: int) -> Comparison:
    values = (score.shown(found["models"][each][score.name]["value"]) for each in (MODEL, name))
    difference = found["differences"][name][score.name]
    word = verdict(difference, score, texts)
    record = {"baseline": name, "score": score.name, **difference, "verdict": word}
    return Comparison(name, word, f"{score.heading} {' and '.join(values)} (paired bootstrap)", record)


def can_be_better(score: Score, labels: np.ndarray, constant: np.ndarray) -> bool:
    """Return whether the true answers are significantly better than the same answer for every text."""
    found = with_intervals((score,), {MODEL: labels, CONSTANT: constant}, labels)
    return _by_interval(score, found, CONSTANT, len(labels)).verdict == "better"


# Texts with one class each. Arguments: class indices (texts,), the model's and, by their names, those of the baselines


def strongest(references: np.ndarray, baselines: Mapping[str, np.ndarray]) -> str:
    """Return the name of the baseline with the most correct predictions; of equal ones, the first.

    The verdict compares the model with this one. The choice on the evaluated texts favours the baselines: a model that
    is better than the strongest is better than each, and no table shows a baseline that has beaten it unmentioned. A
    choice on held-out training texts could name a weaker one, as phrases of one sentence are on both sides in SST-2.
    """
    return max(baselines, key=lambda name: np.mean(baselines[name] == references))


def by_accuracy(
    names: Sequence[str],
    train_labels: np.ndarray,
    labels: np.ndarray,
    predicted: np.ndarray,
    baselines: Mapping[str, np.ndarray],
) -> Comparisons:
    """Compare by McNemar's exact test."""
    frequent, best = int(np.bincount(train_labels).argmax()), strongest(labels, baselines)
    constant, name = np.full_like(labels, frequent), of_every_text(names[frequent])
    compared = _by_accuracy(labels, predicted, name, constant)
    is_possible = _by_accuracy(labels, labels, name, constant).verdict == "better"
    return Comparisons(compared, _by_accuracy(labels, predicted, best, baselines[best]), is_possible)


def _by_accuracy(labels: np.ndarray, predicted: np.ndarray, name: str, baseline: np.ndarray) -> Comparison:
    correct, of_baseline = predicted == labels, baseline == labels
    test = mcnemar(correct, of_baseline)
    values = f"{percent(correct.mean())} and {percent(of_baseline.mean())} of the texts"
    evidence = f"{values} (McNemar's exact test, p = {test.p_value:.3g})"
    alone = {"only_model_correct": test.only_model_correct, "only_baseline_correct": test.only_baseline_correct}
    record = {"baseline": name, "p_value": test.p_value, "verdict": test.verdict, **alone}
    return Comparison(name, test.verdict, evidence, record)


def one_hot(indices: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the indices (N,) as sets of classes (N, C), of the given ones (C,)."""
    return (np.asarray(indices)[:, None] == classes).astype(np.float64)


def by_macro_f1(
    names: Sequence[str],
    train_labels: np.ndarray,
    labels: np.ndarray,
    predicted: np.ndarray,
    baselines: Mapping[str, np.ndarray],
) -> Comparisons:
    """Compare by macro F1, where a model that never predicts a rare class would have the better accuracy.

    The average is over the classes of the labels.
    """
    frequent, classes = int(np.bincount(train_labels).argmax()), np.unique(labels)
    answers = {MODEL: predicted, CONSTANT: np.full_like(labels, frequent), **baselines}
    sets = {name: one_hot(found, classes) for name, found in answers.items()}
    true = one_hot(labels, classes)
    found = with_intervals((MACRO_F1,), sets, true)
    return by_score(MACRO_F1, found, true, sets[CONSTANT], of_every_text(names[frequent]))


def macro_f1_text(comparison: Mapping[str, Any]) -> str:
    """Return the comparison of evaluation.json as a sentence."""
    difference, low, high = map(MACRO_F1.shown_difference, (comparison["value"], *comparison["interval_95"]))
    return (
        "The classes are weighted or imbalanced, so macro F1 says more than accuracy. The difference from "
        f"{escaped(comparison['baseline'])} is {difference} percentage points, with a 95 % interval of {low} to {high} "
        f"(paired bootstrap): {comparison['verdict']}."
    )


# The recommendation


def finding(model: str, baseline: str, word: str, texts: int) -> str:
    """Return a verdict as a clause."""
    if word in ("better", "worse"):
        return f"{model} is {word} than {baseline}"
    if texts < FEW_EXAMPLES:
        return f"{texts} texts are too few to compare {model} and {baseline}"
    return f"{model} and {baseline} do not differ significantly on these texts"


def with_recommendation(
    report: str, evaluation: Mapping[str, Any], comparison: Mapping[str, Any], advice: str = ""
) -> str:
    """Return the report below a first line that says which of the two models to use.

    evaluation: with the headline of a model that nobody should use, if it is one, and the sentence on the saved linear
    model. comparison: with the name of the baseline and the verdict. advice: what to try if there is a headline.
    """
    linear = evaluation["linear_model"]
    if first := evaluation["headline"]:
        return f"\n**{first}** {' '.join(filter(None, (linear, advice)))}\n{report}"
    first = _recommendation(comparison["baseline"], comparison["verdict"], evaluation["texts"])
    return f"\n**{first}**{f' {linear}' if linear else ''}\n{report}"


def _recommendation(baseline: str, word: str, texts: int) -> str:
    if word == "better":
        return f"Use the {MODEL}: it is significantly better than {baseline}."
    if word == "worse":
        return f"Use {baseline}: it is significantly better than the {MODEL}."
    if texts < FEW_EXAMPLES:
        return f"Use either model: {texts} texts are too few to compare the {MODEL} and {baseline}."
    return f"Use either model: the {MODEL} and {baseline} do not differ significantly on these texts."
