# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the lines of a CSV or TSV file tell: its delimiter, what its quotes mean, whether it has a header."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product, tee
from typing import Any, Literal

from .text_files import MAX_FIELD_CHARACTERS

Quoting = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE
Style = Mapping[str, Any]  # of quotes: options of csv.reader

DELIMITERS = (",", ";", "\t", "|")
STYLES: Sequence[Style] = ({}, {"skipinitialspace": True}, {"escapechar": "\\"})  # the last: MySQL, Spark
SAMPLE_RECORDS = 100
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=(.)\"?\s*")  # of Excel, above the header


def parsed(lines: Iterable[str], delimiter: str, style: Style = STYLES[0]) -> Any:
    no_end = rf"[^{re.escape(delimiter)}\r\n]"
    gap = re.compile(rf"(?<!{no_end})\\N(?!{no_end})")  # as MySQL and PostgreSQL write it
    lines = (gap.sub("", line) if r"\N" in line else line for line in lines)  # few have one, and the search is slow
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    return csv.reader(lines, delimiter=delimiter, strict=True, **style)


def quoting_of_tsv(lines: Iterable[str]) -> Quoting:
    """Return whether quotes enclose fields, as pandas writes them, or are literal, as in GLUE's unbalanced ones.

    They enclose fields if that divides the whole file into equally many fields, unless it takes in lines that have
    as many fields by themselves.
    """
    literal, enclosing = Counter[int](), Counter[int]()

    def counted_lines() -> Iterator[str]:
        for line in lines:
            if line.strip("\r\n"):
                literal[line.count("\t")] += 1
            yield line

    try:
        records = filter(None, parsed(counted_lines(), "\t"))
        next(records, None)  # the header, which can lack the names of rows
        for record in records:
            enclosing[len(record)] += 1
            if len(enclosing) > 1:
                return csv.QUOTE_NONE
    except csv.Error:
        return csv.QUOTE_NONE
    takes_in_rows = len(literal) == 1 and literal.total() > enclosing.total() + 1
    return csv.QUOTE_NONE if takes_in_rows else csv.QUOTE_MINIMAL


def find_dialect(lines: Iterable[str], delimiters: Sequence[str] = DELIMITERS) -> tuple[str, Style]:
    """Return the only delimiter that divides all of the first records into equally many fields, at least two.

    The style of quotes is the first with such a delimiter. If none has one, it is the only one in the header and in a
    record, so that a row of another length is named. Otherwise, it is the first.
    """
    ways = list(product(STYLES, delimiters))
    samples = [_sample(copy, delimiter, style) for copy, (style, delimiter) in zip(tee(lines, len(ways)), ways)]
    for style in STYLES:
        fitting = [way[1] for way, sample in zip(ways, samples) if way[0] is style and _fits(sample)]
        if fitting:
            return fitting[0] if len(fitting) == 1 else delimiters[0], style
    dividing = [
        delimiter
        for delimiter, (header, *records) in zip(delimiters, samples)
        if len(header) > 1 and any(len(record) > 1 for record in records)
    ]
    return dividing[0] if len(dividing) == 1 else delimiters[0], STYLES[0]


def _sample(lines: Iterable[str], delimiter: str, style: Style) -> list[list[str]]:
    """Return the header and the first records, or an empty header if a quote is not closed."""
    try:
        return list(islice(filter(None, parsed(lines, delimiter, style)), SAMPLE_RECORDS + 1)) or [[]]
    except csv.Error:
        return [[]]


def _fits(sample: Sequence[Sequence[str]]) -> bool:
    """Return whether the records have equally many fields, at least two, and not all of them a quoted one left."""
    header, *records = sample
    if has_row_names(header, records):
        return True
    has_quoted = [any(field[:1] == " " and field.lstrip()[:1] == '"' for field in fields) for fields in records]
    return len(header) > 1 and {*map(len, sample)} == {len(header)} and not (records and all(has_quoted))


def has_row_names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row begins with its number, which the header lacks, as R's write.table writes them.

    One row alone can have a comma that is not quoted.
    """
    longer = [row[0] for row in rows if len(row) == len(header) + 1 > 2 and row[0].isdecimal()]
    return len(rows) == len({*longer}) > 1


def is_a_row(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the names of a table are its first row: a label, as other rows have it, and at least two words.

    A number among numbers is a label, too, beside at least three words: columns can be named by years.
    """
    columns = [*zip(header, zip(*(row for row in rows if len(row) == len(header) and [*row] != [*header])))]
    recur = any(name in values for name, values in columns if name)
    is_number = any(all(map(NUMBER.fullmatch, (name, *filter(None, values)))) for name, values in columns)
    words = max((len(name.split()) for name, values in columns if name not in values), default=0)
    return (words >= 2 and recur) or (words >= 3 and is_number)
