# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The record of a run, run_config.json: arguments, data, versions and hardware.

It contains no host name and no absolute path, so that it can be shared.
"""

import os
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import TrainingArguments

from ..run.layout import RECORD
from ..utils.errors import DataError, counted
from ..utils.files import read_json, write_json

CPU_INFO = Path("/proc/cpuinfo")  # Linux; elsewhere `platform` names the processor


def describe_hardware(device: torch.device, processes: int = 1) -> str:
    """Return, e.g., "2 × NVIDIA H200, AMD EPYC with 16 cores" or "AMD EPYC with 2 cores, 1 thread"."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    lines = CPU_INFO.read_text(encoding="utf-8").splitlines() if CPU_INFO.is_file() else []
    names = (value for key, _, value in (line.partition(":") for line in lines) if key.strip() == "model name")
    name = " ".join(next(names, platform.processor() or platform.machine()).split())
    cpu = f"{name} with {counted(cores, 'core')}"
    if device.type == "cpu":
        each = f" in each of {processes} processes" if processes > 1 else ""
        return f"{cpu}, {counted(torch.get_num_threads(), 'thread')}{each}"
    accelerator = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type.upper()
    return (f"{processes} × " if processes > 1 else "") + f"{accelerator}, {cpu}"


DIGESTS = "data_digests"
SELF_PRETRAINING, DEFAULTS = "self_pretraining", "defaults"  # of a classifier: its first stage, and what was chosen
BEFORE, UNTIL = "training_before_it_was_resumed", "until_step"
ON_THE_HUB = ("model_name_or_path", "dataset_name")  # arguments that hold a Hub name or a local path

# Arguments of a single start rather than of the run, and one that earlier versions had.
OF_ONE_START = ("resume_from_checkpoint", "overwrite", "output_dir", "run_name", "logging_dir", "texts_in_card")
PACKAGES = ("torch", "numpy", "transformers", "tokenizers", "datasets", "accelerate", "scikit-learn", "sacrebleu")


def without_paths(value: Any) -> Any:
    """Reduce absolute paths in settings to their last component, so that a shared record reveals no local paths."""
    if isinstance(value, Mapping):
        return {name: without_paths(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(one) for one in value]
    is_path = isinstance(value, str) and Path(value).is_absolute()
    return Path(value).name or value if is_path else value


def write_run(
    folder: Path, program: str, groups: Mapping[str, Any], notes: Sequence[str], resumed_at: int = 0, **record: Any
) -> None:
    """Write run_config.json: all arguments, notes on the data, versions and hardware.

    groups: argument dataclasses; "training" is a transformers.TrainingArguments. For a run resumed at a step, the
    record keeps what was different until then, training arguments, versions and hardware: one mapping per resumption.
    """
    settings: dict[str, Any] = {name: settings_of(group) for name, group in groups.items()}
    training = groups.get("training")
    hardware = training and describe_hardware(training.device, max(training.world_size, training.n_gpu))
    where = {"environment": environment(), "hardware": hardware}
    if earlier := read_run(folder, groups):
        changed = _changed(earlier["training"], settings["training"])
        changed = {name: value for name, value in changed.items() if value is not None}  # else it is decided only now
        moved = _changed(_machine(earlier), _machine(where))
        until = {UNTIL: resumed_at} if resumed_at else {}
        until_then = {**changed, **moved, **until}
        if times := [*earlier.get(BEFORE, []), *([until_then] if until_then else [])]:
            settings[BEFORE] = times
        if told := [f"{name} {value}" for name, value in {**changed, **moved}.items() if name not in OF_ONE_START]:
            print(f"resuming with changed settings; before: {', '.join(told)}")
        if moved:
            print(f"other {', '.join(moved)}: the weights may not be bit for bit those of an uninterrupted run")
    shared_notes = [" ".join(map(without_paths, note.split(" "))) for note in notes]
    named = [(name, getattr(group, name, None)) for group in groups.values() for name in ON_THE_HUB]
    # Reduced local paths would be indistinguishable from names on the Hub.
    on_the_hub = {name: value for name, value in named if value and not Path(value).exists()}
    content = {"program": program, **settings, **record, "notes": shared_notes, "on_the_hub": on_the_hub}
    write_json(folder / RECORD, content | where)


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the earlier values of what has changed."""
    return {name: before[name] for name in sorted(before) if name not in now or now[name] != before[name]}


def _machine(record: Mapping[str, Any]) -> dict[str, str]:
    """Return what decides on the last bits of the weights, beside the arguments and the data."""
    return {**record.get("environment", {}), "hardware": record.get("hardware")}


def read_run(folder: Path, groups: Collection[str] = ()) -> dict[str, Any]:
    """Return the record of a run, {} if there is none. Raises `DataError` if it is damaged or lacks one of `groups`."""

    def is_whole(record: Mapping[str, Any]) -> bool:
        parts = [record.get(DIGESTS, {}), record.get("environment", {}), *record.get(BEFORE, [])]
        return "program" in record and all(isinstance(one, dict) for one in (*parts, *map(record.get, groups)))

    return read_whole(folder / RECORD, is_whole, "restore it from a copy, or start a new run with --overwrite")


def read_whole(path: Path, is_whole: Callable[[Any], bool], remedy: str) -> dict[str, Any]:
    """Return the content of a JSON file, {} if there is none. Raises `DataError` if it is damaged, or not whole."""
    if not path.is_file():
        return {}
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        if is_whole(record := read_json(path)):
            return record
    raise DataError(f"{path} is damaged: {remedy}")


def settings_of(group: Any) -> dict[str, Any]:
    """Return arguments as recorded in run_config.json."""
    return without_paths(group.to_sanitized_dict() if isinstance(group, TrainingArguments) else asdict(group))


def environment() -> dict[str, str]:
    """Return the versions of Python and the libraries, for the record of a run."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
