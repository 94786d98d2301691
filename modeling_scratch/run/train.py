# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One training of any task: check, read, build, train, save, evaluate, report and share."""

from collections.abc import Callable, Sequence, Sized
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from transformers import pipeline, set_seed

from ..data.text_pairs import parts_of
from ..report.report_files import evaluated_split, predict_split, write_report
from ..tasks import named
from ..tasks.base import Task, Training
from ..utils.command_line import run_program
from ..utils.errors import DataError
from ..utils.markdown import as_python, excerpt
from ..utils.terminal import told
from .arguments import checking_arguments, choose_epoch_on_validation, inputs_of
from .life_cycle import Run, pipeline_call, summary
from .pushing import share
from .run_folder import alone, delete_set_aside
from .search import of_trial, search, with_dropout
from .trainer import RunTrainer

LONGEST_TEXT = 80  # characters of a text that is answered at the end


def program(name: str, description: str | None) -> Callable[..., None]:
    """Return the main function of the program that trains a task."""

    def main(arguments: Sequence[str] | None = None) -> None:
        task = named(name)
        run_program(partial(train, task), task.arguments, description, arguments)

    return main


@alone
def train(task: Task, *options: Any) -> None:
    """Run a training. Input errors are raised before it starts. options: those of `task.arguments`."""
    task.check(*options)
    check_score(task, options[-1])
    run = task.open(*options) or _open(task, *options)
    data = read(task, run)
    task.complete(run, data)
    if getattr(run.groups["training"], "search_trials", 0):
        print(search_arguments(task, run, data))
        return
    choose_epoch(task, run, data)
    with told("training the baselines"):
        baselines = task.before_training(run, data)
    stages = [stage() for stage in run.stages]
    if baselines is not None or stages:
        set_seed(run.groups["training"].seed)  # a run that resumes between the stages starts here
    with told("building the tokenizer"):
        tokenizer = task.build_tokenizer(run.options, data, run.checkpoint)
    carry_out(task, run, data, tokenizer, baselines, stages)


def check_score(task: Task, arguments: Any) -> None:
    """Raise `DataError` for a score to choose by that no evaluation of the task has."""
    name = arguments.metric_for_best_model if arguments.names_best_metric and task.scores else None
    if name and name.removeprefix("eval_") not in ("loss", *task.scores):
        raise DataError(f"--metric_for_best_model {name}: the choices are loss, {', '.join(task.scores)}")


def carry_out(
    task: Task, run: Run, data: Any, tokenizer: Any, baselines: Any = None, stages: Sequence[Any] = ()
) -> None:
    """Train, save, evaluate, report and share, in a run whose data has been checked."""
    training, trainer = start(task, run, data, tokenizer)
    training.baselines, training.stages = baselines, stages
    finish(task, training, trainer)


def _open(task: Task, options: Any, data: Any, arguments: Any) -> Run:
    return Run.open(f"scripts/{task.program}.py", options, data, arguments, inputs_of(options, data))


def read(task: Task, run: Run) -> Any:
    """Read and check the data of a run."""
    with told("reading the data"):
        data = task.read(run.groups["data"])
        run.check_data(data.digests())
        described = data.describe()
    print(described)
    return data


def choose_epoch(task: Task, run: Run, data: Any) -> None:
    """Decide by which score of validation the epoch is chosen, if it is. Raises `DataError` if it cannot be."""
    arguments = run.groups["training"]
    if best_by := task.best(data, arguments):
        choose_epoch_on_validation(arguments, data, best_by)


def prepared(task: Task, options: Any, arguments: Any, data: Any, tokenizer: Any) -> Training:
    """Build the model, and encode the data."""
    training = Training(options, arguments, data, tokenizer, task.build_model(options, data, tokenizer))
    with told("encoding the texts"):
        training.answerer = task.answerer(training)
        training.encoded = {split: task.encode(training, split) for split in data.splits}
    return training


def start(task: Task, run: Run, data: Any, tokenizer: Any) -> tuple[Training, RunTrainer]:
    """Build the model, encode the data, build the trainer, and start the run."""
    training = prepared(task, run.options, run.groups["training"], data, tokenizer)
    training.run = run
    notes = [note for encoded in training.encoded.values() for note in encoded.notes]
    print("".join(f"{note}\n" for note in notes), end="")
    trainer = make_trainer(task, training)
    rows = {split: len(each) for split, each in data.splits.items() if isinstance(each, Sized)}
    run.start(trainer, [*task.notes(data), *notes], **task.record(training), rows=rows)
    return training, trainer


def fit(task: Task, run: Run, data: Any, tokenizer: Any) -> Any:
    """Train and save the model of a run, without its report, and return the trainer."""
    choose_epoch(task, run, data)
    _, trainer = start(task, run, data, tokenizer)
    run.train(trainer)
    return trainer


@checking_arguments()
def make_trainer(task: Task, training: Training, **options: Any) -> RunTrainer:
    """Build the trainer. options: further ones of `RunTrainer`."""
    rows = {split: encoded.rows for split, encoded in training.encoded.items()}
    options |= {"compute_loss_func": task.loss, **task.trainer(training)}
    return RunTrainer(
        training.model,
        training.arguments,
        data_collator=task.collate(training),
        train_dataset=rows["train"],
        eval_dataset=rows["validation"],
        processing_class=training.source_tokenizer,
        compute_metrics=task.metrics(training, "validation"),
        preprocess_logits_for_metrics=task.kept_of,
        **options,
    )


def search_arguments(task: Task, run: Run, data: Any) -> str:
    """Search for arguments: each trial is a complete training run, scored on validation. Test is not used."""
    arguments, options = run.groups["training"], run.options
    tokenizer = task.build_tokenizer(options, data, run.checkpoint)
    whole = prepared(task, options, arguments, data, tokenizer)

    def trainer_of(values: dict[str, Any]) -> RunTrainer:
        changed = replace(options, config_overrides=with_dropout(options.config_overrides, values))
        set_seed(arguments.seed)
        model, of_this = task.build_model(changed, data, tokenizer), of_trial(arguments, values)
        trial = replace(whole, options=changed, arguments=of_this, model=model)
        return make_trainer(task, trial, keeps_checkpoints=False)

    def attempt(values: dict[str, Any]) -> dict[str, float]:
        trainer = trainer_of(values)
        trainer.train()
        return trainer.evaluate()

    run.start(trainer_of({}), data.notes, labels=data.label_names)
    metric, _ = task.best(data, arguments) or ("loss", False)
    report = search(arguments, options.config_overrides, metric, attempt)
    delete_set_aside(run.folder)
    return report


def finish(task: Task, training: Training, trainer: RunTrainer) -> None:
    """Train, save, and evaluate on the test split, or on validation if there is none."""
    run, data, split = training.run, training.data, evaluated_split(training.data.splits)
    run.train(trainer, evaluates=split in task.evaluates, settle=partial(task.settle, training, trainer))
    predicted = None
    if task.predicts:
        trainer.compute_metrics = task.metrics(training, split)
        predicted = predict_split(trainer, training.encoded[split].rows, split)
    if run.is_main or task.reports_everywhere:
        with told("writing the report: baselines, intervals and plots"):
            report = task.report(training, trainer, split, predicted)
        if run.is_main:
            if report.evaluation is not None:  # else, the task has written it
                write_report(trainer, report.text, report.evaluation, task.curve)
            print(f"\n{report.text}")
    share(trainer, data.texts(split))
    if run.is_main:
        if texts := task.sample_texts(training, split):
            print(answered(task, run.folder, texts, run.options.trust_remote_code))
        print(f"\n{summary(trainer, run.checkpoint)}", *task.next_commands(run.folder, data), sep="\n")


def answered(task: Task, folder: Path, texts: list[str], trust_remote_code: bool) -> str:
    """Return the answers to some texts of a pipeline that is loaded from the saved folder, and how to call it."""
    name: Any = task.use.pipeline
    pipe: Any = pipeline(name, model=str(folder), trust_remote_code=trust_remote_code)
    settings = task.settings(pipe.model.config)
    pipe = partial(pipe, **settings)
    given = "".join(f", {name}={as_python(value)}" for name, value in settings.items())
    rows = []
    for parts in map(parts_of, texts):
        shown = " | ".join(excerpt(part, LONGEST_TEXT) for part in parts)
        rows.append(f"{shown}\n    {excerpt(task.sample(pipe, *parts))}")
    return "\n".join(["", pipeline_call(f'"{name}", model={str(folder)!r}{given}'), *rows])
