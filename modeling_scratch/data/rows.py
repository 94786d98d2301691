# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Stream the rows of a data file in any supported format. Errors name the file and the row.

A row is a dict from column name to value. Values of tables are strings; JSON lines and Parquet keep their types.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..utils.errors import DataError, one_line
from .tables import FOUND, Row, TableForm, read_csv, read_excel, read_tsv, refuse_duplicates
from .text_files import allowed_bytes, check_readable, expands, format_of, unknown_format

REVIEW_FOLDERS = ("neg", "pos")
BATCH_ROWS = 1_000


def read_rows(path: Path, columns: Sequence[str] | None = None, form: TableForm = FOUND) -> Iterator[tuple[int, Row]]:
    """Stream `(row, values)` from one file. Data rows are numbered from 1; in JSON lines the row is the line number.

    `columns` selects columns; Parquet decodes only these.
    The suffix gives the format: .csv, .tsv, .jsonl or .json (one object per line), .parquet or .xlsx; .gz or .zip may
    follow that of a text format. form: the encoding of text, the delimiter of CSV files and the sheet of Excel files. A
    folder with neg/*.txt and pos/*.txt (unpacked aclImdb) yields one row per file.
    Raises `DataError` during iteration if the input cannot be read.
    """
    if is_review_folder(path):
        reader = _read_review_folder
    else:
        check_readable(path)
        if format_of(path) not in READERS:
            raise unknown_format(path, READERS)
        reader = READERS[format_of(path)]
    row = 0
    try:
        for row, values in reader(path, columns, form):
            yield row, select(values, columns, f"{path}, row {row}") if columns else values
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from error
    if row == 0:
        raise DataError(f"{path}: the file has no rows")


def missing_column(name: str, columns: Iterable[str], where: str) -> DataError:
    """Return the error for a missing column. It lists the available columns and suggests the closest name."""
    listed = ", ".join(map(repr, columns := list(columns)))
    return DataError(f"{where}: no column {name!r}; available columns: {listed}{did_you_mean(name, columns)}")


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a suggestion for an unknown name: the closest of those that are known, if one is close."""
    close = difflib.get_close_matches(str(name), map(str, known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def select(values: Row, columns: Iterable[str], where: str) -> Row:
    """Return the values of these columns. Raises `DataError` for one that is missing."""
    for name in columns:
        if name not in values:
            raise missing_column(name, values, where)
    return {name: values[name] for name in columns}


def _read_json_lines(path: Path, columns: Sequence[str] | None, form: TableForm) -> Iterator[tuple[int, Row]]:
    for number, line in enumerate(form.lines(path), 1):
        if line.strip():
            yield number, _json_object(line, f"{path}, line {number}")


def _json_object(line: str, where: str) -> Row:
    try:
        values = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: invalid JSON: {error}; expected one object per line") from error
    if not isinstance(values, dict):
        raise DataError(
            f"{where}: a JSON {type(values).__name__}, but expected one object per line; "
            "convert an array with: jq -c '.[]' array.json > lines.jsonl"
        )
    return values


def parse_json(text: str) -> Any:
    """Return a JSON value. Raises ValueError, also for an object with equal keys, and for what is not valid text."""
    value = json.loads(text, object_pairs_hook=_unique_keys)
    if "\\ud" in text.lower():  # a lone surrogate is legal JSON but not valid text
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> Row:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {next(name for name in names if names.count(name) > 1)!r}")
    return values


def _read_parquet(path: Path, columns: Sequence[str] | None, form: TableForm) -> Iterator[tuple[int, Row]]:
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            refuse_duplicates(names, path)
            select(dict.fromkeys(names), columns or (), str(path))
            groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            if sum(group.total_byte_size for group in groups) > (allowed := allowed_bytes(path)):
                raise expands(path, allowed)
            batches = file.iter_batches(BATCH_ROWS, columns=columns)
            for row, values in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1):
                yield row, values
    except (DataError, PermissionError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        place = f"{path}, after row {row}" if row else str(path)
        raise DataError(
            f"{place}: damaged or not Parquet: {one_line(error)}; download or write the file again"
        ) from error


def _read_review_folder(path: Path, columns: Sequence[str] | None, form: TableForm) -> Iterator[tuple[int, Row]]:
    """`text` is a file's content and `label` its folder's name. File names are sorted for a reproducible order."""
    files = files_in(path)
    refuse_links_out(path, files)
    for row, file in enumerate(files, 1):
        yield row, {"text": form.text(file), "label": file.parent.name}


def refuse_links_out(folder: Path, paths: Iterable[Path]) -> None:
    """Reject symbolic links that leave the folder, except into blobs/, the Hub cache's own store.

    An untrusted folder must not make the reader load its local files.
    """
    homes = (folder.resolve(), folder.resolve().parent.parent / "blobs")
    for path in paths:
        if not any(path.resolve().is_relative_to(home) for home in homes):
            raise DataError(
                f"{path} is a link out of its folder, to {path.resolve()}; if this is intended, name the file: "
                "--train_file, --validation_file, --test_file"
            )


READERS = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": _read_json_lines,
    ".json": _read_json_lines,
    ".parquet": _read_parquet,
    ".xlsx": read_excel,
}


def is_review_folder(path: Path) -> bool:
    """Return whether `path` is a split of unpacked aclImdb: a folder with neg/ and pos/."""
    return all((path / label).is_dir() for label in REVIEW_FOLDERS)


def files_in(path: Path) -> list[Path]:
    """Return the files that `read_rows` reads, in this order: the file itself, or those of a folder of reviews."""
    if not is_review_folder(path):
        return [path]
    return [file for label in REVIEW_FOLDERS for file in sorted((path / label).glob("*.txt"))]
