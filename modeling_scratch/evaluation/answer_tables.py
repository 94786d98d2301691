# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tables of the scores of answers, for results.md and for the model card, which need no library of metrics."""

from collections.abc import Mapping
from typing import Any

from ..utils.markdown import percent, table


def answer_table(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of the model and of the baselines in Markdown."""
    rows = {"Transformer": evaluation, **{each["name"]: each for each in evaluation["baselines"]}}
    heads, scores = ["exact match", "95 % interval", "F1", "95 % interval"], ("exact_match", "f1")
    cells = [[cell for name in scores for cell in _with_interval(each, name)] for each in rows.values()]
    return table(["", *heads], [[name, *cell] for name, cell in zip(rows, cells)])


def _with_interval(scores: Mapping[str, Any], name: str) -> list[str]:
    return [percent(scores[name]), " to ".join(map(percent, scores["intervals_95"][name]))]


def kind_table(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of the questions with and without an answer in Markdown."""
    rows = [
        [f"{kind} an answer", f"{each['questions']:,}", percent(each["exact_match"]), percent(each["f1"])]
        for kind, each in evaluation["kinds"].items()
    ]
    return table(["questions", "number", "exact match", "F1"], rows)
