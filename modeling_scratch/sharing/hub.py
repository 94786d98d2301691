# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One commit to a repository on the Hub. Repeated after an interruption, it uploads only what is missing there."""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import CommitInfo, CommitOperationAdd, CommitOperationDelete, HfApi

from ..utils.errors import DataError
from .uploads import TOKEN, checked_files, is_stale

SIGNATURE = re.compile(r"(?<=\S)[?]\S+=\S+")  # of presigned storage URLs, which grant access
LOG_IN = "set HF_TOKEN or log in with `hf auth login`"
REPEAT = "repeat the command to retry"


@dataclass(frozen=True)
class Repository:
    """A repository on the Hub, which is created if needed. revision: None for main."""

    name: str
    token: str
    private: bool = False
    revision: str | None = None

    def commit(self, folder: Path, message: str) -> CommitInfo:
        """Upload the files of a model, and delete stale ones. Raises `DataError`, in one line without secrets."""
        files = checked_files(folder, self.token)
        with clean_logs(self.token):
            try:
                return self._commit(folder, files, message)
            except DataError:
                raise
            except KeyboardInterrupt:
                raise DataError(f"--repo_id {self.name}: interrupted; {REPEAT}") from None
            except Exception as error:  # network, client, server: many types
                raise DataError(f"--repo_id {self.name}: {without_secrets(_reason(error), self.token)}") from error

    def _commit(self, folder: Path, files: Mapping[str, Path], message: str) -> CommitInfo:
        hub = HfApi(token=self.token or None)
        url = hub.create_repo(self.name, private=self.private or None, exist_ok=True)
        if self.private and not hub.repo_info(url.repo_id).private:
            raise DataError(
                f"{url} already exists and is public; nothing was uploaded; make it private in its settings"
            )
        where: dict[str, Any] = {"repo_id": url.repo_id, "revision": self.revision}
        if self.revision is not None and not self.revision.startswith("refs/"):  # a pull request exists
            hub.create_branch(url.repo_id, branch=self.revision, exist_ok=True)
        there = set(hub.list_repo_files(**where))
        stale = sorted(name for name in there - files.keys() if is_stale(folder, name))
        operations: list[Any] = [CommitOperationAdd(name, path) for name, path in files.items()]
        operations += map(CommitOperationDelete, stale)
        commit = hub.create_commit(operations=operations, commit_message=message, **where)
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
