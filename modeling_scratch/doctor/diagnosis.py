# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program `modeling-scratch doctor`: its arguments, and its exit status."""

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from huggingface_hub import HfApi, constants, snapshot_download
from tqdm import tqdm

from ..run.layout import VERIFICATION
from ..sharing.model_files import MODEL_FILES, is_one_of, is_read
from ..utils.errors import DataError, one_line
from ..utils.options import REQUIRED, option
from .examination import chosen
from .findings import Verdict
from .folders import SECONDS, check_folder


@dataclass
class DoctorArguments:
    model: str = option(REQUIRED, "The folder of a saved model, or a repository of the Hub.")
    revision: str | None = option(None, "Of the repository: a branch, a tag or a commit.")
    tokenizer: str | None = option(None, "The folder of its tokenizer; by default, that of the model.")
    trust_remote_code: bool = option(False, "Run the code that the model brings, in a process of its own.")
    checks: list[str] | None = option(None, "Names of the checks to run; by default, all.")
    format: Literal["text", "json"] = option("text", "The form of the findings.")
    seconds: float = option(SECONDS, "The limit of time of each check; one that takes longer falls short.")

    RETIRED = {"--format github": "assert in a test of pytest that doctor.check(model).faults is empty"}

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise DataError(f"--seconds {self.seconds:g}: must be above 0")


def diagnose(arguments: DoctorArguments) -> None:
    """Print the diagnosis. Exit with 1 if a check falls short, and with 2 if one that was asked for cannot tell."""
    folder, only = folder_of(arguments.model, arguments.revision), arguments.checks or ()
    with tqdm(total=len(chosen(only)), unit=" checks", disable=None) as bar:  # shown on a terminal
        diagnosis = check_folder(
            folder, arguments.trust_remote_code, arguments.tokenizer, only, arguments.seconds, lambda _: bar.update()
        )
    diagnosis.model = arguments.model
    print(diagnosis.to_json() if arguments.format == "json" else diagnosis)
    if not diagnosis.is_sound:
        raise SystemExit(1)
    if any(diagnosis[name].verdict is Verdict.DOES_NOT_APPLY for name in only):
        raise SystemExit(2)


def folder_of(name: str, revision: str | None) -> Path:
    """Return a folder as it is, or the files of a repository, downloaded."""
    if Path(name).is_dir():
        if revision is not None:
            raise DataError(f"--revision {revision}: a folder has none; leave it out, or name a repository")
        return Path(name)
    if "." in name and all(part.isidentifier() for part in name.split(".")):
        raise DataError(f"{name}: no such folder; a class is examined from Python, by doctor.check({name}, config)")
    try:
        # A revision is downloaded by its name once, which the cache then knows offline; then by its commit.
        path = Path(snapshot_download(name, revision=revision, allow_patterns="config.json"))
        if constants.HF_HUB_OFFLINE:
            return path
        names = HfApi().list_repo_files(name, revision=path.name)
        # Without a record, there is nothing to compare other files with, such as weights of other libraries.
        reads = is_read if VERIFICATION in names else lambda file: is_one_of(file, MODEL_FILES)
        wanted = [glob.escape(file) for file in names if file == VERIFICATION or reads(file)]
        return Path(snapshot_download(name, revision=path.name, allow_patterns=wanted))
    except Exception as error:  # names, network, server: many types
        reason = one_line(error)[:200]
        raise DataError(f"{name}: neither a folder nor a repository that can be read: {reason}") from error
