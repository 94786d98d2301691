# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The predictions of a run, kept with it so that runs can be compared: JSON lines, without the texts.

The first line describes the split: {"split", "digest", "texts", "labels", "problem_type"}; earlier versions left out
the type of one class a text. Each further line is one text: {"id", "label", "prediction", "probabilities"}, the last
in the order of "labels". Label and prediction are the name of a class, a list of such names, or a number, which has no
probabilities. Where words have labels, a text is a sentence, and label and prediction are the lists of those of its
words. Of a question on a context, the label is the list of the right answers, the prediction that of the one found.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..run.layout import PREDICTIONS
from ..utils.errors import DataError
from ..utils.files import text_digest, write_text
from .metrics import NUMBER, ONE_CLASS, SEVERAL

DIGITS = 9  # significant ones, as many as float32 has
ENTITIES, WORD_CLASSES = TAGS = "entities", "word_classes"  # what labels of words say
ANSWERS = "answers"
KNOWN = {ONE_CLASS, SEVERAL, NUMBER, *TAGS, ANSWERS}


@dataclass(frozen=True)
class Predictions:
    """The predictions on the texts of a split, and the labels: names of classes, lists of such names, or numbers."""

    split: str
    digest: str  # of the texts and labels of the split, as in run_config.json
    label_names: list[str]
    ids: list[str]  # "row-digest" of each text, with rows from 1
    labels: list[Any]
    predictions: list[Any]
    problem_type: str = ONE_CLASS

    @classmethod
    def of_lists(
        cls,
        problem_type: str,
        split: str,
        digest: str,
        label_names: Sequence[str],
        texts: Sequence[str],
        labels: Sequence[Any],
        predicted: Sequence[Any],
    ) -> "Predictions":
        ids = [f"{row}-{text_digest(text)}" for row, text in enumerate(texts, 1)]
        return cls(split, digest, [*label_names], ids, [*labels], [*predicted], problem_type)

    def save(self, run: Path, probabilities: np.ndarray | None = None) -> None:
        """Write the file into the folder of a run. probabilities: (texts, classes)."""
        head: dict[str, Any] = {"split": self.split, "digest": self.digest, "texts": len(self.ids)}
        head |= {"labels": self.label_names, "problem_type": self.problem_type}
        rows = zip(self.ids, self.labels, self.predictions)
        lines = [dict(zip(("id", "label", "prediction"), row)) for row in rows]
        for line, row in zip(lines, () if probabilities is None else probabilities):
            line["probabilities"] = [rounded(value) for value in row]
        write_text(run / PREDICTIONS, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [head, *lines]))

    @classmethod
    def load(cls, run: Path) -> "Predictions":
        """Read the file in the folder of a run, without probabilities. Raises `DataError` if it is damaged."""
        path = run / PREDICTIONS
        try:
            head, *rows = map(json.loads, path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
            ids, labels, predictions = ([row[name] for row in rows] for name in ("id", "label", "prediction"))
            about = head["split"], head["digest"], head["labels"]
            found = cls(*about, ids, labels, predictions, head.get("problem_type", ONE_CLASS))
            if found.problem_type not in KNOWN or not len(rows) == head["texts"] > 0:
                raise ValueError
            if found.problem_type == ONE_CLASS and not {*labels, *predictions} <= {*found.label_names}:
                raise ValueError
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: damaged: restore it from a copy, or train again with --overwrite") from error
        return found

    def select(self, rows: Sequence[int]) -> "Predictions":
        """Return the predictions on some of the texts, in the given order."""
        ids, labels, predictions = ([one[row] for row in rows] for one in (self.ids, self.labels, self.predictions))
        return replace(self, ids=ids, labels=labels, predictions=predictions)


def as_names(problem_type: str, names: Sequence[str], values: np.ndarray) -> list[Any]:
    """Return class indices (N,), sets of classes (N, C) or numbers (N,) as names, lists of names, or numbers."""
    if problem_type == NUMBER:
        return list(map(rounded, values))
    if problem_type == SEVERAL:
        return [[names[index] for index in np.flatnonzero(row).tolist()] for row in values]
    return [names[index] for index in values.tolist()]


def as_array(problem_type: str, names: Sequence[str], rows: Sequence[Any]) -> np.ndarray:
    """Return what `as_names` was given."""
    if problem_type == NUMBER:
        return np.array(rows, np.float64)
    if problem_type == SEVERAL:
        return np.array([[name in row for name in names] for row in rows], np.float64)
    indices = {name: index for index, name in enumerate(names)}
    return np.array([indices[row] for row in rows])


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
