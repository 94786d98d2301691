# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a training prints as it goes: one line for each entry of its log, in place of the entry itself."""

from collections.abc import Mapping
from typing import Any

from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerControl, TrainerState, TrainingArguments

TIMES = "_runtime", "_per_second", "_preparation_time"  # which the summary at the end of the run has
EVALUATION_PREFIX = "eval_"
EVALUATED = f"{EVALUATION_PREFIX}loss"
NAMES = {"learning_rate": "rate", "grad_norm": "gradient norm"}


def progress_line(entry: Mapping[str, Any], state: TrainerState) -> str | None:
    """Return the line of a log entry; None for that at the end of training, which the run's summary replaces."""
    if "train_loss" in entry:
        return None
    is_evaluation = any(name.startswith(EVALUATION_PREFIX) for name in entry)
    shown = [
        f"{_name(name)} {_value(value)}"
        for name, value in entry.items()
        if name not in ("epoch", "total_flos") and not name.endswith(TIMES)
    ]
    scores = f"{'validation ' if is_evaluation else ''}{', '.join(shown)}"
    at_step = [each for each in state.log_history if each.get("step") == state.global_step and EVALUATED in each]
    if is_evaluation and len(at_step) > 1:  # after the last step, of what is saved
        return f"the saved weights: {scores}"
    if not state.max_steps:  # an evaluation without a training
        return scores
    epoch = f" (epoch {entry['epoch']:,.2f})" if "epoch" in entry else ""
    return f"step {state.global_step:,} of {state.max_steps:,}{epoch}: {scores}"


def _name(name: str) -> str:
    return NAMES.get(name, name.removeprefix(EVALUATION_PREFIX).replace("_", " "))


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


class Lines(PrinterCallback):
    """Prints the lines where there is no progress bar."""

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any
    ) -> None:
        if state.is_local_process_zero and (line := progress_line(logs or {}, state)) is not None:
            print(line)


class LinesAboveBar(ProgressCallback):
    """Prints the lines above the progress bar, as long as there is one."""

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any
    ) -> None:
        bar: Any = self.training_bar
        if state.is_world_process_zero and (line := progress_line(logs or {}, state)) is not None:
            (bar.write if bar else print)(line)


REPLACED = {PrinterCallback: Lines, ProgressCallback: LinesAboveBar}


def print_lines(trainer: Trainer) -> None:
    """Replace Trainer's own printing of its log. A notebook keeps its table."""
    for callback in [*trainer.callback_handler.callbacks]:
        if (replacement := REPLACED.get(type(callback))) is not None:
            trainer.remove_callback(callback)
            trainer.add_callback(replacement)


def duration(seconds: float) -> str:
    """Return "1 h 2 min", "3 min 4 s" or "5.6 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
