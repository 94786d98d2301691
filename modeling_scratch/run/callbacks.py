# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Trainer callbacks: early stopping, a moving average of the weights, and a line for each entry of the log."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import (
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from ..report.report_files import deciding_metric
from ..utils.errors import DataError
from .checkpoints import checkpoint_at
from .layout import AVERAGE


class EarlyStopping(TrainerCallback):
    """Stop training after `patience` consecutive evaluations without improvement.

    The check runs when a checkpoint is saved, as the best metric is up to date then. It counts evaluations in the log
    history, which checkpoints contain, so that a resumed run stops at the same step as an uninterrupted one.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        name, best = deciding_metric(args), max if args.greater_is_better else min
        values = [entry[name] for entry in state.log_history if name in entry]
        since_best = len(values) - 1 - values.index(best(values)) if values else 0  # a tie is no improvement
        if not state.best_global_step or since_best < self.patience:
            return
        control.should_training_stop = True
        if state.is_world_process_zero and state.global_step < state.max_steps:
            kept = f"best {args.metric_for_best_model} {state.best_metric:g} at step {state.best_global_step}"
            print(f"stopped early after step {state.global_step}: {kept}")

    on_train_begin = on_save


class WeightAverage(TrainerCallback):
    """average <- d average + (1 - d) weights after each step (Polyak and Juditsky 1992), d = decay.

    Early in training, d is limited to (step + 1) / (step + 10). Training continues with the weights themselves; at its
    end, the model gets the average. `RunTrainer` saves both in each checkpoint, so that a run can be resumed.
    """

    def __init__(self, decay: float) -> None:
        if not 0 < decay < 1:
            raise DataError(f"--ema_decay {decay}: must be between 0 and 1, such as 0.999")
        self.decay = decay
        self.average: dict[str, Tensor] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        self.average = {name: weight.detach().clone() for name, weight in more["model"].named_parameters()}
        if not state.global_step:
            return
        saved = checkpoint_at(args, state.global_step) / AVERAGE
        if not saved.is_file():
            raise DataError(f"{saved} is missing: resume with --ema_decay 0 or start a new run")
        for name, weight in load_file(saved).items():
            self.average[name].copy_(weight)

    @torch.no_grad()
    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        decay = min(self.decay, (state.global_step + 1) / (state.global_step + 10))
        for average, weight in zip(self.average.values(), more["model"].parameters()):
            average.lerp_(weight, 1 - decay)

    def save(self, checkpoint: Path) -> None:
        save_file(self.average, checkpoint / AVERAGE)

    @torch.no_grad()
    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        for name, weight in more["model"].named_parameters():
            weight.copy_(self.average[name])


TIMES = "_runtime", "_per_second", "_preparation_time"  # which the summary at the end of the run has
HIDDEN = "epoch", "total_flos"
NAMES = {"learning_rate": "rate", "grad_norm": "gradient norm"}
SHOWN_EVALUATIONS = 20  # about as many are printed, of however many: trainer_state.json has all


def progress_line(entry: Mapping[str, Any], state: TrainerState, is_in_train: bool) -> str | None:
    """Return the line of the last log entry; None for that at the end of training, which the run's summary replaces."""
    steps = [-1, -1, *(each["step"] for each in state.log_history if "eval_loss" in each)]
    before, now = (SHOWN_EVALUATIONS * step // max(1, state.max_steps) for step in steps[-2:])
    if "train_loss" in entry or ("eval_loss" in entry and is_in_train and before == now):
        return None
    told = {name: value for name, value in entry.items() if name not in HIDDEN and not name.endswith(TIMES)}
    names = {name: NAMES.get(name, name.removeprefix("eval_").replace("_", " ")) for name in told}
    shown = [f"{names[name]} {value:{'.4g' if isinstance(value, float) else ','}}" for name, value in told.items()]
    scores = f"{'validation ' if 'eval_loss' in entry else ''}{', '.join(shown)}"
    if not is_in_train:
        return f"the saved weights: {scores}" if state.max_steps else scores
    epoch = f" (epoch {entry['epoch']:,.2f})" if "epoch" in entry else ""
    return f"step {state.global_step:,} of {state.max_steps:,}{epoch}: {scores}"


def print_lines(trainer: Trainer) -> None:
    """Replace Trainer's own printing of its log, above the progress bar if there is one. A notebook keeps its table."""

    def on_log(callback: Any, args: Any, state: TrainerState, *_: Any, logs: Any, **__: Any) -> None:
        bar = getattr(callback, "training_bar", None)
        if state.is_world_process_zero and (line := progress_line(logs, state, trainer.is_in_train)) is not None:
            (bar.write if bar else print)(line)

    callbacks: list[Any] = trainer.callback_handler.callbacks
    for callback in callbacks:
        if type(callback) in (PrinterCallback, ProgressCallback):
            callback.on_log = partial(on_log, callback)
