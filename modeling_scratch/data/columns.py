# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Find the text and label columns of a data set, and read texts."""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any
from unicodedata import category, normalize

from ..utils.errors import DataError, first_few
from .dialects import NUMBER
from .tables import FOUND, TableForm, Values, open_table, select
from .text_files import MAX_FIELD_CHARACTERS, text_lines
from .text_pairs import TextColumns, column_names, of_parts

Label = int | str  # a class, as the files have it
NumberedText = tuple[int, str]  # row or line number from 1, text
KeptText = tuple[int, str, Values]  # with the values of other columns

TEXT_NAMES = ("text", "sentence", "review")
LABEL_NAMES = ("label", "labels", "class", "sentiment")
SAMPLE_ROWS = 1_000
TEXT_REMEDY = "; name the text column with --text_column"
OF_WORDS = re.compile(r"[^\x00-\x7f]|[A-Za-z]\S*\s+\S*[A-Za-z]")  # unlike a date, an id, a file or an address
ANSWER = "answer"  # the column in which Prodigy has whether the label was accepted
MOST_NAMES = 10  # of columns in an error
TASK_OF_COLUMN = {  # of lists or objects
    "tokens": "tokens", "words": "tokens", "paragraphs": "answers", "answers": "answers", "translation": "translation",
}  # fmt: skip
INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # canonical ones only: "007" stays a string
LIST = re.compile(r"\[.*\]", re.DOTALL)
ITEM = re.compile(r"'([^']*)'|\"([^\"]*)\"|([^\s,\[\]]+)")
ON, OFF = (1, "1", "1.0"), (0, "0", "0.0")  # True is 1
INVISIBLE = "Cf"  # the category of characters without a glyph
JOINERS = "\u200c\u200d"  # of letters in Persian, of emoji


# Values


def is_missing(value: object) -> bool:
    """Return whether a value is null, NaN or a string of blanks and invisible characters."""
    if isinstance(value, str):
        return not value[:1].isalnum() and all(each.isspace() or category(each) == INVISIBLE for each in value)
    return value is None or (isinstance(value, float) and math.isnan(value))


def label_key(label: Any) -> Any:
    """Return what all spellings of a string label share: NFC, single blanks, no invisible characters but joiners."""
    if not isinstance(label, str):
        return label
    if label.isascii():
        return " ".join(label.split())
    visible = "".join(each for each in label if each in JOINERS or category(each) != INVISIBLE)
    return " ".join(normalize("NFC", visible).split())


def normalised(text: str) -> str:
    """Return what texts share that differ only by case, white space or compatibility characters (NFKC)."""
    return " ".join(normalize("NFKC", text).casefold().split())


def parse_text(value: object, column: str, where: str, remedy: str = TEXT_REMEDY) -> str:
    """Return the unchanged text, or "" if it is missing. Raises `DataError` if the value is not a string."""
    if is_missing(value):
        return ""
    if not isinstance(value, str):
        raise DataError(f"{where}, column {column!r}: {type(value).__name__} {value!r:.40} is not text{remedy}")
    check_length(value, f"{where}, column {column!r}")
    return value


def check_length(text: str, where: str) -> None:
    if len(text) > MAX_FIELD_CHARACTERS:
        most = f"of which at most {MAX_FIELD_CHARACTERS:,} are read; divide it"
        raise DataError(f"{where}: a text of {len(text):,} characters, {most}")


def parse_texts(values: Values, columns: Sequence[str], where: str) -> str:
    """Return the text of a row, or the pair of two columns; "" if one is missing. Raises as `parse_text` does."""
    parts = [parse_text(values[column], column, where) for column in columns]
    return of_parts(parts) if all(parts) else ""


def spells_list(cell: object) -> bool:
    return isinstance(cell, str) and LIST.fullmatch(cell.strip()) is not None


def listed(cell: Any) -> Any:
    """Return the items of a list, which a text may spell as JSON, Python or NumPy do; other values as they are."""
    if isinstance(cell, str) and cell.startswith("["):
        with suppress(ValueError):
            cell = json.loads(cell)
    return ["".join(item) for item in ITEM.findall(cell.strip()[1:-1])] if spells_list(cell) else cell


def is_multi_hot(items: Any) -> bool:
    return isinstance(items, list | tuple) and all(item in ON or item in OFF for item in items)


# Columns


def choose_columns(
    sample: Sequence[Values], where: str, text_column: TextColumns = None, label_column: str | None = None
) -> tuple[str, ...]:
    """Return the text and label columns: those named, or else the only candidates among the sample's columns.

    The label is the last of them. Before it are one column of texts, or two of pairs of texts.
    Raises `DataError`, listing the columns, if a named one is missing or if there is not exactly one candidate.
    """
    columns, text_columns = _present_values(sample), list(column_names(text_column))
    select(columns, [*text_columns, *filter(None, [label_column])], where)
    label_column = label_column or _label_by_name(columns, text_columns, where)
    text_columns = text_columns or [_text_by_look(columns, label_column, where)]
    if label_column is None:
        is_squad = "context" in columns and "answers" in _nested(columns)  # whose contexts repeat as labels do
        others = {name: values for name, values in columns.items() if name not in text_columns and not is_squad}
        found = [name for name, values in others.items() if _repeats(values) or _are_sets(values)]
        found = found or [name for name, values in others.items() if _are_fractions(values)]
        varying = [name for name in found if len({*map(str, others[name])}) > 1]
        label_column = _only(varying or found, "label", columns, where)
    if label_column in text_columns:
        raise DataError(f"{where}: column {label_column!r} cannot be both the text and the label")
    if label_column != ANSWER and any(value in ("reject", "ignore") for value in columns.get(ANSWER, ())):
        raise DataError(f"{where}: column {ANSWER!r} rejects labels, as in Prodigy's exports; leave these rows out")
    return *text_columns, label_column


def find_text_columns(source: Any, trained: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names that a model was trained on; those of the only column, or of texts, if none are known.

    source: what has rows: a table, a split of a data set, or its files. Raises `DataError` if it has other columns.
    """
    columns = _present_values([row.values for row in islice(source.rows(), SAMPLE_ROWS)])
    if not trained:
        return (_text_by_look(columns, _label_by_name(columns, (), str(source)), str(source)),)
    if len(trained) == 1 == len(columns):
        return tuple(columns)
    what = f"the model was trained on {' and '.join(map(repr, trained))}; name another with --text_column"
    select(columns, trained, f"{source}: {what}")
    return trained


def _present_values(sample: Sequence[Values]) -> dict[str, list[Any]]:
    """Return the values of each column that any row has: the rows of JSON lines can have different ones."""
    names = dict.fromkeys(name for row in sample for name in row)
    return {name: [value for row in sample if not is_missing(value := row.get(name))] for name in names}


def _label_by_name(columns: Mapping[str, Sequence[object]], text_columns: Collection[str], where: str) -> str | None:
    named = [name for name in columns if name not in text_columns and name.lower() in LABEL_NAMES]
    return _only(named, "label", columns, where) if named else None


def _text_by_look(columns: Mapping[str, Sequence[Any]], label_column: str | None, where: str) -> str:
    others = [name for name, values in columns.items() if name != label_column and _are(values, str)]
    strings = [name for name in others if not all(NUMBER.fullmatch(text.strip()) for text in columns[name])]
    candidates = [name for name in strings if not _repeats(columns[name])] or strings  # labels are strings, too
    preferred = [name for name in candidates if name.lower() in TEXT_NAMES]
    preferred = preferred or [name for name in candidates if any(OF_WORDS.search(str(text)) for text in columns[name])]
    return _only(preferred or candidates, "text", columns, where)


def _only(candidates: Sequence[str], kind: str, columns: Mapping[str, Sequence[object]], where: str) -> str:
    if len(candidates) == 1:
        return candidates[0]
    names = first_few([repr(name) for name in (candidates or columns)], MOST_NAMES, " or " if candidates else ", ")
    what = f"candidate {kind} columns: {names}" if candidates else f"none of the columns {names} looks like the {kind}"
    nested = _nested(columns)
    hint = "two names are a pair of texts" if kind == "text" else "several labels of a text are one column of lists"
    if kind == "label" and candidates and all(is_multi_hot(columns[name]) for name in candidates):
        lists = f"table['labels'] = table[{[*candidates]}].values.tolist()"
        hint = f"{hint}: {lists}, with --class_names {' '.join(candidates)}"
    if nested and (kind == "text" or not candidates):
        advice = "export a table such as CSV, or use pandas.json_normalize"
        named = min(nested, key=lambda name: name not in TASK_OF_COLUMN)
        if named in TASK_OF_COLUMN:
            advice = f"`modeling-scratch train-{TASK_OF_COLUMN[named]}` trains on such files"
        hint = f"{named!r} has objects or lists: {advice}"
    raise DataError(f"{where}: {what}; choose one with --{kind}_column ({hint})")


def _nested(columns: Mapping[str, Sequence[object]]) -> list[str]:
    return [name for name, values in columns.items() if any(isinstance(value, Mapping | list) for value in values)]


def _are(values: Sequence[object], types: Any) -> bool:
    return len(values) > 0 and all(isinstance(value, types) for value in values)


def _repeats(values: Sequence[object]) -> bool:
    """Return whether the values repeat like labels do, unlike texts and row numbers."""
    return _are(values, int | str | float) and 2 * len(set(values)) <= len(values)


def _are_fractions(values: Sequence[object]) -> bool:
    """Return whether the values are numbers, some of them with a decimal point or comma."""
    numbers = [str(value).replace(",", ".", 1) for value in values]
    is_number = all(map(NUMBER.fullmatch, numbers)) and any("." in number for number in numbers)
    return _are(values, str | float) and is_number


def _are_sets(values: Sequence[Any]) -> bool:
    """Return whether the values are lists of labels."""
    return _are(values, list) and not any(isinstance(item, Mapping) for items in values for item in items[:1])


# Texts


def read_lines(handle: IO[bytes], where: str, form: TableForm = FOUND) -> Iterator[NumberedText]:
    """Stream `(line, text)` from text with one text per line."""
    lines = text_lines(handle, where, form.encoding, longest=MAX_FIELD_CHARACTERS)
    return ((row, line.rstrip("\r\n")) for row, line in enumerate(lines, 1))


def read_texts(path: Path, text_column: TextColumns = None, form: TableForm = FOUND) -> Iterator[NumberedText]:
    """Stream `(row, text)` from one file, as `read_kept_texts` does."""
    return ((row, text) for row, text, _ in read_kept_texts(path, text_column, {}, form))


def read_kept_texts(
    path: Path, text_column: TextColumns, kept: Mapping[str, str], form: TableForm = FOUND
) -> Iterator[KeptText]:
    """Stream `(row, text, values of the columns kept)` from one file, labelled or not; of two columns, pairs.

    kept: the columns by their new names. A missing text is "", to keep row numbers aligned. The text column is found as
    in `choose_columns`. Raises `DataError` as `choose_columns` and `Table.rows` do.
    """
    table = open_table(path, form)
    names = column_names(text_column) or find_text_columns(table)
    for row in table.rows(list(dict.fromkeys([*names, *kept.values()]))):
        others = {new: row.values[name] for new, name in kept.items()}
        yield row.number, parse_texts(row.values, names, row.where), others
