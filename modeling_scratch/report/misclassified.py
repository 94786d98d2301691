# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The misclassified texts of a split, the surest answers first: where labels are wrong, they are often among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..data.text_pairs import as_fields, shortened
from ..run.layout import MISCLASSIFIED
from ..utils.files import write_csv
from ..utils.markdown import escaped, percent, table

SHOWN = 20


@dataclass(frozen=True)
class Misclassified:
    """The wrong answers among those to N texts, over C classes.

    places: the file and the row of each text. labels, predicted, linear: class indices (N,), the given ones, the
    model's, and those of the linear model `baseline`. probabilities (N, C): the model's. has_learned: enough to doubt
    labels.
    """

    names: Sequence[str]
    texts: Sequence[str]
    places: Sequence[str]
    labels: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray
    baseline: str
    linear: np.ndarray
    has_learned: bool = True

    @property
    def rows(self) -> np.ndarray:
        """The wrong answers, by their probability."""
        wrong = np.flatnonzero(self.predicted != self.labels)
        return wrong[np.argsort(-self.probabilities[wrong, self.predicted[wrong]], kind="stable")]

    @property
    def doubtful(self) -> int:
        """The number of texts to which both models give the same answer, which is not the label."""
        return int(((self.predicted != self.labels) & (self.predicted == self.linear)).sum())

    def report(self, quotes: bool = True) -> str:
        """Return the number of wrong answers as Markdown, and the surest ones if it quotes; "" if there are none."""
        if not len(rows := self.rows):
            return ""
        text = f"Misclassified texts: {len(rows):,} ({MISCLASSIFIED} has them in full, the most confident first)."
        if quotes:
            which = f"The {SHOWN} most confident" if len(rows) > SHOWN else "All"
            text = f"{text} {which} of them:\n\n{self._listed(rows[:SHOWN])}"
        if self.has_learned and self.doubtful:
            text += (
                f"\n\nTexts to which both models give the same answer, but not the label: {self.doubtful:,}. Check "
                f"these labels first. The other model is {escaped(self.baseline)}."
            )
        return f"\n{text}\n"

    def _listed(self, rows: np.ndarray) -> str:
        return table(
            ["where", "text", "label", "answer", "probability", escaped(self.baseline)],
            [[self.places[row], shortened(self.texts[row]), *self._answers(row)] for row in rows],
        )

    def _answers(self, row: int) -> list[str]:
        predicted = self.predicted[row]
        names = [self.names[each[row]] for each in (self.labels, self.predicted, self.linear)]
        return [*names[:2], percent(self.probabilities[row, predicted]), names[2]]

    def save(self, path: Path) -> None:
        """Write a table of all wrong answers, if there are any. row: the number of the text in its split, from 1.

        where: the file that it was read from, and its row there.
        """
        if not len(rows := self.rows):
            return path.unlink(missing_ok=True)
        heads = ["row", "where", *as_fields(self.texts[rows[0]]), "label", "answer", "probability", "linear_answer"]
        lines = [[row + 1, self.places[row], *as_fields(self.texts[row]).values(), *self._cells(row)] for row in rows]
        write_csv(path, [heads, *lines])

    def _cells(self, row: int) -> list[str]:
        label, answer, _, linear = self._answers(row)
        return [label, answer, f"{self.probabilities[row, self.predicted[row]]:.4g}", linear]
