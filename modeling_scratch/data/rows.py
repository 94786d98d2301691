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
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..utils.errors import DataError, one_line
from ..utils.files import check_regular
from .tables import FOUND, Row, TableForm, read_csv, read_excel, read_tsv, refuse_duplicates
from .text_files import (
    MAX_BYTES,
    allowed_bytes,
    bounded_lines,
    check_expansion,
    format_of,
    unknown_format,
)

REVIEW_FOLDERS = ("neg", "pos")


def read_rows(path: Path, columns: Sequence[str] | None = None, form: TableForm = FOUND) -> Iterator[tuple[int, Row]]:
    """Stream `(row, values)` from one file. Data rows are numbered from 1; in JSON lines the row is the line number.

    `columns` selects columns; Parquet decodes only these.
    The suffix gives the format: .csv, .tsv, .jsonl or .json (one object per line), .parquet or .xlsx; .gz or .zip may
    follow that of a text format. form: the encoding of text, the delimiter of CSV files and the sheet of Excel files. A
    folder with neg/*.txt and pos/*.txt (unpacked aclImdb) yields one row per file.
    Raises `DataError` during iteration if the input cannot be read.
    """
    check_regular(path)
    reader = _read_review_folder if is_review_folder(path) else READERS.get(format_of(path))
    if reader is None and not path.exists():
        raise DataError(f"{path}: file not found")
    if reader is None and path.is_dir():
        raise DataError(f"{path}: a folder; name a file, or the folder of a data set by --data_dir")
    if reader is None:
        raise unknown_format(path, READERS)
    row = 0
    try:
        for row, values in reader(path, columns, form):
            yield row, _select(values, columns, f"{path}, row {row}") if columns else values
    except UnicodeError:
        raise form.encoding_error(path) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from error
    if row == 0:
        raise DataError(f"{path}: the file has no rows")


def missing_column(name: str, columns: Iterable[str], where: str) -> DataError:
    """Return the error for a missing column. It lists the available columns and suggests the closest name."""
    names = list(columns)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    suggestion = f"; did you mean {close[0]!r}?" if close else ""
    return DataError(f"{where}: no column {name!r}; available columns: {', '.join(map(repr, names))}{suggestion}")


def _select(values: Row, columns: Sequence[str], where: str) -> Row:
    for name in columns:
        if name not in values:
            raise missing_column(name, values, where)
    return {name: values[name] for name in columns}


def _read_json_lines(path: Path, columns: Sequence[str] | None, form: TableForm) -> Iterator[tuple[int, Row]]:
    with form.open(path, newline="\n") as handle:
        for number, line in enumerate(bounded_lines(handle, str(path)), 1):
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
        names = pq.read_schema(path).names
        refuse_duplicates(names, path)
        _select(dict.fromkeys(names), columns or (), str(path))
        for row, values in enumerate(chain.from_iterable(read_parquet(path, columns)), 1):
            yield row, values
    except (FileNotFoundError, PermissionError, DataError):
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
        check_regular(file)
        try:
            yield row, {"text": file.read_text(form.codec or "utf-8-sig"), "label": file.parent.name}
        except UnicodeError:
            raise form.encoding_error(file) from None


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


BATCH_ROWS = 1_000
BATCH_BYTES = 10_000_000  # for values that expand on decoding; decoding takes several times as much memory
ROWS_AT_ONCE = 32  # converted to Python objects at a time, if rows are large
OBJECT_BYTES = 64  # minimum size of a Python object


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Yield batches of rows. Raises ValueError if the decompressed size is out of proportion to the file's size."""
    allowed = allowed_bytes(path)
    metadata = pq.read_metadata(path)
    repeated, rows = set(), BATCH_ROWS
    for index in range(metadata.num_columns):
        column = metadata.schema.column(index)
        if columns is not None and not any(f"{column.path}.".startswith(f"{name}.") for name in columns):
            continue
        for chunk in (metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)):
            largest = _largest_value(chunk, column.length)
            rows = min(rows, max(1, BATCH_BYTES // largest))
            in_lists = chunk.num_values if column.max_repetition_level else 0  # one row may hold all values
            check_expansion(chunk.total_uncompressed_size + in_lists * largest, allowed)
            repeated |= {index} if chunk.has_dictionary_page else set()
    unpacked = 0
    with pq.ParquetFile(path, read_dictionary=sorted(repeated)) as file:
        for batch in file.iter_batches(rows, columns=columns):
            size = sum(_unpacked_bytes(values) for column in batch.columns for values in _values(column))
            unpacked += size
            check_expansion(unpacked, allowed)
            at_once = BATCH_ROWS if size < MAX_BYTES else ROWS_AT_ONCE
            yield from (batch.slice(start, at_once).to_pylist() for start in range(0, len(batch), at_once))


def _largest_value(chunk: pq.ColumnChunkMetaData, length: int) -> int:
    """Return the largest possible decoded size of a value in bytes. `length` is that of fixed-length values, else 0."""
    shares_beginnings = (
        "DELTA_BYTE_ARRAY" in chunk.encodings
    )  # each value stores only its difference to the previous one
    return max(OBJECT_BYTES, length, chunk.total_uncompressed_size if shares_beginnings else 0)


def _values(column: pa.Array) -> Iterator[pa.Array]:
    """Yield the leaf arrays of a possibly nested column."""
    if isinstance(column, pa.MapArray):
        parts = [pa.ListArray.from_arrays(column.offsets, part).flatten() for part in (column.keys, column.items)]
    elif isinstance(column, pa.StructArray):
        parts = column.flatten()
    elif pa.types.is_nested(column.type):
        parts = [column.flatten()]
    else:
        yield column
        return
    for part in parts:
        yield from _values(part)


def _unpacked_bytes(column: pa.Array) -> int:
    """Return the decoded size, counting repeated dictionary values. Raises ValueError if a value is too long."""
    if not pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column) if _is_text(column.type) else None
        total = column.nbytes
    else:
        lengths = pc.binary_length(column.dictionary).take(column.indices) if _is_text(column.type.value_type) else None
        total = column.indices.nbytes
    if lengths is None:
        return total
    if (longest := pc.max(lengths).as_py() or 0) > MAX_BYTES:
        raise ValueError(f"one value has {longest:,} bytes; the limit is {MAX_BYTES:,}")
    return pc.sum(lengths).as_py() or 0


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))
