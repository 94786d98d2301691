# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Hyperparameter search by Trainer and Optuna: each trial is a complete training run, scored on validation only."""

from collections.abc import Mapping
from functools import partial
from math import ceil
from pathlib import Path
from shlex import quote
from typing import Any

from transformers import Trainer
from transformers.integrations import is_optuna_available

from ..utils.errors import DataError, DivergedError, counted
from ..utils.files import write_json
from ..utils.markdown import table
from .layout import TRIALS

NONE_COMPLETED = "No trials are completed yet."  # Optuna's error, which has no type of its own
TRIED = ("learning_rate", "per_device_train_batch_size", "num_train_epochs")
REFUSED = "resume_from_checkpoint", "push_to_hub", "load_best_model_at_end", "early_stopping_patience", "class_weights"


def check_search(arguments: Any) -> None:
    """Raise `DataError` for arguments that conflict with a search, before anything is read."""
    if not arguments.search_trials:
        return
    for name in REFUSED:
        if getattr(arguments, name):
            raise DataError(f"--search_trials keeps no weights and excludes --{name}")
    if arguments.world_size > 1:
        raise DataError("--search_trials runs in one process")
    if not is_optuna_available():
        raise DataError("--search_trials requires Optuna: pip install optuna")


def suggest(arguments: Any, trial: Any) -> dict[str, Any]:
    """Draw the values of an Optuna trial: around the given arguments, with at most the given number of epochs.

    With --max_steps, all trials are as long.
    """
    rate, batch, epochs = (getattr(arguments, name) for name in TRIED)
    batches = sorted({max(1, batch // 2), batch, batch * 2})
    values = {
        "learning_rate": float(f"{trial.suggest_float('learning_rate', rate / 10, rate * 10, log=True):.2g}"),
        "per_device_train_batch_size": trial.suggest_categorical("per_device_train_batch_size", batches),
    }
    if arguments.max_steps <= 0:
        values["num_train_epochs"] = float(trial.suggest_int("num_train_epochs", 1, ceil(epochs)))
    return values


def rank(row: Mapping[str, Any], metric: str) -> tuple[float, float]:
    """Order trials: the highest score first, of equal ones the lowest loss."""
    return -row[metric], row["loss"]


def search(trainer: Trainer, arguments: Any, metric: str) -> str:
    """Run the search; return its table and the best arguments. Each trial saves them to the run's folder.

    arguments: those of the user, around which trials vary. metric: the score that trials are ranked by; the lower loss
    breaks ties. A trial that diverges has no score.
    """
    import optuna  # optional dependency

    rows: list[dict[str, Any]] = []

    def scored(scores: Mapping[str, float]) -> float:
        tried = TRIED if arguments.max_steps <= 0 else TRIED[:2]
        values = {name: getattr(trainer.args, name) for name in tried}
        rows.append({metric: scores[f"eval_{metric}"], "loss": scores["eval_loss"], **values})
        rows.sort(key=partial(rank, metric=metric))
        write_json(Path(arguments.output_dir) / TRIALS, {"trials": rows, "best_arguments": options_of(rows[0])})
        return scores[f"eval_{metric}"]

    settings: Any = {"direction": "maximize", "sampler": optuna.samplers.TPESampler(seed=arguments.seed)}
    settings |= {"backend": "optuna", "catch": DivergedError}
    try:
        trainer.hyperparameter_search(partial(suggest, arguments), scored, arguments.search_trials, **settings)
    except ValueError as error:
        if str(error) != NONE_COMPLETED:
            raise
        fault = f"all trials have diverged: lower --learning_rate {arguments.learning_rate:g}, which they vary"
        raise DataError(fault) from error
    shown = table(list(rows[0]), [[f"{value:.4g}" for value in row.values()] for row in rows])
    return (
        f"\n{len(rows)} of {counted(arguments.search_trials, 'trial')} have not diverged; on validation:\n\n{shown}\n\n"
        f"to train with the best arguments, append to the same command:\n"
        f"    --search_trials 0 --output_dir {quote(f'{arguments.output_dir}-best')} {options_of(rows[0])}\n"
    )


def options_of(row: Mapping[str, Any]) -> str:
    """Return the arguments of a trial as options of the command."""
    return " ".join(f"--{name} {row[name]}" for name in TRIED if name in row)
