# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The files of a folder that leave it with a push: of a model, or of a checkpoint, checked for tokens and links.

The Hub itself looks for secrets of other services in every upload.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..pipelines import TARGET_FOLDER
from ..report.report_files import examples_of
from ..run.layout import EVALUATION, RESULTS, SHARED, VERIFICATION
from ..utils.errors import DataError
from ..utils.files import check_regular, read_json
from .model_files import MODEL_FILES, SAVED, SAVED_WEIGHTS, all_files, code_files, is_one_of
from .run_record import read_run
from .verification import read_record

QUOTING = (EVALUATION, RESULTS, VERIFICATION)  # what may quote texts of the data
NEEDED = {
    "config": ("config.json",),
    "weights": SAVED_WEIGHTS,
    "tokenizer": ("tokenizer.json", "vocab.*", "*.spm", "*.model"),
}
TOKEN = re.compile("hf_[A-Za-z0-9]{30,}")  # an access token of Hugging Face
BINARY = (".safetensors", ".bin", ".pt", ".pth", ".distcp")  # of checkpoints, which may have many gigabytes


def checked_files(folder: Path, token: str) -> dict[str, Path]:
    """Return the files to upload by their names.

    Raises `DataError` if one is a link out of the folder, or contains a token that its readers could use.
    """
    files = {name: folder / name for name in files_to_upload(folder)}
    check_links_inside(folder, [*files])
    for path in (path for path in files.values() if path.suffix not in BINARY):
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if has_token(line, token):
                advice = "remove it, and renew it if it may have leaked"
                raise DataError(f"{path}: contains an access token in line {number}; {advice}")
    return files


def is_stale(folder: Path, name: str) -> bool:
    """Return whether a file that an earlier push has left would be loaded as part of the model, or may quote texts."""
    is_of_model = is_one_of(name, MODEL_FILES) or name.startswith(f"{TARGET_FOLDER}/")
    return is_of_model or (name in QUOTING and bool(read_run(folder)))


def files_to_upload(folder: Path) -> list[str]:
    """Return the names of the files to upload: those that a run writes or verify.json records, and the named code.

    Those of a run that quote texts, as earlier versions wrote them, are left out. Raises `DataError` if the folder does
    not hold a model, if a file of it is a link out of it, or if verify.json is damaged.
    """
    if not folder.is_dir():
        raise DataError(f"--folder {folder}: folder not found")
    names = all_files(folder)
    check_links_inside(folder, [name for name in names if name in SHARED or is_one_of(name, MODEL_FILES)])
    for kind, patterns in NEEDED.items():
        if not any("/" not in name and is_one_of(name, patterns) for name in names):
            raise DataError(f"--folder {folder}: not a model, no {kind} found ({', '.join(patterns[:2])})")
    recorded = read_record(folder).get("files", ())
    try:
        code = code_files(folder)
    except ValueError as error:
        raise DataError(f"--folder {folder}: the files to upload do not load: {error}") from error
    kept = {*SHARED, *code, *(name for name in recorded if is_one_of(name, MODEL_FILES))}
    kept |= {name for name in names if is_one_of(name, SAVED)}
    for name in kept:
        check_regular(folder / name)
    return [name for name in names if name in kept.difference(quoting_files(folder))]


def quoting_files(folder: Path) -> list[str]:
    """Return the names of results of a run that may quote texts of its data, as earlier versions wrote them.

    Raises `DataError` if run_config.json or verify.json is damaged.
    """
    if not read_run(folder):
        return []
    found = [VERIFICATION] if "inputs" in read_record(folder) else []
    with suppress(OSError, ValueError, AttributeError):
        found += [EVALUATION, RESULTS] if examples_of(read_json(folder / EVALUATION)) else []
    return found


def has_token(text: str, own: str = "") -> bool:
    """Return whether a text contains an access token. own: one's own, of any form."""
    return TOKEN.search(text) is not None or bool(own and own in text)


def check_links_inside(folder: Path, names: Sequence[str]) -> None:
    """Raise `DataError` if a file is a link out of the folder."""
    for path in map(folder.joinpath, names):
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"{path}: a link to {path.resolve()}, out of the folder; delete it, or copy the file")
