# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One commit to a repository on the Hub. Repeated after an interruption, it uploads only what is missing there."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import CommitInfo, CommitOperationAdd, CommitOperationDelete, HfApi

from ..utils.errors import DataError
from .uploads import TOKEN, checked_files, is_stale

SIGNATURE = re.compile(r"(?<=\S)[?]\S+=\S+")  # of presigned storage URLs, which grant access
LOG_IN = "set HF_TOKEN or log in with `hf auth login`"
REPEAT = "repeat the command to retry"


def upload(
    folder: Path, message: str, repo_id: str, token: str, private: bool = False, revision: str | None = None
) -> CommitInfo:
    """Upload the files of a model to a repository, created if needed, and delete stale ones there.

    revision: None for main. Raises `DataError`, in one line without secrets.
    """
    files, hub = checked_files(folder, token), HfApi(token=token or None)
    with clean_logs(token):
        try:
            url = hub.create_repo(repo_id, private=private or None, exist_ok=True)
            if private and not hub.repo_info(url.repo_id).private:
                raise DataError(
                    f"{url} already exists and is public; nothing was uploaded; make it private in its settings"
                )
            where: dict[str, Any] = {"repo_id": url.repo_id, "revision": revision}
            if revision is not None and not revision.startswith("refs/"):  # a pull request exists
                hub.create_branch(url.repo_id, branch=revision, exist_ok=True)
            there = set(hub.list_repo_files(**where))
            stale = sorted(name for name in there - files.keys() if is_stale(folder, name))
            operations: list[Any] = [CommitOperationAdd(name, path) for name, path in files.items()]
            operations += map(CommitOperationDelete, stale)
            commit = hub.create_commit(operations=operations, commit_message=message, **where)
        except DataError:
            raise
        except KeyboardInterrupt:
            raise DataError(f"--repo_id {repo_id}: interrupted; {REPEAT}") from None
        except Exception as error:  # network, client, server: many types
            raise DataError(f"--repo_id {repo_id}: {without_secrets(_reason(error), token)}") from error
    for name in stale:
        print(f"{'deleted on the Hub':>21}  {name}  (earlier commits still have it)")
    return commit


def _reason(error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return f"the access token is not accepted, or lacks write permission: {LOG_IN}; {error}"
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
    own = [re.compile(re.escape(token))] if token else []
    for secret in (*own, TOKEN, SIGNATURE):
        text = secret.sub("***", text)
    return " ".join(text.split())
