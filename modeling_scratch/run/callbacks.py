# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Trainer callbacks: early stopping and a moving average of the weights."""

import sys
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import IntervalStrategy

from ..utils.errors import DataError
from .checkpoints import checkpoint_at, saving
from .distributed import is_sharded


class EarlyStopping(TrainerCallback):
    """Stop training after `patience` consecutive evaluations without improvement.

    The check runs when a checkpoint is saved, as the best metric is up to date then. It counts evaluations in the log
    history, which checkpoints contain, so that a resumed run stops at the same step as an uninterrupted one.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        if not args.load_best_model_at_end:
            raise DataError("--early_stopping_patience requires checkpoints chosen on validation")
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


def save_where_evaluated(arguments: TrainingArguments) -> None:
    """Align checkpoints with evaluations, so that the best evaluation has one. A finer save interval is kept."""
    evaluated, saved = arguments.eval_steps, arguments.save_steps
    if arguments.eval_strategy == IntervalStrategy.STEPS and evaluated and not round(evaluated / saved, 6).is_integer():
        print(
            f"saving a checkpoint with each evaluation, every {evaluated} steps, instead of --save_steps {saved}",
            file=sys.stderr,
        )
        arguments.save_steps = evaluated


def early_stopping(patience: int) -> list[TrainerCallback]:
    """Return the callbacks for Trainer; none for patience 0."""
    return [EarlyStopping(patience)] if patience else []


def check_patience(patience: int) -> None:
    if patience < 0:
        raise DataError(f"--early_stopping_patience {patience}: must be at least 1, or 0 to disable early stopping")


AVERAGE_FILE = "weight_average.safetensors"


class WeightAverage(TrainerCallback):
    """average <- d average + (1 - d) weights after each step (Polyak and Juditsky 1992), d = decay.

    Early in training, d is limited to (step + 1) / (step + 10). Training continues with the weights themselves; at its
    end, the model gets the average. Each checkpoint holds both, so that a run can be resumed.
    """

    def __init__(self, decay: float) -> None:
        if not 0 < decay < 1:
            raise DataError(f"--ema_decay {decay}: must be between 0 and 1, such as 0.999")
        self.decay = decay
        self.average: dict[str, Tensor] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if is_sharded(kwargs["model"]):
            raise DataError("--ema_decay must be 0 with sharded weights (FSDP, ZeRO)")
        self.average = {name: weight.detach().clone() for name, weight in kwargs["model"].named_parameters()}
        if not state.global_step:
            return
        saved = checkpoint_at(args, state.global_step) / AVERAGE_FILE
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

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            with saving(checkpoint_at(args, state.global_step)):
                save_file(self.average, checkpoint_at(args, state.global_step) / AVERAGE_FILE)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        with torch.no_grad():
            for name, weight in kwargs["model"].named_parameters():
                weight.copy_(self.average[name])
