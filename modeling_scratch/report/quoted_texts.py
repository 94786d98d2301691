# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a classifier's report quotes: wrong answers, and the words that speak for each class.

The surest wrong answers come first: where labels are wrong, they are often among them.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.text_pairs import SEPARATOR, as_fields, from_fields, shortened
from ..run.layout import MISCLASSIFIED
from ..utils.files import write_csv
from ..utils.markdown import escaped, percent, table
from .baselines import BaselineResult

SHOWN = 20  # wrong answers
JOINT = SEPARATOR.strip(" []").lower()  # the word between the texts of a pair
NGRAMS, MOST_CLASSES = 8, 20  # n-grams of a class, and classes
OF_APOSTROPHES = re.compile(r" (t|s|re|ve|ll|d|m)\b")  # "don't" is counted as the words "don" and "t"


def find_misclassified(
    names: Sequence[str],
    texts: Sequence[str],
    places: Sequence[str],
    labels: np.ndarray,
    predicted: np.ndarray,
    probabilities: np.ndarray,
    linear: np.ndarray,
) -> list[dict[str, Any]]:
    """Return the rows of misclassified.csv: the wrong answers, the one with the highest probability first.

    row: the number of a text in its split, from 1. where: its file, and the row there. labels, predicted, linear: class
    indices (N,), the given ones, the model's, and those of a linear model. probabilities (N, C): the model's.
    """
    wrong = np.flatnonzero(predicted != labels)
    sure = probabilities[wrong, predicted[wrong]]
    return [
        {
            "row": row + 1,
            "where": places[row],
            **as_fields(texts[row]),
            "label": names[labels[row]],
            "answer": names[predicted[row]],
            "probability": f"{probabilities[row, predicted[row]]:.4g}",
            "linear_answer": names[linear[row]],
        }
        for row in wrong[np.argsort(-sure, kind="stable")].tolist()
    ]


def save_misclassified(found: Sequence[dict[str, Any]], run: Path) -> None:
    """Write a table of all wrong answers into the folder of a run, if there are any."""
    path = run / MISCLASSIFIED
    path.unlink(missing_ok=True)
    if found:
        write_csv(path, [found[0], *(row.values() for row in found)])


def misclassified_text(found: Sequence[dict[str, Any]], baseline: str, has_learned: bool = True) -> str:
    """Return what a report says of wrong answers without their texts; "" if there are none.

    baseline: the linear model. has_learned: enough to doubt labels.
    """
    if not found:
        return ""
    text = f"Misclassified texts: {len(found):,} ({MISCLASSIFIED} has them in full, the most confident first)."
    if has_learned and (doubtful := sum(each["answer"] == each["linear_answer"] for each in found)):
        text += (
            f"\n\nTexts to which both models give the same answer, but not the label: {doubtful:,}. Check these labels "
            f"first. The other model is {escaped(baseline)}."
        )
    return text


def misclassified_table(found: Sequence[dict[str, Any]], baseline: str) -> str:
    """Return the surest wrong answers as Markdown; "" if there are none."""
    if not found:
        return ""
    rows = [
        [each["where"], shortened(from_fields(each)), each["label"], each["answer"],
         percent(float(each["probability"])), each["linear_answer"]]
        for each in found[:SHOWN]
    ]  # fmt: skip
    which = f"The {SHOWN} most confident wrong answers" if len(found) > SHOWN else "All wrong answers"
    return f"{which}:\n\n{table(['where', 'text', 'label', 'answer', 'probability', escaped(baseline)], rows)}"


def class_words_text(result: BaselineResult, names: Sequence[str]) -> str:
    """Return the n-grams that speak most for each class in a linear model, the strongest first; "" if there are none.

    They add most, on average over the training texts, to the logit of the class relative to the others.
    """
    assert result.classes is not None
    weights, rows = result.weights, []
    scores = (weights.weight - weights.weight.mean(0)) * result.mean_features  # (C, F)
    scores[:, [at for at, ngram in enumerate(weights.ngrams) if JOINT in ngram.split()]] = 0
    for index, of_class in zip(result.classes, scores):
        best = [at for at in np.argsort(-of_class, kind="stable")[:NGRAMS] if of_class[at] > 0]
        shown = [OF_APOSTROPHES.sub(r"'\1", weights.ngrams[at]) for at in best]
        rows += [[names[index], ", ".join(shown)]] if best else []
    head = f"The words that speak most for each class in {escaped(result.name)}:"
    return f"{head}\n\n{table(['class', 'words'], rows[:MOST_CLASSES])}" if rows else ""
