# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Uploads to the Hub: one commit, checked before and free of secrets."""

import json
import logging
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import huggingface_hub
import transformers
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.utils import validate_repo_id
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_relative_imports

import modeling_scratch

from ..bridges.model_sources import load_tokenizers
from ..pipelines import TARGET_FOLDER
from ..utils.errors import DataError, attempt
from .model_card import CARD_FILE, write_card
from .run_record import RUN_FILE
from .verification_record import MODEL_FILES, is_one_of, model_files

WEIGHTS = ("model.safetensors", "model-*-of-*.safetensors")
VOCABULARIES = ("tokenizer.json", "vocab.*", "*.spm", "*.model")
RESULTS = ("README.md", "results.md", "evaluation.json", "all_results.json", "run_config.json", "verify.json", "*.png")
TOKEN = re.compile("hf_[A-Za-z0-9]{30,}")
SIGNATURE = re.compile(r"(?<=\S)[?]\S+=\S+")  # of an address in the storage: it gives access, too
LOG_IN = "set HF_TOKEN, or log in with `hf auth login`"
REPEAT = "the same command repeats the upload"


@dataclass
class PushArguments:
    """What is uploaded, and where to. The access token comes from HF_TOKEN or `hf auth login`, never from here."""

    folder: str = field(metadata={"help": "The folder of a run: a model and its tokenizer."})
    repo_id: str = field(metadata={"help": "The repository on the Hub, user/name; made if there is none."})
    private: bool = field(default=False, metadata={"help": "Only you see the repository."})
    commit_message: str = field(default="Upload model", metadata={"help": "What the history of the repository says."})
    revision: str | None = field(default=None, metadata={"help": "A branch, made if there is none; main if not given."})
    dry_run: bool = field(default=False, metadata={"help": "Check the folder, and show what would be uploaded."})

    def __post_init__(self) -> None:
        validate_repo_id(self.repo_id)
        if not self.commit_message.strip():
            raise DataError("--commit_message: is empty")


def push(arguments: PushArguments) -> None:
    """Check, show, upload; raises `DataError` for what is wrong with the folder, the token or the repository."""
    folder = Path(arguments.folder)
    token = huggingface_hub.get_token() or ""
    if not (token or arguments.dry_run):
        raise DataError(f"there is no access token: {LOG_IN}")
    check_that_it_loads(folder, files_to_upload(folder))
    if (folder / RUN_FILE).is_file() and not arguments.dry_run:
        attempt(CARD_FILE, write_card, folder, arguments.repo_id)
    names = files_to_upload(folder)
    check_for_tokens(folder, names, token)
    print(f"{folder} -> {arguments.repo_id}")
    for name in names:
        print(f"{(folder / name).stat().st_size:>15,} bytes  {name}")
    if arguments.dry_run:
        print("Nothing was uploaded (--dry_run).")
        return
    with one_line_errors(arguments.repo_id, token):
        print(upload(folder, names, arguments, HfApi(token=token)))


def files_to_upload(folder: Path) -> list[str]:
    """Names in the folder, and then in the repository: what verify.json records, and the results of the run.

    Raises `DataError` where they are no model.
    """
    if not folder.is_dir():
        raise DataError(f"--folder {folder}: there is no such folder")
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    for kind, patterns in ("config", ("config.json",)), ("weights", WEIGHTS), ("tokenizer", VOCABULARIES):
        if not any(_is_one_of(name, patterns) for name in files):
            raise DataError(f"--folder {folder}: there is no {kind} in it ({', '.join(patterns[:2])}): it is no model")
    return [*model_files(folder), *(name for name in files if _is_one_of(name, RESULTS))]


def _is_one_of(name: str, patterns: Sequence[str]) -> bool:
    return not name.startswith(".") and any(fnmatchcase(name, pattern) for pattern in patterns)


def check_for_tokens(folder: Path, names: Sequence[str], token: str) -> None:
    """Whoever reads a repository could use the token that a file of it holds."""
    for path in map(folder.joinpath, names):
        if path.suffix in (".safetensors", ".png"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if (token and token in text) or TOKEN.search(text):
            raise DataError(f"{path}: holds an access token; remove it from there, and renew it if others may have it")


def check_that_it_loads(folder: Path, names: Sequence[str]) -> None:
    """Load what is going to be uploaded, without the rest of the folder; raises `DataError` where something lacks."""
    with TemporaryDirectory() as alone:
        for name in names:
            Path(alone, name).parent.mkdir(exist_ok=True)
            Path(alone, name).symlink_to((folder / name).resolve())
        try:
            _load(Path(alone))
        except Exception as error:  # of files, weights or configuration: the libraries' own are open-ended
            reason = textwrap.shorten(str(error).replace(alone, str(folder)), 240)
            raise DataError(f"--folder {folder}: what would be uploaded does not load: {reason}") from error


def _load(folder: Path) -> None:
    """By the classes that are installed; those of other folders' code are not known here, and would not be run."""
    architecture = (AutoConfig.from_pretrained(folder, trust_remote_code=False).architectures or ["none"])[0]
    model_class = getattr(modeling_scratch, architecture, None) or getattr(transformers, architecture, None)
    if model_class is None:
        raise DataError(f"config.json names a model that is not known here: {architecture}")
    _, info = model_class.from_pretrained(folder, use_safetensors=True, output_loading_info=True)
    if missing := sorted(info["missing_keys"]):
        raise DataError(f"the weights have no {', '.join(missing[:3])}")
    load_tokenizers(str(folder))
    if missing := [name for name in _code(folder) if not (folder / name).is_file()]:
        raise DataError(f"the code has no {', '.join(missing[:3])}: others could not load the model")


def _code(folder: Path) -> list[str]:
    """Files of Python that config.json names, and those that the Python there imports."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    named = [*config.get("auto_map", {}).values()]
    named += [pipeline["impl"] for pipeline in config.get("custom_pipelines", {}).values()]
    modules = {name.partition(".")[0] for name in named}
    return sorted(f"{module}.py" for module in modules.union(*map(get_relative_imports, folder.glob("*.py"))))


def upload(folder: Path, names: Sequence[str], arguments: PushArguments, hub: HfApi) -> str:
    """The URL of what is on the Hub then."""
    url = hub.create_repo(arguments.repo_id, private=arguments.private or None, exist_ok=True)
    if arguments.private and not hub.model_info(url.repo_id).private:
        raise DataError(f"{url} is there already and public, so nothing was uploaded; make it private in its settings")
    if arguments.revision is not None:
        hub.create_branch(url.repo_id, branch=arguments.revision, exist_ok=True)
    # What an earlier upload left there, such as weights in other pieces, would be loaded as a part of this model.
    there = set(hub.list_repo_files(url.repo_id, revision=arguments.revision))
    stale = sorted(name for name in there - set(names) if _is_of_a_model(name))
    operations: list[Any] = [CommitOperationAdd(name, folder / name) for name in names]
    operations += [CommitOperationDelete(name) for name in stale]
    hub.create_commit(url.repo_id, operations, commit_message=arguments.commit_message, revision=arguments.revision)
    for name in stale:
        print(f"{'deleted there':>21}  {name}")
    return f"{url}/tree/{arguments.revision}" if arguments.revision else str(url)


def _is_of_a_model(name: str) -> bool:
    return is_one_of(name, MODEL_FILES) or name.startswith(f"{TARGET_FOLDER}/")


@contextmanager
def one_line_errors(repo_id: str, token: str) -> Iterator[None]:
    """Whatever fails on the way to the Hub, as a `DataError` that says what to do; no token is shown, or logged."""
    with clean_logs(token):
        try:
            yield
        except DataError:
            raise
        except KeyboardInterrupt:
            raise DataError(f"--repo_id {repo_id}: interrupted; {REPEAT}") from None
        except Exception as error:  # of network, client and server: open-ended, too
            raise DataError(f"--repo_id {repo_id}: {without_secrets(_reason(error), token)}") from error


def _reason(error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status == 401:
        return f"the Hub does not accept the access token: {LOG_IN}"
    if status == 403:
        return f"the access token has no right to write there: {error}"
    cause = f" {error.__cause__}" if isinstance(error, RuntimeError) else ""  # that an upload failed; not why
    return f"{error}{cause}; {REPEAT}"


@contextmanager
def clean_logs(token: str) -> Iterator[None]:
    """What the client tells of addresses that it tries again, without what would give access to them."""

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
    """In one line, whatever the libraries wrote into it."""
    for secret in re.compile(re.escape(token)), TOKEN, SIGNATURE:
        text = secret.sub("***", text)
    return " ".join(text.split())
