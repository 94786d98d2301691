# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the trainer shares: the model card, complete models with their code on the Hub, and their verification."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from huggingface_hub.utils import filter_repo_objects
from transformers import Trainer
from transformers.trainer_utils import HubStrategy
from transformers.utils.hub import PushInProgress, hf_api

from ..data.text_pairs import shortened
from ..report.report_files import quotes_texts
from ..sharing.leaks import check_contents
from ..sharing.model_card import CARD_FILE, write_card
from ..sharing.quotations import quoting_files
from ..sharing.verification_record import write_verification
from ..utils.errors import DataError, attempt, one_line
from .distributed import whole_model
from .layout import NOT_PUSHED

VERIFIED_TEXTS = 3


class Sharing(Trainer):
    """Trainer that pushes complete models with their code and model card, without pickled arguments."""

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
            attempt(CARD_FILE, self._write_card, language=language, license=license, tags=tags)

    def push_to_hub(
        self,
        commit_message: str | None = "End of training",
        blocking: bool = True,
        token: str | None = None,
        revision: str | None = None,
        private: bool | None = None,
        **card: Any,
    ) -> Any:
        """Push the folder as Trainer does, without what `not_pushed` names.

        Raises `DataError` if a file is a link out of the folder, or contains a secret.
        """
        arguments, folder = self.args, Path(self.args.output_dir or "")
        self.callback_handler.on_push_begin(arguments, self.state, self.control)
        token = arguments.hub_token if token is None else token
        if self.hub_model_id is None:
            self.init_hf_repo(token=token, private=private)
        self.save_model(_internal_call=True)
        if not self.is_world_process_zero():
            return None
        self.create_model_card(**{"tags": getattr(self.model, "model_tags", None), **card})
        check_contents(folder, _pushed(folder), token or "")
        self._finish_current_push()
        upload = partial(hf_api().upload_folder, run_as_future=not blocking, ignore_patterns=not_pushed(folder))
        where = {"repo_id": self.hub_model_id or "", "revision": revision or arguments.hub_revision, "token": token}
        return upload(folder_path=folder, commit_message=commit_message, **where)

    def _write_card(self, **metadata: Any) -> None:
        folder = Path(self.args.output_dir or "")
        if not write_card(folder, self.hub_model_id, is_finished=not self.is_in_train, **metadata):
            print(f"{folder / CARD_FILE} was edited and is kept")

    def push_checkpoint(self, checkpoint: Path) -> None:
        """Push during training. Trainer's own omits the models' code and includes pickled arguments with the token."""
        arguments, step = self.args, self.state.global_step
        job = getattr(self, "push_in_progress", None)
        waits = job is not None and not job.is_done() and not arguments.hub_always_push and arguments.world_size == 1
        if arguments.hub_strategy == HubStrategy.END or waits:
            return
        self._finish_current_push()
        message = f"Training in progress, step {step}"
        try:
            jobs: list[Any] = [self.push_to_hub(message, blocking=False)]
        except DataError as error:  # training goes on, and the push at its end reports it again
            print(f"WARNING: step {step} was not pushed: {error}", file=sys.stderr)
            return
        if self.is_world_process_zero():
            jobs += self._push_whole_checkpoint(checkpoint, f"{message}, checkpoint")
            self.push_in_progress = PushInProgress(jobs)  # type: ignore[arg-type]  # a list, as in Trainer

    def _push_whole_checkpoint(self, folder: Path, message: str) -> list[Any]:
        """Upload the checkpoint itself, if the hub strategy includes it."""
        names = {HubStrategy.CHECKPOINT: "last-checkpoint", HubStrategy.ALL_CHECKPOINTS: folder.name}
        if (name := names.get(HubStrategy(self.args.hub_strategy))) is None:
            return []
        upload = partial(hf_api().upload_folder, repo_id=self.hub_model_id or "", run_as_future=True)
        where = {"path_in_repo": name, "token": self.args.hub_token, "revision": self.args.hub_revision}
        return [upload(folder_path=folder, commit_message=message, **where)]


def not_pushed(folder: Path) -> list[str]:
    """Return the patterns of files that a push leaves out."""
    return [*NOT_PUSHED, *quoting_files(folder)]


def _pushed(folder: Path) -> list[str]:
    """Return the names of the files that Trainer uploads."""
    names = [path.relative_to(folder).as_posix() for path in folder.glob("**/*") if path.is_file()]
    return list(filter_repo_objects(names, ignore_patterns=not_pushed(folder)))


def share(trainer: Sharing, texts: Sequence[str]) -> None:
    """Write verification record and card, and push if requested, at the end of a run.

    texts: evaluation texts, which the record has if it may quote them, or else sentences that are the same everywhere.
    Raises `DataError` if the push fails.
    """
    folder = Path(trainer.args.output_dir or "")
    quoted = [*map(shortened, texts[:VERIFIED_TEXTS])] if quotes_texts(trainer.args) else None
    if trainer.is_world_process_zero():
        attempt("verify.json", _verify, trainer, folder, quoted)
        trainer.create_model_card()
    if trainer.args.push_to_hub:
        try:
            commit = trainer.push_to_hub()
        except Exception as error:  # network, client, server: many types
            again = f"modeling-scratch push --folder {folder} --repo_id {trainer.hub_model_id}"
            raise DataError(f"the run is saved, but the push failed: {one_line(error)}; to retry: {again}") from error
        if trainer.is_world_process_zero():
            print(f"pushed: {commit.commit_url}")


def _verify(trainer: Trainer, folder: Path, texts: list[str] | None) -> None:
    model: Any = whole_model(trainer)
    tokenizer: Any = trainer.processing_class
    write_verification(model, tokenizer, folder, texts)
