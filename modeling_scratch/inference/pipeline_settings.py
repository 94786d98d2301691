# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The arguments of a pipeline that a model was trained and evaluated with, as its configuration records them."""

from typing import Any

from transformers import PreTrainedConfig


def record_settings(config: PreTrainedConfig, task: str, **settings: Any) -> None:
    """Record the arguments of the pipeline that a model was trained and evaluated with."""
    others = getattr(config, "task_specific_params", None) or {}
    config.task_specific_params = {**others, task: settings}


def recorded_settings(config: PreTrainedConfig, task: str) -> dict[str, Any]:
    """Return what a model's configuration records of the pipeline of a task; nothing of an invalid record."""
    every = getattr(config, "task_specific_params", None)
    found = every.get(task) if isinstance(every, dict) else None
    return found if isinstance(found, dict) else {}
