# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables that a run adds to its report: the stages of pretraining and fine-tuning, and the scores of every split."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import datasets
from transformers import Trainer

from ..utils.markdown import percent, table
from .report_files import append_table

SHOWN = ("accuracy", "f1_micro", "rmse")  # the score of each problem type
HEADS = ("stage", "read", "steps", "minutes", "result")
OF_TIME = ("runtime", "samples_per_second", "steps_per_second", "model_preparation_time")


@dataclass(frozen=True)
class Stage:
    """A stage: what it read, how long it took, and what it reached. since: the step that it was resumed at, which its
    minutes are counted from."""

    name: str
    read: str
    steps: int
    minutes: float
    result: str
    since: int = 0


def pretraining_stage(folder: Path, read: str, since: int = 0) -> Stage:
    """Return the row of a finished pretraining run: its first and its last loss on held-out texts."""
    state, results = (_json(folder / file) for file in ("trainer_state.json", "all_results.json"))
    evaluations = [entry for entry in state["log_history"] if "eval_loss" in entry]
    first, last = evaluations[0], evaluations[-1]
    result = f"loss {first['eval_loss']:.3f} at step {first['step']:,}, then {last['eval_loss']:.3f}"
    return Stage("pretraining", read, state["global_step"], results["train_runtime"] / 60, result, since)


def fine_tuning_stage(trainer: Trainer, since: int = 0) -> Stage:
    """Return the row of a fine-tuning run that has been evaluated."""
    train: Any = trainer.train_dataset
    results = _json(Path(trainer.args.output_dir or "") / "all_results.json")
    read = f"{len(train):,} texts, {trainer.state.epoch or 0:.3g} times"
    name, value = next((name, results[f"eval_{name}"]) for name in SHOWN if f"eval_{name}" in results)
    result = f"validation {name.replace('_', ' ')} {percent(value) if name != 'rmse' else format(value, '.4g')}"
    return Stage("fine-tuning", read, trainer.state.global_step, results["train_runtime"] / 60, result, since)


def report_stages(folder: Path, stages: Sequence[Stage]) -> str:
    """Return the table of the stages, and add it to the report."""
    rows = [asdict(stage) for stage in stages]
    text = f"{stage_table(rows)}\n"
    append_table(folder, "stages", rows, text)
    return text


def stage_table(rows: Sequence[dict]) -> str:
    """Return the table of stages that evaluation.json records."""
    return table(HEADS, [[row["name"], row["read"], row["steps"] or "", _minutes(row), row["result"]] for row in rows])


def _minutes(row: dict) -> str:
    since = f" since step {row['since']:,}" if row["since"] else ""
    return f"{row['minutes']:.1f}{since}"


def _json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def score_splits(trainer: Trainer, splits: Mapping[str, datasets.Dataset]) -> dict[str, dict[str, float]]:
    """Return the scores of each split, the training texts included: how far a model is better on what it has seen.

    Every process of a distributed run has to call this.
    """
    return {split: _scores(trainer, rows, split) for split, rows in splits.items()}


def report_splits(folder: Path, scores: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of the scores of each split, and add it to the report."""
    text = f"{split_table(scores)}\n"
    append_table(folder, "split_scores", scores, text)
    return text


def _scores(trainer: Trainer, rows: datasets.Dataset, split: str) -> dict[str, float]:
    metrics = trainer.predict(rows, metric_key_prefix=split).metrics or {}
    named = {name.removeprefix(f"{split}_"): value for name, value in metrics.items()}
    return {name: value for name, value in named.items() if name not in OF_TIME}


def split_table(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of the scores that evaluation.json records."""
    names = list(next(iter(scores.values())))
    rows = [[split, *(f"{found[name]:.4f}" for name in names)] for split, found in scores.items()]
    return table(["split", *(name.replace("_", " ") for name in names)], rows)
