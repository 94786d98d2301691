# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pairs of texts, such as a premise and a hypothesis, which a classifier reads together.

A pair is a string: both texts, joined. What compares, counts or shows texts treats it as any other text. What encodes
texts takes its parts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..run.layout import RECORD
from ..utils.errors import DataError
from ..utils.files import read_json
from ..utils.markdown import excerpt

if TYPE_CHECKING:  # who reads no data set needs no such library
    import datasets

SEPARATOR = " [SEP] "  # its word keeps n-grams of words from joining the end of one text and the start of the other
TEXT_FIELDS = ("text", "text_pair")  # of a data set, and of the input of a pipeline
TEXT_COLUMN_HELP = "The text column, inferred by default; two names for pairs of texts."
TextColumns = list[str] | None | str  # in this order, HfArgumentParser reads it as a list


class TextPair(str):
    """The joined text of a pair, with its two parts."""

    parts: tuple[str, str]

    def __new__(cls, first: str, second: str) -> "TextPair":
        pair = super().__new__(cls, f"{first}{SEPARATOR}{second}")
        pair.parts = first, second
        return pair

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # for copies
        return self.parts


def parts_of(text: str) -> tuple[str, ...]:
    """Return the two parts of a pair, or the text alone."""
    return text.parts if isinstance(text, TextPair) else (text,)


def of_parts(parts: Sequence[str]) -> str:
    """Return the text that has these parts, one or two."""
    return TextPair(*parts) if len(parts) == 2 else parts[0]


def shortened(text: str) -> str:
    """Return a text as an excerpt; of a pair, an excerpt of each part."""
    return of_parts(list(map(excerpt, parts_of(text))))


def as_fields(text: str) -> dict[str, str]:
    """Return {"text": text}, with "text_pair" for a pair."""
    return dict(zip(TEXT_FIELDS, parts_of(text)))


def from_fields(row: Mapping[str, Any]) -> str:
    """Return the text, or the pair, that `as_fields` gave, whatever else is in the row."""
    return of_parts([row[name] for name in TEXT_FIELDS if row.get(name) is not None])


def text_lists(texts: Sequence[str]) -> list[list[str]]:
    """Return the arguments of a tokenizer: the texts, or the first and the second texts of pairs.

    An empty text among pairs is a pair of empty texts.
    """
    if not any(isinstance(text, TextPair) for text in texts):
        return [list(texts)]
    pairs = [text.parts if isinstance(text, TextPair) else (text, "") for text in texts]
    return [[first for first, _ in pairs], [second for _, second in pairs]]


def texts_of(rows: "datasets.Dataset") -> list[str]:
    """Return the texts of a split, or its pairs."""
    fields = [rows[name][:] for name in TEXT_FIELDS if name in rows.column_names]
    return list(map(of_parts, zip(*fields)))


def column_names(given: TextColumns) -> tuple[str, ...]:
    """Return the names of --text_column: none, one, or two different ones. Raises `DataError` for others."""
    names = (given,) if isinstance(given, str) else tuple(given or ())
    if len(names) > 2 or len(set(names)) < len(names):
        raise DataError(f"--text_column {' '.join(names)}: name one column, or two different ones for pairs of texts")
    return names


def as_recorded(given: TextColumns) -> TextColumns:
    """Return --text_column as records of runs have it: a string for one name, a list for two."""
    names = column_names(given)
    return list(names) if len(names) == 2 else names[0] if names else None


def trained_columns(model: str) -> tuple[str, ...]:
    """Return the names of the text columns that the record of a model's run has: none, one, or two of pairs.

    The record is in the model's folder, or above it, as for a run's linear model and its checkpoints.
    """
    path = next((each for each in (Path(model, RECORD), Path(model).parent / RECORD) if each.is_file()), None)
    if path is None:
        return ()
    try:
        record = read_json(path)
        of_pairs = record.get("columns") or [None]  # of a translator, whose first column is that of the sources
        names = record.get("text_columns") or of_pairs[0] or record["data"]["text_column"]  # earlier: the latter alone
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ()  # what reads the record reports that it is damaged
    return tuple(map(str, names)) if isinstance(names, list) else (names,) if isinstance(names, str) else ()


def pair_columns(model: str) -> tuple[str, ...]:
    """Return the names of both columns that a model was trained on; none for a model of single texts."""
    names = trained_columns(model)
    return names if len(names) == 2 else ()


def check_single(model: str, remedy: str) -> None:
    """Raise `DataError` if the record in a model's folder says that it was trained on pairs of texts."""
    if names := pair_columns(model):
        raise DataError(f"--model {model}: was trained on pairs of texts ({' and '.join(names)}); {remedy}")
