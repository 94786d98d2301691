# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The error for whatever a user can correct, and how errors of libraries are reported."""

import sys
from collections.abc import Callable
from typing import Any


class DataError(ValueError):
    """Something in the user's data is wrong: the message names the file, the place, the fault and the way out."""


def one_line(error: Exception) -> str:
    """What a library says about an error, which may be many lines, as part of a message of ours."""
    return " ".join(str(error).split())


def attempt(file: str, write: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Write what a run can do without: whatever fails there is told, and costs nobody a model."""
    try:
        write(*arguments, **options)
    except Exception as error:
        print(f"WARNING: {file} could not be written: {one_line(error)}", file=sys.stderr)


class CheckpointError(ValueError):
    """A checkpoint that cannot be converted; the message says which part of it, and why."""
