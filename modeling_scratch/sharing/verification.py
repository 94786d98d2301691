# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The record verify.json of a saved model: the digests of its files, which `recorded_files` of the doctor compares."""

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..run.layout import VERIFICATION
from ..utils.files import file_digest, write_json
from .model_files import MODEL_FILES, all_files, is_one_of, is_read, named_code
from .run_record import read_whole

FORMAT = 1


def write_verification(folder: str | os.PathLike) -> Path:
    """Write verify.json into the folder that a model was saved into, and return its path."""
    folder = Path(folder)
    versions = {name: version(name) for name in ("torch", "transformers", "tokenizers")}
    names = [name for name in all_files(folder) if is_one_of(name, MODEL_FILES) and (folder / name).is_file()]
    files = {name: {"sha256": file_digest(folder / name)} for name in names}
    write_json(folder / VERIFICATION, {"format": FORMAT, "versions": versions, "files": files})
    return folder / VERIFICATION


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of a folder, {} if there is none. Raises `DataError` if it is damaged."""

    def is_whole(record: Mapping[str, Any]) -> bool:
        return record["format"] == FORMAT and all("sha256" in entry for entry in record["files"].values())

    return read_whole(folder / VERIFICATION, is_whole, "get it from the author of the model, or write a new one")


def differing_files(folder: Path) -> list[str]:
    """Return how the files that loaders could read are not those of the record, such as "stack.py (changed)".

    Where they are the same, return the code that they name outside of the record. None without a record.
    """
    if not (record := read_record(folder)):
        return []
    wanted = {name: entry["sha256"] for name, entry in record["files"].items()}
    paths = {name: folder / name for name in all_files(folder) if is_read(name)}
    found = {name: file_digest(path) if path.is_file() else "a link" for name, path in paths.items()}
    different = [
        f"{name} ({'not recorded' if name not in wanted else 'changed' if name in found else 'missing'})"
        for name in sorted(wanted.keys() | found.keys())
        if found.get(name) != wanted.get(name)
    ]
    if different:
        return different
    try:
        named = named_code(folder, wanted)  # file.Class
    except ValueError as error:  # of JSON that cannot be read
        return [str(error)]
    outside = [name for name in named if "--" in name or "/" in name or f"{name.rpartition('.')[0]}.py" not in wanted]
    return [f"{name} (code that is in no recorded file)" for name in outside]
