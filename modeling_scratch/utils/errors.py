# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Errors that a user can correct, and the reporting of library errors."""

import sys
from collections.abc import Callable
from typing import Any


class DataError(ValueError):
    """Invalid user data. The message names the file, the location, the fault and the remedy."""


def one_line(error: Exception) -> str:
    """Return a library's possibly multi-line error message as one line."""
    return " ".join(str(error).split())


def attempt(file: str, write: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Write an optional file. A failure prints a warning and does not stop the run."""
    try:
        write(*arguments, **options)
    except Exception as error:
        print(f"WARNING: {file} could not be written: {one_line(error)}", file=sys.stderr)


class CheckpointError(ValueError):
    """A checkpoint that cannot be converted. The message names the part and the reason."""
