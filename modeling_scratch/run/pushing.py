# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a run shares: its verification and its card, and with --push_to_hub the files that `push` uploads."""

import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import CommitInfo
from transformers import Trainer
from transformers.trainer_utils import HubStrategy
from transformers.utils.hub import PushInProgress, hf_api

from ..sharing.hub import REPEAT, Repository
from ..sharing.model_card import write_card
from ..sharing.uploads import Upload, upload_of_checkpoint, upload_of_model
from ..sharing.verification import write_verification
from ..utils.errors import DataError, attempt, one_line
from .layout import CARD, VERIFICATION

CHECKPOINT = {HubStrategy.CHECKPOINT: "last-checkpoint", HubStrategy.ALL_CHECKPOINTS: "{}"}  # its folder on the Hub


class Sharing(Trainer):
    """Trainer that pushes what the command pushes: a whole model with its code and its card, and nothing private."""

    push_in_progress: Any  # None if no push is running; set only in the main process

    def create_model_card(
        self,
        language: str | None = None,
        license: str | None = None,
        tags: str | list[str] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Write the card. Of Trainer's arguments, it takes those that the run does not know."""
        if self.is_world_process_zero():
            attempt(CARD, self._write_card, language=language, license=license, tags=tags)

    def _write_card(self, **metadata: Any) -> None:
        folder = Path(self.args.output_dir or "")
        if not write_card(folder, self.hub_model_id, is_finished=not self.is_in_train, **metadata):
            print(f"{folder / CARD} was edited and is kept")

    def push_to_hub(
        self,
        commit_message: str | None = "End of training",
        blocking: bool = True,
        token: str | None = None,
        revision: str | None = None,
        private: bool | None = None,
        **card: Any,
    ) -> Any:
        """Save and push the model. Return the commit; if not blocking, a Future, which prints why it has failed.

        Raises `DataError` if a file is a link out of the folder, or contains a token, and for what the Hub refuses.
        """
        self.callback_handler.on_push_begin(self.args, self.state, self.control)
        if self.hub_model_id is None:
            self.init_hf_repo(token=token, private=private)
        self._finish_current_push()  # it reads what is saved
        self.save_model(_internal_call=True)
        if not self.is_world_process_zero():
            return None
        self.create_model_card(**{"tags": getattr(self.model, "model_tags", None), **card})
        repository = self._repository(token, revision, private)
        upload = upload_of_model(Path(self.args.output_dir or ""), repository.token)
        message = commit_message or "End of training"
        return repository.commit(upload, message) if blocking else commit_later(repository, upload, message)

    def _repository(
        self, token: str | None = None, revision: str | None = None, private: bool | None = None
    ) -> Repository:
        arguments = self.args
        token = token or arguments.hub_token or huggingface_hub.get_token() or ""
        private = arguments.hub_private_repo if private is None else private
        return Repository(self.hub_model_id or "", token, bool(private), revision or arguments.hub_revision)

    def push_checkpoint(self, checkpoint: Path) -> None:
        """Push during training. Trainer's own omits the models' code and includes pickled arguments with the token."""
        arguments, job = self.args, getattr(self, "push_in_progress", None)
        waits = job is not None and not job.is_done() and not arguments.hub_always_push and arguments.world_size == 1
        if arguments.hub_strategy == HubStrategy.END or waits:
            return
        message = f"Training in progress, step {self.state.global_step}"
        name, repository = CHECKPOINT.get(HubStrategy(arguments.hub_strategy)), self._repository()
        jobs: list[Any] = []
        try:
            jobs.append(self.push_to_hub(message, blocking=False))
            if name and self.is_world_process_zero():
                upload = upload_of_checkpoint(checkpoint, name.format(checkpoint.name), repository.token)
                jobs.append(commit_later(repository, upload, f"{message}, checkpoint"))
        except DataError as error:
            warn(message, error)
        if self.is_world_process_zero():
            self.push_in_progress = PushInProgress(jobs)  # type: ignore[arg-type]  # a list, as in Trainer


def commit_later(repository: Repository, upload: Upload, message: str) -> Future:
    """Commit behind those that were asked for earlier, while training goes on."""

    def commit() -> CommitInfo | None:
        try:
            return repository.commit(upload, message)
        except DataError as error:
            warn(message, error)
            return None

    return hf_api().run_as_future(commit)


def warn(message: str, error: DataError) -> None:
    """Print that a commit has failed. Training goes on, and the push at its end has the model again."""
    print(f"WARNING: not pushed ({message}): {error}", file=sys.stderr)


def share(trainer: Sharing) -> None:
    """Write verification record and card, and push if requested, at the end of a run.

    Raises `DataError` if the push fails.
    """
    folder = Path(trainer.args.output_dir or "")
    if trainer.is_world_process_zero():
        attempt(VERIFICATION, write_verification, folder)
        trainer.create_model_card()
    if trainer.args.push_to_hub:
        try:
            commit = trainer.push_to_hub()
        except Exception as error:  # network, client, server: many types
            reason = one_line(error).removesuffix(f"; {REPEAT}")
            again = f"modeling-scratch push --folder {folder} --repo_id {trainer.hub_model_id}"
            raise DataError(f"the run is saved, but the push failed: {reason}; to retry: {again}") from error
        if trainer.is_world_process_zero():
            print(f"pushed: {commit.commit_url}")
