# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One training of any task: check, read, build, train, save, evaluate, report and share."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from transformers import pipeline

from ..data.text_pairs import parts_of
from ..report.plots import losses_and_score_png
from ..report.report_files import evaluated_split, predict_split, write_report
from ..run.layout import CURVE
from ..tasks import named
from ..tasks.base import Task, Training
from ..training.encoder_training import build_trainer, choose_epoch_on_validation, inputs_of
from ..training.run import Run, pipeline_call, summary
from ..training.run_folder import alone
from ..training.trainer import RatesByDepth, SharingTrainer, share
from ..utils.command_line import run_program
from ..utils.markdown import excerpt

LONGEST_TEXT = 80  # characters of a text that is answered at the end


def program(name: str, description: str | None) -> Callable[..., None]:
    """Return the main function of the program that trains a task."""

    def main(arguments: Sequence[str] | None = None) -> None:
        task = named(name)
        run_program(partial(train, task), task.arguments, description, arguments)

    return main


class HeadTrainer(RatesByDepth, SharingTrainer):
    """The trainer of an encoder with a head."""


@alone
def train(task: Task, options: Any, data: Any, arguments: Any) -> None:
    """Run a training. Input errors are raised before it starts. options, data, arguments: those of `task.arguments`."""
    run = Run.open(f"scripts/{task.program}.py", options, data, arguments, inputs_of(options, data))
    training, trainer = start(task, run, *read(task, run))
    finish(task, run, training, trainer)


def read(task: Task, run: Run) -> tuple[Any, Any]:
    """Read and check the data of a run, and return it with the tokenizer."""
    data = task.read(run.groups["data"])
    run.check_data(data.digests())
    print(data.describe())
    return data, task.build_tokenizer(run.groups["model"], data, run.checkpoint)


def start(task: Task, run: Run, data: Any, tokenizer: Any) -> tuple[Training, SharingTrainer]:
    """Build the model, encode the data, build the trainer, and start the run."""
    options, arguments = run.groups["model"], run.groups["training"]
    training = Training(options, arguments, data, tokenizer, task.build_model(options, data, tokenizer))
    training.answerer = task.answerer(training)
    training.encoded = {split: task.encode(training, split) for split in data.splits}
    notes = [note for encoded in training.encoded.values() for note in encoded.notes]
    print("".join(f"{note}\n" for note in notes), end="")
    if task.best_by:
        choose_epoch_on_validation(arguments, data, task.best_by)
    trainer = _build_trainer(task, training)
    rows = {split: len(each) for split, each in data.splits.items()}
    run.start(trainer, [*data.notes, *notes], **task.record(data), rows=rows)
    return training, trainer


def _build_trainer(task: Task, training: Training) -> SharingTrainer:
    return build_trainer(
        task.trainer(training) or HeadTrainer,
        training.source_tokenizer,
        {split: encoded.rows for split, encoded in training.encoded.items()},
        task.metrics(training, "validation"),
        training.arguments,
        task.collate(training),
        task.kept_of,
        model=training.model,
        compute_loss_func=task.loss,
    )


def finish(task: Task, run: Run, training: Training, trainer: SharingTrainer) -> None:
    """Train, save, and evaluate on the test split, or on validation if there is none."""
    split, data = evaluated_split(training.data.splits), training.data
    run.train(trainer, evaluates=task.predicts and split == "test", settle=partial(task.settle, training, trainer))
    predicted = None
    if task.predicts:
        trainer.compute_metrics = task.metrics(training, split)
        predicted = predict_split(trainer, training.encoded[split].rows, split)
    if run.is_main:
        report = task.report(training, trainer, split, predicted)
        write_report(trainer.args, report.text, report.evaluation)
        losses_and_score_png(trainer.state.log_history, run.folder / CURVE, *report.curve)
        print(f"\n{report.text}")
    share(trainer, data.texts(split))
    if run.is_main:
        if task.samples:
            print(answered(task, run.folder, data.texts(split)[: task.samples], run.groups["model"].trust_remote_code))
        print(f"\n{summary(trainer, run.checkpoint)}")


def answered(task: Task, folder: Path, texts: list[str], trust_remote_code: bool) -> str:
    """Return the answers to some texts of a pipeline that is loaded from the saved folder, and how to call it."""
    name: Any = task.use.pipeline
    pipe: Any = pipeline(name, model=str(folder), trust_remote_code=trust_remote_code)
    settings = task.settings(pipe.model.config)
    pipe = partial(pipe, **settings)
    given = "".join(f", {name}={_python(value)}" for name, value in settings.items())
    rows = [
        f"{excerpt(parts[0], LONGEST_TEXT)}\n    {excerpt(task.sample(pipe, *parts))}" for parts in map(parts_of, texts)
    ]
    return "\n".join(["", pipeline_call(f'"{name}", model={str(folder)!r}{given}'), *rows])


def _python(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
