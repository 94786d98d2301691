# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The folder of a run: claimed before work starts, written piece by piece, never at the cost of what stood there."""

import json
import os
import platform
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hardware import describe_hardware
from run_lock import LOCK_FILE
from text_files import DataError
from transformers import Trainer, TrainingArguments

RUN_FILE = "run_config.json"
ON_THE_HUB = ("model_name_or_path", "dataset_name")  # arguments whose value may be a name there, or a path here
# Arguments that say nothing of a run, but of one of its starts.
OF_ONE_START = ("resume_from_checkpoint", "overwrite", "output_dir", "run_name", "logging_dir")
FIXED = ("layer_decay",)  # the state of an optimizer is one of its groups
PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "scikit-learn", "sacrebleu")


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


def train_and_save(trainer: Trainer, checkpoint: str | None, evaluates: bool = True) -> None:
    """Train, from the checkpoint on if there is one; the model, its scores and its history in the folder of the run."""
    result = trainer.train(resume_from_checkpoint=checkpoint)
    trainer.save_model(_internal_call=True)  # pushed, where that is wanted, once the scores are there
    trainer.save_metrics("train", result.metrics)
    if evaluates:
        trainer.save_metrics("eval", trainer.evaluate())
    trainer.save_state()


def write_text(path: Path, text: str) -> None:
    """All of it or nothing: written beside, then renamed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def without_paths(value: Any) -> Any:
    """Settings to share: of an absolute path only the last name, which tells no stranger whose machine it was."""
    if isinstance(value, Mapping):
        return {name: without_paths(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(one) for one in value]
    is_path = isinstance(value, str) and Path(value).is_absolute()
    return Path(value).name or value if is_path else value


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n")


def write_run(folder: Path, program: str, groups: Mapping[str, Any], notes: Sequence[str], **record: Any) -> None:
    """run_config.json: all arguments of the run, given or not, what they were applied to, and by which versions.

    groups: dataclasses of arguments, of which "training" are transformers.TrainingArguments. Where a run goes on, those
    of them that have changed are kept with their earlier values, a mapping for each time it was resumed.
    """
    settings: dict[str, Any] = {name: _settings(group) for name, group in groups.items()}
    if earlier := _read_run(folder):
        changed = dict(sorted(earlier["training"].items() - settings["training"].items()))
        settings["training_before_it_was_resumed"] = [*earlier.get("training_before_it_was_resumed", []), changed]
        if told := changed_settings(settings):
            print(f"goes on with other settings; before: {told}")
    shared_notes = [" ".join(map(without_paths, note.split(" "))) for note in notes]
    where = {"on_the_hub": _on_the_hub(groups), "environment": environment(), "hardware": _hardware(groups)}
    write_json(folder / RUN_FILE, {"program": program, **settings, **record, "notes": shared_notes, **where})


def changed_settings(record: Mapping[str, Any]) -> str:
    """Of a run that was resumed, the arguments that were others before, with the value of each time."""
    times = record.get("training_before_it_was_resumed", [])
    told = {name: [str(time[name]) for time in times if name in time] for time in times for name in time}
    return ", ".join(f"{name} {', then '.join(told[name])}" for name in sorted(told) if name not in OF_ONE_START)


def _read_run(folder: Path) -> dict[str, Any]:
    path = folder / RUN_FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _settings(group: Any) -> dict[str, Any]:
    """Arguments as run_config.json records them."""
    return without_paths(group.to_sanitized_dict() if isinstance(group, TrainingArguments) else asdict(group))


def _on_the_hub(groups: Mapping[str, Any]) -> dict[str, str]:
    """Arguments that name something there: no path here does, and a name without its path would look the same."""
    named = [(name, getattr(group, name, None)) for group in groups.values() for name in ON_THE_HUB]
    return {name: value for name, value in named if value and not Path(value).exists()}


def _hardware(groups: Mapping[str, Any]) -> str | None:
    if (training := groups.get("training")) is None:
        return None
    return describe_hardware(training.device, max(training.world_size, training.n_gpu))


def environment() -> dict[str, str]:
    """Versions of what computes, for the record of a run."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
