# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels: one class per text, any number of classes per text, or a number per text, and the names of the classes.

While data is read, a label is a tuple of its classes, or a number. Shapes: N texts, C classes.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..configuration_scratch import ProblemType
from ..utils.errors import DataError, first_few
from .columns import INTEGER, ON, Label, is_missing, is_multi_hot, label_key, listed, spells_list
from .dialects import NUMBER
from .tables import SheetText

SENTIMENT_NAMES = ["NEGATIVE", "POSITIVE"]
MAX_CLASSES = 1_000
SHOWN_CLASSES = 10
COMMON_SET = 10  # rows with the same set of labels that are a stratum of their own
QUANTILES = 10  # strata of a number
SEVERAL = re.compile(r""",|[\[\s]['"]|\[\s*\]|[0-9.]\s+[0-9]""")  # what a list has, and a name in brackets has not
DECIMAL_COMMA = re.compile(r"([+-]?[0-9]+),([0-9]{1,2}|[0-9]{4,})")  # three digits could follow thousands
MOSTLY = 0.8  # of the cells are numbers, the others placeholders such as N/A
PLACEHOLDERS = {"n/a", "na", "nan", "none", "null", "nil", "unknown", "undefined", "tbd", "-", "?", r"\n"}  # \N: of SQL


def parse_class(value: object, where: str, keeps_text: bool = False) -> Label | None:
    """Return a class as an integer or a `label_key`, independent of the file format, or None if it is missing.

    "1", 1.0 and "1.0" (pandas' form of integers in a column with gaps) become 1. True becomes "True", as in CSV.
    keeps_text: "1.0" stays a text. Raises `DataError` for fractions that are not texts, for lists and other types.
    """
    key = label_key(value)
    if is_missing(key):
        return None
    if isinstance(value, str):
        integral = key if keeps_text else key.removesuffix(".0")
        return int(integral) if INTEGER.fullmatch(integral) else key
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    remedy = "name the label column with --label_column, or what a text has with --problem_type"
    raise DataError(f"{where}: {type(value).__name__} {value!r:.40} is not a label of a class; {remedy}")


def number_of(value: Any) -> float | None:
    """Return the finite number of a cell, whose text may have a decimal comma; None if it is no number."""
    if comma := _decimal_comma(value):
        value = ".".join(comma.groups())
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def is_placeholder(label: object) -> bool:
    """Return whether a label probably stands for none."""
    return isinstance(label, str) and label_key(label).casefold() in PLACEHOLDERS


def _decimal_comma(value: object) -> re.Match[str] | None:
    return DECIMAL_COMMA.fullmatch(value.strip()) if isinstance(value, str) else None


@dataclass(frozen=True)
class OneClass:
    """Each text has one class. It is stored as its index. keeps_text: as of `parse_class`."""

    keeps_text: bool = False
    problem_type: ClassVar[ProblemType] = "single_label_classification"
    dtype: ClassVar[str] = "int64"

    def parse(self, value: object, where: str) -> tuple[Label] | None:
        items = value if isinstance(value, str) else listed(value)
        value = items[0] if isinstance(items, list | tuple) and len(items) == 1 else value
        found = parse_class(value, where, self.keeps_text)
        return None if found is None else (found,)

    def strata(self, labels: Sequence[Any]) -> list:
        return list(labels)

    def stored(self, label: tuple[Label], ids: Mapping[Label, int]) -> int:
        return ids[label[0]]

    def shown(self, stored: int, names: Sequence[str]) -> str:
        return names[stored]

    def summary(self, column: np.ndarray, names: Sequence[str]) -> str:
        return _counts(Counter(column.tolist()), names)


@dataclass(frozen=True)
class ClassSet:
    """Each text has any number of classes, none included. They are stored as C floats, 1 for a class that it has.

    separator: that of the classes in a cell of text; None: cells are lists. length: of lists of 0 and 1, one for each
    class; 0: lists have the classes themselves.
    """

    separator: str | None = None
    length: int = 0
    problem_type: ClassVar[ProblemType] = "multi_label_classification"
    dtype: ClassVar[str] = "float32"

    def parse(self, value: object, where: str) -> tuple[Label, ...] | None:
        """Return the classes, each once. An empty list or cell has no class; a null or a gap is a missing label."""
        if isinstance(value, str) and self.separator:
            value = [part.strip() for part in value.split(self.separator) if not is_missing(part)]
        value = listed(value)
        if is_missing(value):
            return None
        if self.length and isinstance(value, list | tuple):
            if len(value) != self.length or not is_multi_hot(value):
                raise DataError(f"{where}: {value!r:.40} is not a list of {self.length} times 0 or 1; correct it")
            return tuple(number for number, has in enumerate(value) if has in ON)
        if not isinstance(value, list | tuple):
            advice = 'write it as ["label"], or give --label_separator if a character separates several'
            raise DataError(f"{where}: {value!r:.40} is not a list of labels; {advice}")
        classes = {parse_class(part, where) for part in value}
        if None in classes:
            raise DataError(f"{where}: the list has an empty label; remove it")
        return tuple(sorted(classes, key=str))

    def strata(self, labels: Sequence[Any]) -> list:
        """Return the set of classes of each row. Rows with a rare set are stratified by their rarest class."""
        sets, classes = Counter(labels), Counter(part for label in labels for part in label)
        rarest = {label: min(label, key=lambda part: (classes[part], str(part)), default=None) for label in sets}
        return [label if sets[label] >= COMMON_SET else rarest[label] for label in labels]

    def stored(self, label: tuple[Label, ...], ids: Mapping[Label, int]) -> np.ndarray:
        row = np.zeros(len(ids), dtype=np.float32)
        row[[ids[part] for part in label]] = 1
        return row

    def shown(self, stored: Sequence[float], names: Sequence[str]) -> str:
        return json.dumps([name for name, has in zip(names, stored) if has])

    def summary(self, column: np.ndarray, names: Sequence[str]) -> str:
        """Return the number of texts that have each class, and of those that have none."""
        counts = _counts(dict(enumerate(column.sum(0).astype(int).tolist())), names)
        return f"{counts}; {none:,} without a label" if (none := (column.sum(-1) == 0).sum()) else counts


class Number:
    """Each text has a number, which is stored as a float."""

    problem_type: ClassVar[ProblemType] = "regression"
    dtype: ClassVar[str] = "float64"

    def parse(self, value: object, where: str) -> float | None:
        """Return the number; None for a placeholder such as N/A. Raises `DataError` for other texts and infinity."""
        if is_missing(value) or is_placeholder(value):
            return None
        if (number := number_of(value)) is None:
            advice = "correct it, or choose another --label_column or --problem_type"
            raise DataError(f"{where}: {value!r:.40} is not a finite number, as a regression needs; {advice}")
        return number

    def strata(self, labels: Sequence[Any]) -> list:
        """Return the quantile bin of each row; equal numbers share a bin."""
        edges = np.quantile(labels, np.arange(1, QUANTILES) / QUANTILES) if len(labels) else []
        return np.searchsorted(edges, labels, side="right").tolist()

    def stored(self, label: float, ids: Mapping[Label, int]) -> float:
        return label

    def shown(self, stored: float, names: Sequence[str]) -> str:
        return repr(float(stored))

    def summary(self, column: np.ndarray, names: Sequence[str]) -> str:
        """Return the mean and the range."""
        return f"{names[0]}: mean {column.mean():.4g}, from {column.min():.4g} to {column.max():.4g}"


# What a text has. `parse` returns the label of a cell, or None if it is missing, and raises `DataError` for what is no
# label; `strata` the stratum of each row; `stored` what a data set has; `shown` a text of it that tells labels apart.
LabelType = OneClass | ClassSet | Number


def _counts(counts: Mapping[int, int], names: Sequence[str]) -> str:
    return first_few([f"{names[label]} {number:,}" for label, number in sorted(counts.items())], SHOWN_CLASSES)


def choose_label_type(
    problem_type: ProblemType | None, separator: str | None, cells: Sequence[object], notes: list[str]
) -> LabelType:
    """Return the type of the labels, given or inferred from the cells of train, and note what was inferred.

    Lists and a separator mean sets of classes. Fractions mean numbers where most cells are numbers, which texts of a
    sheet are not, nor are texts of which two spell one number. All other labels are classes, "1.0" that of "1" only
    where all cells are integers.
    """
    present = [value for value in cells if not is_missing(value)]
    numbers, remark = _numbers(present)
    texts = {label_key(cell) for cell in present if isinstance(cell, str)}
    spelled = {text: number for text in texts if (number := number_of(text)) is not None}
    is_spelled_once = len({*spelled.values()}) == len(spelled)
    are_whole = all(map(float.is_integer, numbers))
    are_integers = len(numbers) == len(present) and are_whole and is_spelled_once
    one_class, sets = OneClass(keeps_text=not are_integers), ClassSet(separator, 0 if separator else _length(present))
    if problem_type is not None:
        return {each.problem_type: each for each in (one_class, sets, Number())}[problem_type]
    inferred: LabelType = one_class
    if why := _why_sets(present, sets):
        inferred = sets
    elif not are_whole and len(numbers) > MOSTLY * len(present) and is_spelled_once:
        inferred, why = Number(), f"some labels are fractions{remark}"
    elif not are_integers and (kept := sorted(text for text in spelled if not INTEGER.fullmatch(text))):
        why = f"labels such as {kept[0]!r} are read as texts"
    elif (highest := len({*numbers})) > 2 and {*numbers} == {*range(1, highest + 1)}:
        notes.append("integer labels are read as classes; if they are ratings, --problem_type regression predicts them")
    if why:
        notes.append(f"problem type: {inferred.problem_type}, as {why}; set --problem_type to change this")
    return inferred


def _numbers(cells: Sequence[object]) -> tuple[list[float], str]:
    """Return the numbers of cells, and a remark. Decimal commas count where most cells have one."""
    has_commas = 2 * sum(_decimal_comma(cell) is not None for cell in cells) > len(cells)
    could_be = (cell for cell in cells if (has_commas if _decimal_comma(cell) else not isinstance(cell, SheetText)))
    numbers = [number for cell in could_be if (number := number_of(cell)) is not None]
    return numbers, " with decimal commas (sets need --label_separator ,)" if has_commas else ""


def _why_sets(cells: Sequence[object], sets: ClassSet) -> str:
    """Return why cells are sets of classes, or nothing if they are not."""
    if sets.separator:
        return f"--label_separator {sets.separator!r} is given"
    if sets.length:
        return "the labels are lists of 0 and 1, for each class whether a text has it"
    are_spelled = all(map(spells_list, cells)) and any(SEVERAL.search(str(cell)) for cell in cells)
    are_lists = any(isinstance(cell, list | tuple) for cell in cells)
    return "the labels are lists" if are_lists or are_spelled else ""


def _length(cells: Sequence[object]) -> int:
    """Return the length of the cells if they are lists of equally many 0 and 1, at least two; 0 otherwise."""
    lengths = {len(items) if is_multi_hot(items) else 0 for items in map(listed, cells)}
    return max(lengths) if len(lengths) == 1 and lengths != {1} else 0


def name_classes(
    labels: Collection[Label], given: Sequence[str] | None = None, declared: Sequence[Label] = ()
) -> dict[Label, str]:
    """Return the name of each class, in the order of the class ids: from `given`, or else the class itself.

    labels: of all rows of train. declared: the order of the data set. Without it, numbers come first, in their order.
    given: new names of integers and of declared classes, or the order of strings. Raises `DataError` if the labels are
    not classes, or if `given` does not match them.
    """
    distinct = set(labels)
    if len(distinct) > MAX_CLASSES or len(distinct) == len(labels) > 2:
        found = f"{len(labels)} rows of the train split have {len(distinct)} different labels"
        needed = f"A class needs several rows, and a classifier at most {MAX_CLASSES:,} classes"
        raise DataError(
            f"{found}: probably the wrong column; choose the label column with --label_column. {needed}: join them by "
            "--label_map, or leave some out by --drop_labels"
        )
    order = [*declared] or sorted(distinct, key=_numbers_first)
    label_of = {str(label): label for label in order}
    if given is None or {label_key(name) for name in given} == set(label_of):
        return {label_of[label_key(name)]: name for name in given or label_of}
    may_rename = bool(declared) or not any(isinstance(label, str) for label in order)
    if not may_rename or len(set(given)) != len(order) or len(given) != len(order):
        what = f"does not match the labels of the train split: {', '.join(label_of)}"
        raise DataError(f"--class_names {' '.join(given)} {what}")
    return dict(zip(order, given))


def _numbers_first(label: Label) -> tuple[float, bool, str]:
    number = float(label) if NUMBER.fullmatch(str(label)) else math.inf
    return number, isinstance(label, str), str(label)
