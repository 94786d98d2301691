# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compare runs that predict sets of classes or numbers, on the same texts: the first with each of the others."""

from collections.abc import Mapping
from typing import Any

from ..utils.markdown import escaped, table
from .classification_metrics import shown_verdict
from .judges import KIND_JUDGES, score_of, scores_table, shown_difference
from .kind_scores import randomization_p_value
from .predictions import Predictions


def compare_kind(runs: Mapping[str, Predictions]) -> dict[str, Any]:
    """Return the scores of each run, and the differences from the first, with paired bootstrap intervals.

    The p-value of approximate randomization, and the verdict, are those of the score that the problem type is judged
    by.
    """
    (first_name, first), *others = runs.items()
    judge = KIND_JUDGES[first.problem_type]
    answers = {name: run.predicted for name, run in runs.items()}
    found = judge.metrics.with_intervals(answers, first.references)
    return {
        "runs": [{"name": name, "scores": found["models"][name]} for name in runs],
        "differences": [
            {
                "run": name,
                "compared_with": first_name,
                "scores": (scores := {key: _negated(value) for key, value in found["differences"][name].items()}),
                **_test(first, run, scores[judge.judged_by]["value"]),
            }
            for name, run in others
        ],
    }


def _negated(difference: Mapping[str, Any]) -> dict[str, Any]:
    low, high = difference["interval_95"]
    return {"value": -difference["value"], "interval_95": [-high, -low]}


def _test(first: Predictions, run: Predictions, difference: float) -> dict[str, Any]:
    score = score_of(first.problem_type, KIND_JUDGES[first.problem_type].judged_by)
    p_value = randomization_p_value(score, run.predicted, first.predicted, first.references)
    direction = "better" if (difference > 0) == score.greater_is_better else "worse"
    verdict = shown_verdict(p_value, direction, len(first.ids))
    return {"score": score.name, "p_value": p_value, "verdict": verdict}


def kind_scores_table(report: Mapping[str, Any]) -> str:
    return scores_table(report["problem_type"], {run["name"]: run["scores"] for run in report["runs"]}, "run")


def kind_differences_table(report: Mapping[str, Any]) -> str:
    score = score_of(report["problem_type"], KIND_JUDGES[report["problem_type"]].judged_by)
    heads = [f"compared with {escaped(report['runs'][0]['name'])}", score.heading, "95 % interval", "p", "verdict"]
    rows = []
    for each in report["differences"]:
        difference = each["scores"][score.name]
        values = [shown_difference(score, value) for value in (difference["value"], *difference["interval_95"])]
        rows.append([each["run"], values[0], " to ".join(values[1:]), f"{each['p_value']:.3g}", each["verdict"]])
    return table(heads, rows)
