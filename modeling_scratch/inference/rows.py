# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rows of texts in, in chunks, and rows of answers out."""

import csv
import json
import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from ..data.columns import KeptText, is_missing, read_kept_texts, read_lines
from ..data.tables import Values
from ..data.text_files import open_bytes
from ..utils.errors import DataError
from .answers import ALL, Choice, Scored
from .arguments import PredictArguments


def check_input(arguments: PredictArguments, read: Callable[[PredictArguments], Iterable[object]]) -> None:
    """Read a file to its end: a row that cannot be read must not cost hours of predictions.

    Raises `DataError` or OSError, as `read` does.
    """
    if arguments.input == "-" and sys.stdin is None:
        raise DataError("--input -: standard input is closed; name a file")
    if Path(arguments.input).is_file():
        deque(read(arguments), maxlen=0)


def read_input(arguments: PredictArguments) -> Iterator[KeptText]:
    """Stream `(row, text, kept columns)`. Raises `DataError` or OSError for unreadable input.

    A missing text is "". Among the kept columns, those of `--with_text` have it as it was.
    """
    path = Path(arguments.input)
    if arguments.is_table:
        yield from read_kept_texts(path, arguments.text_column, arguments.kept | arguments.texts, arguments.form)
        return
    with sys.stdin.buffer if arguments.input == "-" else open_bytes(path) as handle:
        for row, text in read_lines(handle, f"--input {arguments.input}", arguments.form):
            yield row, "" if is_missing(text) else text, {"text": text} if arguments.with_text else {}


def row_writer(
    handle: TextIO, arguments: PredictArguments, answer: Sequence[str], names: Sequence[str] = ()
) -> Callable[[Values], object]:
    """Return a function that writes the columns of an answer as a line of JSON or CSV, the kept ones behind its row.

    Missing numbers become null. Lists in CSV are JSON, but for the classes that --top_k lists, which have columns of
    their own. names: of the classes, if the last column has those.
    """
    columns = ["row", *arguments.kept, *answer]
    if arguments.format == "jsonl":
        return lambda line: handle.write(_as_json({name: line[name] for name in columns}) + "\n")
    table = csv.writer(handle, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    head, flatten = _top_columns(arguments.choice, names) if names and arguments.top_k else ([], None)
    plain = columns[:-1] if flatten else columns
    every = [*plain, *head]
    if repeated := [name for name in every if every.count(name) > 1]:
        raise DataError(f"the output would have two columns {repeated[0]!r}; name that of the table NAME=NEW")
    table.writerow(every)

    def write(line: Values) -> None:
        table.writerow([*(_cell(line[name]) for name in plain), *(flatten(line[columns[-1]] or []) if flatten else ())])

    return write


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


def _top_columns(choice: Choice, names: Sequence[str]) -> tuple[list[str], Callable[[list[Scored]], list]]:
    """Return the columns of the listed classes, and the function that gives their values.

    score_NAME of every class in the order of the model; or label_1, score_1, label_2 and so on, most likely first.
    """
    if choice.top_k == ALL:
        return [f"score_{name}" for name in names], lambda top: [_score(top, name) for name in names]
    count = choice.listed(len(names))
    head = [f"{part}_{number}" for number in range(1, count + 1) for part in ("label", "score")]
    return head, lambda top: [value for each in top for value in each.values()] or [None] * len(head)


def _score(top: list[Scored], name: str) -> float | None:
    return next((each["score"] for each in top if each["label"] == name), None)


def tell(counts: Mapping[str, int]) -> None:
    """Print the counts that are not 0 on standard error."""
    for what, count in counts.items():
        if count:
            print(f"{what}: {count:,}", file=sys.stderr)
