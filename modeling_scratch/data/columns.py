# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the columns of labelled text mean: which holds the text, which the label, and what a value in it says."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

from ..utils.errors import DataError
from .rows import Row, missing_column, read_rows

Label = int | str

TEXT_NAMES = ("text", "sentence", "review")
LABEL_NAMES = ("label", "labels", "class", "sentiment")
SENTIMENT_NAMES = ["NEGATIVE", "POSITIVE"]
SAMPLE_ROWS = 1_000
MAX_CLASSES = 1_000
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")

# Only what an integer prints as: "007" stays the string it is.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FRACTION = re.compile(r"[+-]?[0-9]*\.[0-9]+")


def is_missing(value: object) -> bool:
    """Whether a value says nothing: null, NaN, or a string of white space."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def parse_text(value: object, column: str, where: str) -> str | None:
    """The text as it stands, or None where it is missing; raises `DataError` for anything but a string."""
    if is_missing(value):
        return None
    if not isinstance(value, str):
        raise DataError(
            f"{where}, column {column!r}: {_shown(value)} is no text; name the column that holds it with --text_column"
        )
    return value


def parse_label(value: object, column: str, where: str) -> Label | None:
    """A label as an integer or a string, the same from every format; None where it is missing.

    "1", 1.0 and "1.0" (pandas writes integers beside a gap so) are the integer 1; True is the string "True", as in CSV.
    Raises `DataError` for a fraction, which is a score to regress on, and for lists and the like.
    """
    if is_missing(value):
        return None
    if isinstance(value, str):
        integral = value.strip().removesuffix(".0")
        if not _FRACTION.fullmatch(integral):
            return int(integral) if _INTEGER.fullmatch(integral) else value
    elif isinstance(value, bool):
        return str(value)
    elif isinstance(value, int) or _is_integral(value):
        return int(value)
    fault = "is a fraction, but a label is a class" if isinstance(value, str | float) else "is no label"
    raise DataError(
        f"{where}, column {column!r}: {_shown(value)} {fault}; name the column of labels with --label_column"
    )


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:40] + '...'}"


def choose_columns(
    sample: Sequence[Row], where: str, text_column: str | None = None, label_column: str | None = None
) -> tuple[str, str]:
    """`(text, label)`: the columns that were named, else the only ones a look at the first rows leaves.

    Raises `DataError`, with the columns there are, where a named one is missing, or none or several would do.
    """
    columns = _present_values(sample)
    label_column = _named(columns, label_column, where) or _label_by_name(columns, text_column, where)
    text_column = _named(columns, text_column, where) or _text_by_look(columns, label_column, where)
    if label_column is None:
        candidates = [name for name, values in columns.items() if name != text_column and _repeats(values)]
        label_column = _only(candidates, "label", columns, where)
    if text_column == label_column:
        raise DataError(f"{where}: column {text_column!r} cannot be both the text and the label")
    return text_column, label_column


def read_lines(handle: BinaryIO, where: str) -> Iterator[tuple[int, str]]:
    """`(line, text)` of plain UTF-8 text, a text a line, as it comes."""
    for number, line in enumerate(handle, 1):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            place = f"{where}, line {number}, byte {error.start}"
            raise DataError(f"{place}: this is not UTF-8; convert it: iconv -f latin-1 -t utf-8") from None


def read_texts(path: Path, text_column: str | None = None) -> Iterator[tuple[int, str]]:
    """Stream `(row, text)` of one file, labelled or not; a missing text is "", so that no row gets lost.

    The column is found as `choose_columns` finds it. Raises `DataError` like it, and like `read_rows`.
    """
    if text_column is None:
        columns = _present_values([values for _, values in islice(read_rows(path), SAMPLE_ROWS)])
        text_column = _text_by_look(columns, _label_by_name(columns, None, str(path)), str(path))
    for row, values in read_rows(path, [text_column]):
        yield row, parse_text(values[text_column], text_column, f"{path}, row {row}") or ""


def _present_values(sample: Sequence[Row]) -> dict[str, list[Any]]:
    return {name: [value for row in sample if not is_missing(value := row.get(name))] for name in sample[0]}


def _named(columns: Collection[str], name: str | None, where: str) -> str | None:
    if name is not None and name not in columns:
        raise missing_column(name, columns, where)
    return name


def _label_by_name(columns: Collection[str], text_column: str | None, where: str) -> str | None:
    named = [name for name in columns if name != text_column and name.lower() in LABEL_NAMES]
    return _only(named, "label", columns, where) if named else None


def _text_by_look(columns: Mapping[str, Sequence[object]], label_column: str | None, where: str) -> str:
    strings = [name for name, values in columns.items() if name != label_column and _are_texts(values)]
    unlike_labels = [name for name in strings if not _repeats(columns[name])]
    candidates = unlike_labels or strings
    preferred = [name for name in candidates if name.lower() in TEXT_NAMES]
    return _only(preferred or candidates, "text", columns, where)


def _only(candidates: Sequence[str], kind: str, columns: Iterable[str], where: str) -> str:
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise DataError(
            f"{where}: the {kind} could be in {' or '.join(map(repr, candidates))}; name it with --{kind}_column"
        )
    raise DataError(
        f"{where}: none of the columns {', '.join(map(repr, columns))} looks like the {kind}; name it with "
        f"--{kind}_column (a table's first line has to hold the names of its columns)"
    )


def _are_texts(values: Sequence[object]) -> bool:
    strings = [value for value in values if isinstance(value, str)]
    return len(strings) == len(values) > 0 and not all(_NUMBER.fullmatch(value.strip()) for value in strings)


def _repeats(values: Sequence[object]) -> bool:
    """Whether few values come again and again, as labels do, and texts and row numbers do not."""
    could_be_labels = all(isinstance(value, bool | int | str) or _is_integral(value) for value in values)
    return could_be_labels and 0 < 2 * len(set(values)) <= len(values)


def _is_integral(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and value.is_integer()


def name_labels(
    labels: Collection[Label], given: Sequence[str] | None = None, class_names: Sequence[str] | None = None
) -> dict[Label, str]:
    """The name of each label, in the order of the class ids: `given`, else the labels' own.

    `labels` are all those of the train split, `class_names` the order in which the data set itself has them. Without
    it, integers are in numeric order (0 and 1 alone being NEGATIVE and POSITIVE) and strings sorted. `given` renames
    integers and class ids by their order; strings keep their names and take its order. Raises `DataError` where the
    labels are no classes, or `given` does not fit them.
    """
    distinct = set(labels)
    if len(distinct) < 2:
        raise DataError(f"the train split has one class only, {distinct.pop()!r}; a classifier needs two")
    if len(distinct) > MAX_CLASSES or len(distinct) == len(labels) > 2:
        raise DataError(
            f"{len(labels)} rows of the train split have {len(distinct)} different labels: this looks like the wrong "
            "column; name the right one with --label_column"
        )
    order: list[Label] = [*class_names] if class_names else sorted(distinct, key=_numbers_first)
    if given is not None:
        return _given_names(order, given, may_rename=bool(class_names) or not any(isinstance(x, str) for x in order))
    return dict(zip(order, SENTIMENT_NAMES if order == [0, 1] else map(str, order)))


def _numbers_first(label: Label) -> tuple[float, str]:
    return (math.inf, label) if isinstance(label, str) else (label, "")


def _given_names(order: Sequence[Label], given: Sequence[str], may_rename: bool) -> dict[Label, str]:
    label_of = {str(label): label for label in order}
    if set(given) == set(label_of):
        return {label_of[name]: name for name in given}
    if not may_rename or len(set(given)) != len(order) or len(given) != len(order):
        raise DataError(f"--class_names {' '.join(given)} does not fit the labels of train: {', '.join(label_of)}")
    return dict(zip(order, given))
