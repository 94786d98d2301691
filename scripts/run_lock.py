# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One run in a folder at a time: a lock that the system drops when its process ends, however it ends."""

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TextIO

from text_files import DataError

LOCK_FILE = "_lock"  # Trainer pushes the folder of a run without files of such names


def alone(program: Callable[..., None]) -> Callable[..., None]:
    """A program, whose last argument is transformers.TrainingArguments, that has its output folder to itself.

    Raises `DataError` where another process runs there. Of several processes of one run, the one that saves counts.
    """

    @wraps(program)
    def run(*arguments: object) -> None:
        training = arguments[-1]
        if not getattr(training, "should_save", False):
            return program(*arguments)
        with locked(Path(getattr(training, "output_dir", None) or "")):
            program(*arguments)

    return run


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder is made for the lock; where nothing else has come into it at the end, it goes again."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"--output_dir {folder}: this is a file, and has to be a folder")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _lock_file(folder):
            yield
    finally:
        if is_new:
            with suppress(OSError):  # not empty: there was a run
                folder.rmdir()


@contextmanager
def _lock_file(folder: Path) -> Iterator[None]:
    """Removed while it is still locked: who has waited for it finds that it is not the file of that name any more."""
    path = folder / LOCK_FILE
    file = _take(path, folder)
    while not (path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())):
        file.close()
        file = _take(path, folder)
    with file:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _take(path: Path, folder: Path) -> TextIO:
    file = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        process = file.read().strip() or "unknown"
        file.close()
        raise DataError(
            f"--output_dir {folder}: another run is writing there (process {process}); wait for it, stop it, or choose "
            "another folder"
        ) from None
    except OSError as error:
        print(f"WARNING: {path} cannot be locked ({error.strerror}): start no other run there", file=sys.stderr)
    return file
