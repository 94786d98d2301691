# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A training run from its arguments to its folder: checked, recorded, trained, saved, shared, summed up."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainingArguments, set_seed

from ..pipelines import TARGET_FOLDER
from ..sharing.run_record import write_run
from .checkpoints import checkpoint_to_resume, step_of
from .distributed import whole_model
from .run_folder import FIXED, check, check_unchanged, claim
from .trainer import SharingTrainer, share

FILES = {
    TARGET_FOLDER: "the tokenizer of the targets",
    "README.md": "card",
    "results.md": "scores",
    "*.translations.txt": "translations",
    "run_config.json": "arguments",
}


@dataclass
class Run:
    """One run of a program. `open` checks its folder, `start` records it there, `train` and `finish` fill it."""

    program: str  # scripts/NAME.py, in the record
    groups: dict[str, Any]  # the dataclasses of its arguments: model, data, training
    checkpoint: str | None  # the one to resume from

    @classmethod
    def open(
        cls,
        program: str,
        model: Any,
        data: Any,
        training: TrainingArguments,
        inputs: Sequence[str | None],
        fixed: Collection[str] | None = None,
    ) -> "Run":
        """Raises `DataError` where the output folder is not free for this run, or holds a run of other arguments.

        inputs: files that the run reads, which must not be in the folder. fixed: given where a run in the folder
        continues without a checkpoint, the training arguments that must not change.
        """
        run = cls(program, {"model": model, "data": data, "training": training}, checkpoint_to_resume(training))
        if run.checkpoint:
            check_unchanged(run.folder, run.groups, FIXED)
        elif fixed is not None:
            check_unchanged(run.folder, run.groups, fixed)
        elif run.is_main:
            check(run.folder, training.overwrite, inputs)  # type: ignore[attr-defined]
        set_seed(training.seed)
        return run

    @property
    def folder(self) -> Path:
        return Path(self.groups["training"].output_dir or "")

    @property
    def is_main(self) -> bool:
        """Whether this process, of those of the run, writes to the folder."""
        return self.groups["training"].should_save

    def start(self, notes: Sequence[str], is_empty: bool = True, **record: Any) -> None:
        """Claims the folder for a new run, and writes run_config.json. is_empty False: what the folder holds stays."""
        if self.is_main:
            if is_empty and not self.checkpoint:
                claim(self.folder)
            write_run(self.folder, self.program, self.groups, notes, **record)

    def train(self, trainer: Trainer, evaluates: bool = True) -> None:
        """Trains, and saves the model, its scores and its history."""
        result = trainer.train(resume_from_checkpoint=self.checkpoint)
        trainer.save_model(_internal_call=True)  # pushed, where that is wanted, once the scores are there
        trainer.save_metrics("train", result.metrics)
        if evaluates:
            trainer.save_metrics("eval", trainer.evaluate())
        trainer.save_state()

    def finish(self, trainer: SharingTrainer, texts: Sequence[str]) -> None:
        """Writes card and record, and pushes where that is asked for; texts: some that the model was judged on."""
        share(trainer, texts)

    def summary(self, trainer: Trainer) -> str:
        return summary(trainer, self.checkpoint)


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
