# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Errors that a user can correct, the reporting of library errors, and messages of libraries that would mislead."""

import logging
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class DataError(ValueError):
    """Invalid user data. The message names the file, the location, the fault and the remedy."""


class DivergedError(DataError):
    """Training has diverged: a loss, weights or answers are not finite."""


def counted(number: int, what: str) -> str:
    """Return "1 row" or "2 rows"."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def times(number: float, what: str) -> str:
    """Return "1 epoch" or "2.5 epochs"."""
    return f"{number:.3g} {what}{'s' * (number != 1)}"


def duration(seconds: float) -> str:
    """Return "1 h 2 min", "3 min 4 s" or "5.6 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def quoted(value: Any) -> str:
    """Return a value in quotes, with its letters, and escapes for what does not show: controls, invisible characters
    and combining characters, by which spellings differ that look alike.
    """
    is_composed = not isinstance(value, str) or unicodedata.is_normalized("NFC", value)
    return repr(value) if is_composed else ascii(value)


def some(names: Sequence[str], most: int = 5) -> str:
    """Return "a, b and 3 more": the first names, and the number of the others."""
    others = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + others


def first_few(names: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """Return "a, b, ...": the first names, and whether there are others."""
    return separator.join([*names[:most], *(["..."] if len(names) > most else [])])


def one_line(error: BaseException) -> str:
    """Return a library's possibly multi-line error message as one line."""
    return " ".join(str(error).split())


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise `DataError` for a panic of a library written in Rust, which is no `Exception`.

    A tokenizer panics if a regular expression in its files needs too many steps for a text.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise DataError(f"the tokenizer fails on a text: {one_line(error)}") from error


@contextmanager
def hidden_messages(logger_name: str, *parts: str) -> Iterator[list[str]]:
    """Hide the messages of a logger that contain one of the parts, and yield the list of them."""
    logger, hidden = logging.getLogger(logger_name), []

    def shows(record: Any) -> bool:
        message = record.getMessage()
        if is_hidden := any(part in message for part in parts):
            hidden.append(message)
        return not is_hidden

    logger.addFilter(shows)
    try:
        yield hidden
    finally:
        logger.removeFilter(shows)


def attempt(file: str, write: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Write an optional file. A failure prints a warning and does not stop the run."""
    try:
        write(*arguments, **options)
    except Exception as error:
        print(f"WARNING: {file} could not be written: {one_line(error)}", file=sys.stderr)


class CheckpointError(ValueError):
    """A checkpoint that cannot be converted. The message names the part and the reason."""
