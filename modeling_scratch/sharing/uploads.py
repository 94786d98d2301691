# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The files of a folder that leave it with a push: of a model, or of a checkpoint, checked for tokens and links."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..pipelines import TARGET_FOLDER
from ..report.report_files import examples_of
from ..run.layout import EVALUATION, RESULTS, SHARED, VERIFICATION
from ..utils.errors import DataError
from ..utils.files import check_regular, read_json
from .leaks import check_contents, check_links_inside
from .model_files import MODEL_FILES, SAVED, SAVED_WEIGHTS, all_files, code_files, is_one_of
from .run_record import read_run
from .verification import read_record

QUOTING = (EVALUATION, RESULTS, VERIFICATION)  # what may quote texts of the data
VOCABULARIES = ("tokenizer.json", "vocab.*", "*.spm", "*.model")


class Upload(NamedTuple):
    """The files of a commit, by their names in the repository.

    is_stale: whether a file that is there, and not among these, is of an earlier upload.
    """

    files: Mapping[str, Path]
    is_stale: Callable[[str], bool]


def upload_of_model(folder: Path, token: str) -> Upload:
    """Return the files of a model. Raises `DataError` if one is a link out of the folder, or contains a token."""
    names = files_to_upload(folder)
    check_contents(folder, names, token)
    quoting = QUOTING if read_run(folder) else ()  # those that an earlier push has left

    def is_stale(name: str) -> bool:
        """Return whether it would be loaded as part of this model, such as other weight shards, or quotes texts."""
        return is_one_of(name, MODEL_FILES) or name.startswith(f"{TARGET_FOLDER}/") or name in quoting

    return Upload({name: folder / name for name in names}, is_stale)


def upload_of_checkpoint(folder: Path, name: str, token: str) -> Upload:
    """Return the files of a checkpoint, from which a run is resumed, as those of a folder with this name."""
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    check_contents(folder, names, token)
    return Upload({f"{name}/{file}": folder / file for file in names}, lambda file: file.startswith(f"{name}/"))


def files_to_upload(folder: Path) -> list[str]:
    """Return the names of the files to upload: those that a run writes or verify.json records, and the named code.

    Those of a run that quote texts, as earlier versions wrote them, are left out. Raises `DataError` if the folder does
    not hold a model, if a file of it is a link out of it, or if verify.json is damaged.
    """
    if not folder.is_dir():
        raise DataError(f"--folder {folder}: folder not found")
    names = all_files(folder)
    check_links_inside(folder, [name for name in names if name in SHARED or is_one_of(name, MODEL_FILES)])
    for kind, patterns in ("config", ("config.json",)), ("weights", SAVED_WEIGHTS), ("tokenizer", VOCABULARIES):
        if not any("/" not in name and is_one_of(name, patterns) for name in names):
            raise DataError(f"--folder {folder}: not a model, no {kind} found ({', '.join(patterns[:2])})")
    kept = {*SHARED, *(name for name in read_record(folder).get("files", ()) if is_one_of(name, MODEL_FILES))}
    try:
        kept |= set(code_files(folder))
    except ValueError as error:
        raise DataError(f"--folder {folder}: the files to upload do not load: {error}") from error
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
    found: list[str] = []
    with suppress(OSError, ValueError, AttributeError):
        found += [EVALUATION, RESULTS] if examples_of(read_json(folder / EVALUATION)) else []
    return [*found, VERIFICATION] if "inputs" in read_record(folder) else found


def left_out(folder: Path, names: Collection[str]) -> list[str]:
    """Return the names of files that could be taken for the model's or the card's, and are not uploaded."""
    return [name for name in all_files(folder) if name not in names and is_one_of(name, (*MODEL_FILES, "*.png"))]
