# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The misclassified texts of a split, the surest answers first: where labels are wrong, they are often among them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data.text_pairs import as_fields, shortened
from ..run.layout import MISCLASSIFIED
from ..utils.files import write_csv
from ..utils.markdown import escaped, percent, table

SHOWN = 20


class Misclassified(NamedTuple):
    """A wrong answer. row: the number of the text in its split, from 1. where: the file of the text, and its row."""

    row: int
    where: str
    text: str
    label: str
    answer: str
    probability: float
    linear_answer: str


def find_misclassified(
    names: Sequence[str],
    texts: Sequence[str],
    places: Sequence[str],
    labels: np.ndarray,
    predicted: np.ndarray,
    probabilities: np.ndarray,
    linear: np.ndarray,
) -> list[Misclassified]:
    """Return the wrong answers among those to N texts, over C classes, by their probability.

    labels, predicted, linear: class indices (N,), the given ones, the model's, and those of a linear model.
    probabilities (N, C): the model's.
    """
    wrong = np.flatnonzero(predicted != labels)
    sure = probabilities[wrong, predicted[wrong]]
    order = np.argsort(-sure, kind="stable")
    named = [[names[each] for each in column] for column in (labels, predicted, linear)]
    return [
        Misclassified(row + 1, places[row], texts[row], named[0][row], named[1][row], probability, named[2][row])
        for row, probability in zip(wrong[order].tolist(), sure[order].tolist())
    ]


def misclassified_text(
    found: Sequence[Misclassified], baseline: str, has_learned: bool = True, quotes: bool = True
) -> str:
    """Return the number of wrong answers as Markdown, and the surest ones if it quotes; "" if there are none.

    baseline: the linear model. has_learned: enough to doubt labels.
    """
    if not found:
        return ""
    text = f"Misclassified texts: {len(found):,} ({MISCLASSIFIED} has them in full, the most confident first)."
    if quotes:
        which = f"The {SHOWN} most confident" if len(found) > SHOWN else "All"
        heads = ["where", "text", "label", "answer", "probability", escaped(baseline)]
        rows = [[*each[1:5], percent(each.probability), each.linear_answer] for each in found[:SHOWN]]
        text = f"{text} {which} of them:\n\n{table(heads, [[row[0], shortened(row[1]), *row[2:]] for row in rows])}"
    if has_learned and (doubtful := sum(each.answer == each.linear_answer for each in found)):
        text += (
            f"\n\nTexts to which both models give the same answer, but not the label: {doubtful:,}. Check these labels "
            f"first. The other model is {escaped(baseline)}."
        )
    return f"\n{text}\n"


def save_misclassified(found: Sequence[Misclassified], path: Path) -> None:
    """Write a table of all wrong answers, if there are any."""
    if not found:
        return path.unlink(missing_ok=True)
    heads = ["row", "where", *as_fields(found[0].text), "label", "answer", "probability", "linear_answer"]
    rows = [
        [row, where, *as_fields(text).values(), label, answer, f"{probability:.4g}", linear]
        for row, where, text, label, answer, probability, linear in found
    ]
    write_csv(path, [heads, *rows])
