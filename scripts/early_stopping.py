# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Stop when validation has not become better for a while, also where the run was stopped and resumed meanwhile."""

import sys

from text_files import DataError
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import IntervalStrategy


class EarlyStopping(TrainerCallback):
    """Ends training after `patience` evaluations in a row that are no better than the best one.

    It looks when a checkpoint is saved, for what is best is known then; and it counts in the history of the run, which
    a checkpoint holds, so that a resumed run stops where one does that was never interrupted.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        if not args.load_best_model_at_end:
            raise DataError("--early_stopping_patience needs checkpoints that are chosen on validation")
        self._look(args, state, control)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object) -> None:
        stops = self._look(args, state, control) and state.global_step < state.max_steps
        if stops and state.is_world_process_zero:
            name, best = args.metric_for_best_model, state.best_global_step
            print(f"stopped early, after step {state.global_step}: the best {name} was {state.best_metric:g} at {best}")

    def _look(self, args: TrainingArguments, state: TrainerState, control: TrainerControl) -> bool:
        is_over = bool(state.best_global_step) and evaluations_since_best(args, state) >= self.patience
        control.should_training_stop |= is_over
        return is_over


def evaluations_since_best(args: TrainingArguments, state: TrainerState) -> int:
    name = f"eval_{(args.metric_for_best_model or '').removeprefix('eval_')}"
    return sum(name in entry and entry["step"] > (state.best_global_step or 0) for entry in state.log_history)


def save_where_judged(arguments: TrainingArguments) -> None:
    """A checkpoint with each evaluation that may turn out as the best; more often where that is asked for."""
    judged, saved = arguments.eval_steps, arguments.save_steps
    if arguments.eval_strategy == IntervalStrategy.STEPS and judged and not round(judged / saved, 6).is_integer():
        print(f"a checkpoint with each evaluation, every {judged} steps, not --save_steps {saved}", file=sys.stderr)
        arguments.save_steps = judged


def early_stopping(patience: int) -> list[TrainerCallback]:
    """What Trainer takes as callbacks; patience 0: none."""
    return [EarlyStopping(patience)] if patience else []


def check_patience(patience: int) -> None:
    if patience < 0:
        raise DataError(f"--early_stopping_patience {patience}: has to be at least 1, or 0 to never stop early")
