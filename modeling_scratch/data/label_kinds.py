# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The kinds of labels: one class per text, any number of classes per text, or a number per text.

A kind parses cells, stratifies rows and stores labels. Shapes: N texts, C classes.
"""

import json
import math
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import datasets
import numpy as np

from ..configuration_scratch import ProblemType
from ..utils.errors import DataError
from .columns import is_fraction, is_missing, label_key, parse_label

SHOWN_CLASSES = 10
COMMON_SET = 10  # rows with the same set of labels that are a stratum of their own
QUANTILES = 10  # strata of a number
MOSTLY = 0.8  # of the cells are numbers, the others placeholders such as N/A
SEPARATORS = "|;,"  # of labels in a cell, as tables have them


@dataclass(frozen=True)
class OneClass:
    """Each text has one class, an integer or a string. A class is stored as its index."""

    problem_type: ClassVar[ProblemType] = "single_label_classification"

    def parse(self, value: object, column: str, where: str) -> Any:
        """Return the label of a cell, or None if it is missing. Raises `DataError` for what is no label."""
        return parse_label(value, column, where)

    def classes(self, label: Any) -> tuple:
        """Return the classes of a label."""
        return (label,)

    def renamed(self, label: Any, names: Mapping[Any, Any]) -> Any:
        return names.get(label, label)

    def without(self, label: Any, dropped: Collection[Any]) -> Any:
        """Return the label without the classes with these keys; None if there is no label left."""
        return None if label_key(label) in dropped else label

    def strata(self, labels: Sequence[Any]) -> list:
        """Return the stratum of each row."""
        return list(labels)

    def stored(self, label: Any, ids: Mapping[Any, int]) -> Any:
        return ids[label]

    def feature(self, names: Sequence[str]) -> Any:
        return datasets.ClassLabel(names=list(names))

    def array(self, column: Sequence[Any]) -> np.ndarray:
        """Return the stored labels as an array: (N,) of class indices."""
        return np.asarray(column)

    def shown(self, stored: Any, names: Sequence[str]) -> str:
        """Return a text that is different for different labels."""
        return names[stored]

    def summary(self, column: Sequence[Any], names: Sequence[str]) -> str:
        """Return the number of texts of each class."""
        return _counts(Counter(column), names)


@dataclass(frozen=True)
class ClassSet:
    """Each text has any number of classes, none included. They are stored as C floats, 1 for a class that it has.

    separator: that of the classes in a cell of text; None: cells are lists.
    """

    separator: str | None = None
    problem_type: ClassVar[ProblemType] = "multi_label_classification"

    def parse(self, value: object, column: str, where: str) -> Any:
        """Return the classes, each once. An empty list or cell has no class; a null or a gap is a missing label."""
        if isinstance(value, str) and self.separator:
            value = [part.strip() for part in value.split(self.separator) if not is_missing(part)]
        if not isinstance(value, list | tuple):
            if is_missing(value):
                return None
            raise DataError(
                f"{where}, column {column!r}: {value!r:.40} is not a list of labels; give --label_separator "
                "if a character separates them"
            )
        classes = {parse_label(part, column, where) for part in value}
        if None in classes:
            raise DataError(f"{where}, column {column!r}: the list has an empty label; remove it")
        return tuple(sorted(classes, key=str))

    def classes(self, label: Any) -> tuple:
        return label

    def renamed(self, label: Any, names: Mapping[Any, Any]) -> Any:
        return tuple(dict.fromkeys(names.get(part, part) for part in label))

    def without(self, label: Any, dropped: Collection[Any]) -> Any:
        return tuple(part for part in label if label_key(part) not in dropped)

    def strata(self, labels: Sequence[Any]) -> list:
        """Return the set of classes of each row. Rows with a rare set are stratified by their rarest class."""
        sets = Counter(map(frozenset, labels))
        classes = Counter(part for label in labels for part in label)

        def stratum(label: tuple) -> Any:
            if sets[frozenset(label)] >= COMMON_SET or not label:
                return frozenset(label)
            return min(label, key=lambda part: (classes[part], str(part)))

        return [stratum(label) for label in labels]

    def stored(self, label: Any, ids: Mapping[Any, int]) -> Any:
        row = np.zeros(len(ids), dtype=np.float32)
        row[[ids[part] for part in label]] = 1
        return row

    def feature(self, names: Sequence[str]) -> Any:
        return datasets.List(datasets.Value("float32"), length=len(names))

    def array(self, column: Sequence[Any]) -> np.ndarray:
        """(N, C) of 0.0 and 1.0."""
        return np.asarray(column, dtype=np.float32)

    def shown(self, stored: Any, names: Sequence[str]) -> str:
        return json.dumps([name for name, has in zip(names, stored) if has])

    def summary(self, column: Sequence[Any], names: Sequence[str]) -> str:
        """Return the number of texts that have each class, and of those that have none."""
        array = self.array(column)
        none = int((array.sum(-1) == 0).sum())
        counts = _counts(dict(enumerate(array.sum(0).astype(int).tolist())), names)
        return f"{counts}; {none:,} without a label" if none else counts


@dataclass(frozen=True)
class Number:
    """Each text has a number, which is stored as a float.

    dropped: the keys of cells that stand for a missing number, as `number_key` gives them: N/A, or -1.
    """

    dropped: frozenset[Any] = frozenset()
    problem_type: ClassVar[ProblemType] = "regression"

    def parse(self, value: object, column: str, where: str) -> Any:
        """Return the number. Raises `DataError` for what is none, and for infinity."""
        is_number = _is_number(value)
        if is_missing(value) or ((is_number or isinstance(value, str)) and number_key(value) in self.dropped):
            return None
        if not is_number:
            raise DataError(
                f"{where}, column {column!r}: {value!r:.40} is not a finite number, as a regression needs; correct it, "
                "leave such rows out by --drop_labels, or choose another --label_column or --problem_type"
            )
        return float(value)  # type: ignore[arg-type]

    def classes(self, label: Any) -> tuple:
        return ()

    def renamed(self, label: Any, names: Mapping[Any, Any]) -> Any:
        return label

    def strata(self, labels: Sequence[Any]) -> list:
        """Return the quantile bin of each row; equal numbers share a bin."""
        edges = np.quantile(labels, np.arange(1, QUANTILES) / QUANTILES) if len(labels) else []
        return np.searchsorted(edges, labels, side="right").tolist()

    def stored(self, label: Any, ids: Mapping[Any, int]) -> Any:
        return label

    def feature(self, names: Sequence[str]) -> Any:
        return datasets.Value("float64")

    def array(self, column: Sequence[Any]) -> np.ndarray:
        """(N,) of numbers."""
        return np.asarray(column, dtype=np.float64)

    def shown(self, stored: Any, names: Sequence[str]) -> str:
        return repr(float(stored))

    def summary(self, column: Sequence[Any], names: Sequence[str]) -> str:
        """Return the mean and the range."""
        array = self.array(column)
        return f"{names[0]}: mean {array.mean():.4g}, from {array.min():.4g} to {array.max():.4g}"


LabelKind = OneClass | ClassSet | Number
ONE_CLASS = OneClass()


def number_key(value: Any) -> Any:
    """Return what all spellings of a cell share: a number, or else the key of its text."""
    return float(value) if _is_number(value) else label_key(value)


def check_numbers(numbers: Sequence[float], names: Sequence[str] | None) -> None:
    """Raise `DataError` for numbers of the train split that are all equal, and for more than one name."""
    if len(set(numbers)) < 2:
        raise DataError(f"all labels of the train split are {numbers[0]:g}; a regression needs different numbers")
    if names and len(names) != 1:
        raise DataError(f"--class_names {' '.join(names)}: a regression has one number; give one name for it")


def _counts(counts: Mapping[int, int], names: Sequence[str]) -> str:
    shown = [f"{names[label]} {number:,}" for label, number in sorted(counts.items())[:SHOWN_CLASSES]]
    return ", ".join([*shown, *(["..."] if len(counts) > len(shown) else [])])


def choose_kind(
    problem_type: ProblemType | None, separator: str | None, sample: Sequence[object]
) -> tuple[LabelKind, list[str]]:
    """Return the kind of the labels, given or inferred from the cells of a sample, and a note on what was inferred.

    Lists and a separator mean sets of classes; fractions mean numbers, where most cells are numbers. Integers are
    classes.
    """
    if problem_type is not None:
        kinds: dict[str, LabelKind] = {kind.problem_type: kind for kind in (ONE_CLASS, ClassSet(separator), Number())}
        return kinds[problem_type], []
    if separator:
        return ClassSet(separator), [_note(ClassSet, f"--label_separator {separator!r} is given")]
    present = [value for value in sample if not is_missing(value)]
    if any(isinstance(value, list | tuple) for value in present):
        return ClassSet(), [_note(ClassSet, "the labels are lists")]
    if any(map(is_fraction, present)) and sum(map(_is_number, present)) > MOSTLY * len(present):
        return Number(), [_note(Number, "some labels are fractions")]
    return ONE_CLASS, _notes_on_integers(present)


def _notes_on_integers(cells: Sequence[object]) -> list[str]:
    """Return a note if the labels are integers that could be ratings, 1 to 3 or more; a few may be placeholders."""
    numbers = [float(value) for value in cells if _is_number(value)]  # type: ignore[arg-type]
    others = list(dict.fromkeys(str(value) for value in cells if not _is_number(value)))
    values = set(numbers)
    if len(values) < 3 or values != set(range(1, len(values) + 1)) or len(numbers) <= MOSTLY * len(cells):
        return []
    without = f" --drop_labels {shlex.join(others[:5])}" if others else ""
    option = f"--problem_type regression{without}"
    return [f"integer labels are read as classes; if they are ratings, {option} predicts a number"]


def joined_label_warnings(sample: Sequence[object]) -> list[str]:
    """Return a warning if cells are few labels in many combinations, with a separator between them."""
    cells = [value for value in sample if isinstance(value, str) and not is_missing(value)]
    for separator in SEPARATORS:
        joined = [cell for cell in cells if separator in cell]
        parts = {part.strip() for cell in cells for part in cell.split(separator)}
        if len(joined) > len(cells) / 10 and len(parts) < len(set(cells)):
            return [f"labels such as {joined[0]!r} look like several: if they are, set --label_separator {separator!r}"]
    return []


def _note(kind: type[LabelKind], reason: str) -> str:
    return f"problem type: {kind.problem_type}, as {reason}; set --problem_type to change this"


def _is_number(value: object) -> bool:
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
