# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The stages of a run, pretraining and fine-tuning, as a table of its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerState

from ..run.layout import HISTORY
from ..utils.markdown import percent, table

SHOWN = ("accuracy", "f1_micro", "rmse")  # the score of each problem type
HEADS = ("stage", "read", "steps", "minutes", "result")


@dataclass(frozen=True)
class Stage:
    """A stage of a run."""

    name: str
    read: str
    steps: int
    minutes: float
    result: str
    since: int = 0  # the step that it was resumed at, which its minutes are counted from


def pretraining_stage(folder: Path, read: str, since: int = 0) -> Stage:
    """Return the row of a finished pretraining run: its first and its last loss on held-out texts."""
    state = TrainerState.load_from_json(str(folder / HISTORY))
    evaluations = [entry for entry in state.log_history if "eval_loss" in entry]
    first, last = evaluations[0], evaluations[-1]
    result = f"loss {first['eval_loss']:.3f} at step {first['step']:,}, then {last['eval_loss']:.3f}"
    return Stage("pretraining", read, state.global_step, _minutes_of(state), result, since)


def fine_tuning_stage(trainer: Trainer, evaluated: Mapping[str, float], since: int = 0) -> Stage:
    """Return the row of a fine-tuning run. evaluated: the scores of its end; validation may have been scored before."""
    train: Any = trainer.train_dataset
    state = trainer.state
    read = f"{len(train):,} texts, {state.epoch or 0:.3g} times"
    earlier = (entry for entry in reversed(state.log_history) if "eval_loss" in entry)
    scores = evaluated if "eval_loss" in evaluated else next(earlier)
    name, value = next((name, scores[f"eval_{name}"]) for name in SHOWN if f"eval_{name}" in scores)
    result = f"validation {name.replace('_', ' ')} {percent(value) if name != 'rmse' else format(value, '.4g')}"
    return Stage("fine-tuning", read, state.global_step, _minutes_of(state), result, since)


def _minutes_of(state: TrainerState) -> float:
    return next(entry["train_runtime"] for entry in reversed(state.log_history) if "train_runtime" in entry) / 60


def stage_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of stages that evaluation.json records."""
    return table(HEADS, [[row["name"], row["read"], row["steps"] or "", _minutes(row), row["result"]] for row in rows])


def _minutes(row: Mapping[str, Any]) -> str:
    since = f" since step {row['since']:,}" if row["since"] else ""
    return f"{row['minutes']:.1f}{since}"
