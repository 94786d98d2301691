# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a run shares at its end: its verification and its card, and with --push_to_hub the files that `push` uploads."""

from pathlib import Path

import huggingface_hub
from transformers import Trainer

from ..sharing.hub import REPEAT, upload
from ..sharing.model_card import write_card
from ..sharing.verification import write_verification
from ..utils.errors import DataError, attempt, one_line
from .layout import CARD, VERIFICATION


def share(trainer: Trainer) -> None:
    """Write verification record and card, and push if requested. Raises `DataError` if the push fails."""
    if not trainer.is_world_process_zero():
        return
    folder = Path(trainer.args.output_dir or "")
    attempt(VERIFICATION, write_verification, folder)
    attempt(CARD, _write_card, folder, trainer)
    if trainer.args.push_to_hub:
        arguments, name = trainer.args, trainer.hub_model_id or ""
        try:
            token = arguments.hub_token or huggingface_hub.get_token() or ""
            where = name, token, bool(arguments.hub_private_repo), arguments.hub_revision
            print(f"pushed: {upload(folder, 'End of training', *where).commit_url}")
        except Exception as error:  # network, client, server: many types
            reason = one_line(error).removesuffix(f"; {REPEAT}")
            again = f"modeling-scratch push --folder {folder} --repo_id {name}"
            raise DataError(f"the run is saved, but the push failed: {reason}; to retry: {again}") from error


def _write_card(folder: Path, trainer: Trainer) -> None:
    if not write_card(folder, trainer.hub_model_id, tags=getattr(trainer.model, "model_tags", None)):
        print(f"{folder / CARD} was edited and is kept")
