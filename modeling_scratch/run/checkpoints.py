# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checkpoints of a run: sealed when complete, and verified before use.

The seal is manifest.json, written last, with the size and SHA-256 of each other file. An interrupted checkpoint lacks
it; a damaged one does not match it.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError
from transformers import TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ..utils.errors import DataError, one_line
from ..utils.files import file_digest, flush, read_json, remove, write_json
from .layout import MANIFEST, RECORD


def resumes(arguments: TrainingArguments) -> bool:
    return (arguments.resume_from_checkpoint or "").lower() not in ("", "false")


def checkpoint_to_resume(arguments: TrainingArguments) -> str | None:
    """Return the checkpoint to resume from: a complete checkpoint of the run in the output folder, or None."""
    name, output = arguments.resume_from_checkpoint or "", Path(arguments.output_dir or "")
    if not resumes(arguments):
        return None
    checkpoints = checkpoints_in(output)
    if checkpoints and not (output / RECORD).is_file():
        raise DataError(f"--resume_from_checkpoint: {output / RECORD} is missing; restore it from a copy")
    if name.lower() in ("true", "last"):
        for checkpoint in reversed(checkpoints):
            if (fault := check_checkpoint(checkpoint)) is None:
                return str(checkpoint)
            print(f"WARNING: {checkpoint} is skipped: {fault}", file=sys.stderr)
        raise DataError(
            f"--resume_from_checkpoint: no complete checkpoint of a run in {output}; "
            "leave the option out to start one, with --overwrite if the folder has files of another"
        )
    if Path(name).resolve() not in [checkpoint.resolve() for checkpoint in checkpoints]:
        raise DataError(f"--resume_from_checkpoint {name}: not a checkpoint of a run in {output}")
    if fault := check_checkpoint(Path(name)):
        raise DataError(f"--resume_from_checkpoint {name}: {fault}; to resume from the last complete one, give last")
    return name


def check_best(output: Path, resumed: Path) -> None:
    """Raise `DataError` if a resumed run could not load its best checkpoint so far at the end."""
    state = resumed / TRAINER_STATE_NAME
    recorded = TrainerState.load_from_json(str(state)).best_model_checkpoint if state.is_file() else None
    if recorded and (fault := check_checkpoint(best := output / Path(recorded).name)):
        raise DataError(
            f"the best checkpoint up to {resumed}, {best}, cannot be loaded: {fault}; resume from an earlier "
            "checkpoint, or keep the last weights: --eval_strategy no, without --early_stopping_patience"
        )


def set_aside(checkpoint: Path) -> None:
    """Rename sealed checkpoints of this and later steps, left by a run that has since resumed from an earlier one.

    Otherwise "last" would be one of them.
    """
    for other in checkpoints_in(checkpoint.parent):
        if step_of(other) >= step_of(checkpoint) and is_sealed(other):
            kept = other.with_name(f"_{other.name}")
            while kept.exists():
                kept = kept.with_name(f"_{kept.name}")
            other.rename(kept)
            print(f"{other} renamed to {kept.name}: the run resumed from an earlier step", file=sys.stderr)


def checkpoints_in(folder: Path) -> list[Path]:
    """Return the folders named like checkpoints, in the order of their steps."""
    paths = folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*")
    numbered = [path for path in paths if path.name.rpartition("-")[2].isdecimal()]
    return sorted((path for path in numbered if path.name.endswith(f"-{step_of(path)}")), key=step_of)  # not 004


def step_of(checkpoint: str | Path | None) -> int:
    """Return the step of a checkpoint; 0 for None."""
    return int(Path(checkpoint).name.rpartition("-")[2]) if checkpoint else 0


def checkpoint_at(arguments: TrainingArguments, step: int) -> Path:
    return Path(arguments.output_dir or "") / f"{PREFIX_CHECKPOINT_DIR}-{step}"


def delete_checkpoints(folder: Path) -> None:
    for checkpoint in checkpoints_in(folder):
        remove(checkpoint)


def has_checkpoint(arguments: TrainingArguments) -> bool:
    """Return whether the run in the output folder has a complete checkpoint."""
    checkpoints = reversed(checkpoints_in(Path(arguments.output_dir or "")))
    return any(check_checkpoint(checkpoint) is None for checkpoint in checkpoints)


def seal(checkpoint: Path) -> None:
    """Mark a checkpoint as complete, after flushing its files to disk."""
    files = {}
    for path in sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name != MANIFEST):
        flush(path)
        files[path.relative_to(checkpoint).as_posix()] = {"size": path.stat().st_size, "sha256": file_digest(path)}
    write_json(checkpoint / MANIFEST, {"files": files})


def is_sealed(checkpoint: Path) -> bool:
    """Return whether a checkpoint was completed. Its files are not verified."""
    return (checkpoint / MANIFEST).is_file()


def check_checkpoint(checkpoint: Path) -> str | None:
    """Return what is wrong with a checkpoint, or None if it matches its seal byte for byte."""
    if not checkpoint.is_dir():
        return "folder not found"
    try:
        for name, written in read_json(checkpoint / MANIFEST)["files"].items():
            path = checkpoint / name
            if not path.is_file():
                return f"incomplete, {name} is missing"
            if (size := path.stat().st_size) != written["size"]:
                return f"incomplete, {name} has {size:,} of {written['size']:,} bytes"
            if file_digest(path) != written["sha256"]:
                return f"damaged, {name} does not match its checksum"
    except FileNotFoundError:
        return f"incomplete, the run was stopped while writing it (no {MANIFEST})"
    except (ValueError, TypeError, LookupError, AttributeError, OSError):
        return f"damaged, {MANIFEST} cannot be read"
    return None


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Delete the folder if writing to it fails, and raise `DataError`.

    The writers of weights and states report a full disk by different error types.
    """
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        free = shutil.disk_usage(folder.parent).free
        remedy = "start the run again, with --overwrite"
        if any(map(is_sealed, checkpoints_in(folder.parent))):
            remedy = "resume with --resume_from_checkpoint last: earlier checkpoints are unchanged"
        fault = f"{one_line(error)}; {free / 1e6:,.0f} MB are free"
        raise DataError(f"{folder} could not be saved: {fault}; free disk space, then {remedy}") from error


def delete_unsealed(folder: Path) -> None:
    """Delete checkpoints that were never completed."""
    for checkpoint in checkpoints_in(folder):
        if not is_sealed(checkpoint):
            remove(checkpoint)


def move_all(source: Path, target: Path) -> None:
    """Replace the files of a folder by those of another one, which is removed."""
    for path in source.iterdir():
        if path.is_dir():
            remove(target / path.name)
        path.replace(target / path.name)
    source.rmdir()
