# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The stages of a run that pretrains before it fine-tunes: what each read, how long it took and what it reached."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformers import Trainer

from ..utils.files import write_json, write_text
from ..utils.markdown import percent, table

SHOWN = ("accuracy", "f1_micro", "rmse")  # the score of each problem type
HEADS = ("stage", "read", "steps", "minutes", "result")


@dataclass(frozen=True)
class Stage:
    """One row of the report. since: the step that the stage was resumed at, which its minutes are counted from."""

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
    """Return the table of the stages, and add it to results.md and evaluation.json."""
    rows = [asdict(stage) for stage in stages]
    text = f"{stage_table(rows)}\n"
    results = folder / "results.md"
    write_text(results, f"{results.read_text(encoding='utf-8')}\n{text}")
    write_json(folder / "evaluation.json", {**_json(folder / "evaluation.json"), "stages": rows})
    return text


def stage_table(rows: Sequence[dict]) -> str:
    """Return the table of stages that evaluation.json records."""
    return table(HEADS, [[row["name"], row["read"], row["steps"] or "", _minutes(row), row["result"]] for row in rows])


def _minutes(row: dict) -> str:
    since = f" since step {row['since']:,}" if row["since"] else ""
    return f"{row['minutes']:.1f}{since}"


def _json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))
