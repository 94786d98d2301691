# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report says of the pretraining that came before."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerState

from ..run.layout import HISTORY


def pretraining_stage(folder: Path, read: str, since: int = 0) -> dict[str, Any]:
    """Return what a finished pretraining run read, and its first and its last loss on held-out texts.

    since: the step that it was resumed at, which its minutes are counted from.
    """
    state = TrainerState.load_from_json(str(folder / HISTORY))
    first, *_, last = [entry for entry in state.log_history if "eval_loss" in entry]
    result = f"loss {first['eval_loss']:.3f} at step {first['step']:,}, then {last['eval_loss']:.3f}"
    seconds = next(entry["train_runtime"] for entry in reversed(state.log_history) if "train_runtime" in entry)
    return {"read": read, "steps": state.global_step, "minutes": seconds / 60, "result": result, "since": since}


def stage_text(stage: Mapping[str, Any]) -> str:
    since = f" since step {stage['since']:,}" if stage["since"] else ""
    steps = f"{stage['steps']:,} steps in {stage['minutes']:.1f} minutes{since}"
    return f"Pretrained on {stage['read']}: {steps}, {stage['result']}."
