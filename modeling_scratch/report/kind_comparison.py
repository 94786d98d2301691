# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compare runs that predict sets of classes, numbers or labels of words: the first with each of the others."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..utils.markdown import escaped, table
from . import imbalance
from .classification_metrics import shown_verdict
from .imbalance import one_hot
from .judges import KIND_JUDGES, scores_table, shown_difference
from .kind_scores import KindMetrics, Score, randomization_p_value
from .predictions import ENTITIES, TAGS, WORD_CLASSES, Predictions
from .tag_scores import ENTITY_METRICS, WORD_METRICS, tag_counts


class Kind(NamedTuple):
    """How runs of a kind are scored, and the name of the score that decides."""

    metrics: KindMetrics
    judged_by: str

    @property
    def score(self) -> Score:
        return next(score for score in self.metrics.scores if score.name == self.judged_by)


KINDS = {
    **{name: Kind(judge.metrics, judge.judged_by) for name, judge in KIND_JUDGES.items()},
    ENTITIES: Kind(ENTITY_METRICS, "f1"),
    WORD_CLASSES: Kind(WORD_METRICS, "accuracy"),
}
MACRO_F1 = Kind(imbalance.METRICS, imbalance.MACRO_F1.name)  # of runs with one class per text


def _scored(run: Predictions) -> np.ndarray:
    """Return what the scores read: the predictions, or of labels of words, counts of each sentence."""
    return tag_counts(run) if run.problem_type in TAGS else run.predicted


def compare_kind(runs: Mapping[str, Predictions]) -> dict[str, Any]:
    """Return the scores of each run, and the differences from the first, with paired bootstrap intervals.

    The p-value of approximate randomization, and the verdict, are those of the score that the problem type is judged
    by.
    """
    first = next(iter(runs.values()))
    return compare_scored(KINDS[first.problem_type], {name: _scored(run) for name, run in runs.items()}, first)


def compare_macro_f1(runs: Mapping[str, Predictions]) -> dict[str, Any]:
    """Return what `compare_kind` does, for runs with one class per text: the macro F1 of the classes that occur."""
    first = next(iter(runs.values()))
    classes = np.unique(first.references)
    labels = replace(first, references=one_hot(first.references, classes))
    return compare_scored(MACRO_F1, {name: one_hot(run.predicted, classes) for name, run in runs.items()}, labels)


def compare_scored(kind: Kind, answers: Mapping[str, np.ndarray], first: Predictions) -> dict[str, Any]:
    """Compare the answers of runs. first: the first run, with the true labels."""
    found = kind.metrics.with_intervals(answers, first.references)
    first_name, *others = answers
    return {
        "runs": [{"name": name, "scores": found["models"][name]} for name in answers],
        "differences": [
            {
                "run": name,
                "compared_with": first_name,
                "scores": (scores := {key: _negated(value) for key, value in found["differences"][name].items()}),
                **_test(kind.score, answers[name], answers[first_name], first, scores[kind.judged_by]["value"]),
            }
            for name in others
        ],
    }


def _negated(difference: Mapping[str, Any]) -> dict[str, Any]:
    low, high = difference["interval_95"]
    return {"value": -difference["value"], "interval_95": [-high, -low]}


def _test(score: Score, one: np.ndarray, other: np.ndarray, first: Predictions, difference: float) -> dict[str, Any]:
    p_value = randomization_p_value(score, one, other, first.references)
    direction = "better" if (difference > 0) == score.greater_is_better else "worse"
    verdict = shown_verdict(p_value, direction, len(first.ids))
    return {"score": score.name, "p_value": p_value, "verdict": verdict}


def kind_scores_table(report: Mapping[str, Any]) -> str:
    scores = KINDS[report["problem_type"]].metrics.scores
    return scores_table(scores, {run["name"]: run["scores"] for run in report["runs"]}, "run")


def kind_differences_table(report: Mapping[str, Any]) -> str:
    return differences_table(KINDS[report["problem_type"]].score, report)


def macro_f1_differences_table(report: Mapping[str, Any]) -> str:
    return differences_table(MACRO_F1.score, report)


def differences_table(score: Score, report: Mapping[str, Any]) -> str:
    heads = [f"compared with {escaped(report['runs'][0]['name'])}", score.heading, "95 % interval", "p", "verdict"]
    rows = []
    for each in report["differences"]:
        difference = each["scores"][score.name]
        values = [shown_difference(score, value) for value in (difference["value"], *difference["interval_95"])]
        rows.append([each["run"], values[0], " to ".join(values[1:]), f"{each['p_value']:.3g}", each["verdict"]])
    return table(heads, rows)
