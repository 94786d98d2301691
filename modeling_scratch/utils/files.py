# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Files and folders that are complete or absent: written beside, then renamed."""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from .errors import DataError


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
    with replacing(Path(name).resolve()) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        yield handle


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to. The file takes the name `path` at the end; after an error nothing is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n")


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read in parts."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(2**20):
            digest.update(part)
    return digest.hexdigest()


@contextmanager
def complete_folder(folder: str | Path) -> Iterator[Path]:
    """A folder to write into, which becomes `folder` at the end, all at once; after an error nothing is left of it.

    Raises FileExistsError where `folder` exists and holds anything.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists already: choose another name, or delete it first")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        written = Path(beside) / folder.name
        written.mkdir()
        yield written
        written.replace(folder)
