# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lock and claim the folder of a run before training starts, without losing existing content.

--overwrite sets the existing run aside, in _replaced-1 inside the folder. It is deleted when the new run has saved its
model. Files that no run writes stay where they are.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from ..bridges.model_sources import LINEAR_MODEL, LINEAR_WEIGHTS
from ..sharing.model_files import SAVED, code_files, is_one_of
from ..sharing.run_record import SELF_PRETRAINING, read_run
from ..utils.errors import DataError
from ..utils.files import leftovers, remove
from .layout import (
    ENTRIES,
    LINEAR,
    LOCK_FILE,
    PRETRAINING,
    RECORD,
    SET_ASIDE,
    UNFINISHED,
    entries,
    number_of,
    refusal,
    runs_set_aside,
)
from .resuming import raising_at_sigterm

# What a run writes, beside the code of its model.
WRITTEN = (*SAVED, *(entry.name for entry in ENTRIES))


def check(folder: Path, overwrite: bool, inputs: Sequence[str | None]) -> None:
    """Raise `DataError` if a new run cannot use the folder. Nothing is modified.

    Neither by the rule of `refusal`, nor with links in place of earlier runs, or inputs of the new run in the folder.
    """
    refuse_links(folder, f"{SET_ASIDE}*")
    if reason := refusal(folder, overwrite):
        raise DataError(reason)
    replaces = folder.is_dir() and (entries(folder) or runs_set_aside(folder))
    for name in filter(None, inputs if replaces else ()):
        if folder.resolve() in (Path(name).resolve(), *Path(name).resolve().parents):
            raise DataError(f"--overwrite would delete {name}, which the new run reads; choose another --output_dir")


def claim(folder: Path) -> None:
    """Create the folder for a new run, after `check`. An existing run is set aside."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / RECORD).is_file():
        numbers = count(1 + max(map(number_of, runs_set_aside(folder)), default=0))
        aside = next(path for number in numbers if _is_free(path := folder / f"{SET_ASIDE}{number}"))
        aside.mkdir(exist_ok=True)
        shutil.copyfile(folder / RECORD, aside / RECORD)  # if the process is killed here, both are known to hold a run
        for path in _record_last(_written(folder)):
            path.replace(aside / path.name)
    for path in leftovers(folder / RECORD):
        path.unlink()


def _is_free(aside: Path) -> bool:
    """Return whether nothing is there, or the empty folder that a killed process has left."""
    return not os.path.lexists(aside) or (aside.is_dir() and not aside.is_symlink() and not any(aside.iterdir()))


def delete_set_aside(folder: Path) -> None:
    """Delete the earlier runs, after the new one has saved its model."""
    for aside in runs_set_aside(folder):
        for path in _record_last(aside.iterdir()):
            remove(path)
        aside.rmdir()


def _record_last(paths: Iterable[Path]) -> list[Path]:
    """Sort the record last: a folder in which a process was killed is still known to hold a run."""
    return sorted(paths, key=lambda path: path.name == RECORD)


def _written(folder: Path) -> list[Path]:
    """Return the files and folders in the folder that its run has written."""
    code: list[str] = []
    with suppress(ValueError):
        code = code_files(folder)
    code += [PRETRAINING] * has_pretraining(folder)
    names = [path for path in entries(folder) if path.name in (*code, UNFINISHED) or is_one_of(path.name, WRITTEN)]
    is_of_user = {path.name for path in (folder / LINEAR).glob("*")} - {LINEAR_MODEL, LINEAR_WEIGHTS}
    return [path for path in names if not (path.name == LINEAR and is_of_user)]


def has_pretraining(folder: Path) -> bool:
    """Return whether a run began with pretraining. Another folder of this name is not its."""
    try:
        return bool(read_run(folder).get(SELF_PRETRAINING))
    except DataError:
        return False


def refuse_links(folder: Path, pattern: str = "*") -> None:
    """Raise `DataError` if files of a run are links: it would write to, or delete, what they point to."""
    links = [path for path in folder.glob(pattern) if path.is_symlink() and not path.name.startswith("checkpoint-")]
    if links:
        raise DataError(f"{links[0]}: a link, through which the run would write; remove it")


def alone(program: Callable[..., None]) -> Callable[..., None]:
    """Decorate a program to lock its output folder. Its last argument must be a transformers.TrainingArguments.

    Raises `DataError` if another run holds the lock. In a distributed run, only the saving process takes the lock.
    """

    @wraps(program)
    def run(*arguments: object) -> None:
        training = arguments[-1]
        if not getattr(training, "should_save", False):
            return program(*arguments)
        folder = Path(getattr(training, "output_dir", None) or "")
        with locked(folder):
            try:
                with raising_at_sigterm():
                    program(*arguments)
            except BaseException:
                for aside in runs_set_aside(folder):
                    print(f"{folder}: the earlier run is in {aside.name}", file=sys.stderr)
                raise

    return run


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder, creating it if needed. A newly created folder is removed if it is empty at the end.

    Raises `DataError` if another process holds the lock, or if its file may be somebody's. The lock is an empty file.
    """
    if reason := refusal(folder, overwrites=True, is_new=False):
        raise DataError(reason)
    is_new, lock = not folder.exists(), folder / LOCK_FILE
    folder.mkdir(parents=True, exist_ok=True)
    if lock.is_symlink() or lock.is_dir() or (lock.is_file() and lock.stat().st_size):
        raise DataError(f"{lock}: not an empty file, as a lock is; move it, unless another run uses the folder")
    try:
        with FileLock(lock, timeout=0):
            try:
                yield
            finally:
                with suppress(OSError):  # Windows keeps open files
                    lock.unlink()
    except Timeout:
        reason = "in use by another run; wait for it, stop it or choose another folder"
        raise DataError(f"--output_dir {folder}: {reason}") from None
    finally:
        if is_new:
            with suppress(OSError):  # not empty: there was a run
                folder.rmdir()
