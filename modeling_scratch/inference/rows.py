# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rows of texts in, in chunks, and rows of answers out."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

from ..data.columns import KeptText, is_missing, read_kept_texts, read_lines
from ..data.tables import Row
from ..data.text_files import open_bytes
from ..utils.errors import DataError
from .answers import csv_writer, json_writer
from .arguments import PredictArguments

AnyRow = TypeVar("AnyRow", bound=tuple[Any, ...])

# Texts are sorted by length within a chunk. Its size is a compromise between padding and memory.
CHUNK_TEXTS = 8_192
CHUNK_CHARACTERS = 2_000_000


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


def in_chunks(rows: Iterable[AnyRow]) -> Iterator[list[AnyRow]]:
    """Yield chunks of rows (number, text, ...), limited in their number and their total characters."""
    chunk: list[AnyRow] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        characters += len(row[1])
        if len(chunk) == CHUNK_TEXTS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def row_writer(
    handle: TextIO, arguments: PredictArguments, answer: Sequence[str], names: Sequence[str] | None = None
) -> Callable[[Row], object]:
    """Return a function that writes the columns of an answer as a line of JSON or CSV, the kept ones behind its row.

    Missing numbers become null. names: of the classes, if the last column has those that --top_k lists.
    """
    columns = ["row", *arguments.kept, *answer]
    if arguments.format == "jsonl":
        write = json_writer(handle, columns)
    else:
        write = csv_writer(handle, columns) if names is None else csv_writer(handle, columns, arguments.choice, names)

    def values(line: Row) -> list[Any]:
        return [None if isinstance(line[name], float) and is_missing(line[name]) else line[name] for name in columns]

    return lambda line: write(values(line))


def tell(counts: Mapping[str, int]) -> None:
    """Print the counts that are not 0 on standard error."""
    for what, count in counts.items():
        if count:
            print(f"{what}: {count:,}", file=sys.stderr)
