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

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self._check(args, state, control)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object) -> None:
        stops = self._check(args, state, control) and state.global_step < state.max_steps
        if stops and state.is_world_process_zero:
            name, best = args.metric_for_best_model, state.best_global_step
            print(f"stopped early after step {state.global_step}: best {name} {state.best_metric:g} at step {best}")

    def _check(self, args: TrainingArguments, state: TrainerState, control: TrainerControl) -> bool:
        is_over = bool(state.best_global_step) and evaluations_since_best(args, state) >= self.patience
        control.should_training_stop |= is_over
        return is_over


def deciding_metric(args: TrainingArguments) -> str:
    """Return the name under which an evaluation has the score that checkpoints are chosen by."""
    return f"eval_{(args.metric_for_best_model or '').removeprefix('eval_')}"


def evaluations_since_best(args: TrainingArguments, state: TrainerState) -> int:
    name = deciding_metric(args)
    values = [entry[name] for entry in state.log_history if name in entry]
    if not values:
        return 0
    return len(values) - 1 - values.index((max if args.greater_is_better else min)(values))  # a tie is no improvement


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
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.average = {name: weight.detach().clone() for name, weight in kwargs["model"].named_parameters()}
        if not state.global_step:
            return
        saved = checkpoint_at(args, state.global_step) / AVERAGE
        if not saved.is_file():
            raise DataError(f"{saved} is missing: resume with --ema_decay 0 or start a new run")
        for name, weight in load_file(saved).items():
            self.average[name].copy_(weight)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        decay = min(self.decay, (state.global_step + 1) / (state.global_step + 10))
        weights = [weight.detach() for weight in kwargs["model"].parameters()]
        with torch.no_grad():
            for average, weight in zip(self.average.values(), weights):
                average.lerp_(weight, 1 - decay)

    def save(self, checkpoint: Path) -> None:
        save_file(self.average, checkpoint / AVERAGE)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        with torch.no_grad():
            for name, weight in kwargs["model"].named_parameters():
                weight.copy_(self.average[name])


TIMES = "_runtime", "_per_second", "_preparation_time"  # which the summary at the end of the run has
EVALUATION_PREFIX = "eval_"
EVALUATED = f"{EVALUATION_PREFIX}loss"
HIDDEN = "epoch", "total_flos"
NAMES = {"learning_rate": "rate", "grad_norm": "gradient norm"}


def progress_line(entry: Mapping[str, Any], state: TrainerState) -> str | None:
    """Return the line of a log entry; None for that at the end of training, which the run's summary replaces."""
    if "train_loss" in entry:
        return None
    is_evaluation = any(name.startswith(EVALUATION_PREFIX) for name in entry)
    told = {name: value for name, value in entry.items() if name not in HIDDEN and not name.endswith(TIMES)}
    names = {name: NAMES.get(name, name.removeprefix(EVALUATION_PREFIX).replace("_", " ")) for name in told}
    shown = [f"{names[name]} {value:{'.4g' if isinstance(value, float) else ','}}" for name, value in told.items()]
    scores = f"{'validation ' if is_evaluation else ''}{', '.join(shown)}"
    at_step = [each for each in state.log_history if each.get("step") == state.global_step and EVALUATED in each]
    if is_evaluation and len(at_step) > 1:  # after the last step, of what is saved
        return f"the saved weights: {scores}"
    if not state.max_steps:  # an evaluation without a training
        return scores
    epoch = f" (epoch {entry['epoch']:,.2f})" if "epoch" in entry else ""
    return f"step {state.global_step:,} of {state.max_steps:,}{epoch}: {scores}"


def print_lines(trainer: Trainer) -> None:
    """Replace Trainer's own printing of its log, above the progress bar if there is one. A notebook keeps its table."""
    callbacks: list[Any] = trainer.callback_handler.callbacks
    for callback in callbacks:
        if type(callback) in (PrinterCallback, ProgressCallback):
            callback.on_log = partial(print_line, callback)


def print_line(
    callback: Any, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: Any = None, **_: Any
) -> None:
    bar = getattr(callback, "training_bar", None)
    if state.is_world_process_zero and (line := progress_line(logs or {}, state)) is not None:
        (bar.write if bar else print)(line)
