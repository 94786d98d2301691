# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The folder of a run: claimed before work starts, written piece by piece, never at the cost of what stood there."""

import json
import os
import platform
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

from text_files import DataError

RUN_FILE = "run_config.json"
PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "scikit-learn")


def claim(folder: Path, overwrite: bool, resume: bool) -> None:
    """Make the folder, or say why it cannot be had: it holds another run, or something that is no run at all."""
    if resume and folder.is_dir():
        return
    if folder.is_file():
        raise DataError(f"{folder} is a file; --output_dir has to be a folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / RUN_FILE).is_file():
            raise DataError(f"{folder} holds files that are no run of this program; choose another --output_dir")
        if not overwrite:
            raise DataError(f"{folder} holds another run; choose another --output_dir, or delete it with --overwrite")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)


def write_text(path: Path, text: str) -> None:
    """All of it or nothing: written beside, then renamed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n")


def environment() -> dict[str, str]:
    """Versions of what computes, for the record of a run."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
