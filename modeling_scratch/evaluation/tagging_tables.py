# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tables of the scores of a tagger, for results.md and for the model card, which need no library of metrics."""

from collections.abc import Mapping
from typing import Any

from ..utils.markdown import percent, table


def tagging_table(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of the model and of the baseline in Markdown."""
    rows = {"Transformer": evaluation, evaluation["baseline"]["name"]: evaluation["baseline"]}
    averages = [[percent(scores[name]) for name in ("precision", "recall", "f1")] for scores in rows.values()]
    accuracies = [percent(scores["accuracy"]) for scores in rows.values()]
    intervals = [" to ".join(map(percent, scores["interval_95"])) for scores in rows.values()]
    if evaluation["are_entities"]:
        heads = ["precision", "recall", "F1 of entities", "95 % interval", "accuracy of words"]
        cells = [[*average, *rest] for average, *rest in zip(averages, intervals, accuracies)]
    else:
        heads = ["accuracy of words", "95 % interval", "macro precision", "macro recall", "macro F1"]
        cells = [[*rest, *average] for average, *rest in zip(averages, accuracies, intervals)]
    return table(["", *heads], [[name, *cell] for name, cell in zip(rows, cells)])


def label_table(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of each type of entity, or of each class, in Markdown."""
    what = "entity" if evaluation["are_entities"] else "label"
    rows = [
        [name, *(percent(scores[key]) for key in ("precision", "recall", "f1")), f"{int(scores['number']):,}"]
        for name, scores in evaluation["labels"].items()
    ]
    return table([what, "precision", "recall", "F1", "number"], rows)
