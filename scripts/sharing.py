# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What makes a run fit to be shared: its card, a record of its answers to verify copies by, and pushes with both."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from card_text import excerpt
from model_card import CARD_FILE, write_card
from several_processes import whole_model
from survival import SurvivingTrainer
from text_files import DataError, one_line
from transformers import Trainer
from transformers.trainer_utils import HubStrategy
from transformers.utils.hub import PushInProgress, hf_api

from modeling_scratch.verify import write_verification

VERIFIED_TEXTS = 3


class SharingTrainer(SurvivingTrainer):
    """Trainer that pushes whole models: with their code and the card of the run, and without pickled arguments."""

    push_in_progress: Any  # None where nothing is on its way; of the main process alone

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        forget_last_call(self.processing_class)
        super()._save(output_dir, state_dict)
        if self.args.should_save:  # run_config.json says the same, in the open and without tokens
            Path(output_dir or self.args.output_dir or "", "training_args.bin").unlink(missing_ok=True)

    def create_model_card(
        self,
        language: str | None = None,
        license: str | None = None,
        tags: str | list[str] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Of what Trainer's takes, what the run does not know itself."""
        if self.is_world_process_zero():
            attempt(CARD_FILE, self._write_card, language=language, license=license, tags=tags)

    def _write_card(self, **told: Any) -> None:
        folder = Path(self.args.output_dir or "")
        if not write_card(folder, self.hub_model_id, is_finished=not self.is_in_train, **told):
            print(f"{folder / CARD_FILE} was edited, and stays as it is")

    def _push_from_checkpoint(self, checkpoint_folder: str) -> None:
        """Trainer's sends the weights without their code, and its arguments as a pickle, with the token among them."""
        arguments, step = self.args, self.state.global_step
        job = getattr(self, "push_in_progress", None)
        waits = job is not None and not job.is_done() and not arguments.hub_always_push and arguments.world_size == 1
        if arguments.hub_strategy == HubStrategy.END or waits:
            return
        self._finish_current_push()
        message = f"Training in progress, step {step}"
        jobs: list[Any] = [self.push_to_hub(message, blocking=False)]
        if self.is_world_process_zero():
            jobs += self._push_whole_checkpoint(Path(checkpoint_folder), f"{message}, checkpoint")
            self.push_in_progress = PushInProgress(jobs)  # type: ignore[arg-type]  # a list, as Trainer gives it

    def _push_whole_checkpoint(self, folder: Path, message: str) -> list[Any]:
        """What training goes on from, too, where that is wanted."""
        names = {HubStrategy.CHECKPOINT: "last-checkpoint", HubStrategy.ALL_CHECKPOINTS: folder.name}
        if (name := names.get(HubStrategy(self.args.hub_strategy))) is None:
            return []
        upload = partial(hf_api().upload_folder, repo_id=self.hub_model_id or "", run_as_future=True)
        where = {"path_in_repo": name, "token": self.args.hub_token, "revision": self.args.hub_revision}
        return [upload(folder_path=folder, commit_message=message, **where)]


def forget_last_call(tokenizer: Any) -> None:
    """A fast tokenizer keeps the truncation and padding that it was called with last, and would save them."""
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        backend.no_truncation()
        backend.no_padding()


def share(trainer: SharingTrainer, texts: Sequence[str]) -> None:
    """The end of a run, when all else is in its folder; texts: some that the model was judged on.

    Raises `DataError` where what was to be pushed could not be.
    """
    folder = Path(trainer.args.output_dir or "")
    if trainer.is_world_process_zero():
        attempt("verify.json", _verify, trainer, folder, [excerpt(text) for text in texts[:VERIFIED_TEXTS]])
        trainer.create_model_card()
    if trainer.args.push_to_hub:
        try:
            commit = trainer.push_to_hub()
        except Exception as error:  # of network, client and server: open-ended
            again = f"python scripts/push_to_hub.py --folder {folder} --repo_id {trainer.hub_model_id}"
            raise DataError(f"all is saved, but could not be pushed: {one_line(error)}; later: {again}") from error
        if trainer.is_world_process_zero():
            print(f"pushed: {commit.commit_url}")


def _verify(trainer: Trainer, folder: Path, texts: list[str]) -> None:
    model: Any = whole_model(trainer)
    tokenizer: Any = trainer.processing_class
    write_verification(model, tokenizer, folder, texts)


def attempt(file: str, write: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Write what a run can do without: whatever fails there is told, and costs nobody a model."""
    try:
        write(*arguments, **options)
    except Exception as error:
        print(f"WARNING: {file} could not be written: {one_line(error)}", file=sys.stderr)
