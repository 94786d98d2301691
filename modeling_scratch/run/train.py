# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One training of any task: check, read, build, train, save, evaluate, report and share."""

import shlex
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from html import unescape
from typing import Any

from transformers import DataCollatorWithPadding, set_seed
from transformers.trainer_utils import SaveStrategy

from ..data.text_pairs import pair_columns, parts_of
from ..inference.seen_words import save_seen_words
from ..report.report_files import evaluated_split, predict_split, write_report
from ..tasks import named
from ..tasks.base import Task, Training
from ..utils.command_line import run_program
from ..utils.terminal import told
from .arguments import check_score, checking_arguments, choose_epoch, inputs_of
from .defaults import complete_head
from .life_cycle import Run, rehearse, share, summary
from .run_folder import alone, delete_set_aside
from .search import search
from .trainer import RunTrainer


def program(name: str, description: str | None) -> Callable[..., None]:
    """Return the main function of the program that trains a task."""

    def main(arguments: Sequence[str] | None = None) -> None:
        task = named(name)
        run_program(partial(train, task), task.arguments, description, arguments)

    return main


@alone
def train(task: Task, *options: Any) -> None:
    """Run a training, or a search for its arguments. Input errors are raised before it starts.

    options: those of `task.arguments`.
    """
    task.check(*options)
    check_score(task.scores, options[-1])
    if (run := task.open(*options)) is None:
        model, source, arguments = options
        run = Run.open(f"scripts/{task.program}.py", model, source, arguments, inputs_of(model, source))
    data = read(task, run)
    task.complete(run, data)
    complete_head(run, data)
    arguments = run.groups["training"]
    if getattr(arguments, "search_trials", 0):
        print(search_arguments(task, run, data))
        return
    choose_epoch(task, arguments, data)
    baselines = task.train_baselines(run, data)
    stages = [stage() for stage in run.stages]
    set_seed(arguments.seed)  # a run that resumes between the stages starts here
    with told("building the tokenizer"):
        tokenizer = task.build_tokenizer(run.options, data, run.checkpoint)
    carry_out(task, run, data, tokenizer, baselines, stages)


def carry_out(
    task: Task, run: Run, data: Any, tokenizer: Any, baselines: Any = None, stages: Sequence[Any] = ()
) -> None:
    """Train, save, evaluate on test, or on validation if there is none, report and share. The data has been checked."""
    training, trainer = start(task, run, data, tokenizer)
    training.baselines, training.stages = baselines, stages
    split, predicted = evaluated_split(data.splits), None
    run.train(trainer, evaluates=split in task.evaluates, settle=partial(task.settle, training, trainer))
    if task.predicts:
        trainer.compute_metrics = task.metrics(training, split)
        predicted = predict_split(trainer, training.encoded[split].rows, split)
    if run.is_main:
        model = run.groups["model"]
        is_given = model.model_name_or_path or getattr(model, "tokenizer_name_or_path", None)
        if task.answering and not is_given and model.tokenizer_kind == "byte_bpe":  # to which no word is unknown
            save_seen_words(run.folder, [*data.texts("train"), *run.unlabelled])
        with told("writing the report"):
            report = task.report(training, trainer, split, predicted)
            write_report(trainer, report, report.curve or task.curve)
        print(*("\n" + unescape(part).strip("\n") for part in (report.text, report.quoting) if part), sep="\n")
    share(trainer)
    if run.is_main:
        commands = next_commands(task, run, data.texts("train")[0]) if task.answering else []
        print(f"\n{summary(trainer, run.resumed_at)}", *commands, sep="\n")


def read(task: Task, run: Run) -> Any:
    """Read and check the data of a run."""
    with told("reading the data"):
        data = task.read(run.groups["data"])
        run.check_data(data.digests())
        described = data.describe()
    print(described)
    return data


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
    rows = {split: len(each) for split, each in data.splits.items()}
    of_data = [*data.notes, *getattr(data, "warnings", ())]
    rehearse(trainer)
    run.record([*of_data, *notes], **task.record(training), rows=rows)
    return training, trainer


def fit(task: Task, run: Run, data: Any, tokenizer: Any) -> Any:
    """Train and save the model of a run, without its report, and return the trainer."""
    choose_epoch(task, run.groups["training"], data)
    _, trainer = start(task, run, data, tokenizer)
    run.train(trainer)
    return trainer


@checking_arguments()
def make_trainer(task: Task, training: Training, **options: Any) -> RunTrainer:
    """Build the trainer. options: further ones of `RunTrainer`."""
    rows = {split: encoded.rows for split, encoded in training.encoded.items()}
    options |= {"data_collator": DataCollatorWithPadding(training.source_tokenizer), **task.trainer(training)}
    return RunTrainer(
        training.model,
        training.arguments,
        train_dataset=rows["train"],
        eval_dataset=rows["validation"],
        processing_class=training.source_tokenizer,
        compute_metrics=task.metrics(training, "validation"),
        **options,
    )


def search_arguments(task: Task, run: Run, data: Any) -> str:
    """Search for arguments. Test is not used."""
    arguments, options = run.groups["training"], run.options
    tokenizer = task.build_tokenizer(options, data, run.checkpoint)
    trials = copy(arguments)  # they save no checkpoints, and are evaluated once, at their end
    trials.save_strategy, trials.eval_strategy, trials.load_best_model_at_end = SaveStrategy.NO, "no", False
    trainer = make_trainer(task, prepared(task, options, trials, data, tokenizer), keeps_checkpoints=False)

    def build() -> Any:
        set_seed(arguments.seed)
        model = task.build_model(options, data, tokenizer)
        set_seed(arguments.seed)  # as `Trainer` does, once it has its model
        return model

    trainer.model_init = build
    rehearse(trainer)
    run.record(data.notes, labels=data.label_names)
    report = search(trainer, arguments, task.best(data, arguments)[0])
    delete_set_aside(run.folder)
    return report


def next_commands(task: Task, run: Run, text: str) -> list[str]:
    """Return commands that use a saved model which reads texts like this one, from files like its own; a line each."""
    folder, new = run.folder, f"new{run.groups['data'].input_suffix}"
    model, texts = f"--model {shlex.quote(str(folder))}", '--text "a text"'
    if len(parts_of(text)) > 1:
        first, second = (shlex.quote(f"a {name}") for name in pair_columns(str(folder)) or task.card.use.fields)
        texts = f"--text {first} --text_pair {second}"
    return [
        f"next: modeling-scratch predict {model} --input {new} --output answers.csv",
        f"      modeling-scratch explain {model} {texts} --output inside.html",
    ]
