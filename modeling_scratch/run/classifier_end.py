# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a classifier's run does after its training: calibrated probabilities, and the report beside the baselines."""

from html import unescape
from pathlib import Path
from typing import Any

from datasets import DatasetDict

from ..report.calibration import Calibration
from ..report.run_tables import fine_tuning_stage, report_splits, report_stages
from ..report.saved_baseline import delete_linear
from ..tasks.base import Report, Training
from .checkpoints import step_of
from .temperature import calibrate
from .what_to_try import what_to_try


def calibrate_weights(training: Training, trainer: Any) -> None:
    """Calibrate the probabilities of the final weights."""
    if trainer.is_world_process_zero():
        delete_linear(Path(trainer.args.output_dir))  # of a run which is resumed: the report decides again
    is_wanted = training.arguments.calibrate
    training.weights = calibrate(trainer) if is_wanted else Calibration(obstacle="--calibrate False was given")


def report_classifier(training: Training, trainer: Any) -> Report:
    """Write the report, with the scores of each split and the stages. Each process has to call this."""
    run, splits = training.run, DatasetDict({name: encoded.rows for name, encoded in training.encoded.items()})
    advice = what_to_try(run, training.data, trainer.state)
    texts = [unescape(training.baselines.write(trainer, splits, training.weights, advice))]
    if training.arguments.evaluate_train:
        texts.append(report_splits(trainer, splits))
    if training.stages and run.is_main:
        rows = [*training.stages, fine_tuning_stage(trainer, step_of(run.checkpoint))]
        texts.append(report_stages(run.folder, rows))
    return Report("\n".join(texts))
