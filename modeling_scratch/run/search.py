# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Hyperparameter search: several training runs, evaluated on validation only."""

import sqlite3
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, fields
from functools import partial
from math import ceil
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from transformers import TrainingArguments
from transformers.trainer_utils import SaveStrategy

from ..bridges.model_sources import with_override
from ..utils.errors import DataError, DivergedError, counted, one_line
from ..utils.files import write_json, write_text
from ..utils.markdown import percent

STUDY, STUDY_FILE = "search", "study.db"

RESULTS_FILE = "search.json"
METRIC, DIVERGED = "metric", "diverged"  # what a study notes of itself, and of a trial
TRIED = ("learning_rate", "per_device_train_batch_size", "num_train_epochs", "dropout")
MAY_CHANGE = {"search_trials", "overwrite", "disable_tqdm", "report_to"}  # may change when a search continues
HIGHEST_DROPOUT = 0.5
REFUSED = ("resume_from_checkpoint", "push_to_hub", "load_best_model_at_end", "early_stopping_patience")


AnyArguments = TypeVar("AnyArguments", bound=TrainingArguments)
Scores = Mapping[str, float]  # of an evaluation


@dataclass(frozen=True)
class Space:
    """The search space: values around the given arguments, with at most the given number of epochs."""

    names: tuple[str, ...]
    learning_rate: float
    batch: int
    epochs: float

    def suggest(self, trial: Any) -> dict[str, Any]:
        """Return each argument's value in an Optuna trial, drawing it if the trial is new."""
        rates = (self.learning_rate / 10, self.learning_rate * 10)
        batches = sorted({max(1, self.batch // 2), self.batch, self.batch * 2})
        draw: dict[str, Callable[[str], Any]] = {
            "learning_rate": lambda name: float(f"{trial.suggest_float(name, *rates, log=True):.2g}"),
            "per_device_train_batch_size": lambda name: trial.suggest_categorical(name, batches),
            "num_train_epochs": lambda name: trial.suggest_int(name, 1, ceil(self.epochs)),
            "dropout": lambda name: round(trial.suggest_float(name, 0.0, HIGHEST_DROPOUT, step=0.05), 2),
        }
        return {name: draw[name](name) for name in self.names}


def space_of(arguments: Any) -> Space:
    """Return the search space around the run's arguments. Raises `DataError` for invalid names."""
    names = tuple(dict.fromkeys(arguments.search_over))
    if arguments.learning_rate == 0:
        raise DataError(f"--learning_rate {arguments.learning_rate}: a search needs one above 0")
    if unknown := [name for name in names if name not in TRIED]:
        raise DataError(f"--search_over {unknown[0]}: the choices are {', '.join(TRIED)}")
    if arguments.max_steps > 0 and "num_train_epochs" in names:
        others = " ".join(name for name in TRIED if name != "num_train_epochs")
        raise DataError(f"--max_steps fixes the length of each trial: use --search_over {others}")
    rate, batch, epochs = arguments.learning_rate, arguments.per_device_train_batch_size, arguments.num_train_epochs
    return Space(names, rate, batch, epochs)


def check_search(arguments: Any) -> None:
    """Raise `DataError` for arguments that conflict with a search, before anything is read."""
    if not arguments.search_trials:
        return
    if arguments.search_trials < 0:
        raise DataError(f"--search_trials {arguments.search_trials}: must be at least 1, or 0 to train once")
    for name in REFUSED:
        if getattr(arguments, name):
            raise DataError(f"--search_trials keeps no weights and excludes --{name}")
    if arguments.world_size > 1:
        raise DataError("--search_trials runs in one process")
    space_of(arguments)
    _optuna()


def goes_on(arguments: Any) -> bool:
    """Return whether the output folder holds a search to continue."""
    trials = getattr(arguments, "search_trials", 0)
    return bool(trials) and not arguments.overwrite and _study_file(arguments).is_file()


def unchangeable(arguments: TrainingArguments) -> set[str]:
    """Return the training arguments that all trials must share for comparable scores."""
    return {field.name for field in fields(arguments)} - MAY_CHANGE


def with_dropout(overrides: str | None, settings: dict[str, Any]) -> str | None:
    """Return the --config_overrides of a trial."""
    return with_override(overrides, "hidden_dropout", settings["dropout"]) if "dropout" in settings else overrides


def of_trial(arguments: AnyArguments, values: Mapping[str, Any]) -> AnyArguments:
    """Return the arguments of a trial, which saves no checkpoints. values: those that it tries."""
    trial = copy(arguments)
    trial.save_strategy, trial.load_best_model_at_end = SaveStrategy.NO, False
    for name in values.keys() - {"dropout"}:
        setattr(trial, name, type(getattr(arguments, name))(values[name]))
    return trial


def search(
    arguments: Any, space: Space, overrides: str | None, metric: str, attempt: Callable[[dict[str, Any]], Scores]
) -> str:
    """Run the search; return its table and the best arguments, which are also saved to the run's folder.

    metric: the score that trials are ranked by. attempt: the scores of a model that is trained with these values. A
    stopped search continues: finished trials count and are not repeated. A trial that diverges has no score.
    """
    optuna, study = _optuna(), _study(arguments)
    _check_metric(study, metric)

    def objective(trial: Any) -> float:
        try:
            scores = attempt(space.suggest(trial))
        except DivergedError:
            trial.set_user_attr(DIVERGED, True)
            raise
        trial.set_user_attr("eval_loss", scores["eval_loss"])
        return scores[f"eval_{metric}"]

    missing = arguments.search_trials - len(_finished(study))
    if missing > 0:
        # A resumed search draws new values.
        study.sampler = optuna.samplers.TPESampler(seed=arguments.seed + len(study.trials))
        study.optimize(objective, missing, catch=(DivergedError,))
    if not _finished(study):
        raise DataError(f"all trials have diverged: lower --learning_rate {arguments.learning_rate:g}, which they vary")
    diverged = sum(trial.user_attrs.get(DIVERGED, False) for trial in study.trials)
    return _report(_finished(study), space, overrides, Path(arguments.output_dir or ""), metric, diverged)


def _study(arguments: Any) -> Any:
    try:
        name: Any = {"study_name": STUDY, "storage": _storage(_study_file(arguments)), "load_if_exists": True}
        return _optuna().create_study(direction="maximize", **name)
    except Exception as error:  # of the data base: many types
        reason = f"{_study_file(arguments)} cannot be read: {one_line(error)[:120]}"
        raise DataError(f"{reason}; start a new search with --overwrite") from error


def _check_metric(study: Any, metric: str) -> None:
    """Raise `DataError` if earlier trials were ranked by another score. Earlier versions knew accuracy alone."""
    before = study.user_attrs.get(METRIC, "accuracy" if study.trials else metric)
    if before != metric:
        raise DataError(f"the trials of this search were ranked by {before}, and now by {metric}; add --overwrite")
    study.set_user_attr(METRIC, metric)


def _optuna() -> Any:
    try:
        import optuna  # optional dependency
    except ImportError as error:
        raise DataError("--search_trials requires Optuna: pip install optuna") from error
    return optuna


def _study_file(arguments: TrainingArguments) -> Path:
    return Path(arguments.output_dir or "") / STUDY_FILE


def _storage(file: Path) -> Any:
    """Return an SQLite storage. In a URL, "?" and "%" in the name of the folder would have another meaning."""
    from sqlalchemy.pool import NullPool  # installed with Optuna

    engine = {"creator": partial(sqlite3.connect, file), "poolclass": NullPool}
    return _optuna().storages.RDBStorage("sqlite://", engine)


def _finished(study: Any) -> list[Any]:
    return study.get_trials(deepcopy=False, states=[_optuna().trial.TrialState.COMPLETE])


def _report(trials: list[Any], space: Space, overrides: str | None, output: Path, metric: str, diverged: int) -> str:
    """Save and format the trials, best first. The lower loss breaks ties in the metric."""
    rows = [
        {"trial": trial.number, metric: trial.value, "loss": trial.user_attrs["eval_loss"], **space.suggest(trial)}
        for trial in trials
    ]
    rows.sort(key=lambda row: (-row[metric], row["loss"]))
    best = _command_line({name: rows[0][name] for name in space.names}, overrides)
    write_json(output / RESULTS_FILE, {"trials": rows, "best_arguments": best})
    header = f"| {' | '.join(rows[0])} |\n|{' ---: |' * len(rows[0])}"
    lines = [f"| {' | '.join(_cell(name, value) for name, value in row.items())} |" for row in rows]
    without = f"; {counted(diverged, 'other')} diverged" if diverged else ""
    table = f"\n{len(rows)} trials, evaluated on validation{without}\n\n" + "\n".join([header, *lines]) + "\n"
    write_text(output / "search.md", table)
    end = f"--search_trials 0 --output_dir {quote(f'{output}-best')} {best}"
    return f"{table}\nto train with the best arguments, append to the same command:\n    {end}\n"


def _cell(name: str, value: Any) -> str:
    if name in ("accuracy", "f1_macro"):
        return percent(value)
    return f"{value:.4f}" if name == "loss" else str(value)


def _command_line(settings: dict[str, Any], overrides: str | None) -> str:
    given = {name: value for name, value in settings.items() if name != "dropout"}
    if "dropout" in settings:
        given["config_overrides"] = with_dropout(overrides, settings)
    return " ".join(f"--{name} {quote(str(value))}" for name, value in given.items())
