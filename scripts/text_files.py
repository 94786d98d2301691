# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Rows of a user's data file, streamed, whatever its format; what is wrong in a file is said with its place.

A row is a dict from column name to value. CSV and TSV know strings only; JSON lines and Parquet keep their own types.
"""

import codecs
import csv
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from parquet_rows import read_parquet

Row = dict[str, Any]

# Python's own limit, 131,072 characters, refuses a long document; none at all lets one unclosed quote eat the memory.
MAX_FIELD_CHARACTERS = 10_000_000
REVIEW_FOLDERS = ("neg", "pos")
SPLIT_NAMES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}


class DataError(ValueError):
    """Something in the user's data is wrong: the message names the file, the place, the fault and the way out."""


def read_rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[tuple[int, Row]]:
    """Stream `(row, values)` from one file; the first data row is 1, and in JSON lines the row is the line.

    `columns` restricts every row to these columns (and spares Parquet from decoding the others).
    Formats by suffix: .csv, .tsv, .jsonl and .json (an object a line), .parquet, all text in UTF-8, with or without
    byte order mark; and a folder holding neg/*.txt and pos/*.txt, one review a file, as aclImdb is unpacked.
    Raises `DataError`, while it is iterated, for whatever cannot be read.
    """
    reader = _read_review_folder if is_review_folder(path) else READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: unknown format; give a file that ends in {', '.join(READERS)}")
    row = 0
    try:
        for row, values in reader(path, columns):
            yield row, _select(values, columns, f"{path}, row {row}") if columns else values
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from error
    if row == 0:
        raise DataError(f"{path}: there are no rows in it")


def one_line(error: Exception) -> str:
    """What a library says about an error, which may be many lines, as part of a message of ours."""
    return " ".join(str(error).split())


def missing_column(name: str, columns: Iterable[str], where: str) -> DataError:
    """The error for a column that is not there: it lists those that are, and the closest name."""
    names = list(columns)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    suggestion = f"; did you mean {close[0]!r}?" if close else ""
    return DataError(f"{where}: there is no column {name!r}, but {', '.join(map(repr, names))}{suggestion}")


def _select(values: Row, columns: Sequence[str], where: str) -> Row:
    for name in columns:
        if name not in values:
            raise missing_column(name, values, where)
    return {name: values[name] for name in columns}


def _refuse_duplicates(names: Sequence[str], path: Path) -> None:
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{path}: two columns have the same name: {', '.join(map(repr, repeated))}; rename one")


def encoding_error(path: Path) -> DataError:
    """Find where the file stops being UTF-8: the decoder only knows the place in its own buffer."""
    place, encoding, offset = str(path), "latin-1", 0
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            if offset == 0 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                encoding = "utf-16"
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                place = f"{path}, line {number}, byte {offset + error.start}"
                break
            offset += len(line)
    fix = f"iconv -f {encoding} -t utf-8 {path.name} > utf8-{path.name}"
    return DataError(f"{place}: this is not UTF-8; if it is {encoding}, convert it: {fix}")


def _read_csv(path: Path, columns: Sequence[str] | None) -> Iterator[tuple[int, Row]]:
    return _read_table(path, delimiter=",", strict=True)


def _read_tsv(path: Path, columns: Sequence[str] | None) -> Iterator[tuple[int, Row]]:
    """A quote is a character like any other here: GLUE's files hold unbalanced ones and no escapes."""
    return _read_table(path, delimiter="\t", quoting=csv.QUOTE_NONE)


def _read_table(path: Path, **dialect: Any) -> Iterator[tuple[int, Row]]:
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    with path.open(encoding="utf-8-sig", newline="") as handle:
        records = _records(csv.reader(handle, **dialect), path)
        header: list[str] = next(records, ("", []))[1]
        _refuse_duplicates(header, path)
        for row, (where, fields) in enumerate(records, 1):
            if len(fields) != len(header):
                raise DataError(
                    f"{where}: {len(fields)} fields, but the header has {len(header)}; quote a field that holds a "
                    "delimiter or a line break"
                )
            yield row, dict(zip(header, fields))


def _records(reader: Any, path: Path) -> Iterator[tuple[str, list[str]]]:
    """`(place, fields)` of every record that is not a blank line, the header first.

    The place has the row and the line: they differ once a quoted field holds a line break.
    """
    row = 0
    while True:
        where = f"{path}, row {row} (line {reader.line_num + 1})" if row else f"{path}, header"
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{where}: {error}; look for a quote that is not closed or not doubled") from error
        if any("\0" in field for field in fields):
            raise DataError(f"{where}: a NUL byte; is this a text file? remove it: tr -d '\\000'")
        if fields:
            yield where, fields
            row += 1


def _read_json_lines(path: Path, columns: Sequence[str] | None) -> Iterator[tuple[int, Row]]:
    with path.open(encoding="utf-8-sig", newline="\n") as handle:
        for number, line in enumerate(handle, 1):
            if line.strip():
                yield number, _json_object(line, f"{path}, line {number}")


def _json_object(line: str, where: str) -> Row:
    try:
        values = json.loads(line)
        if "\\ud" in line.lower():  # half a surrogate pair is legal JSON, and no text
            json.dumps(values, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}; one object a line is expected") from error
    if not isinstance(values, dict):
        raise DataError(
            f"{where}: a JSON {type(values).__name__}, but one object a line is expected; "
            "an array is converted by: jq -c '.[]' array.json > lines.jsonl"
        )
    return values


def _read_parquet(path: Path, columns: Sequence[str] | None) -> Iterator[tuple[int, Row]]:
    row = 0
    try:
        names = pq.read_schema(path).names
        _refuse_duplicates(names, path)
        _select(dict.fromkeys(names), columns or (), str(path))
        for row, values in enumerate(chain.from_iterable(read_parquet(path, columns)), 1):
            yield row, values
    except (FileNotFoundError, PermissionError, DataError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        place = f"{path}, after row {row}" if row else str(path)
        raise DataError(f"{place}: damaged or not Parquet: {one_line(error)}; fetch or write the file again") from error


def _read_review_folder(path: Path, columns: Sequence[str] | None) -> Iterator[tuple[int, Row]]:
    """`text` is a file and `label` its folder's name; in the sorted order of the names, so the same everywhere."""
    files = [file for label in REVIEW_FOLDERS for file in sorted((path / label).glob("*.txt"))]
    refuse_links_out(path, files)
    for row, file in enumerate(files, 1):
        try:
            yield row, {"text": file.read_text(encoding="utf-8-sig"), "label": file.parent.name}
        except UnicodeDecodeError:
            raise encoding_error(file) from None


READERS = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_json_lines,
    ".json": _read_json_lines,
    ".parquet": _read_parquet,
}
_SPLIT_FILE = re.compile(
    rf"(?P<split>{'|'.join(SPLIT_NAMES)})"
    r"(-(?P<shard>\d+)-of-(?P<shards>\d+)(-[0-9a-f]+)?)?"  # the Hub's shards; older ones end in a hash
    rf"(?P<suffix>{'|'.join(map(re.escape, READERS))})"
)


def is_review_folder(path: Path) -> bool:
    """Whether `path` is one split of aclImdb as it is unpacked: a folder with neg/ and pos/."""
    return all((path / label).is_dir() for label in REVIEW_FOLDERS)


def find_splits(folder: Path) -> dict[str, list[Path]]:
    """The files of each split in `folder`, found by name: train, validation (valid, val, dev) and test.

    `train.csv`, shards like `train-00000-of-00002.parquet`, or a folder `train/` with neg/ and pos/. Other names are
    left alone. Raises `DataError` where a split has two candidates or lacks a shard, or where train is not found.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    found: dict[str, dict[str, list[Path]]] = {}
    for path in sorted(folder.iterdir()):
        match = _SPLIT_FILE.fullmatch(path.name.lower())
        if match and path.is_file():
            one_set = f"{match['split']} {match['shards']} {match['suffix']}"
            found.setdefault(SPLIT_NAMES[match["split"]], {}).setdefault(one_set, []).append(path)
        elif path.name in ("train", "test") and is_review_folder(path):
            found.setdefault(path.name, {})[path.name] = [path]
    if "train" not in found:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:10]) or "nothing"
        raise DataError(
            f"{folder}: there is no train file ({', '.join('train' + s for s in READERS)}, "
            f"or shards such as train-00000-of-00002.parquet), but {names}"
        )
    chosen = {split: _only_candidate(split, list(candidates.values())) for split, candidates in found.items()}
    refuse_links_out(folder, [path for paths in chosen.values() for path in paths])
    return chosen


def refuse_links_out(folder: Path, paths: Iterable[Path]) -> None:
    """A folder of a stranger must not bring in files of the reader; the Hub's cache keeps its own in blobs/."""
    homes = (folder.resolve(), folder.resolve().parent.parent / "blobs")
    for path in paths:
        if not any(path.resolve().is_relative_to(home) for home in homes):
            raise DataError(
                f"{path} is a link out of its folder, to {path.resolve()}; if that is what you want, name it: "
                "--train_file, --validation_file, --test_file"
            )


def _only_candidate(split: str, candidates: list[list[Path]]) -> list[Path]:
    if len(candidates) > 1:
        names = " and ".join(str(files[0]) for files in candidates)
        raise DataError(f"{names} could each be the {split} split; keep one, or name it with --{split}_file")
    files = candidates[0]
    match = _SPLIT_FILE.fullmatch(files[0].name.lower())
    if match and match["shards"] and len(files) != int(match["shards"]):
        raise DataError(f"{files[0]}: {len(files)} of {int(match['shards'])} shards are here; fetch the others")
    return files
