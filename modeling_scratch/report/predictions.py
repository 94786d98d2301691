# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The predictions of a run, kept with it so that runs can be compared: JSON lines, without the texts.

The first line describes the split: {"split", "digest", "texts", "labels"}, and "problem_type" unless each text has one
class. Each further line is one text: {"id", "label", "prediction", "probabilities"}, the probabilities in the order of
"labels". Label and prediction are the name of a class, a list of such names, or a number, which has no probabilities.
Where words have labels, a text is a sentence, and label and prediction are the lists of those of its words. Of a
question on a context, the label is the list of the right answers, and the prediction that of the one found, if any.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from scipy.special import expit, softmax

from ..configuration_scratch import ProblemType
from ..run.layout import PREDICTIONS
from ..utils.errors import DataError
from ..utils.files import text_digest, write_text
from .calibration import OVERFLOW
from .metrics import METRICS, NUMBER, ONE_CLASS, SEVERAL

DIGITS = 9  # significant ones, as many as float32 has
ENTITIES, WORD_CLASSES = TAGS = "entities", "word_classes"  # what labels of words say
ANSWERS = "answers"
LISTS = *TAGS, ANSWERS  # of labels of words, and of answers
PROBLEM_TYPES = *get_args(ProblemType), *LISTS
ARRAYS = "references", "predicted", "probabilities"
DAMAGED = "damaged: restore it from a copy, or train again with --overwrite"


def text_ids(texts: Sequence[str]) -> list[str]:
    """Return "row-digest" of each text of a split, with rows from 1."""
    return [f"{row}-{text_digest(text)}" for row, text in enumerate(texts, 1)]


@dataclass(frozen=True)
class Predictions:
    """The predictions on N texts of a split, over C classes."""

    split: str
    digest: str  # of the texts and labels of the split, as in run_config.json
    label_names: list[str]
    ids: list[str]
    references: np.ndarray  # indices (N,), sets (N, C) of 0 and 1, numbers (N,), or tuples of labels or answers (N,)
    predicted: np.ndarray  # of the same shape
    probabilities: np.ndarray  # (N, C), or (N, 0) of numbers and of tuples
    problem_type: str = ONE_CLASS

    def save(self, run: Path) -> None:
        """Write the file into the folder of a run, in place of an earlier one once it is complete."""
        head = {"split": self.split, "digest": self.digest, "texts": len(self.ids), "labels": self.label_names}
        head |= {"problem_type": self.problem_type} if self.problem_type != ONE_CLASS else {}
        lines = [head, *map(self._line, range(len(self.ids)))]
        write_text(run / PREDICTIONS, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    def _line(self, row: int) -> dict[str, Any]:
        line = {
            "id": self.ids[row],
            "label": self.answer(self.references[row]),
            "prediction": self.answer(self.predicted[row]),
            "probabilities": list(map(_rounded, self.probabilities[row])),
        }
        return line if line["probabilities"] else {name: line[name] for name in ("id", "label", "prediction")}

    def answer(self, value: Any) -> Any:
        """Return a row of `references` or `predicted` as the name of a class, a list of names, or a number."""
        if self.problem_type == NUMBER:
            return _rounded(value)
        if self.problem_type == SEVERAL:
            return [self.label_names[index] for index in np.flatnonzero(value)]
        if self.problem_type in LISTS:
            return [*value]
        return self.label_names[value]

    @classmethod
    def of_logits(
        cls,
        split: str,
        digest: str,
        label_names: Sequence[str],
        texts: Sequence[str],
        labels: np.ndarray,
        logits: Any,
        problem_type: str = ONE_CLASS,
    ) -> "Predictions":
        """Build the predictions from the logits (N, C) of the saved model. Infinite logits give 0 or 1."""
        logits = np.nan_to_num(np.asarray(logits, np.float64), posinf=OVERFLOW, neginf=-OVERFLOW)
        predicted = METRICS[problem_type].answers(logits)
        if problem_type == ONE_CLASS:
            probabilities = softmax(logits, -1)
        else:
            probabilities = np.zeros((len(labels), 0)) if problem_type == NUMBER else expit(logits)
        about = split, digest, [*label_names], text_ids(texts)
        return cls(*about, labels, predicted, probabilities, problem_type)

    @classmethod
    def of_lists(
        cls,
        problem_type: str,
        split: str,
        digest: str,
        label_names: Sequence[str],
        texts: Sequence[str],
        labels: Sequence[Sequence[str]],
        predicted: Sequence[Sequence[str]],
    ) -> "Predictions":
        """Build the predictions of the labels of the words of sentences, or of answers to pairs of texts."""
        arrays = _tuples(labels), _tuples(predicted), np.zeros((len(texts), 0))
        return cls(split, digest, [*label_names], text_ids(texts), *arrays, problem_type)

    def _are_valid(self) -> bool:
        """Return whether numbers are finite, each word has a label and a prediction, and each question one answer."""
        if self.problem_type == ANSWERS:
            return max(map(len, self.predicted)) <= 1
        if self.problem_type in TAGS:
            return list(map(len, self.references)) == list(map(len, self.predicted))
        return bool(np.isfinite(self.references).all() and np.isfinite(self.predicted).all())

    def select(self, rows: Sequence[int]) -> "Predictions":
        """Return the predictions on some of the texts, in the given order."""
        arrays = (getattr(self, name)[rows] for name in ARRAYS)
        return replace(self, ids=[self.ids[row] for row in rows], **dict(zip(ARRAYS, arrays)))

    def with_labels(self, names: Sequence[str]) -> "Predictions":
        """Return the predictions of classes over these, which include those of the run; others without classes."""
        if self.problem_type not in (ONE_CLASS, SEVERAL):
            return self
        places = np.array([names.index(name) for name in self.label_names])

        def spread(values: np.ndarray) -> np.ndarray:
            found = np.zeros((len(values), len(names)))
            found[:, places] = values
            return found

        arrays = {name: getattr(self, name) for name in ARRAYS}
        moved: dict[str, Any] = {
            name: spread(values) if values.ndim == 2 else places[values] for name, values in arrays.items()
        }
        return replace(self, label_names=[*names], **moved)

    @classmethod
    def load(cls, run: Path) -> "Predictions":
        """Read the file in the folder of a run. Raises `DataError` if it is damaged."""
        path = run / PREDICTIONS
        try:
            head, *rows = map(json.loads, path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
            names = list(head["labels"])
            problem_type = PROBLEM_TYPES[PROBLEM_TYPES.index(head.get("problem_type", ONE_CLASS))]
            references, predicted = (_values(rows, name, problem_type, names) for name in ("label", "prediction"))
            probabilities = np.array([row.get("probabilities", []) for row in rows], np.float64)
            ids = [str(row["id"]) for row in rows]
            arrays = references, predicted, probabilities
            found = cls(str(head["split"]), str(head["digest"]), names, ids, *arrays, problem_type)
            shape = len(ids), 0 if problem_type in (NUMBER, *LISTS) else len(names)
            is_whole = len(ids) == head["texts"] > 0 and probabilities.shape == shape and found._are_valid()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"{path}: {DAMAGED}") from error
        if not is_whole or not np.isfinite(probabilities).all():
            raise DataError(f"{path}: {DAMAGED}")
        return found


def _tuples(rows: Sequence[Sequence[str]]) -> np.ndarray:
    """Return an array of tuples (N,), which numpy would take for one of more axes."""
    found = np.empty(len(rows), object)
    for number, row in enumerate(rows):
        found[number] = tuple(row)
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _values(rows: Sequence[Mapping[str, Any]], name: str, problem_type: str, names: Sequence[str]) -> np.ndarray:
    """Return the labels or the predictions of the lines as an array."""
    if problem_type == NUMBER:
        return np.array([float(row[name]) for row in rows])
    index = {label: number for number, label in enumerate(names)}
    if problem_type == ONE_CLASS:
        return np.array([index[row[name]] for row in rows], np.int64)
    if problem_type in LISTS:
        return _tuples([list(map(str, row[name])) for row in rows])  # those of the data may be new to the run
    values = np.zeros((len(rows), len(names)))
    for row, line in enumerate(rows):
        values[row, [index[label] for label in line[name]]] = 1
    return values
