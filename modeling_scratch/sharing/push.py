# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Upload a model to the Hub in one commit, after checking that it loads and contains no secrets."""

import ast
import logging
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import huggingface_hub
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.utils import validate_repo_id

from ..bridges.model_sources import load_tokenizers
from ..pipelines import TARGET_FOLDER
from ..run.layout import RECORD, SHARED, VERIFICATION
from ..utils.errors import DataError, attempt
from ..utils.files import check_regular, write_text
from .leaks import TOKEN, check_contents, check_links_inside
from .model_card import CARD_FILE, write_card
from .model_files import MODEL_FILES, SAVED, SAVED_WEIGHTS, all_files, code_files, is_one_of
from .quotations import QUOTING, may_quote, quoting_files
from .run_record import read_run
from .space import MODEL_FOLDER, space_files
from .verification import Verdict, verify
from .verification_outputs import load_model
from .verification_record import RecordError, read_record

VOCABULARIES = ("tokenizer.json", "vocab.*", "*.spm", "*.model")

SIGNATURE = re.compile(r"(?<=\S)[?]\S+=\S+")  # of presigned storage URLs, which grant access
LOG_IN = "set HF_TOKEN or log in with `hf auth login`"
KEPT_IN_COMMITS = "  (earlier commits still have it: delete the repository if its texts must not be read)"
REPEAT = "repeat the command to retry"


@dataclass
class PushArguments:
    """The folder and the repository. The access token comes from HF_TOKEN or `hf auth login` only."""

    folder: str = field(metadata={"help": "The folder of a model with its tokenizer."})
    repo_id: str | None = field(
        default=None, metadata={"help": "The repository of the model on the Hub, user/name; created if needed."}
    )
    space: str | None = field(
        default=None,
        metadata={
            "help": "A Space on the Hub, user/name, that shows the model as a page; it loads the model from --repo_id, "
            "or has a copy of it."
        },
    )
    private: bool = field(default=False, metadata={"help": "Make the repository and the Space private."})
    commit_message: str = field(default="Upload model", metadata={"help": "The commit message."})
    revision: str | None = field(default=None, metadata={"help": "The branch, created if needed; main by default."})
    dry_run: bool = field(default=False, metadata={"help": "Check the folder and list the files without uploading."})

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
    folder = Path(arguments.folder)
    token = huggingface_hub.get_token() or ""
    if not (token or arguments.dry_run):
        raise DataError(f"no access token: {LOG_IN}")
    check_that_it_loads(folder, files_to_upload(folder))
    if arguments.space:
        space_files(folder, arguments.repo_id)  # raises what is wrong before the model is uploaded
    if arguments.repo_id:
        push_model(folder, arguments, token)
    if arguments.space:
        push_space(folder, arguments, token)
    if arguments.dry_run:
        print("Nothing was uploaded (--dry_run).")


def push_model(folder: Path, arguments: PushArguments, token: str) -> None:
    """Check, list and upload the files of the model."""
    repo_id = str(arguments.repo_id)
    if (folder / RECORD).is_file() and not arguments.dry_run:
        attempt(CARD_FILE, write_card, folder, repo_id)
    names = files_to_upload(folder)
    check_contents(folder, names, token)
    files = {name: folder / name for name in names}
    show_files(folder, repo_id, files)
    for name in set(quoting_files(folder)).difference(names):
        print(f"{'left out':>21}  {name}  (it quotes texts of the data)")
    for name in left_out(folder, names):
        print(f"{'left out':>21}  {name}  (no run wrote it, and {VERIFICATION} does not record it)")
    if not arguments.dry_run:
        quoting = () if may_quote(read_run(folder)) else QUOTING  # those that an earlier push has left

        def is_stale(name: str) -> bool:
            """Return whether it would be loaded as part of this model, such as other weight shards, or quotes texts."""
            return is_one_of(name, MODEL_FILES) or name.startswith(f"{TARGET_FOLDER}/") or name in quoting

        with one_line_errors("--repo_id", repo_id, token):
            print(upload(repo_id, files, is_stale, arguments, HfApi(token=token)))


def push_space(folder: Path, arguments: PushArguments, token: str) -> None:
    """Check, list and upload the files of a Space that shows the model."""
    space, hub, revision = str(arguments.space), HfApi(token=token), None
    with TemporaryDirectory() as staging, one_line_errors("--space", space, token):
        if arguments.repo_id and not arguments.dry_run:  # the app runs the code of this commit, and of no later one
            revision = hub.model_info(arguments.repo_id, revision=arguments.revision).sha
        files = staged_space(folder, Path(staging), arguments.repo_id, revision)
        for path in files.values():
            root = Path(staging) if path.is_relative_to(staging) else folder
            check_contents(root, [path.relative_to(root).as_posix()], token)
        show_files(folder, f"Space {space}", files)
        if not arguments.dry_run:
            print(upload(space, files, is_in_model_folder, arguments, hub, repo_type="space"))


def is_in_model_folder(name: str) -> bool:
    return name.startswith(f"{MODEL_FOLDER}/")


def staged_space(folder: Path, staging: Path, repo_id: str | None, revision: str | None) -> dict[str, Path]:
    """Write the files of a Space. Return the names and the paths of all that it has, also of a copy of the model."""
    for name, text in space_files(folder, repo_id, revision).items():
        write_text(staging / name, text)
    files = {path.name: path for path in sorted(staging.iterdir())}
    if not repo_id:
        of_model = [name for name in files_to_upload(folder) if is_one_of(name, MODEL_FILES)]
        files |= {f"{MODEL_FOLDER}/{name}": folder / name for name in of_model}
    return files


def show_files(folder: Path, target: str, files: Mapping[str, Path]) -> None:
    print(f"{folder} -> {target}")
    for name, path in files.items():
        print(f"{path.stat().st_size:>15,} bytes  {name}")


def files_to_upload(folder: Path) -> list[str]:
    """Return the names of the files to upload: those that a run writes or verify.json records, and the named code.

    Those that quote texts which the run may not quote, as earlier versions wrote them, are left out. Raises `DataError`
    if the folder does not hold a model, or if one of the model's files is a link out of it.
    """
    if not folder.is_dir():
        raise DataError(f"--folder {folder}: folder not found")
    names = all_files(folder)
    check_links_inside(folder, [name for name in names if name in SHARED or is_one_of(name, MODEL_FILES)])
    for kind, patterns in ("config", ("config.json",)), ("weights", SAVED_WEIGHTS), ("tokenizer", VOCABULARIES):
        if not any("/" not in name and is_one_of(name, patterns) for name in names):
            raise DataError(f"--folder {folder}: not a model, no {kind} found ({', '.join(patterns[:2])})")
    try:
        kept = {*SHARED, *code_files(folder), *_recorded(folder)}
    except ValueError as error:
        raise DataError(f"--folder {folder}: the files to upload do not load: {error}") from error
    kept |= {name for name in names if is_one_of(name, SAVED)}
    for name in kept:
        check_regular(folder / name)
    return [name for name in names if name in kept.difference(quoting_files(folder))]


def _recorded(folder: Path) -> Iterable[str]:
    try:
        return read_record(folder / VERIFICATION)["files"]
    except (RecordError, OSError):
        return ()


def left_out(folder: Path, names: Collection[str]) -> list[str]:
    """Return the names of files that could be taken for the model's or the card's, and are not uploaded."""
    return [name for name in all_files(folder) if name not in names and is_one_of(name, (*MODEL_FILES, "*.png"))]


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
    if (alone / VERIFICATION).is_file() and (report := verify(alone)).verdict is not Verdict.SAME:
        reasons = [f"{file.name} {file.status}" for file in report.files if file.matters]
        shown = textwrap.shorten("; ".join([*reasons, *report.differences, *report.problems]), 200)
        print(
            f"WARNING: {folder / VERIFICATION} does not describe these files ({shown}): `verify` will not accept the "
            "upload; modeling_scratch.verify.write_verification writes a new one",
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


def upload(
    repo_id: str,
    files: Mapping[str, Path],
    is_stale: Callable[[str], bool],
    arguments: PushArguments,
    hub: HfApi,
    **kind: Any,
) -> str:
    """Upload files in one commit, and delete those of an earlier upload. Return the URL.

    is_stale: whether a file that is there, and not among these, is one of them. kind: the `repo_type` of a Space.
    """
    sdk, revision = ("gradio", None) if kind else (None, arguments.revision)
    url = hub.create_repo(repo_id, private=arguments.private or None, exist_ok=True, space_sdk=sdk, **kind)
    if arguments.private and not hub.repo_info(url.repo_id, **kind).private:
        raise DataError(f"{url} already exists and is public; nothing was uploaded; make it private in its settings")
    if revision is not None:
        hub.create_branch(url.repo_id, branch=revision, exist_ok=True)
    there = set(hub.list_repo_files(url.repo_id, revision=revision, **kind))
    stale = sorted(name for name in there - files.keys() if is_stale(name))
    operations: list[Any] = [CommitOperationAdd(name, path) for name, path in files.items()]
    operations += [CommitOperationDelete(name) for name in stale]
    hub.create_commit(url.repo_id, operations, commit_message=arguments.commit_message, revision=revision, **kind)
    for name in stale:
        print(f"{'deleted on the Hub':>21}  {name}{KEPT_IN_COMMITS if name in QUOTING else ''}")
    return f"{url}/tree/{revision}" if revision else str(url)


@contextmanager
def one_line_errors(option: str, name: str, token: str) -> Iterator[None]:
    """Convert upload errors to a one-line `DataError` with advice, without tokens in messages and logs."""
    with clean_logs(token):
        try:
            yield
        except DataError:
            raise
        except KeyboardInterrupt:
            raise DataError(f"{option} {name}: interrupted; {REPEAT}") from None
        except Exception as error:  # network, client, server: many types
            raise DataError(f"{option} {name}: {without_secrets(_reason(error), token)}") from error


def _reason(error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status == 401:
        return f"the Hub does not accept the access token: {LOG_IN}"
    if status == 403:
        return f"the access token lacks write permission: {error}"
    cause = f" {error.__cause__}" if isinstance(error, RuntimeError) else ""  # a RuntimeError does not name its cause
    return f"{error}{cause}; {REPEAT}"


@contextmanager
def clean_logs(token: str) -> Iterator[None]:
    """Remove secrets from the client's log messages on retries."""

    def clean(record: logging.LogRecord) -> bool:
        record.msg, record.args = without_secrets(record.getMessage(), token), ()
        return True

    handlers = logging.getLogger("huggingface_hub").handlers
    for handler in handlers:
        handler.addFilter(clean)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(clean)


def without_secrets(text: str, token: str) -> str:
    """Return the text in one line, with secrets masked."""
    for secret in re.compile(re.escape(token)), TOKEN, SIGNATURE:
        text = secret.sub("***", text)
    return " ".join(text.split())
