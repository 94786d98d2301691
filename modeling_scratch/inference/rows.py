# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rows of texts in, in chunks, and rows of answers out."""

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from ..data.columns import (
    KeptText,
    NumberedText,
    find_text_columns,
    is_missing,
    parse_text,
    read_kept_texts,
    read_lines,
    read_texts,
)
from ..data.tables import TableForm, Values, open_table, read_rows, select
from ..data.text_files import open_bytes
from ..data.text_pairs import as_recorded, trained_columns
from ..data.translation_pairs import NESTED, nested
from .arguments import UNKNOWN_WORDS, PredictArguments


def read_input(arguments: PredictArguments) -> Iterator[KeptText]:
    """Stream `(row, text, kept columns)`. Raises `DataError` or OSError for unreadable input.

    A missing text is "". Among the kept columns, those of `--with_text` have it as it was.
    """
    path = Path(arguments.input)
    if arguments.is_table:
        yield from read_kept_texts(path, arguments.text_column, arguments.kept | arguments.texts, arguments.form)
        return
    for row, text in read_text_lines("--input", arguments.input, arguments.form):
        yield row, "" if is_missing(text) else text, {"text": text} if arguments.with_text else {}


def read_text_lines(option: str, source: str, form: TableForm) -> Iterator[NumberedText]:
    """Stream the lines of a file, or of standard input: "-"."""
    with sys.stdin.buffer if source == "-" else open_bytes(Path(source)) as handle:
        yield from read_lines(handle, f"{option} {source}", form)


def read_sources(path: Path, column: str | None, model: str, form: TableForm) -> Iterator[NumberedText]:
    """Stream the texts of a column of a table, by default that of the model's training, also in nested pairs."""
    trained, first = trained_columns(model), islice(read_rows(path, form=form), 1)
    if trained and not column and any(NESTED in row.values for row in first):
        for row in read_rows(path, form=form):
            text = select(nested(row.values), trained, row.where)[trained[0]]
            yield row.number, parse_text(text, trained[0], row.where, "")
    else:
        table = open_table(path, form) if column else open_table(path, form).as_in_training(trained)
        form = replace(form, no_header=not table.has_header)
        yield from read_texts(path, column or as_recorded(list(find_text_columns(table, trained))), form)


def row_writer(handle: TextIO, arguments: PredictArguments, answer: Sequence[str]) -> Callable[[Values], object]:
    """Return a function that writes the columns of an answer as a line of JSON or CSV, the kept ones behind its row.

    Missing numbers become null, and lists in CSV JSON. Lines of JSON also have the words that the model has not seen.
    """
    columns = ["row", *arguments.kept, *answer]
    if arguments.format == "jsonl":
        names = *columns, UNKNOWN_WORDS
        return lambda line: handle.write(_as_json({name: line[name] for name in names if name in line}) + "\n")
    table = csv.writer(handle, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table.writerow(columns)
    return lambda line: table.writerow(_cell(line.get(name)) for name in columns)


def _cell(value: Any) -> Any:
    return _as_json(value) if isinstance(value, list | dict) else _finite(value)


def _as_json(value: object) -> str:
    """Return JSON. Values of no JSON type, such as dates, become strings, and numbers that are not finite null."""
    return json.dumps(_finite(value), ensure_ascii=False, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value
