# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The last lines of a run: how long it took, how fast it was, and where everything is."""

from pathlib import Path

from checkpoints import step_of
from several_processes import whole_model
from transformers import Trainer

from modeling_scratch.pipelines import TARGET_FOLDER

FILES = {
    TARGET_FOLDER: "the tokenizer of the targets",
    "README.md": "card",
    "results.md": "scores",
    "*.translations.txt": "translations",
    "run_config.json": "arguments",
}


def summary(trainer: Trainer, checkpoint: str | None) -> str:
    """Of the steps that were taken now; checkpoint: the one that the run went on from."""
    state, output = trainer.state, Path(trainer.args.output_dir or "")
    steps = state.global_step - step_of(checkpoint)
    seconds = next(entry["train_runtime"] for entry in reversed(state.log_history) if "train_runtime" in entry)
    rate = f", {steps / seconds:,.1f} a second" if steps else ""
    since = f" since step {step_of(checkpoint):,}" if checkpoint else ""
    weights = sum(weight.numel() for weight in whole_model(trainer).parameters())
    return (
        f"{steps:,} steps{since} in {_duration(seconds)}{rate}, evaluations and checkpoints included; "
        f"{state.epoch or 0:.3g} epochs, {weights:,} parameters\n"
        f"saved in {output}: the model and its tokenizer, {', '.join(_files_in(output))}"
    )


def _files_in(folder: Path) -> list[str]:
    """Those to be told of that the run has really left, and what they are."""
    return [f"{path.name} ({what})" for pattern, what in FILES.items() for path in sorted(folder.glob(pattern))]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
