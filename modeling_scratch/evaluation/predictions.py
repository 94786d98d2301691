# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The predictions of a run, kept with it so that runs can be compared: JSON lines, without the texts.

The first line describes the split: {"split", "digest", "texts", "labels"}. Each further line is one text: {"id",
"label", "prediction", "probabilities"}, the probabilities in the order of "labels".
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from ..utils.errors import DataError
from ..utils.files import write_text
from .calibration import OVERFLOW

PREDICTIONS = "predictions.jsonl"
DIGITS = 9  # significant ones, as many as float32 has
DIGEST_CHARACTERS = 16  # 64 bits: no two of a billion texts are likely to share them
DAMAGED = "damaged: restore it from a copy, or train again with --overwrite"


def text_digest(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]


def text_ids(texts: Sequence[str]) -> list[str]:
    """Return "row-digest" of each text of a split, with rows from 1."""
    return [f"{row}-{text_digest(text)}" for row, text in enumerate(texts, 1)]


@dataclass(frozen=True)
class Predictions:
    """The predictions on N texts of a split, over C classes.

    digest: of the texts and labels of the split, as in run_config.json. references, predicted: class indices (N,).
    probabilities: (N, C).
    """

    split: str
    digest: str
    label_names: list[str]
    ids: list[str]
    references: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray

    def save(self, path: Path) -> None:
        """Write the file, in place of an earlier one once it is complete."""
        head = {"split": self.split, "digest": self.digest, "texts": len(self.ids), "labels": self.label_names}
        lines = [head, *map(self._line, range(len(self.ids)))]
        write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    def _line(self, row: int) -> dict[str, Any]:
        return {
            "id": self.ids[row],
            "label": self.label_names[self.references[row]],
            "prediction": self.label_names[self.predicted[row]],
            "probabilities": [float(f"{value:.{DIGITS}g}") for value in self.probabilities[row]],
        }

    @classmethod
    def of_logits(
        cls, split: str, digest: str, label_names: Sequence[str], texts: Sequence[str], labels: np.ndarray, logits: Any
    ) -> "Predictions":
        """Build the predictions from the logits (N, C) of the saved model. Infinite logits give 0 or 1."""
        logits = np.nan_to_num(np.asarray(logits, np.float64), posinf=OVERFLOW, neginf=-OVERFLOW)
        return cls(split, digest, [*label_names], text_ids(texts), labels, logits.argmax(-1), softmax(logits, -1))

    @property
    def correct(self) -> np.ndarray:
        """Whether each prediction is right (N,)."""
        return self.predicted == self.references

    @property
    def logits(self) -> np.ndarray:
        """The logarithms of the probabilities (N, C)."""
        return np.log(np.maximum(self.probabilities, np.finfo(np.float64).tiny))

    def select(self, rows: Sequence[int]) -> "Predictions":
        """Return the predictions on some of the texts, in the given order."""
        arrays = (values[rows] for values in (self.references, self.predicted, self.probabilities))
        return Predictions(self.split, self.digest, self.label_names, [self.ids[row] for row in rows], *arrays)

    @classmethod
    def load(cls, path: Path) -> "Predictions":
        """Read the file. Raises `DataError` if it is missing or damaged."""
        if not path.is_file():
            written = (
                "`modeling-scratch train-classifier` writes it at its end, from version 0.2.0, if a text has one class"
            )
            raise DataError(f"{path}: file not found; {written}")
        try:
            head, *rows = map(json.loads, path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
            index = {name: number for number, name in enumerate(head["labels"])}
            references, predicted = (
                np.array([index[row[name]] for row in rows], np.int64) for name in ("label", "prediction")
            )
            probabilities = np.array([row["probabilities"] for row in rows], np.float64)
            ids = [str(row["id"]) for row in rows]
            found = cls(str(head["split"]), str(head["digest"]), list(index), ids, references, predicted, probabilities)
            is_whole = len(ids) == head["texts"] > 0 and probabilities.shape == (len(ids), len(index))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"{path}: {DAMAGED}") from error
        if not is_whole or not np.isfinite(probabilities).all():
            raise DataError(f"{path}: {DAMAGED}")
        return found
