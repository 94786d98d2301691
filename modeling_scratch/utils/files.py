# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Atomic file and folder output: written under a temporary name, then renamed."""

import csv
import errno
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from .errors import DataError, one_line


def check_output(option: str, name: str, source: str | None, overwrite: bool) -> None:
    """Raise `DataError` if the file that an option names cannot be written or would overwrite another."""
    output = Path(name)
    if name == "-":
        if sys.stdout is None:
            raise DataError(f"{option} -: standard output is closed; name a file")
        return
    refuse_loop(output, f"{option} ")
    if not output.parent.is_dir():
        raise DataError(f"{option} {output}: folder {output.parent} not found")
    if not output.exists():
        return
    if not output.is_file():
        raise DataError(f"{option} {output}: not a regular file; choose another name")
    if source and Path(source).exists() and output.samefile(source):
        raise DataError(f"{option} {output}: this is the input; choose another name")
    if not overwrite:
        raise DataError(f"{option} {output}: file exists; choose another name or give --overwrite")


def refuse_loop(path: Path, option: str = "") -> None:
    """Raise `DataError` for a symbolic link that leads to itself."""
    try:
        path.resolve()
    except (OSError, RuntimeError):  # by the version of Python
        raise DataError(f"{option}{path}: a symbolic link that leads to itself") from None


MAX_FILE_SIZE = 10.0
MAX_FILE_SIZE_HELP = "The maximum size of an input file in GB (10^9 bytes)."


def check_regular(path: Path, most: float = float("inf"), option: str = "") -> None:
    """Raise `DataError` for a path that is no regular file, or a file of more than `most` bytes.

    Pipes and devices can block forever or never end. option: that which raises the limit. Missing files pass.
    """
    if not path.exists() or path.is_dir():
        return
    if not path.is_file():
        raise DataError(f"{path}: not a regular file; write its content to a file first")
    if (size := path.stat().st_size) > most:
        raise DataError(f"{path}: {size:,} bytes; the maximum is {most:,.0f}{option and f' ({option})'}")


def check_inputs(names: Iterable[str | Path | None], gigabytes: float) -> None:
    """Apply `check_regular` to each input file that is given. gigabytes: --max_file_size."""
    if not gigabytes > 0:
        raise DataError(f"--max_file_size {gigabytes}: must be above 0")
    for name in names:
        if name and name != "-":
            check_regular(Path(name), gigabytes * 1e9, f"--max_file_size {gigabytes:g}")


@contextmanager
def open_output(name: str) -> Iterator[TextIO]:
    """Open standard output for "-", or a file that is renamed into place once it is complete."""
    if name == "-":
        try:
            with open(sys.stdout.fileno(), "w", encoding="utf-8", newline="", closefd=False) as handle:
                yield handle
        except BrokenPipeError:
            sys.exit()  # the reader, such as head, has closed the pipe
        return
    with replacing(Path(name).resolve()) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        yield handle


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success, flush it to disk and rename it to `path`; on error, delete it."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: not a regular file; choose another name")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)  # left by a killed process, or a link to another file
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def leftovers(path: Path) -> list[Path]:
    """Return what processes that were killed inside `replacing(path)` have left."""
    return [other for other in path.parent.glob(f".{path.name}.*") if other.suffix[1:].isdecimal()]


def flush(path: Path) -> None:
    """Write a file, or the entries of a folder, from the system's memory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot flush folders
            raise
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Delete a file, a folder, or a link without what it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_csv(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    """Write a table, the first row of which is its head. What is no valid text becomes "?"."""
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(rows)
    write_text(path, written.getvalue().encode("utf-8", "replace").decode())


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n")


def read_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises `DataError`, a ValueError, if it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged: {one_line(error)}") from error


def text_digest(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text: 64 bits, which no two of a billion share."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Return the SHA-256 digest of a file, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(2**20):
            digest.update(part)
    return digest.hexdigest()


def rows_digest(rows: Iterable[Iterable[str]]) -> str:
    """Return the SHA-256 digest of rows of equally many texts, in their order."""
    digest = hashlib.sha256()
    for text in chain.from_iterable(rows):
        content = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return digest.hexdigest()


@contextmanager
def complete_folder(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `folder` on success and deleted on error.

    Raises FileExistsError if `folder` exists and is not empty.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} already exists: choose another name or delete it first")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        written = Path(beside) / folder.name
        written.mkdir()
        yield written
        written.replace(folder)
