# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Upload a model to the Hub in one commit, after checking that it loads and contains no secrets."""

import ast
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import huggingface_hub
from huggingface_hub import CommitInfo
from huggingface_hub.utils import validate_repo_id

from ..bridges.model_sources import load_tokenizers
from ..run.layout import CARD, RECORD, VERIFICATION
from ..utils.errors import DataError, attempt
from ..utils.files import write_text
from ..utils.options import REQUIRED, option
from .hub import LOG_IN, Repository
from .leaks import check_contents
from .model_card import write_card
from .model_files import MODEL_FILES, code_files, is_one_of
from .saved_model import load_model
from .space import MODEL_FOLDER, space_files
from .uploads import Upload, files_to_upload, left_out, quoting_files, upload_of_model
from .verification import differing_files


@dataclass
class PushArguments:
    """The folder and the repository. The access token comes from HF_TOKEN or `hf auth login` only."""

    folder: str = option(REQUIRED, "The folder of a model with its tokenizer.")
    repo_id: str | None = option(None, "The repository of the model on the Hub, user/name; created if needed.")
    space: str | None = option(
        None,
        "A Space on the Hub, user/name, that shows the model as a page; it loads the model from --repo_id, "
        "or has a copy of it.",
    )
    private: bool = option(False, "Make the repository and the Space private.")
    commit_message: str = option("Upload model", "The commit message.")
    revision: str | None = option(None, "The branch, created if needed; main by default.")
    dry_run: bool = option(False, "Check the folder and list the files without uploading.")

    RETIRED: ClassVar[Mapping[str, str]] = {"--texts_in_card": "train with it; results of earlier versions stay here"}

    def __post_init__(self) -> None:
        if not (self.repo_id or self.space):
            raise DataError("--repo_id: name the repository of the model, user/name, or a Space with --space")
        for name in filter(None, (self.repo_id, self.space)):
            validate_repo_id(name)
        if self.revision is not None and not self.repo_id:
            raise DataError(f"--revision {self.revision!a}: needs --repo_id; a Space has no other branches")
        if not self.commit_message.strip():
            raise DataError("--commit_message must not be empty")


def push(arguments: PushArguments) -> None:
    """Check, list and upload the files. Raises `DataError` for an invalid folder, token or repository."""
    folder, commit = Path(arguments.folder), None
    token = huggingface_hub.get_token() or ""
    if not (token or arguments.dry_run):
        raise DataError(f"no access token: {LOG_IN}")
    check_that_it_loads(folder, files_to_upload(folder))
    if arguments.space:
        space_files(folder, arguments.repo_id)  # raises what is wrong before the model is uploaded
    if arguments.repo_id:
        commit = push_model(folder, arguments, token)
    if arguments.space:
        push_space(folder, arguments, token, commit)
    if arguments.dry_run:
        print("Nothing was uploaded (--dry_run).")


def push_model(folder: Path, arguments: PushArguments, token: str) -> CommitInfo | None:
    """Check, list and upload the files of the model. Return the commit; None for a dry run."""
    repo_id = str(arguments.repo_id)
    if (folder / RECORD).is_file() and not arguments.dry_run:
        attempt(CARD, write_card, folder, repo_id)
    upload = upload_of_model(folder, token)
    show_files(folder, repo_id, upload)
    for name in set(quoting_files(folder)).difference(upload.files):
        print(f"{'left out':>21}  {name}  (it quotes texts of the data)")
    for name in left_out(folder, upload.files):
        print(f"{'left out':>21}  {name}  (no run wrote it, and {VERIFICATION} does not record it)")
    if arguments.dry_run:
        return None
    commit = Repository(repo_id, token, arguments.private, arguments.revision).commit(upload, arguments.commit_message)
    print(f"{commit.repo_url}/tree/{arguments.revision}" if arguments.revision else commit.repo_url)
    return commit


def push_space(folder: Path, arguments: PushArguments, token: str, model: CommitInfo | None) -> None:
    """Check, list and upload the files of a Space that shows the model. model: its commit, if it has a repository."""
    space, repo_id = str(arguments.space), arguments.repo_id
    with TemporaryDirectory() as staging:  # the app runs the code of this commit, and of no later one
        files = staged_space(folder, Path(staging), repo_id, model.oid if model else None)
        for path in files.values():
            root = Path(staging) if path.is_relative_to(staging) else folder
            check_contents(root, [path.relative_to(root).as_posix()], token)
        upload = Upload(files, lambda name: name.startswith(f"{MODEL_FOLDER}/"))
        show_files(folder, f"Space {space}", upload)
        if not arguments.dry_run:
            repository = Repository(space, token, arguments.private, kind="space")
            print(repository.commit(upload, arguments.commit_message).repo_url)


def staged_space(folder: Path, staging: Path, repo_id: str | None, revision: str | None) -> dict[str, Path]:
    """Write the files of a Space. Return the names and the paths of all that it has, also of a copy of the model."""
    for name, text in space_files(folder, repo_id, revision).items():
        write_text(staging / name, text)
    files = {path.name: path for path in sorted(staging.iterdir())}
    if not repo_id:
        of_model = [name for name in files_to_upload(folder) if is_one_of(name, MODEL_FILES)]
        files |= {f"{MODEL_FOLDER}/{name}": folder / name for name in of_model}
    return files


def show_files(folder: Path, target: str, upload: Upload) -> None:
    print(f"{folder} -> {target}")
    for name, path in upload.files.items():
        print(f"{path.stat().st_size:>15,} bytes  {name}")


def check_that_it_loads(folder: Path, names: Sequence[str]) -> None:
    """Load the files to upload, without the rest of the folder. Raises `DataError` if that fails."""
    with TemporaryDirectory() as alone:
        for name in names:
            Path(alone, name).parent.mkdir(exist_ok=True)
            Path(alone, name).symlink_to((folder / name).resolve())
        try:
            _load(Path(alone))
        except Exception as error:  # files, weights, configuration: libraries raise many types
            reason = textwrap.shorten(str(error).replace(alone, str(folder)), 240)
            raise DataError(f"--folder {folder}: the files to upload do not load: {reason}") from error
        warn_of_record(Path(alone), folder)


def warn_of_record(alone: Path, folder: Path) -> None:
    """Warn if the files to upload are not those that verify.json records: no reader could verify them."""
    if found := differing_files(alone):
        shown = textwrap.shorten(", ".join(found), 200)
        print(
            f"WARNING: {folder / VERIFICATION} does not describe these files: {shown}; "
            "modeling_scratch.verify.write_verification writes a new one",
            file=sys.stderr,
        )


def _load(folder: Path) -> None:
    """Load with installed classes. The folder's own code is parsed, and not executed."""
    _, loading = load_model(folder)
    if missing := loading["missing_keys"]:
        raise DataError(f"the weights lack {', '.join(missing[:3])}")
    load_tokenizers(str(folder))
    if missing := [name for name in code_files(folder) if not (folder / name).is_file()]:
        raise DataError(f"the code lacks {', '.join(missing[:3])}: others could not load the model")
    for name in code_files(folder):
        ast.parse((folder / name).read_bytes(), name)
