# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the lines of a CSV or TSV file tell: its delimiter, what its quotes mean, whether it has a header."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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
        enclosing.update(len(record) for record in parsed(counted_lines(), "\t") if record)
    except csv.Error:
        return csv.QUOTE_NONE
    takes_in_rows = len(literal) == 1 and literal.total() > enclosing.total()
    return csv.QUOTE_NONE if takes_in_rows or len(enclosing) > 1 else csv.QUOTE_MINIMAL


def find_dialect(lines: Iterable[str], delimiters: Sequence[str] = DELIMITERS) -> tuple[str, Style]:
    """Return the delimiter and the style of quotes that divide most of the first records as the header is divided.

    Of several such delimiters, it is the first of all: the comma.
    """
    ways = list(product(STYLES, delimiters))
    fitting = [_fitting(copy, delimiter, style) for copy, (style, delimiter) in zip(tee(lines, len(ways)), ways)]
    style = ways[fitting.index(max(fitting))][0]
    best = [way[1] for way, number in zip(ways, fitting) if way[0] is style and number == max(fitting)]
    return best[0] if len(best) == 1 else delimiters[0], style


def _fitting(lines: Iterable[str], delimiter: str, style: Style) -> int:
    """Return how many of the first records have as many fields as the header, at least two.

    A record with a field that keeps its quotes does not count.
    """
    records = filter(None, parsed(lines, delimiter, style))
    number = 0
    with suppress(csv.Error):
        header: list[str] = next(records, [])
        for record in islice(records, SAMPLE_RECORDS):
            has_quoted = any(field[:1] == " " and field.lstrip()[:1] == '"' for field in record)
            number += len(record) == len(header) > 1 and not has_quoted
    return number


def is_a_row(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the names of a table are its first row: a label, as other rows have it, and at least two words.

    A number among numbers is a label, too, beside at least three words: columns can be named by years.
    """
    columns = [*zip(header, zip(*(row for row in rows if len(row) == len(header) and [*row] != [*header])))]
    recur = any(name in values for name, values in columns if name)
    is_number = any(all(map(NUMBER.fullmatch, (name, *filter(None, values)))) for name, values in columns)
    words = max((len(name.split()) for name, values in columns if name not in values), default=0)
    return (words >= 2 and recur) or (words >= 3 and is_number)
