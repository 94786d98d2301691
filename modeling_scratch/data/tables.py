# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Read tables: CSV with any delimiter, TSV, and sheets of Excel workbooks. Their values are strings.

The first record has the column names. Blank records are skipped.
"""

import codecs
import csv
import io
import math
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from itertools import islice
from pathlib import Path
from typing import Any

from ..utils.errors import DataError, one_line
from .text_files import allowed_bytes, expands, format_of, open_bytes, text_lines

Row = dict[str, Any]
Record = tuple[str, list[str]]  # location, fields

# Python's default of 131,072 characters rejects long documents. Without a limit, an unclosed quote exhausts memory.
MAX_FIELD_CHARACTERS = 10_000_000
DELIMITERS = (",", ";", "\t", "|")
SAMPLE_RECORDS = 100
DELIMITER_HELP = "The delimiter of csv files: one character or the word tab; found by default."
ENCODING_HELP = "The encoding of text files, such as cp1252; UTF-8 by default."
SHEET_HELP = "The sheet of an Excel workbook; the first by default."


@dataclass(frozen=True)
class TableForm:
    """How tables are read, where their files do not say it. Raises `DataError` for an invalid delimiter or encoding."""

    delimiter: str | None = None
    sheet: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding or "utf-8")
        except LookupError:
            raise DataError(f"--encoding {self.encoding}: unknown; examples: cp1252, latin-1, utf-16, gbk") from None
        given = self.delimiter
        if given is not None and given != "tab" and (len(given) != 1 or given.isalnum() or given in '"\r\n\0'):
            raise DataError(f"--delimiter {given!r}: must be one character, such as ';', or the word tab")

    def delimiter_of(self, path: Path) -> str:
        """Return the delimiter of a CSV file: the given one, or else the one that its first records have."""
        if self.delimiter:
            return "\t" if self.delimiter == "tab" else self.delimiter
        return find_delimiter(path, self)

    @property
    def codec(self) -> str | None:
        """The encoding; None for UTF-8, which is read with or without a byte order mark."""
        is_utf8 = self.encoding is None or codecs.lookup(self.encoding).name == "utf-8"
        return None if is_utf8 else self.encoding

    def lines(self, path: Path) -> Iterator[str]:
        """Stream the decoded lines of a file with their ends. Raises `DataError` for what cannot be read."""
        with open_bytes(path) as handle:
            yield from text_lines(handle, str(path), self.codec, allowed_bytes(path))

    def text(self, path: Path) -> str:
        """Return the whole text of a file, whose lines end in "\\n"."""
        return io.StringIO("".join(self.lines(path)), newline=None).read()


FOUND = TableForm()


def find_delimiter(path: Path, form: TableForm = FOUND) -> str:
    """Return the only delimiter that divides all of the first records into equally many fields, at least two.

    If none does, it is the only one in the header and in a record, so that a row of another length is named. Otherwise,
    it is the comma.
    """
    lengths = {delimiter: _lengths(path, delimiter, form) for delimiter in DELIMITERS}
    divides = [delimiter for delimiter, (header, *_) in lengths.items() if header > 1]
    fitting = [delimiter for delimiter in divides if len({*lengths[delimiter]}) == 1]
    fitting = fitting or [delimiter for delimiter in divides if max(lengths[delimiter][1:]) > 1]
    return fitting[0] if len(fitting) == 1 else ","


def _lengths(path: Path, delimiter: str, form: TableForm) -> list[int]:
    """Return the number of fields in the header and in each of the first records, or [0] if a quote is not closed."""
    records = islice(filter(None, _reader(path, form, delimiter=delimiter, strict=True)), SAMPLE_RECORDS + 1)
    try:
        return list(map(len, records)) or [0]
    except csv.Error:
        return [0]


def delimiter_notes(paths: Iterable[Path], form: TableForm) -> list[str]:
    """Return a note on each CSV file that is read with another delimiter than the comma, as its records have it."""
    files = [path for path in paths if format_of(path) == ".csv" and path.is_file() and not form.delimiter]
    found = [(path.name, find_delimiter(path, form)) for path in files]
    return [
        f"{name}: the delimiter {delimiter!r} was found from the first records; set --delimiter to change this"
        for name, delimiter in found
        if delimiter != ","
    ]


def refuse_duplicates(names: Sequence[str], path: Path) -> None:
    """Raise `DataError` if two columns have one name."""
    if repeated := sorted(name for name, count in Counter(names).items() if count > 1):
        raise DataError(f"{path}: duplicate column names: {', '.join(map(repr, repeated))}; rename one")


def read_csv(path: Path, columns: Sequence[str] | None, form: TableForm) -> Iterator[tuple[int, Row]]:
    """Stream `(row, values)`."""
    return _rows(_records(_reader(path, form, delimiter=form.delimiter_of(path), strict=True), path), path)


def read_tsv(path: Path, columns: Sequence[str] | None, form: TableForm) -> Iterator[tuple[int, Row]]:
    """Stream `(row, values)`. Quotes are literal characters: GLUE's files contain unbalanced quotes and no escapes."""
    return _rows(_records(_reader(path, form, delimiter="\t", quoting=csv.QUOTE_NONE), path), path)


def _reader(path: Path, form: TableForm, **dialect: Any) -> Any:
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    return csv.reader(_with_old_line_ends(form.lines(path)), **dialect)


def _with_old_line_ends(lines: Iterable[str]) -> Iterator[str]:
    """Divide lines at a lone carriage return, too, which ended the lines of old versions of Excel."""
    for line in lines:
        if "\r" in line.removesuffix("\r\n"):
            yield from io.StringIO(line, newline="")
        else:
            yield line


def _rows(records: Iterator[Record], path: Path) -> Iterator[tuple[int, Row]]:
    header: list[str] = next(records, ("", []))[1]
    refuse_duplicates(header, path)
    for row, (where, fields) in enumerate(records, 1):
        if len(fields) != len(header):
            advice = ", or set --delimiter" if len(header) == 1 else ""
            raise DataError(
                f"{where}: {len(fields)} fields, but the header has {len(header)}; quote fields that contain a "
                f"delimiter or a line break{advice}"
            )
        yield row, dict(zip(header, fields))


def _records(reader: Any, path: Path) -> Iterator[Record]:
    """Yield `(location, fields)` for each non-blank record, starting with the header.

    The location gives both row and line: they differ after a quoted field with a line break.
    """
    row = 0
    while True:
        where = f"{path}, row {row} (line {reader.line_num + 1})" if row else f"{path}, header"
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{where}: {error}; check for an unclosed or undoubled quote") from error
        if any("\0" in field for field in fields):
            raise DataError(f"{where}: contains a NUL byte; if this is a text file, remove it: tr -d '\\000'")
        if fields:
            yield where, fields
            row += 1


def read_excel(path: Path, columns: Sequence[str] | None, form: TableForm) -> Iterator[tuple[int, Row]]:
    """Stream `(row, values)` of a sheet. Numbers and dates become strings, as in a CSV file; formulas their results."""
    try:
        import openpyxl  # noqa: F401, which pandas would miss after it has opened the file
        import pandas

        check_members(path)
        with warnings.catch_warnings(), pandas.ExcelFile(path, engine="openpyxl") as book:
            warnings.simplefilter("ignore")  # on styles and other parts that are not read
            if form.sheet is not None and form.sheet not in book.sheet_names:
                names = ", ".join(map(repr, book.sheet_names))
                raise DataError(f"{path}: no sheet {form.sheet!r}; its sheets: {names} (--sheet)")
            cells = book.parse(form.sheet or 0, header=None, dtype=object, na_filter=False)
    except ImportError:
        raise DataError(f"{path}: Excel files need openpyxl: pip install 'modeling-scratch[excel]'") from None
    except (DataError, PermissionError):
        raise
    except Exception as error:  # of an archive, of XML and of openpyxl: of many types
        raise DataError(f"{path}: damaged or not an Excel workbook: {one_line(error)}; save it again") from error
    yield from _rows(_sheet_records(cells.itertuples(index=False), path), path)


def _sheet_records(rows: Iterable[Iterable[object]], path: Path) -> Iterator[Record]:
    """Yield `(location, fields)`, from the first column that the header names."""
    start = columns = 0
    for number, cells in enumerate(rows, 1):
        fields = [_as_text(cell) for cell in cells]
        while fields and not fields[-1]:
            fields.pop()
        if not fields:
            continue
        if not columns:
            start, columns = next(place for place, name in enumerate(fields) if name), len(fields)
        fields += [""] * (columns - len(fields))
        yield f"{path}, line {number} of the sheet", fields if any(fields[:start]) else fields[start:]


def check_members(path: Path) -> None:
    """Raise `DataError` for a workbook whose parts expand to more than is plausible; it is read as a whole."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > allowed_bytes(path):
            raise expands(path, allowed_bytes(path))


def _as_text(cell: object) -> str:
    if isinstance(cell, float) and math.isnan(cell):  # an error of a formula, such as #N/A
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    return str(cell)
