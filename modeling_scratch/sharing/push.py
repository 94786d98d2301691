# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Upload a model to the Hub in one commit, after checking that it loads and contains no token."""

import ast
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import huggingface_hub
from huggingface_hub.utils import validate_repo_id

from ..bridges.model_sources import load_tokenizers
from ..run.layout import CARD, RECORD, VERIFICATION
from ..utils.errors import DataError, attempt
from ..utils.options import REQUIRED, option
from .hub import LOG_IN, upload
from .model_card import write_card
from .model_files import MODEL_FILES, all_files, code_files, is_one_of
from .saved_model import load_model
from .uploads import checked_files, files_to_upload, quoting_files
from .verification import differing_files


@dataclass
class PushArguments:
    """The folder and the repository. The access token comes from HF_TOKEN or `hf auth login` only."""

    folder: str = option(REQUIRED, "The folder of a model with its tokenizer.")
    repo_id: str = option(REQUIRED, "The repository of the model on the Hub, user/name; created if needed.")
    private: bool = option(False, "Make the repository private.")
    commit_message: str = option("Upload model", "The commit message.")
    revision: str | None = option(None, "The branch, created if needed; main by default.")
    dry_run: bool = option(False, "Check the folder and list the files without uploading.")

    RETIRED: ClassVar[Mapping[str, str]] = {"--space": "docs/serving.md has the app.py of a Space"}

    def __post_init__(self) -> None:
        validate_repo_id(self.repo_id)
        if not self.commit_message.strip():
            raise DataError("--commit_message must not be empty")


def push(arguments: PushArguments) -> None:
    """Check, list and upload the files. Raises `DataError` for an invalid folder, token or repository."""
    folder, repo_id = Path(arguments.folder), arguments.repo_id
    token = huggingface_hub.get_token() or ""
    if not (token or arguments.dry_run):
        raise DataError(f"no access token: {LOG_IN}")
    check_that_it_loads(folder, files_to_upload(folder))
    if (folder / RECORD).is_file() and not arguments.dry_run:
        attempt(CARD, write_card, folder, repo_id)
    files = checked_files(folder, token)
    print(f"{folder} -> {repo_id}")
    for name, path in files.items():
        print(f"{path.stat().st_size:>15,} bytes  {name}")
    for name in set(quoting_files(folder)).difference(files):
        print(f"{'left out':>21}  {name}  (of an earlier version: it may quote texts of the data)")
    others = [name for name in all_files(folder) if name not in files]
    for name in [name for name in others if is_one_of(name, (*MODEL_FILES, "*.png"))]:  # could be the model's
        print(f"{'left out':>21}  {name}  (no run wrote it, and {VERIFICATION} does not record it)")
    if arguments.dry_run:
        print("Nothing was uploaded (--dry_run).")
        return
    commit = upload(folder, arguments.commit_message, repo_id, token, arguments.private, arguments.revision)
    print(f"{commit.repo_url}/tree/{arguments.revision}" if arguments.revision else commit.repo_url)


def check_that_it_loads(folder: Path, names: Sequence[str]) -> None:
    """Load the files to upload, without the rest of the folder. Raises `DataError` if that fails.

    With installed classes: the folder's own code is parsed, and not executed. Warns if the files are not those that
    verify.json records: no reader could verify them.
    """
    with TemporaryDirectory() as temporary:
        alone = Path(temporary)
        for name in names:
            (alone / name).parent.mkdir(exist_ok=True)
            (alone / name).symlink_to((folder / name).resolve())
        try:
            if lacking := load_model(alone)[1]["missing_keys"]:
                raise ValueError(f"the weights lack {', '.join(lacking[:3])}")
            load_tokenizers(temporary)
            if lacking := [name for name in code_files(alone) if not (alone / name).is_file()]:
                raise ValueError(f"the code lacks {', '.join(lacking[:3])}: others could not load the model")
            for name in code_files(alone):
                ast.parse((alone / name).read_bytes(), name)
        except Exception as error:  # files, weights, configuration: libraries raise many types
            reason = textwrap.shorten(str(error).replace(temporary, str(folder)), 240)
            raise DataError(f"--folder {folder}: the files to upload do not load: {reason}") from error
        if found := differing_files(alone):
            what = f"{folder / VERIFICATION} does not describe these files: {textwrap.shorten(', '.join(found), 200)}"
            remedy = "modeling_scratch.verify.write_verification writes a new one"
            print(f"WARNING: {what}; {remedy}", file=sys.stderr)
