# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What to try after a run whose classifier is no better than a linear model, depending on what the run did."""

from math import ceil
from typing import Any

from transformers import TrainerState

from ..data.labelled_texts import ReviewData
from .life_cycle import Run

ENOUGH_TEXTS = 20_000  # labelled ones; with fewer, a checkpoint helps most
EXAMPLE = "which raised accuracy from 72 to 82 % on 1,500 texts of SST-2"  # docs/experiments/few-texts.md has the table
ENOUGH_STEPS = 300  # with fewer, a model from random weights has rarely learned


def what_to_try(run: Run, data: ReviewData, state: TrainerState) -> str:
    """Return sentences that name options and data which the run did not have. state: at the end of fine-tuning."""
    steps = state.global_step
    model, training, pretraining = (run.groups.get(name) for name in ("model", "training", "pretraining"))
    is_new, texts = not model.model_name_or_path, data.splits["train"].num_rows
    found = []
    if steps < ENOUGH_STEPS and state.best_global_step in (None, 0, steps):  # it did not get worse
        found.append(f"Train longer, as {steps:,} steps are few: {_longer(training, steps)}.")
    if is_new and not pretraining and not data.has_pairs:
        found.append("Pretrain on many texts of the same kind without labels: --unlabelled_file FILE.")
    if is_new and texts < ENOUGH_TEXTS:
        found.append(f"Fine-tune a pretrained encoder: --model_name_or_path FOLDER, {EXAMPLE}.")
    return " ".join([*found, f"Label more texts than these {texts:,}."])


def _longer(training: Any, steps: int) -> str:
    if training.max_steps > 0:
        return f"--max_steps {ENOUGH_STEPS}"
    return f"--num_train_epochs {ceil(training.num_train_epochs * ENOUGH_STEPS / max(1, steps))}"
