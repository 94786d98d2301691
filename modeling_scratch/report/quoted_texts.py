# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a classifier's report quotes: examples, wrong answers, and the words that speak for each class.

The surest wrong answers come first: where labels are wrong, they are often among them.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from ..data.text_pairs import SEPARATOR, as_fields, shortened
from ..inference.linear_models import LinearWeights
from ..run.layout import MISCLASSIFIED
from ..utils.files import write_csv
from ..utils.markdown import escaped, percent, table

SHOWN = 20  # wrong answers
SAMPLE = 1_000  # texts of a class
JOINT = SEPARATOR.strip(" []").lower()  # the word between the texts of a pair
NGRAMS, MOST_CLASSES = 8, 20  # n-grams of a class, and classes


def examples(
    texts: Sequence[Any], labels: Any, answers: Any, rows: Iterable[int], shown: Callable[[Any], str]
) -> list[dict[str, str]]:
    """Return some texts with their labels and answers, as `shown` names these. The answers do not select them."""
    pairs = [(row, shown(labels[row]), shown(answers[row])) for row in rows]
    return [{**as_fields(shortened(texts[row])), "label": label, "answer": answer} for row, label, answer in pairs]


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


def save_misclassified(found: Sequence[Misclassified], run: Path) -> None:
    """Write a table of all wrong answers into the folder of a run, if there are any."""
    path = run / MISCLASSIFIED
    if not found:
        return path.unlink(missing_ok=True)
    heads = ["row", "where", *as_fields(found[0].text), "label", "answer", "probability", "linear_answer"]
    rows = [
        [row, where, *as_fields(text).values(), label, answer, f"{probability:.4g}", linear]
        for row, where, text, label, answer, probability, linear in found
    ]
    write_csv(path, [heads, *rows])


def class_scores_of_ngrams(
    weights: LinearWeights, classes: int, texts: Sequence[str], labels: Sequence[int]
) -> np.ndarray:
    """Return s (C, F) for C classes and F n-grams, by a sample of the training texts of each class.

    s[c, f] = (W[c, f] - mean over classes of W[f]) · mean of x[f] over the texts of class c: what the n-gram f adds, on
    average, to the logit of c relative to the others, for features x and weights W.
    """
    means = np.zeros((classes, len(weights.ngrams)))
    for index in np.unique(labels).tolist():
        rows = np.flatnonzero(np.asarray(labels) == index).tolist()
        counts = weights.counter.transform([texts[row] for row in Random(0).sample(rows, min(SAMPLE, len(rows)))])
        means[index] = np.asarray(weights.features(counts).mean(0)).ravel()
    scores = (weights.weight - weights.weight.mean(0)) * means
    scores[:, [at for at, ngram in enumerate(weights.ngrams) if JOINT in ngram.split()]] = 0
    return scores


def class_words_text(
    weights: LinearWeights, names: Sequence[str], texts: Sequence[str], labels: Sequence[int], model: str
) -> str:
    """Return the n-grams that speak most for each class as Markdown, the strongest first; "" if there are none."""
    rows = []
    for name, scores in zip(names, class_scores_of_ngrams(weights, len(names), texts, labels)):
        best = [at for at in np.argsort(-scores, kind="stable")[:NGRAMS] if scores[at] > 0]
        rows += [[name, ", ".join(weights.ngrams[at] for at in best)]] if best else []
    if not rows:
        return ""
    head = f"The words that speak most for each class in {escaped(model)}:"
    return f"\n{head}\n\n{table(['class', 'words'], rows[:MOST_CLASSES])}\n"
