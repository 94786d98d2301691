# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checkpoints of a run: sealed when complete, verified before use, and averaged.

A seal is the file manifest.json, written last, with the size and the SHA-256 of each other file. An interrupted
checkpoint has none; a damaged one does not match it.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformers import TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from transformers.utils import SAFE_WEIGHTS_NAME

from ..sharing.run_record import RUN_FILE
from ..utils.errors import DataError, one_line
from ..utils.files import file_digest, write_json

MANIFEST = "manifest.json"


def checkpoint_to_resume(arguments: TrainingArguments) -> str | None:
    """The checkpoint to go on from, which has to be a complete one of the run in the output folder; "last" finds it."""
    wanted, output = arguments.resume_from_checkpoint, Path(arguments.output_dir or "")
    if not wanted or wanted.lower() == "false":
        return None
    found = checkpoints_in(output) if (output / RUN_FILE).is_file() else []
    if wanted.lower() in ("true", "last"):
        return str(_last_complete(found, output))
    if Path(wanted).resolve() not in [checkpoint.resolve() for checkpoint in found]:
        raise DataError(f"--resume_from_checkpoint {wanted}: this is no checkpoint of a run in {output}")
    if fault := check_checkpoint(Path(wanted)):
        raise DataError(
            f"--resume_from_checkpoint {wanted}: {fault}; to go on from the last that is complete: "
            "--resume_from_checkpoint last"
        )
    return wanted


def _last_complete(checkpoints: list[Path], output: Path) -> Path:
    for checkpoint in reversed(checkpoints):
        if (fault := check_checkpoint(checkpoint)) is None:
            return checkpoint
        print(f"WARNING: {checkpoint} is passed over: {fault}", file=sys.stderr)
    raise DataError(
        f"--resume_from_checkpoint: there is no checkpoint of a run in {output}, or none that is complete; "
        "start anew with --overwrite, or in another --output_dir"
    )


def check_best(output: Path, resumed: Path) -> None:
    """Raises `DataError` where a run that goes on could not take, at its end, the best of its checkpoints so far."""
    state = resumed / TRAINER_STATE_NAME
    recorded = TrainerState.load_from_json(str(state)).best_model_checkpoint if state.is_file() else None
    if recorded and (fault := check_checkpoint(best := output / Path(recorded).name)):
        raise DataError(
            f"{best}, the best checkpoint of the run up to {resumed}, cannot be taken: {fault}; resume from a "
            "checkpoint before it, or keep the last weights: with --eval_strategy no, without --early_stopping_patience"
        )


def set_aside(checkpoint: Path) -> None:
    """Sealed checkpoints of this step and later ones, of a run that has gone back since, get another name.

    Else "last" and averages would take them for checkpoints of the run that is about to save this one.
    """
    for other in checkpoints_in(checkpoint.parent):
        if step_of(other) >= step_of(checkpoint) and (other / MANIFEST).is_file():
            kept = other.with_name(f"_{other.name}")
            while kept.exists():
                kept = kept.with_name(f"_{kept.name}")
            other.rename(kept)
            print(f"{other} is called {kept.name} from now on: the run had gone back to before it", file=sys.stderr)


def forget_folder(state: Path) -> None:
    """Of the best checkpoint its name alone: a pushed state tells nobody where a run stood."""
    content = json.loads(state.read_text(encoding="utf-8"))
    if best := content.get("best_model_checkpoint"):
        write_json(state, {**content, "best_model_checkpoint": Path(best).name})


def checkpoints_in(folder: Path) -> list[Path]:
    """All that look like one, in the order of their steps."""
    paths = folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*")
    return sorted((path for path in paths if path.name.rpartition("-")[2].isdecimal()), key=lambda path: step_of(path))


def step_of(checkpoint: str | Path | None) -> int:
    """The step that a checkpoint was saved at; 0 where there is none."""
    return int(Path(checkpoint).name.rpartition("-")[2]) if checkpoint else 0


def checkpoint_at(arguments: TrainingArguments, step: int) -> Path:
    return Path(arguments.output_dir or "") / f"{PREFIX_CHECKPOINT_DIR}-{step}"


def seal(checkpoint: Path, is_extra: bool = False) -> None:
    """Say that a checkpoint is whole, when all of it has reached the disk.

    is_extra: it was saved because the run was stopped, at a step at which a run that is not would have saved none.
    """
    files = {}
    for path in sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name != MANIFEST):
        _to_disk(path)
        files[path.relative_to(checkpoint).as_posix()] = {"size": path.stat().st_size, "sha256": file_digest(path)}
    write_json(checkpoint / MANIFEST, {"files": files, "is_extra": is_extra})
    _to_disk(checkpoint / MANIFEST)
    _to_disk(checkpoint)


def check_checkpoint(checkpoint: Path) -> str | None:
    """What is wrong with a checkpoint; None where it is byte for byte as it was sealed."""
    if not checkpoint.is_dir():
        return "there is no such folder"
    try:
        for name, written in _manifest(checkpoint)["files"].items():
            path = checkpoint / name
            if not path.is_file():
                return f"it is not complete, {name} is missing"
            if (size := path.stat().st_size) != written["size"]:
                return f"it is not complete, {name} has {size:,} of {written['size']:,} bytes"
            if file_digest(path) != written["sha256"]:
                return f"it is damaged, {name} is not what was written"
    except FileNotFoundError:
        return f"it is not complete, the run was stopped while it was written (there is no {MANIFEST})"
    except (ValueError, TypeError, LookupError, AttributeError, OSError):
        return f"it is damaged, {MANIFEST} cannot be read"
    return None


def is_regular(checkpoint: Path) -> bool:
    """Whether it is sealed, and was saved because its turn had come; its files are not looked at."""
    try:
        return not _manifest(checkpoint)["is_extra"]
    except (ValueError, TypeError, LookupError, OSError):
        return False


def _manifest(checkpoint: Path) -> Any:
    return json.loads((checkpoint / MANIFEST).read_text(encoding="utf-8"))


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Where a folder cannot be written to its end, nothing is left of it: what is half there helps nobody.

    Raises `DataError` then, whatever the writers of weights and states call a disk that is full.
    """
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        free = shutil.disk_usage(folder.parent).free
        raise DataError(
            f"{folder} could not be saved: {one_line(error)}; {free / 1e6:,.0f} MB are free there. The checkpoints "
            "before it are as they were: make room, and go on with --resume_from_checkpoint last"
        ) from error


@contextmanager
def reading(checkpoint: str | None) -> Iterator[None]:
    """Pickles that hold more than tensors and plain values are refused by torch.load, in many words of its own."""
    try:
        yield
    except Exception as error:  # of safetensors, torch.load and load_state_dict: open-ended
        raise DataError(
            f"{checkpoint} cannot be read, and nothing of it was run: {one_line(error)[:300]}; resume from another "
            "checkpoint, or start anew"
        ) from error


def last_checkpoints(folder: Path, number: int) -> list[Path]:
    """The newest checkpoints of a run, oldest first; fewer where there are fewer; none that a stop has left."""
    return [checkpoint for checkpoint in checkpoints_in(folder) if is_regular(checkpoint)][-number:]


def average_weights(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """Name -> mean over the checkpoints, computed in float32; they have to hold the same names and shapes."""
    total: dict[str, Tensor] = {}
    for checkpoint in checkpoints:
        with safe_open(checkpoint / SAFE_WEIGHTS_NAME, framework="pt") as file:
            if total and set(file.keys()) != total.keys():
                raise DataError(f"{checkpoint} holds other weights than {checkpoints[0]}: not of the same run")
            for name in file.keys():  # noqa: SIM118 (it is no dictionary)
                weight = file.get_tensor(name)
                total[name] = total[name] + weight.float() if name in total else weight.float()
    return {name: weight / len(checkpoints) for name, weight in total.items()}


def load_weights(model: torch.nn.Module, weights: dict[str, Tensor]) -> None:
    """Into a model whose tied weights a checkpoint stores once."""
    missing, unexpected = model.load_state_dict(weights, strict=False)
    tied = getattr(model, "all_tied_weights_keys", {})
    if unexpected or set(missing) - set(tied):
        raise DataError(f"the checkpoint lacks {sorted(set(missing) - set(tied))} and holds {unexpected} too much")
