# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the lines of a CSV or TSV file tell: its delimiter, what its quotes mean, whether it has a header."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, tee
from typing import Any, Literal

from .text_files import MAX_FIELD_CHARACTERS

Quoting = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_RECORDS = 100
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=(.)\"?\s*")  # of Excel, above the header


def parsed(lines: Iterable[str], delimiter: str, quoting: Quoting = csv.QUOTE_MINIMAL) -> Any:
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    return csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)


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
        for record in filter(None, parsed(counted_lines(), "\t")):
            enclosing[len(record)] += 1
            if len(enclosing) > 1:
                return csv.QUOTE_NONE
    except csv.Error:
        return csv.QUOTE_NONE
    takes_in_rows = len(literal) == 1 and literal.total() > enclosing.total()
    return csv.QUOTE_NONE if takes_in_rows else csv.QUOTE_MINIMAL


def find_delimiter(lines: Iterable[str]) -> str:
    """Return the only delimiter that divides all of the first records into equally many fields, at least two.

    If none does, it is the only one in the header and in a record, so that a row of another length is named. Otherwise,
    it is the comma.
    """
    lengths = dict(zip(DELIMITERS, map(_lengths, tee(lines, len(DELIMITERS)), DELIMITERS)))
    dividing = [delimiter for delimiter, (header, *_) in lengths.items() if header > 1]
    fitting = [delimiter for delimiter in dividing if len(set(lengths[delimiter])) == 1]
    fitting = fitting or [delimiter for delimiter in dividing if max(lengths[delimiter][1:]) > 1]
    return fitting[0] if len(fitting) == 1 else ","


def _lengths(lines: Iterable[str], delimiter: str) -> list[int]:
    """Return the number of fields in the header and in each of the first records, or [0] if a quote is not closed."""
    try:
        return list(map(len, islice(filter(None, parsed(lines, delimiter)), SAMPLE_RECORDS + 1))) or [0]
    except csv.Error:
        return [0]


def is_a_row(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the names of a table are its first row: a label, as other rows have it, and at least two words.

    A number among numbers is a label, too, beside at least three words: columns can be named by years.
    """
    columns = [*zip(header, zip(*(row for row in rows if len(row) == len(header) and [*row] != [*header])))]
    recur = any(name in values for name, values in columns if name)
    is_number = any(all(map(NUMBER.fullmatch, (name, *filter(None, values)))) for name, values in columns)
    words = max((len(name.split()) for name, values in columns if name not in values), default=0)
    return (words >= 2 and recur) or (words >= 3 and is_number)
