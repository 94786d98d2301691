# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which folder a new run may use.

Only the standard library, and no other module of ours: `modeling-scratch` asks before it imports anything.
"""

from os.path import lexists
from pathlib import Path

RECORD = "run_config.json"
ALL_RESULTS = "all_results.json"
PRETRAINING = "pretraining"  # the folder of the first stage in that of a classifier
LOCK_FILE = "_lock"  # Trainer does not push files whose names start with an underscore
SET_ASIDE = "_replaced-"  # begins the name of a folder of an earlier run


def refusal(folder: Path, overwrites: bool, is_new: bool = True) -> str | None:
    """Return why a run cannot use the folder; None if it can. is_new: False for a run that continues there."""
    if lexists(folder) and not folder.is_dir():
        return f"--output_dir {folder}: this is a file, or a link to none, and not a folder"
    held, earlier = (entries(folder), runs_set_aside(folder)) if is_new and folder.is_dir() else ([], [])
    if not held and not earlier:
        return None
    if held and not (folder / RECORD).is_file():
        return f"--output_dir {folder} holds files that do not belong to a run; choose another folder"
    if overwrites:
        return None
    aside = f" (the earlier run is in {earlier[-1].name})" if earlier else ""
    begun = any(folder.glob("checkpoint-*")) or any(folder.glob(f"{PRETRAINING}/{RECORD}"))
    what = f"another run{aside};"
    if begun and not (folder / ALL_RESULTS).is_file():
        what = f"an unfinished run{aside}; continue it with --resume_from_checkpoint last,"
    return f"--output_dir {folder} holds {what} choose another folder, or replace it with --overwrite"


def entries(folder: Path) -> list[Path]:
    """Return the content of the folder, without the lock, earlier runs, and a record that was not written in full."""
    ours = {folder / LOCK_FILE, *runs_set_aside(folder)}
    ours |= {path for path in folder.glob(f".{RECORD}.*") if path.suffix[1:].isdecimal()}
    return [path for path in folder.iterdir() if path not in ours]


def runs_set_aside(folder: Path) -> list[Path]:
    """Return the earlier runs that were set aside for the one in the folder, oldest first."""
    paths = (path for path in folder.glob(f"{SET_ASIDE}*") if (path / RECORD).is_file() and not path.is_symlink())
    return sorted((path for path in paths if path.name[len(SET_ASIDE) :].isdecimal()), key=number_of)


def number_of(aside: Path) -> int:
    return int(aside.name.removeprefix(SET_ASIDE))
