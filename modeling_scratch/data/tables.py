# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Stream the rows of a table: CSV with any delimiter, TSV, Excel, JSON, JSON lines and Parquet. Errors name the row.

A value of a CSV file, of a TSV file or of a sheet is a string; JSON and Parquet keep their types.
"""

import codecs
import csv
import difflib
import json
import math
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from functools import lru_cache
from itertools import chain, dropwhile, islice
from pathlib import Path
from time import time_ns
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ..utils.errors import DataError, counted, one_line
from ..utils.files import refuse_loop
from ..utils.options import option
from .dialects import (
    DELIMITERS,
    SAMPLE_RECORDS,
    SEPARATOR_LINE,
    Style,
    find_dialect,
    has_row_names,
    is_a_row,
    parsed,
    quoting_of_tsv,
)
from .text_files import (
    allowed_bytes,
    check_readable,
    expands,
    format_of,
    open_bytes,
    refuse_other_bytes,
    text_lines,
    unknown_format,
    unreadable,
)

Values = Mapping[str, Any]  # of a row, by the names of the columns
Numbered = Iterator[tuple[int, dict[str, Any]]]

BATCH_ROWS = 1_000
SETTLED = 3 * 10**9  # nanoseconds after which a change of a file shows in its time, on any file system
HEADED = (".csv", ".tsv", ".xlsx")  # whose first line names the columns
UNLABELLED_FOLDER = "unsup"  # of aclImdb
UNNAMED = "column_"  # and its number, of a column without a name
FASTTEXT = "__label__"
# Several labels are joined by |, for --label_separator.
FASTTEXT_TO_TSV = r"sed -E -e ':a' -e 's/^(__label__[^ ]+) +__label__/\1|/;ta' -e 's/^__label__([^ ,\t]+)[ ,\t]+/\1\t/'"
BLANKS = " \t\r\n\xa0\ufeff"  # around the names of columns


class Row(NamedTuple):
    """A row of data. number: from 1, as pandas counts from 0; in JSON lines, the line. where: its file and number."""

    number: int
    values: Values
    where: str


@dataclass(frozen=True)
class TableForm:
    """How tables are read, where their files do not say it. Raises `DataError` for an invalid delimiter or encoding."""

    delimiter: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    no_header: bool = False
    header_row: int | None = None

    def __post_init__(self) -> None:
        if self.header_row is not None and (self.header_row < 1 or self.no_header):
            raise DataError(f"--header_row {self.header_row}: give a line from 1, without --no_header")
        try:
            "".encode(self.encoding or "utf-8")
        except LookupError:
            raise DataError(f"--encoding {self.encoding}: unknown; examples: cp1252, latin-1, utf-16, gbk") from None
        given = self.delimiter
        if given is not None and given != "tab" and (len(given) != 1 or given.isalnum() or given in '"\r\n\0'):
            raise DataError(f"--delimiter {given!r}: must be one character, such as ';', or the word tab")

    @property
    def says_header(self) -> bool:
        """Whether the header, or that there is none, is given, and not found."""
        return self.no_header or self.header_row is not None

    @property
    def codec(self) -> str | None:
        """The encoding; None for UTF-8, which is read with or without a byte order mark."""
        is_utf8 = self.encoding is None or codecs.lookup(self.encoding).name == "utf-8"
        return None if is_utf8 else self.encoding

    def lines(self, path: Path, newline: str | None = "\n", **options: int) -> Generator[str, None, None]:
        """Stream the decoded lines of a file with their ends. Raises `DataError` for what cannot be read."""
        size = 0
        with open_bytes(path) as handle:
            refuse_other_bytes(handle, path)
            allowed = allowed_bytes(path)
            for line in text_lines(handle, str(path), self.codec, newline, **options):
                size += len(line)
                if size > allowed:
                    raise expands(path, allowed)
                yield line

    def text(self, path: Path) -> str:
        """Return the whole text of a file, whose lines end in "\\n"."""
        check_readable(path)
        return "".join(self.lines(path, newline=None, longest=allowed_bytes(path)))


FOUND = TableForm()
ENCODING_HELP = "The encoding of text files, such as cp1252; UTF-8 by default."


@dataclass
class TableArguments:
    """How tables are read, as options."""

    delimiter: str | None = option(None, "The delimiter of csv files: one character or the word tab; found by default.")
    sheet: str | None = option(None, "The sheet of an Excel workbook; the first by default.")
    encoding: str | None = option(None, ENCODING_HELP)
    no_header: bool = option(
        False, "Read the first line of csv, tsv and xlsx files as a row; columns are column_1, column_2, ..."
    )
    header_row: int | None = option(
        None, "The line with the names of the columns in csv, tsv and xlsx files; those above it are left out."
    )

    @property
    def form(self) -> TableForm:
        """How the tables are read. Raises `DataError` for invalid options."""
        return TableForm(self.delimiter, self.sheet, self.encoding, self.no_header, self.header_row)


@dataclass(frozen=True)
class Table:
    """A file of rows, and all that is given or was found on how it is read.

    header_line: from 1. has_header: whether its fields name the columns. has_row_names: whether a row has one more.
    notes: on what was found.
    """

    path: Path
    form: TableForm = FOUND
    delimiter: str = ","
    style: Style = field(default_factory=dict)
    header_line: int = 1
    has_header: bool = True
    has_row_names: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.path)

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """Stream the rows. columns: only these; Parquet does not decode the others.

        Raises `DataError` during iteration for what cannot be read, and for no rows.
        """
        number, path = 0, self.path
        gap = " (a missing value is null)" if format_of(path) in (".json", ".jsonl") else ""
        read = _read_review_folder if is_review_folder(path) else READERS[format_of(path)]
        try:
            for number, values in read(self, columns):
                where = f"{path.name}, row {number}"
                place = f"{path}, row {number}{gap}"
                yield Row(number, select(values, columns, place) if columns else values, where)
        except OSError as error:
            raise unreadable(path, error) from error
        if number == 0:
            raise DataError(f"{path}: the file has no rows")

    def header_notes(self, found: Iterable[str]) -> list[str]:
        """Return a note on a header that was found to lack, and on names that could be texts. found: not given."""
        if self.form.says_header or format_of(self.path) not in HEADED:
            return []
        if not self.has_header:
            return [
                "no header: the first line is read as a row, as it has a label and a text; if not so, set "
                "--header_row 1"
            ]
        return [
            f"{name!r} is read as the name of a column; if it is a row, set --no_header"
            for name in found
            if len(name.split()) > 2
        ]


def open_table(path: Path, form: TableForm = FOUND) -> Table:
    """Return how a file is read. What its content tells is found once, as long as the file stays as it is.

    The suffix gives the format: .csv, .tsv, .jsonl, .json (an object a line, or one document), .parquet or .xlsx.
    One of a compression may follow if it is text. A folder with a folder of .txt files for each label has a row a file.
    Raises `DataError` if the file cannot be read.
    """
    if is_review_folder(path):
        return Table(path, form)
    check_readable(path)
    if format_of(path) not in READERS:
        raise unknown_format(path, READERS)
    try:
        state = path.stat()
        is_settled = time_ns() - state.st_mtime_ns > SETTLED
        found = _remembered if is_settled else _found
        return found(path, form, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise unreadable(path, error) from error


def _found(path: Path, form: TableForm, *state: int) -> Table:
    if format_of(path) not in HEADED:
        return Table(path, form)
    table = Table(path, form, header_line=form.header_row or 1)
    if format_of(path) == ".xlsx":
        cells = _cells(table, SAMPLE_RECORDS)
        table, records = replace(table, notes=_other_sheets(table, cells)), _sheet_records(table, cells)
    else:
        table = _delimited(table)
        records = _text_records(table)
    if form.says_header:
        return replace(table, has_header=not form.no_header)
    header, *sample = [record.fields for record in islice(records, SAMPLE_RECORDS + 1)] or [[]]
    has_header = not is_a_row([name.strip() for name in header], sample)
    if not has_row_names(header, sample):
        return replace(table, has_header=has_header)
    note = f"{path.name}: a row has one field more than the header: the first is read as the number of the row"
    return replace(table, has_header=has_header, has_row_names=True, notes=(*table.notes, note))


_remembered = lru_cache(maxsize=64)(_found)


def read_rows(path: Path, columns: Sequence[str] | None = None, form: TableForm = FOUND) -> Iterator[Row]:
    """Stream the rows of one file, as `open_table` and `Table.rows` do."""
    yield from open_table(path, form).rows(columns)


# Columns


def missing_column(name: str, columns: Iterable[str], where: str) -> DataError:
    """Return the error for a missing column. It lists the available columns and suggests the closest name."""
    listed = ", ".join(map(repr, columns := list(columns)))
    return DataError(f"{where}: no column {name!r}; available columns: {listed}{did_you_mean(name, columns)}")


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a suggestion for an unknown name: the closest of those that are known, if one is close."""
    close = difflib.get_close_matches(str(name), map(str, known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def select(values: Values, columns: Iterable[str], where: str) -> dict[str, Any]:
    """Return the values of these columns. Raises `DataError` for one that is missing."""
    for name in columns:
        if name not in values:
            raise missing_column(name, values, where)
    return {name: values[name] for name in columns}


def _refuse_duplicates(names: Sequence[str], path: Path) -> None:
    if repeated := sorted(name for name, count in Counter(names).items() if count > 1):
        raise DataError(f"{path}: duplicate column names: {', '.join(map(repr, repeated))}; rename one")


# CSV and TSV


class Record(NamedTuple):
    """The fields of a header or of a row. line: where it is in its file."""

    line: str
    fields: list[str]


def _delimited(table: Table) -> Table:
    """Return a CSV or TSV file with its delimiter, its quoting and the line of its header."""
    path, form = table.path, table.form
    with closing(_lines(table)) as lines:
        first = next(lines, "")
        if first.startswith(FASTTEXT):
            raise DataError(f"{path}: lines of fastText; make columns of them: {FASTTEXT_TO_TSV} {path} > train.tsv")
        declared = None if form.header_row else SEPARATOR_LINE.fullmatch(first)
        given = "\t" if form.delimiter == "tab" else form.delimiter or (declared and declared[1])
        if format_of(path) == ".tsv" and not given and ("\t" in first or not {*first} & {*DELIMITERS}):
            return replace(table, delimiter="\t", style={"quoting": quoting_of_tsv(chain([first], lines))})
        found, style = find_dialect(lines if declared else chain([first], lines), [given] if given else DELIMITERS)
    note = f"{path.name}: the delimiter {found!r} was found from the first records; set --delimiter to change this"
    notes = () if found in (given, ",") else (note,)
    return replace(table, delimiter=found, style=style, header_line=2 if declared else table.header_line, notes=notes)


def _lines(table: Table) -> Generator[str, None, None]:
    """Stream the lines from that of the header on."""
    with closing(table.form.lines(table.path, newline="")) as lines:
        yield from islice(lines, table.header_line - 1, None)


def _text_records(table: Table) -> Iterator[Record]:
    """Yield each record that is not blank.

    Errors have both row and line: they differ after a quoted field with a line break.
    """
    reader, row = parsed(_lines(table), table.delimiter, table.style), 0
    while True:
        line = f"(line {table.header_line + reader.line_num})"
        place = f"{table.path}, row {row} {line}" if row else f"{table.path}, header"
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            advice = "set --delimiter, or check for an unclosed or undoubled quote; double those behind backslashes: "
            advice += """sed 's/\\\\"/""/g'"""
            raise DataError(f"{place}: {error}; {advice}") from error
        if any("\0" in field for field in fields):
            advice = "if the encoding is utf-16-le, set --encoding; if this is a text file, remove it: tr -d '\\000'"
            raise DataError(f"{place}: contains a NUL byte; {advice}")
        if fields:
            yield Record(line, fields)
            row += 1


def _read_records(table: Table, columns: Sequence[str] | None) -> Numbered:
    is_sheet = format_of(table.path) == ".xlsx"
    records = _sheet_records(table, _cells(table)) if is_sheet else _text_records(table)
    if (first := next(records, None)) is None:
        return
    header = [""] * table.has_row_names + [name.strip(BLANKS) for name in first.fields]
    unnamed = [f"{UNNAMED}{number}" for number in range(1, len(header) + 1)]
    if header.count("") > 1:  # one is the index of pandas
        header = [name or other for name, other in zip(header, unnamed)]
    if not table.has_header:
        header, records = unnamed, chain([first], records)
    _refuse_duplicates(header, table.path)
    for number, (line, fields) in enumerate(records, 1):
        if len(fields) != len(header):
            advice = "" if is_sheet else "quote fields that contain a delimiter or a line break, set --delimiter, or "
            raise DataError(
                f"{table.path}, row {number} {line}: {counted(len(fields), 'field')}, but the header has "
                f"{len(header)}; {advice}name the line of the header with --header_row"
            )
        yield number, dict(zip(header, fields))


# Excel


def _sheet_records(table: Table, cells: Any) -> Iterator[Record]:
    """Yield the header and every row below it, blank ones too, from the first column of the header or the first row.

    Numbers and dates become strings, as in a CSV file; formulas their results.
    """
    rows = enumerate(([_as_text(cell) for cell in row] for row in cells.itertuples(index=False)), table.header_line)
    filled = dropwhile(lambda row: not any(row[1]), rows)
    first = list(islice(filled, 2))
    start = next((place for place, column in enumerate(zip(*(fields for _, fields in first))) if any(column)), 0)
    columns = 0
    for line, fields in chain(first, filled):
        while len(fields) > columns and not fields[-1]:
            fields.pop()
        columns = columns or len(fields)
        yield Record(f"(line {line} of the sheet)", fields if any(fields[:start]) else fields[start:])


def _cells(table: Table, most: int | None = None) -> Any:
    """Return the cells of a sheet as a table of pandas. most: rows to read."""
    path, sheet = table.path, table.form.sheet
    try:
        import openpyxl  # noqa: F401, which pandas would miss after it has opened the file
        import pandas

        _check_parts(path)
        with warnings.catch_warnings(), pandas.ExcelFile(path, engine="openpyxl") as book:
            warnings.simplefilter("ignore")  # on styles and other parts that are not read
            if sheet is not None and sheet not in book.sheet_names:
                names = ", ".join(map(repr, book.sheet_names))
                raise DataError(f"{path}: no sheet {sheet!r}; its sheets: {names} (--sheet)")
            how: Any = {"header": None, "dtype": object, "na_filter": False, "skiprows": table.header_line - 1}
            cells = book.parse(sheet or 0, nrows=most, **how)
            cells.attrs["sheets"] = book.sheet_names
            return cells
    except ImportError:
        raise DataError(f"{path}: Excel files need openpyxl: pip install 'modeling-scratch[excel]'") from None
    except (DataError, PermissionError):
        raise
    except Exception as error:  # of an archive, of XML and of openpyxl: of many types
        raise DataError(f"{path}: damaged or not an Excel workbook: {one_line(error)}; save it again") from error


def _other_sheets(table: Table, cells: Any) -> tuple[str, ...]:
    """Return a note on the other sheets of a workbook, if none was chosen."""
    first, *others = cells.attrs["sheets"]
    listed = ", ".join(map(repr, others))
    note = f"{table.path.name}: the first sheet, {first!r}, is read; its other sheets are {listed} (--sheet)"
    return (note,) if others and table.form.sheet is None else ()


class SheetText(str):
    """A cell that is a text in its sheet, whatever it spells."""


def _as_text(cell: object) -> str:
    if isinstance(cell, str):
        return SheetText(cell)
    if isinstance(cell, float) and math.isnan(cell):  # an error of a formula, such as #N/A
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    return str(cell)


def _check_parts(path: Path) -> None:
    """Raise `DataError` for a workbook whose parts expand to more than is plausible; it is read as a whole."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > (allowed := allowed_bytes(path)):
            raise expands(path, allowed)


# JSON


def _read_json(table: Table, columns: Sequence[str] | None) -> Numbered:
    """Read one document: a list of objects, {"data": such a list}, or a table as pandas writes it.

    A file of several documents, or of one object, has an object a line.
    """
    path, text = table.path, table.form.text(table.path)
    try:
        document = parse_json(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" or not text.strip():
            return _read_json_lines(table, columns)
        raise DataError(f"{path}, line {error.lineno}, column {error.colno}: invalid JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: invalid JSON: {error}") from error
    if isinstance(document, dict):
        document = _rows_of_document(document)
    return ((number, values) for number, (_, values) in enumerate(objects(document, str(path)), 1))


def _rows_of_document(document: dict[str, Any]) -> Any:
    """Return the rows of {"data": rows}, and of what pandas writes of columns, of an index, and of both apart.

    Any other object is itself a row.
    """
    names, rows = document.get("columns"), document.get("data")
    if isinstance(rows, list):
        is_apart = isinstance(names, list) and all(isinstance(row, list) for row in rows)
        return [dict(zip(names, row)) for row in rows] if is_apart else rows
    inner = list(document.values())
    keys = inner[0].keys() if inner and isinstance(inner[0], dict) else ()
    if not keys or any(not isinstance(each, dict) or each.keys() != keys for each in inner):
        return [document]
    if all(map(str.isdecimal, keys)):
        return [{name: column[index] for name, column in document.items()} for index in keys]
    return inner if all(map(str.isdecimal, document)) else [document]


def objects(values: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Stream the place and the content of each object in a list. Raises `DataError` for anything else."""
    if not isinstance(values, list):
        raise DataError(f"{where}: {type(values).__name__}, but expected a list of objects")
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise DataError(f"{where}[{number}]: {type(value).__name__}, but expected an object")
        yield f"{where}[{number}]", value


def _read_json_lines(table: Table, columns: Sequence[str] | None) -> Numbered:
    for number, line in enumerate(table.form.lines(table.path), 1):
        if line.strip():
            yield number, json_object(line, f"{table.path}, line {number}")


def json_object(line: str, where: str) -> dict[str, Any]:
    """Return the object of a line of JSON lines. Raises `DataError` for anything else."""
    try:
        values = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: invalid JSON: {error}; expected one object per line") from error
    if not isinstance(values, dict):
        what = f"a JSON {type(values).__name__}, but expected one object per line"
        raise DataError(f"{where}: {what}; name a file of one document .json")
    return values


def parse_json(text: str) -> Any:
    """Return a JSON value. Raises ValueError, also for an object with equal keys, and for what is not valid text."""
    value = json.loads(text, object_pairs_hook=_unique_keys)
    if "\\ud" in text.lower():  # a lone surrogate is legal JSON but not valid text
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"duplicate key {repeated!r}")
    return values


# Parquet and folders


def _read_parquet(table: Table, columns: Sequence[str] | None) -> Numbered:
    path, row = table.path, 0
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _refuse_duplicates(names, path)
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


def _read_review_folder(table: Table, columns: Sequence[str] | None) -> Numbered:
    """`text` is a file's content and `label` its folder's name. File names are sorted for a reproducible order."""
    files = files_in(table.path)
    refuse_links_out(table.path, files)
    for row, file in enumerate(files, 1):
        yield row, {"text": table.form.text(file), "label": file.parent.name}


def refuse_links_out(folder: Path, paths: Iterable[Path]) -> None:
    """Reject symbolic links that leave the folder, except into blobs/, the Hub cache's own store.

    An untrusted folder must not make the reader load its local files.
    """
    homes = (folder.resolve(), folder.resolve().parent.parent / "blobs")
    for path in paths:
        refuse_loop(path)
        if not any(path.resolve().is_relative_to(home) for home in homes):
            raise DataError(
                f"{path} is a link out of its folder, to {path.resolve()}; if this is intended, name the file: "
                "--train_file, --validation_file, --test_file"
            )


def is_review_folder(path: Path) -> bool:
    """Return whether `path` has a folder of .txt files for each of at least two labels, as unpacked aclImdb has."""
    return len(_label_folders(path)) > 1


def _label_folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    folders = (each for each in sorted(path.iterdir()) if each.is_dir() and each.name != UNLABELLED_FOLDER)
    return [each for each in folders if next(each.glob("*.txt"), None)]


def files_in(path: Path) -> list[Path]:
    """Return the files that `read_rows` reads, in this order: the file itself, or those of the folders of labels."""
    if not is_review_folder(path):
        return [path]
    return [file for folder in _label_folders(path) for file in sorted(folder.glob("*.txt"))]


READERS: dict[str, Callable[[Table, Sequence[str] | None], Numbered]] = {
    ".csv": _read_records,
    ".tsv": _read_records,
    ".jsonl": _read_json_lines,
    ".json": _read_json,
    ".parquet": _read_parquet,
    ".xlsx": _read_records,
}
