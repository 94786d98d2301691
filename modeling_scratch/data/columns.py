# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Find the text and label columns of a data set, and parse their values."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeGuard

from ..utils.errors import DataError
from .rows import missing_column, read_rows
from .tables import FOUND, Row, TableForm
from .text_files import text_lines
from .text_pairs import TextColumns, column_names, of_parts

Label = int | str
NumberedText = tuple[int, str]  # row or line number from 1, text
KeptText = tuple[int, str, Row]  # with the values of other columns

TEXT_NAMES = ("text", "sentence", "review")
LABEL_NAMES = ("label", "labels", "class", "sentiment")
SAMPLE_ROWS = 1_000
MAX_CLASSES = 1_000
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")

# Canonical integers only: "007" stays a string.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FRACTION = re.compile(r"[+-]?[0-9]*\.[0-9]+")


def is_missing(value: object) -> bool:
    """Return whether a value is null, NaN or a string of blanks and invisible characters."""
    if isinstance(value, str):
        return all(character.isspace() or _is_invisible(character) for character in value)
    return value is None or (isinstance(value, float) and math.isnan(value))


def parse_text(value: object, column: str, where: str) -> str | None:
    """Return the unchanged text, or None if it is missing. Raises `DataError` if the value is not a string."""
    if is_missing(value):
        return None
    if not isinstance(value, str):
        raise DataError(
            f"{where}, column {column!r}: {_shown(value)} is not text; name the text column with --text_column"
        )
    return value


def parse_texts(values: Row, columns: Sequence[str], where: str) -> str | None:
    """Return the text of a row, or the pair of two columns; None if one is missing. Raises as `parse_text` does."""
    parts = [text for column in columns if (text := parse_text(values[column], column, where)) is not None]
    return of_parts(parts) if len(parts) == len(columns) else None


def parse_label(value: object, column: str, where: str) -> Label | None:
    """Return a label as an integer or a string, independent of the file format, or None if it is missing.

    "1", 1.0 and "1.0" (pandas' form of integers in a column with gaps) become 1. True becomes "True", as in CSV.
    Raises `DataError` for fractions, which are regression targets, and for lists and other non-scalar types.
    """
    key = label_key(value)
    if is_missing(key):
        return None
    if isinstance(value, str):
        integral = key.removesuffix(".0")
        if not _FRACTION.fullmatch(integral):
            return int(integral) if _INTEGER.fullmatch(integral) else value
    elif isinstance(value, bool):
        return str(value)
    elif isinstance(value, int) or _is_integral(value):
        return int(value)
    fault = "is a fraction, not a class label" if isinstance(value, str | float) else "is not a label"
    remedy = "name the label column with --label_column, or the kind of its labels with --problem_type"
    raise DataError(f"{where}, column {column!r}: {_shown(value)} {fault}; {remedy}")


def is_fraction(value: object) -> bool:
    """Return whether a label is a fraction, as a number or in text; 1.0 is none."""
    if isinstance(value, str):
        return _FRACTION.fullmatch(label_key(value).removesuffix(".0")) is not None
    return isinstance(value, float) and math.isfinite(value) and not value.is_integer()


def label_key(label: Any) -> Any:
    """Return what all spellings of a string label share: NFC, single blanks, no invisible characters."""
    if not isinstance(label, str):
        return label
    composed = unicodedata.normalize("NFC", label)
    visible = "".join(character for character in composed if not _is_invisible(character))
    return " ".join(visible.split())


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) == "Cf"


def normalised(text: str) -> str:
    """Return what texts share that differ only by case, white space or compatibility characters (NFKC)."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:40] + '...'}"


def choose_columns(
    sample: Sequence[Row], where: str, text_column: TextColumns = None, label_column: str | None = None
) -> tuple[str, ...]:
    """Return the text and label columns: those named, or else the only candidates among the sample's columns.

    The label is the last of them. Before it are one column of texts, or two of pairs of texts.
    Raises `DataError`, listing the columns, if a named one is missing or if there is not exactly one candidate.
    """
    columns = _present_values(sample)
    text_columns = [_named(columns, name, where) for name in column_names(text_column)]
    label_column = label_column and _named(columns, label_column, where)
    label_column = label_column or _label_by_name(columns, text_columns, where)
    text_columns = text_columns or [_text_by_look(columns, label_column, where)]
    if label_column is None:
        candidates = [name for name, values in columns.items() if name not in text_columns and _repeats(values)]
        label_column = _only(candidates, "label", columns, where)
    if label_column in text_columns:
        raise DataError(f"{where}: column {label_column!r} cannot be both the text and the label")
    return *text_columns, label_column


def read_lines(handle: IO[bytes], where: str, form: TableForm = FOUND) -> Iterator[NumberedText]:
    """Stream `(line, text)` from text with one text per line."""
    yield from ((row, line.rstrip("\r\n")) for row, line in enumerate(text_lines(handle, where, form.codec), 1))


def read_texts(path: Path, text_column: TextColumns = None, form: TableForm = FOUND) -> Iterator[NumberedText]:
    """Stream `(row, text)` from one file, as `read_kept_texts` does."""
    yield from ((row, text) for row, text, _ in read_kept_texts(path, text_column, {}, form))


def read_kept_texts(
    path: Path, text_column: TextColumns, kept: Mapping[str, str], form: TableForm = FOUND
) -> Iterator[KeptText]:
    """Stream `(row, text, values of the columns kept)` from one file, labelled or not; of two columns, pairs.

    kept: the columns by their new names. A missing text is "", to keep row numbers aligned. The text column is found as
    in `choose_columns`. Raises `DataError` as `choose_columns` and `read_rows` do.
    """
    names = column_names(text_column) or find_text_columns(path, form)
    for row, values in read_rows(path, list(dict.fromkeys([*names, *kept.values()])), form):
        text = parse_texts(values, names, f"{path}, row {row}")
        yield row, text or "", {new: values[name] for new, name in kept.items()}


def find_text_columns(path: Path, form: TableForm = FOUND, trained: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names that a model was trained on, if the file has them, or that of the only column of texts."""
    columns = _present_values([values for _, values in islice(read_rows(path, form=form), SAMPLE_ROWS)])
    if trained and columns.keys() >= set(trained):
        return trained
    return (_text_by_look(columns, _label_by_name(columns, (), str(path)), str(path)),)


def _present_values(sample: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the values of each column that any row has: the rows of JSON lines can have different ones."""
    names = dict.fromkeys(name for row in sample for name in row)
    return {name: [value for row in sample if not is_missing(value := row.get(name))] for name in names}


def _named(columns: Collection[str], name: str, where: str) -> str:
    if name not in columns:
        raise missing_column(name, columns, where)
    return name


def _label_by_name(columns: Collection[str], text_columns: Collection[str], where: str) -> str | None:
    named = [name for name in columns if name not in text_columns and name.lower() in LABEL_NAMES]
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
        pair = " (two names are a pair of texts)" if kind == "text" else ""
        listed = " or ".join(map(repr, candidates))
        raise DataError(f"{where}: candidate {kind} columns: {listed}; choose one with --{kind}_column{pair}")
    raise DataError(
        f"{where}: none of the columns {', '.join(map(repr, columns))} looks like the {kind}; "
        f"choose with --{kind}_column (the first line of a table must contain the column names)"
    )


def _are_texts(values: Sequence[object]) -> bool:
    strings = [value for value in values if isinstance(value, str)]
    return len(strings) == len(values) > 0 and not all(_NUMBER.fullmatch(value.strip()) for value in strings)


def number_warnings(texts: Sequence[str]) -> list[str]:
    """Return a warning if most texts are numbers: another column was meant."""
    numbers = [text for text in texts if _NUMBER.fullmatch(text.strip())]
    if 2 * len(numbers) <= len(texts):
        return []
    return [f"{len(numbers):,} of {len(texts):,} texts are numbers, such as {numbers[0]!r}: check --text_column"]


def _repeats(values: Sequence[object]) -> bool:
    """Return whether the values repeat like labels do, unlike texts and row numbers."""
    could_be_labels = all(isinstance(value, bool | int | str) or _is_integral(value) for value in values)
    return could_be_labels and 0 < 2 * len(set(values)) <= len(values)


def _is_integral(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and value.is_integer()
