# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the lines of a CSV or TSV file tell: its delimiter, what its quotes mean, whether it has a header."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice, tee
from typing import Any

from .text_files import MAX_FIELD_CHARACTERS, count_words

DELIMITERS = (",", ";", "\t", "|")
UNQUOTED = ("\t", "|")  # which texts hardly contain, so that quotes may belong to the texts
SAMPLE_RECORDS = 100
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=(.)\"?\s*")  # of Excel, above the header
ESCAPED_QUOTE = re.compile(r'\\"\w')  # not doubled, nor at the end of a field
STRAY = re.compile(rf'(?<!\\)(\\\\)*(\\[^"\\\n{"".join(DELIMITERS)}])')  # an escape of nothing, as in C:\new
BLANK_BEFORE_QUOTE = re.compile(r'[,;\t|] +"')  # as in `a, "b"`


def parsed(lines: Iterable[str], delimiter: str, **style: Any) -> Any:
    """Return a `csv.reader`. style: of quotes, its other options."""
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    lines = _without_strays(lines) if "escapechar" in style else lines
    return csv.reader(lines, delimiter=delimiter, strict=True, **style)


def _without_strays(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines. Raises `csv.Error` for a backslash that the reader would drop."""
    for line in lines:
        if stray := STRAY.search(line):
            raise csv.Error(f'{stray[2]} is no escape, unlike \\" above it')
        yield line


def _are_literal(lines: Iterable[str], delimiter: str, is_tsv: bool, **style: Any) -> bool:
    """Return whether the quotes of a file belong to the texts, as in GLUE, and do not enclose them, as of pandas.

    They enclose fields if that divides the whole file into equally many fields, unless, in a TSV file, it takes in
    lines that have as many fields by themselves.
    """
    literal, enclosing = Counter[int](), Counter[int]()

    def counted_lines() -> Iterator[str]:
        for line in lines:
            if line.strip("\r\n"):
                literal[line.count(delimiter)] += 1
            yield line

    try:
        enclosing.update(len(record) for record in parsed(counted_lines(), delimiter, **style) if record)
    except csv.Error:
        return True
    return len(enclosing) > 1 or (is_tsv and len(literal) == 1 and literal.total() > enclosing.total())


def find_dialect(sample: list[str], rest: Iterable[str], given: str | None, is_tsv: bool) -> tuple[str, dict[str, Any]]:
    """Return the delimiter, and the options of the quotes. sample, rest: of the lines. given: a delimiter, or None."""
    first = sample[0] if sample else ""
    if is_tsv and not given and ("\t" in first or not {*first} & {*DELIMITERS}):
        given = "\t"
    style: dict[str, Any] = {"skipinitialspace": given != "\t" and any(map(BLANK_BEFORE_QUOTE.search, sample))}
    if any(map(ESCAPED_QUOTE.search, sample)) and not any(map(STRAY.search, sample)):
        style["escapechar"] = "\\"
    whole, start = tee(chain(sample, rest))
    found = _delimiter(start, [given] if given else DELIMITERS, **style)
    del start  # which would keep all lines in memory
    is_literal = found in UNQUOTED and _are_literal(whole, found, is_tsv, **style)
    return found, {"quoting": csv.QUOTE_NONE} if is_literal else style


def _delimiter(lines: Iterable[str], delimiters: Sequence[str], **style: Any) -> str:
    """Return the delimiter that divides most of the first records as the header is divided; the first of several."""
    enclosing, literal = (tee(copy, len(delimiters)) for copy in tee(lines))
    fitting = [_fitting(parsed(*both, **style)) for both in zip(enclosing, delimiters)]
    if not any(fitting):
        without_quotes = (_fitting(parsed(*both, quoting=csv.QUOTE_NONE)) for both in zip(literal, delimiters))
        fitting = [number * (each in UNQUOTED) for number, each in zip(without_quotes, delimiters)]
    best = [delimiter for delimiter, number in zip(delimiters, fitting) if number == max(fitting)]
    return best[0] if len(best) == 1 else delimiters[0]


def _fitting(records: Iterable[list[str]]) -> int:
    """Return how many of the first records have as many fields as the header, at least two."""
    filled, number = filter(None, records), 0
    with suppress(csv.Error):
        header = next(filled, [])
        for record in islice(filled, SAMPLE_RECORDS):
            number += len(record) == len(header) > 1
    return number


def is_a_row(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the names of a table are its first row: a label, as other rows have it, and at least two words.

    A number among numbers is a label, too, beside at least three words: columns can be named by years.
    """
    columns = [*zip(header, zip(*(row for row in rows if len(row) == len(header) and [*row] != [*header])))]
    recur = any(name in values for name, values in columns if name)
    is_number = any(all(map(NUMBER.fullmatch, (name, *filter(None, values)))) for name, values in columns)
    words = max((count_words(name) for name, values in columns if name not in values), default=0)
    return (words >= 2 and recur) or (words >= 3 and is_number)
