# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Stream the rows of a table: CSV with any delimiter, TSV, Excel, JSON, JSON lines and Parquet. Errors name the row.

A value of a CSV file, of a TSV file or of a sheet is a string; JSON and Parquet keep their types.
"""

import csv
import difflib
import json
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from ..utils.errors import DataError, counted
from ..utils.files import refuse_loop
from ..utils.options import option
from .dialects import SAMPLE_RECORDS, SEPARATOR_LINE, find_dialect, is_a_row, parsed
from .text_files import (
    allowed_bytes,
    check_readable,
    check_size,
    count_words,
    decoded_lines,
    format_of,
    intact,
    unknown_format,
    unreadable,
)

Values = Mapping[str, Any]  # of a row, by the names of the columns
Numbered = Iterator[tuple[int, str, dict[str, Any]]]  # the number of each row, its place in the file, its values
Records = Iterator[tuple[int, list[str]]]  # the line of each in its file, and its fields

HEADED = (".csv", ".tsv", ".xlsx")  # whose first line names the columns
UNLABELLED_FOLDER = "unsup"  # of aclImdb
ENCODING_HELP = "The encoding of text files, such as cp1252; UTF-8 by default."
GAP = r"\N"  # as MySQL, PostgreSQL and Hive write a missing value
UNNAMED = "column_"  # and its number, of a column without a name
BLANKS = " \t\r\n\xa0\ufeff"  # around the names of columns


class Row(NamedTuple):
    """A row of data. number: from 1, as pandas counts from 0; in JSON lines, the line. where: its file and number."""

    number: int
    values: Values
    where: str


@dataclass
class TableArguments:
    """How tables are read, as options."""

    delimiter: str | None = option(None, "The delimiter of csv files: one character or the word tab; found by default.")
    sheet: str | None = option(None, "The sheet of an Excel workbook; the first by default.")
    encoding: str | None = option(None, ENCODING_HELP)
    no_header: bool = option(False, "The first line of csv, tsv and xlsx files is a row; columns are column_1, ...")
    header_row: int | None = option(None, "The line with the names in csv, tsv and xlsx; those above it are left out.")

    @property
    def form(self) -> "TableForm":
        """How the tables are read. Raises `DataError` for invalid options."""
        return TableForm(self.delimiter, self.sheet, self.encoding, self.no_header, self.header_row)


@dataclass(unsafe_hash=True)
class TableForm(TableArguments):
    """How tables are read, where their files do not say it. Raises `DataError` for an invalid delimiter or encoding."""

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

    def lines(self, path: Path, newline: str | None = "\n", **options: int) -> Generator[str, None, None]:
        """Stream the decoded lines of a file with their ends. Raises `DataError` for what cannot be read."""
        return decoded_lines(path, self.encoding, newline, **options)

    def text(self, path: Path) -> str:
        """Return the whole text of a file, whose lines end in "\\n"."""
        check_readable(path)
        return "".join(self.lines(path, newline=None, longest=allowed_bytes(path)))


FOUND = TableForm()


@dataclass(frozen=True)
class Table:
    """A file of rows, and all that is given or was found on how it is read.

    header_line: from 1. has_header: whether its fields name the columns. notes: on what was found.
    """

    path: Path
    form: TableForm = FOUND
    delimiter: str = ","
    style: Mapping[str, Any] = field(default_factory=dict)
    header_line: int = 1
    has_header: bool = True
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.path)

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """Stream the rows. columns: only these; Parquet does not decode the others.

        Raises `DataError` during iteration for what cannot be read, and for no rows.
        """
        number, path = 0, self.path
        read = _read_review_folder if is_review_folder(path) else READERS[format_of(path)]
        try:
            for number, place, values in read(self, columns):
                chosen = select(values, columns, f"{path}, {place}") if columns else values
                yield Row(number, chosen, f"{path.name}, {place}")
        except OSError as error:
            raise unreadable(path, error) from error
        if number == 0:
            raise DataError(f"{path}: the file has no rows")

    def as_in_training(self, columns: Sequence[str]) -> "Table":
        """Return this table without a header, if it lacks the columns of a model and these have no names."""
        header = list(next(self.rows()).values) if columns and self.has_header and not self.form.says_header else []
        has_names = not all(name.removeprefix(UNNAMED).isdecimal() for name in columns)
        return self if has_names or len(header) < 2 or {*columns} & {*header} else replace(self, has_header=False)

    def header_notes(self, found: Iterable[str]) -> list[str]:
        """Return a note on a header that was found to lack, and on names that could be values. found: not given."""
        if self.form.says_header or format_of(self.path) not in HEADED:
            return []
        if not self.has_header:
            return ["no header: the first line is read as a row; if it is none, set --header_row 1"]
        names = list(found)
        sample = [row.values for row in islice(self.rows(), SAMPLE_RECORDS)] if names else []
        values = [name for name in names if count_words(name) != 1 or any(row[name] == name for row in sample)]
        return [f"{name!r} is read as the name of a column; if it is a row, set --no_header" for name in values]


def open_table(path: Path, form: TableForm = FOUND) -> Table:
    """Return how a file is read, with what its content tells.

    The suffix gives the format: .csv, .tsv, .jsonl, .json (an object a line, or one document), .parquet or .xlsx.
    One of a compression may follow if it is text. A folder with a folder of .txt files for each label has a row a file.
    Raises `DataError` if the file cannot be read.
    """
    table = Table(path, form, header_line=form.header_row or 1)
    if is_review_folder(path):
        return table
    check_readable(path)
    if format_of(path) not in READERS:
        raise unknown_format(path, READERS)
    if format_of(path) not in HEADED:
        return table
    if format_of(path) != ".xlsx":
        table = _delimited(table)
    elif form.sheet is None:
        with _workbook(table) as book:
            first, *others = map(repr, book.sheet_names)
        note = f"{path.name}: the first sheet, {first}, is read; its other sheets are {', '.join(others)} (--sheet)"
        table = replace(table, notes=(note,) if others else ())
    if form.says_header:
        return replace(table, has_header=not form.no_header)
    header, *sample = [fields for _, fields in islice(_records(table, SAMPLE_RECORDS), SAMPLE_RECORDS + 1)] or [[]]
    return replace(table, has_header=not is_a_row([name.strip() for name in header], sample))


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


# CSV, TSV and Excel


def _delimited(table: Table) -> Table:
    """Return a CSV or TSV file with its delimiter, its quoting and the line of its header."""
    path, form = table.path, table.form
    with closing(_lines(table)) as lines:
        sample = list(islice(lines, SAMPLE_RECORDS))
        declared = None if form.header_row else SEPARATOR_LINE.fullmatch(sample[0] if sample else "")
        given = "\t" if form.delimiter == "tab" else form.delimiter or (declared[1] if declared else None)
        if declared:
            table, sample = replace(table, header_line=2), sample[1:]
        found, style = find_dialect(sample, lines, given, is_tsv=format_of(path) == ".tsv")
    note = f"{path.name}: the delimiter {found!r} was found from the first records; set --delimiter to change this"
    is_usual = found in (given, ",", "\t" if format_of(path) == ".tsv" else None)
    return replace(table, delimiter=found, style=style, notes=() if is_usual else (note,))


def _lines(table: Table) -> Generator[str, None, None]:
    """Stream the lines from that of the header on."""
    with closing(table.form.lines(table.path, newline="")) as lines:
        yield from islice(lines, table.header_line - 1, None)


def _text_records(table: Table) -> Records:
    """Yield each record that is not blank.

    Errors have both row and line: they differ after a quoted field with a line break.
    """
    reader, row, line = parsed(_lines(table), table.delimiter, **table.style), 0, table.header_line
    try:
        for fields in reader:
            if any("\0" in field for field in fields):
                raise csv.Error("contains a NUL byte; if the encoding is utf-16-le, set --encoding")
            if fields:
                yield line, ["" if field == GAP else field for field in fields] if GAP in fields else fields
                row += 1
            line = table.header_line + reader.line_num
    except csv.Error as error:
        place = f"row {row} (line {line})" if row else "header"
        advice = "set --delimiter, or check for an unclosed or undoubled quote"
        raise DataError(f"{table.path}, {place}: {error}; {advice}") from error


def _records(table: Table, most: int | None = None) -> Records:
    """Yield the header and the rows. most: rows to read of a sheet."""
    return _sheet_records(table, most) if format_of(table.path) == ".xlsx" else _text_records(table)


def _read_records(table: Table, columns: Sequence[str] | None) -> Numbered:
    records = _records(table)
    if (first := next(records, None)) is None:
        return
    header = [name.strip(BLANKS) for name in first[1]]
    unnamed = [f"{UNNAMED}{number}" for number in range(1, len(header) + 1)]
    if header.count("") > 1:  # one is the index of pandas
        header = [name or other for name, other in zip(header, unnamed)]
    if not table.has_header:
        header, records = unnamed, chain([first], records)
    _refuse_duplicates(header, table.path)
    for number, (line, fields) in enumerate(records, 1):
        place = f"row {number}" if line - number in (0, 1) else f"row {number} (line {line})"
        if len(fields) != len(header):
            found = f"{counted(len(fields), 'field')}, but the header has {len(header)}"
            advice = "quote a field with a delimiter or a line break, or set --delimiter or --header_row"
            if format_of(table.path) == ".xlsx":
                advice = "name the line of the header by --header_row"
            raise DataError(f"{table.path}, row {number} (line {line}): {found}; {advice}")
        yield number, place, dict(zip(header, fields))


def _sheet_records(table: Table, most: int | None) -> Records:
    """Yield the first row with a cell, the header, and every row below it, blank ones too, without blank columns.

    Numbers and dates become strings, as in a CSV file; formulas their results.
    """
    with _workbook(table) as book:
        how: Any = {"header": None, "dtype": object, "na_filter": False, "skiprows": table.header_line - 1}
        cells = book.parse(table.form.sheet or 0, nrows=most, **how)
    rows = cells.loc[:, (cells != "").any()].itertuples(index=False)
    records = enumerate(([_as_text(cell) for cell in row] for row in rows), table.header_line)
    width = 0
    for line, fields in dropwhile(lambda record: not any(record[1]), records):
        while len(fields) > width and not fields[-1]:
            fields.pop()
        width = width or len(fields)
        yield line, fields


@contextmanager
def _workbook(table: Table) -> Iterator[Any]:
    """Open a workbook. Raises `DataError` for one that expands to more than is plausible: it is read as a whole."""
    path, sheet = table.path, table.form.sheet
    try:
        import openpyxl  # noqa: F401, which pandas would miss after it has opened the file
        import pandas
    except ImportError:
        raise DataError(f"{path}: Excel files need openpyxl: pip install 'modeling-scratch[excel]'") from None
    with intact(path, "an Excel workbook"), warnings.catch_warnings(), zipfile.ZipFile(path) as archive:
        check_size(path, sum(member.file_size for member in archive.infolist()))
        warnings.simplefilter("ignore")  # on styles and other parts that are not read
        with pandas.ExcelFile(path, engine="openpyxl") as book:
            if sheet is not None and sheet not in book.sheet_names:
                raise DataError(f"{path}: no sheet {sheet!r}; its sheets: {', '.join(map(repr, book.sheet_names))}")
            yield book


class SheetText(str):
    """A cell that is a text in its sheet, whatever it spells."""


def _as_text(cell: object) -> str:
    if isinstance(cell, str):
        return SheetText(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    return "" if cell != cell else str(cell)  # NaN, an error of a formula such as #N/A


# JSON


def _read_json(table: Table, wanted: Sequence[str] | None) -> Numbered:
    """Read one document: a list of objects, {"data": such a list}, an object, or the columns that pandas writes.

    A file of several documents has an object a line.
    """
    path, text = table.path, table.form.text(table.path)
    try:
        document = parse_json(text)
    except (ValueError, RecursionError) as error:
        if getattr(error, "msg", "") == "Extra data" or not text.strip():
            return _read_json_lines(table, wanted)
        raise DataError(f"{path}: invalid JSON: {error}") from error
    if isinstance(document, dict):
        columns = list(document.values())
        indices = dict(columns[0]) if columns and isinstance(columns[0], dict) else {}
        are_columns = all(isinstance(column, dict) and column.keys() == indices.keys() for column in columns)
        if isinstance(document.get("data"), list):
            document = document["data"]
        elif indices and are_columns and all(map(str.isdecimal, indices)):
            document = [{name: column[index] for name, column in document.items()} for index in indices]
        else:
            document = [document]
    return _numbered(values for _, values in objects(document, str(path)))


def _numbered(rows: Iterable[dict[str, Any]]) -> Numbered:
    return ((number, f"row {number}", values) for number, values in enumerate(rows, 1))


def objects(values: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Stream the place and the content of each object in a list. Raises `DataError` for anything else."""
    if not isinstance(values, list):
        raise DataError(f"{where}: {type(values).__name__}, but expected a list of objects")
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            what = f"{type(value).__name__}, but expected an object; with pandas, write orient='records'"
            raise DataError(f"{where}[{number}]: {what}")
        yield f"{where}[{number}]", value


def _read_json_lines(table: Table, columns: Sequence[str] | None) -> Numbered:
    for number, line in enumerate(table.form.lines(table.path), 1):
        if line.strip():
            yield number, f"row {number}", json_object(line, f"{table.path}, line {number}")


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
    value = json.loads(text, object_pairs_hook=_object)
    if "\\ud" in text.lower():  # a lone surrogate is legal JSON but not valid text
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Of equal keys, json would keep the last value alone."""
    if len(values := dict(pairs)) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {next(name for name in names if names.count(name) > 1)!r}")
    return values


# Parquet and folders


def _read_parquet(table: Table, columns: Sequence[str] | None) -> Numbered:
    path = table.path
    with intact(path, "Parquet"), pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        _refuse_duplicates(names, path)
        select(dict.fromkeys(names), columns or (), str(path))
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        check_size(path, sum(group.total_byte_size for group in groups))
        batches = file.iter_batches(1_000, columns=columns)
        yield from _numbered(chain.from_iterable(batch.to_pylist() for batch in batches))


def _read_review_folder(table: Table, columns: Sequence[str] | None) -> Numbered:
    """`text` is a file's content and `label` its folder's name. File names are sorted for a reproducible order."""
    files = [file for folder in _label_folders(table.path) for file in sorted(folder.glob("*.txt"))]
    refuse_links_out(table.path, files)
    yield from _numbered({"text": table.form.text(file), "label": file.parent.name} for file in files)


def refuse_links_out(folder: Path, paths: Iterable[Path]) -> None:
    """Reject symbolic links that leave the folder, except into blobs/, the Hub cache's own store.

    An untrusted folder must not make the reader load its local files.
    """
    homes = (folder.resolve(), folder.resolve().parent.parent / "blobs")
    for path in paths:
        refuse_loop(path)
        if not any(path.resolve().is_relative_to(home) for home in homes):
            what = f"a link out of its folder, to {path.resolve()}"
            advice = "if this is intended, name the file: --train_file, --validation_file, --test_file"
            raise DataError(f"{path} is {what}; {advice}")


def is_review_folder(path: Path) -> bool:
    """Return whether `path` has a folder of .txt files for each of at least two labels, as unpacked aclImdb has."""
    return len(_label_folders(path)) > 1


def _label_folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    folders = (each for each in sorted(path.iterdir()) if each.is_dir() and each.name != UNLABELLED_FOLDER)
    return [each for each in folders if next(each.glob("*.txt"), None)]


READERS: dict[str, Callable[[Table, Sequence[str] | None], Numbered]] = {
    ".csv": _read_records,
    ".tsv": _read_records,
    ".jsonl": _read_json_lines,
    ".json": _read_json,
    ".parquet": _read_parquet,
    ".xlsx": _read_records,
}
