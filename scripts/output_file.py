# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Where a program writes its answers: standard output, or a file that is there once it is complete."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from text_files import DataError


def check_output(option: str, name: str, source: str, overwrite: bool) -> None:
    """Raises `DataError` where the file that an option names cannot be written, or would replace something."""
    output = Path(name)
    if name == "-":
        return
    if not output.parent.is_dir():
        raise DataError(f"{option} {output}: there is no folder {output.parent}")
    if not output.exists():
        return
    if not output.is_file() or (Path(source).exists() and output.samefile(source)):
        raise DataError(f"{option} {output}: this is the input, or no ordinary file; choose another name")
    if not overwrite:
        raise DataError(f"{option} {output}: there is such a file; choose another name, or give --overwrite")


@contextmanager
def open_output(name: str) -> Iterator[TextIO]:
    """Standard output, where "-" is named, or a file that takes its name once all is written."""
    if name == "-":
        try:
            with open(sys.stdout.fileno(), "w", encoding="utf-8", newline="", closefd=False) as handle:
                yield handle
        except BrokenPipeError:
            sys.exit()  # the reader has seen enough
        return
    path = Path(name).resolve()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as handle:
            yield handle
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
