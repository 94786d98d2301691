# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A search for good training arguments: many runs, each evaluated on validation, none on test."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import ceil
from pathlib import Path
from shlex import quote
from typing import Any

from transformers import TrainingArguments
from transformers.trainer_utils import SaveStrategy, TrainOutput

from ..utils.errors import DataError
from ..utils.files import write_json, write_text
from .trainer import FlatTraining, LayerwiseDecay

STUDY, STUDY_FILE = "search", "study.db"

RESULTS_FILE = "search.json"
TRIED = ("learning_rate", "per_device_train_batch_size", "num_train_epochs", "dropout")
MAY_CHANGE = {"search_trials", "overwrite", "disable_tqdm", "report_to"}  # between the parts of one search
HIGHEST_DROPOUT = 0.5
REFUSED = ("resume_from_checkpoint", "push_to_hub", "load_best_model_at_end", "early_stopping_patience")


@dataclass(frozen=True)
class Space:
    """What is tried: values around those that the run was given, and never more epochs."""

    names: tuple[str, ...]
    learning_rate: float
    batch: int
    epochs: float

    def suggest(self, trial: Any) -> dict[str, Any]:
        """Of each argument the value of an optuna trial: drawn now, or as it was drawn before."""
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
    """Around the arguments of the run. Raises `DataError` for what cannot be tried."""
    names = tuple(dict.fromkeys(arguments.search_over))
    if unknown := [name for name in names if name not in TRIED]:
        raise DataError(f"--search_over {unknown[0]}: the choices are {', '.join(TRIED)}")
    if arguments.max_steps > 0 and "num_train_epochs" in names:
        others = " ".join(name for name in TRIED if name != "num_train_epochs")
        raise DataError(f"--max_steps decides how long each trial is: give --search_over {others}")
    rate, batch, epochs = arguments.learning_rate, arguments.per_device_train_batch_size, arguments.num_train_epochs
    return Space(names, rate, batch, epochs)


def check_search(arguments: Any) -> None:
    """Refuse, before anything is read, what makes no sense in a search."""
    if not arguments.search_trials:
        return
    if arguments.search_trials < 0:
        raise DataError(f"--search_trials {arguments.search_trials}: has to be at least 1, or 0 to train")
    for name in REFUSED:
        if getattr(arguments, name):
            raise DataError(f"--search_trials keeps no weights: it goes without --{name}")
    if arguments.world_size > 1:
        raise DataError("--search_trials runs in one process")
    space_of(arguments)
    _optuna()


def goes_on(arguments: Any) -> bool:
    """Whether the output folder holds a search that is to be continued."""
    return bool(arguments.search_trials) and not arguments.overwrite and _study_file(arguments).is_file()


def unchangeable(arguments: TrainingArguments) -> set[str]:
    """Training arguments that trials have to share, for their scores to be compared."""
    return {field.name for field in fields(arguments)} - MAY_CHANGE


def with_dropout(overrides: str | None, settings: dict[str, Any]) -> str | None:
    """--config_overrides of a trial, in which what comes last counts."""
    changes = [f"hidden_dropout={settings['dropout']}"] if "dropout" in settings else []
    return ",".join(filter(None, [overrides, *changes])) or None


class TrialTrainer(FlatTraining, LayerwiseDecay):
    """Trainer of one trial after another; what counts is the model at the end, with its weights averaged if asked for.

    Trainer's own objective is that of the last evaluation while it trained.
    """

    objective: float

    def train(self, *args: Any, **kwargs: Any) -> TrainOutput:
        output = super().train(*args, **kwargs)
        metrics = self.evaluate()
        self.objective = metrics["eval_accuracy"]
        trial: Any = self._trial
        trial.set_user_attr("eval_loss", metrics["eval_loss"])
        return output


def keep_no_weights(arguments: TrainingArguments) -> None:
    arguments.save_strategy = SaveStrategy.NO


def search(trainer: TrialTrainer, space: Space, overrides: str | None) -> str:
    """The table to print, and what to train with; both, and all trials, are in the folder of the run.

    A search that was stopped goes on: trials that were finished count, and are not repeated.
    """
    optuna, arguments = _optuna(), trainer.args
    name: Any = {"study_name": STUDY, "storage": f"sqlite:///{_study_file(arguments)}", "load_if_exists": True}
    study = optuna.create_study(direction="maximize", **name)
    missing = getattr(arguments, "search_trials", 0) - len(_finished(study))
    if missing > 0:
        sampler = optuna.samplers.TPESampler(seed=arguments.seed + len(study.trials))  # resumed, it draws others
        trainer.hyperparameter_search(
            hp_space=lambda trial: {key: value for key, value in space.suggest(trial).items() if key != "dropout"},
            compute_objective=lambda metrics: metrics["eval_accuracy"],
            n_trials=missing,
            direction="maximize",
            backend="optuna",
            sampler=sampler,
            pruner=optuna.pruners.NopPruner(),
            **name,
        )
    return _report(_finished(study), space, overrides, Path(arguments.output_dir or ""))


def _optuna() -> Any:
    try:
        import optuna  # here: it is needed for nothing else
    except ImportError as error:
        raise DataError("--search_trials needs optuna: pip install optuna") from error
    return optuna


def _study_file(arguments: TrainingArguments) -> Path:
    return Path(arguments.output_dir or "") / STUDY_FILE


def _finished(study: Any) -> list[Any]:
    return study.get_trials(deepcopy=False, states=[_optuna().trial.TrialState.COMPLETE])


def _report(trials: list[Any], space: Space, overrides: str | None, output: Path) -> str:
    """Best first: of equal accuracies, the lower loss."""
    rows = [
        {"trial": trial.number, "accuracy": trial.value, "loss": trial.user_attrs["eval_loss"], **space.suggest(trial)}
        for trial in trials
    ]
    rows.sort(key=lambda row: (-row["accuracy"], row["loss"]))
    best = _command_line({name: rows[0][name] for name in space.names}, overrides)
    write_json(output / RESULTS_FILE, {"trials": rows, "best_arguments": best})
    header = f"| {' | '.join(rows[0])} |\n|{' ---: |' * len(rows[0])}"
    lines = [f"| {' | '.join(_cell(name, value) for name, value in row.items())} |" for row in rows]
    table = f"\n{len(rows)} trials, judged on validation\n\n" + "\n".join([header, *lines]) + "\n"
    write_text(output / "search.md", table)
    end = f"--search_trials 0 --output_dir {quote(f'{output}-best')} {best}"
    return f"{table}\nto train with the best, put this at the end of the same command:\n    {end}\n"


def _cell(name: str, value: Any) -> str:
    return {"accuracy": f"{value:.2%}", "loss": f"{value:.4f}"}.get(name, str(value))


def _command_line(settings: dict[str, Any], overrides: str | None) -> str:
    given = {name: value for name, value in settings.items() if name != "dropout"}
    if "dropout" in settings:
        given["config_overrides"] = with_dropout(overrides, settings)
    return " ".join(f"--{name} {quote(str(value))}" for name, value in given.items())
