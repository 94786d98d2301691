# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lock and claim the folder of a run before training starts, without losing existing content."""

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..sharing.run_record import RUN_FILE, read_run, settings_of
from ..utils.errors import DataError

LOCK_FILE = "_lock"  # Trainer does not push files whose names start with an underscore
FIXED = ("layer_decay",)  # determines the optimizer's parameter groups, and so its state


def check(folder: Path, overwrite: bool, inputs: Sequence[str | None]) -> None:
    """Raise `DataError` if a new run cannot use the folder. Nothing is modified.

    The folder must not hold another run (without `overwrite`), unrelated files, or inputs of the new run.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"--output_dir {folder}: this is a file, not a folder")
    if not folder.is_dir() or not _entries(folder):
        return
    if not (folder / RUN_FILE).is_file():
        raise DataError(f"--output_dir {folder} holds files that do not belong to a run; choose another folder")
    if not overwrite:
        is_over = (folder / "all_results.json").is_file() or not any(folder.glob("checkpoint-*"))
        held = "another run;" if is_over else "an unfinished run; continue it with --resume_from_checkpoint last,"
        raise DataError(f"--output_dir {folder} holds {held} choose another folder, or delete the run with --overwrite")
    for name in filter(None, inputs):
        if folder.resolve() in (Path(name).resolve(), *Path(name).resolve().parents):
            raise DataError(f"--overwrite would delete {name}, which the new run reads; choose another --output_dir")


def claim(folder: Path) -> None:
    """Create or empty the folder for a new run, after `check`."""
    if (folder / RUN_FILE).is_file():
        for path in _entries(folder):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.mkdir(parents=True, exist_ok=True)


def _entries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != LOCK_FILE]


def check_unchanged(folder: Path, groups: Mapping[str, Any], fixed: Collection[str] = FIXED) -> None:
    """Raise `DataError` if the arguments of a continued run differ from its recorded ones.

    groups: the argument dataclasses under their names in run_config.json, as for `write_run`. Of the group "training",
    only the `fixed` arguments are compared.
    """
    record = read_run(folder)
    changes = [
        f"--{name} was {record[group][name]!r} and is {value!r}"
        for group, arguments in groups.items()
        for name, value in settings_of(arguments).items()
        if (group != "training" or name in fixed) and not _agree(record.get(group, {}).get(name, value), value)
    ]
    if changes:
        raise DataError(
            f"cannot continue the run in {folder}: {'; '.join(changes)}; restore these arguments, "
            "or choose another --output_dir for a new run"
        )


def _agree(old: Any, new: Any) -> bool:
    """Compare values as recorded: of an absolute path, the record keeps only the last component."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_agree, old, new))
    if isinstance(old, str) and isinstance(new, str):
        return old == new or old == Path(new).name or Path(old).name == new
    return old == new


def alone(program: Callable[..., None]) -> Callable[..., None]:
    """Decorate a program to lock its output folder. Its last argument must be a transformers.TrainingArguments.

    Raises `DataError` if another run holds the lock. In a distributed run, only the saving process takes the lock.
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
    """Lock the folder, creating it if needed. A newly created folder is removed if it is empty at the end."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"--output_dir {folder}: this is a file, not a folder")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / LOCK_FILE, timeout=0):
            try:
                yield
            finally:
                with suppress(OSError):  # Windows keeps open files
                    (folder / LOCK_FILE).unlink()
    except Timeout:
        reason = "in use by another run; wait for it, stop it or choose another folder"
        raise DataError(f"--output_dir {folder}: {reason}") from None
    finally:
        if is_new:
            with suppress(OSError):  # not empty: there was a run
                folder.rmdir()
