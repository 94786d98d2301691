# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The folder of a run: claimed before work starts, written piece by piece, never at the cost of what stood there."""

import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from text_files import DataError
from transformers import TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

RUN_FILE = "run_config.json"
PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "scikit-learn", "sacrebleu")


def check(folder: Path, overwrite: bool, inputs: Sequence[str | None]) -> None:
    """Say why a new run cannot have the folder; nothing is touched yet.

    It holds another run, or something that is no run at all, or one of the inputs that the new run would read.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"--output_dir {folder}: this is a file, and has to be a folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / RUN_FILE).is_file():
        raise DataError(f"--output_dir {folder} holds files that are no run of this program; choose another folder")
    if not overwrite:
        raise DataError(f"--output_dir {folder} holds another run; choose another folder, or --overwrite to delete it")
    for name in filter(None, inputs):
        if folder.resolve() in (Path(name).resolve(), *Path(name).resolve().parents):
            raise DataError(f"--overwrite would delete {name}, which the new run reads; choose another --output_dir")


def claim(folder: Path) -> None:
    """An empty folder for a new run, which `check` has allowed."""
    if folder.is_dir() and (folder / RUN_FILE).is_file():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)


def checkpoint_to_resume(arguments: TrainingArguments) -> str | None:
    """The checkpoint to go on from, which has to be one of the run in the output folder; "last" finds it."""
    wanted, output = arguments.resume_from_checkpoint, Path(arguments.output_dir or "")
    if not wanted or wanted.lower() == "false":
        return None
    last = get_last_checkpoint(str(output)) if (output / RUN_FILE).is_file() else None
    if last is None:
        raise DataError(f"--resume_from_checkpoint: there is no checkpoint of a run in {output}; leave it out")
    if wanted.lower() in ("true", "last"):
        return last
    if Path(wanted).resolve().parent != output.resolve() or not Path(wanted).is_dir():
        raise DataError(f"--resume_from_checkpoint {wanted}: this is no checkpoint in {output}; the last is {last}")
    return wanted


def write_text(path: Path, text: str) -> None:
    """All of it or nothing: written beside, then renamed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def without_paths(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings to share: of an absolute path only the last name, which tells no stranger whose machine it was."""
    return {
        name: Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
        for name, value in settings.items()
    }


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n")


def write_run(folder: Path, program: str, groups: Mapping[str, Any], **record: Any) -> None:
    """run_config.json: all arguments of the run, given or not, what they were applied to, and by which versions."""
    settings = {
        name: without_paths(asdict(group) if name != "training" else group.to_sanitized_dict())
        for name, group in groups.items()
    }
    write_json(folder / RUN_FILE, {"program": program, **settings, **record, "environment": environment()})


def environment() -> dict[str, str]:
    """Versions of what computes, for the record of a run."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
