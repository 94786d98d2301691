# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The folder of a run: locked, and claimed before work starts, never at the cost of what it holds."""

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..sharing.run_record import RUN_FILE, _read_run, _settings
from ..utils.errors import DataError

LOCK_FILE = "_lock"  # Trainer pushes the folder of a run without files of such names
FIXED = ("layer_decay",)  # the state of an optimizer is one of its groups


def check(folder: Path, overwrite: bool, inputs: Sequence[str | None]) -> None:
    """Say why a new run cannot have the folder; nothing is touched yet.

    It holds another run, or something that is no run at all, or one of the inputs that the new run would read.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"--output_dir {folder}: this is a file, and has to be a folder")
    if not folder.is_dir() or not _entries(folder):
        return
    if not (folder / RUN_FILE).is_file():
        raise DataError(f"--output_dir {folder} holds files that are no run of this program; choose another folder")
    if not overwrite:
        is_over = (folder / "all_results.json").is_file() or not any(folder.glob("checkpoint-*"))
        held = "another run;" if is_over else "a run that did not end; go on with --resume_from_checkpoint last,"
        raise DataError(f"--output_dir {folder} holds {held} choose another folder, or --overwrite to delete it")
    for name in filter(None, inputs):
        if folder.resolve() in (Path(name).resolve(), *Path(name).resolve().parents):
            raise DataError(f"--overwrite would delete {name}, which the new run reads; choose another --output_dir")


def claim(folder: Path) -> None:
    """An empty folder for a new run, which `check` has allowed."""
    if (folder / RUN_FILE).is_file():
        for path in _entries(folder):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.mkdir(parents=True, exist_ok=True)


def _entries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != LOCK_FILE]


def check_unchanged(folder: Path, groups: Mapping[str, Any], fixed: Collection[str] = FIXED) -> None:
    """Say which arguments are others than those that the run in the folder, which is to go on, was started with.

    groups: the dataclasses of arguments under the names of run_config.json, as `write_run` takes them; how it trains
    ("training") may change, except for what is fixed.
    """
    record = _read_run(folder)
    changes = [
        f"--{name} was {record[group][name]!r} and is {value!r}"
        for group, arguments in groups.items()
        for name, value in _settings(arguments).items()
        if (group != "training" or name in fixed) and not _agree(record.get(group, {}).get(name, value), value)
    ]
    if changes:
        raise DataError(
            f"this would go on with the run in {folder}, but {'; '.join(changes)}; give what it was "
            "started with, or another --output_dir to a new run"
        )


def _agree(old: Any, new: Any) -> bool:
    """Whether values are equal as far as a record tells, which has the last name alone of an absolute path."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_agree, old, new))
    if isinstance(old, str) and isinstance(new, str):
        return old == new or old == Path(new).name or Path(old).name == new
    return old == new


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
    """The folder is made for the lock; if it was new and is empty at the end, it is removed."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"--output_dir {folder}: this is a file, and has to be a folder")
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
        reason = "another run is writing there; wait for it, stop it, or choose another folder"
        raise DataError(f"--output_dir {folder}: {reason}") from None
    finally:
        if is_new:
            with suppress(OSError):  # not empty: there was a run
                folder.rmdir()
