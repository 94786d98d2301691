# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The stages of a run, pretraining and fine-tuning, as a table of its report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerState

from ..run.layout import HISTORY
from ..utils.markdown import percent, table

SHOWN = ("accuracy", "f1_micro", "rmse")  # the score of each problem type
HEADS = ("stage", "read", "steps", "minutes", "result")


def pretraining_stage(folder: Path, read: str, since: int = 0) -> dict[str, Any]:
    """Return the row of a finished pretraining run: its first and its last loss on held-out texts.

    since: the step that it was resumed at, which its minutes are counted from.
    """
    state = TrainerState.load_from_json(str(folder / HISTORY))
    evaluations = [entry for entry in state.log_history if "eval_loss" in entry]
    first, last = evaluations[0], evaluations[-1]
    result = f"loss {first['eval_loss']:.3f} at step {first['step']:,}, then {last['eval_loss']:.3f}"
    return _stage("pretraining", read, state, result, since)


def fine_tuning_stage(trainer: Trainer, evaluated: Mapping[str, float], since: int = 0) -> dict[str, Any]:
    """Return the row of a fine-tuning run. evaluated: the scores of its end; validation may have been scored before."""
    train: Any = trainer.train_dataset
    state = trainer.state
    earlier = (entry for entry in reversed(state.log_history) if "eval_loss" in entry)
    scores = evaluated if "eval_loss" in evaluated else next(earlier)
    name, value = next((name, scores[f"eval_{name}"]) for name in SHOWN if f"eval_{name}" in scores)
    result = f"validation {name.replace('_', ' ')} {percent(value) if name != 'rmse' else format(value, '.4g')}"
    return _stage("fine-tuning", f"{len(train):,} texts, {state.epoch or 0:.3g} times", state, result, since)


def _stage(name: str, read: str, state: TrainerState, result: str, since: int) -> dict[str, Any]:
    seconds = next(entry["train_runtime"] for entry in reversed(state.log_history) if "train_runtime" in entry)
    about = {"name": name, "read": read, "steps": state.global_step, "minutes": seconds / 60}
    return {**about, "result": result, "since": since}


def stage_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of stages that evaluation.json records."""
    since = [f" since step {row['since']:,}" if row["since"] else "" for row in rows]
    minutes = [f"{row['minutes']:.1f}{told}" for row, told in zip(rows, since)]
    return table(
        HEADS, [[row["name"], row["read"], row["steps"] or "", each, row["result"]] for row, each in zip(rows, minutes)]
    )
