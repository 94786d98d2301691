# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The whole run of a classifier: read the data, choose settings, pretrain if asked for, train on the labels.

All is one resumable run in one folder.
"""

from collections.abc import Collection
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from datasets import DatasetDict
from transformers import set_seed

from ..data.labelled_texts import ReviewData
from ..data.splits import DataArguments
from ..data.unlabelled import Corpus, load_corpus
from ..sharing.run_record import DEFAULTS, SELF_PRETRAINING, read_run
from ..utils.errors import DataError
from ..utils.retired_options import RETIRED
from . import classification
from .checkpoints import has_checkpoint
from .classification import ClassifierModelArguments, ClassifierTrainer, ClassifierTrainingArguments
from .defaults import Values, choose, complete, recorded_defaults, settings_text
from .encoder_training import build_trainer, inputs_of
from .run import Run, rehearse
from .run_folder import alone, check_unchanged, has_pretraining
from .search import goes_on, unchangeable
from .self_pretraining import (
    SelfPretrainingArguments,
    check_combination,
    discarded,
    fine_tuned,
    pretrain,
    recorded_pretraining,
)

ARGUMENTS = (ClassifierModelArguments, DataArguments, SelfPretrainingArguments, ClassifierTrainingArguments)
USUAL_EPOCHS = 1.0  # of pretraining, where unlabelled texts are given: less of them brings nothing
SAMPLE = 64  # texts of each split


@alone
def train(
    model: ClassifierModelArguments,
    data_arguments: DataArguments,
    options: SelfPretrainingArguments,
    arguments: ClassifierTrainingArguments,
) -> None:
    """Train, evaluate and save a classifier. Input errors are raised before training starts."""
    check_combination(options, model, data_arguments, arguments)
    known = known_defaults(arguments)
    if known:
        model, arguments = complete(known, model, arguments)
    run = open_run(model, data_arguments, options, arguments)
    data = classification.load_data(run)
    classification.check_kind(data.problem_type, arguments)
    corpus = corpus_of(run, data, options)
    if known is None:
        known = choose(data, data_arguments.uses_demo, model, corpus is not None)
        run.groups["model"], run.groups["training"] = complete(known, model, arguments)
        if not (data_arguments.uses_demo or model.model_name_or_path):
            print(settings_text(data, run.groups["model"], run.groups["training"]))
    run.noted[DEFAULTS] = known
    if corpus is None:
        return classification.train_on(run, data, run.groups["model"])
    report = classification.make_report(run, data)
    rehearse_fine_tuning(run, data)
    stages = [pretrain(run, corpus, data.notes)]
    set_seed(arguments.seed)  # a run that resumes between the stages starts here
    classification.train_on(run, data, fine_tuned(run), report, stages)


def known_defaults(arguments: ClassifierTrainingArguments) -> Values | None:
    """Return the values that the run to be resumed was started with; None for a new run."""
    folder, resumed = Path(arguments.output_dir or ""), (arguments.resume_from_checkpoint or "").lower()
    if resumed in ("", "false") and not goes_on(arguments):
        return None
    if "recipe_choices" in read_run(folder):
        raise DataError(f"--resume_from_checkpoint: the run in {folder} has a recipe: {RETIRED['--recipe']}")
    return recorded_defaults(folder)


def open_run(
    model: ClassifierModelArguments,
    data: DataArguments,
    options: SelfPretrainingArguments,
    arguments: ClassifierTrainingArguments,
) -> Run:
    """Open the run. One that was stopped before its fine-tuning had a checkpoint continues with its pretraining."""
    inputs = [*inputs_of(model, data), *(options.unlabelled_file or ())]
    fixed: Collection[str] | None = unchangeable(arguments) if goes_on(arguments) else None
    is_last = (arguments.resume_from_checkpoint or "").lower() in ("last", "true")
    if is_last and has_pretraining(folder := Path(arguments.output_dir or "")) and not has_checkpoint(arguments):
        arguments, fixed = copy(arguments), ()
        arguments.resume_from_checkpoint = None
        recorded_pretraining(folder)  # which checks it
    return Run.open(classification.PROGRAM, model, data, arguments, inputs, fixed)


def corpus_of(run: Run, data: ReviewData, options: SelfPretrainingArguments) -> Corpus | None:
    """Return the texts to pretrain on; None if the run has no pretraining.

    A resumed run has what it was started with.
    """
    if run.continues:
        options = as_recorded(run, options)
    elif options.unlabelled_file and not options.is_asked_for:
        options = replace(options, pretrain_epochs=USUAL_EPOCHS)
    if not options.is_asked_for:
        return None
    run.groups["pretraining"] = options
    return load_corpus(data, run.groups["data"], options.unlabelled_file or ())


def as_recorded(run: Run, options: SelfPretrainingArguments) -> SelfPretrainingArguments:
    """Return what the run was started with. Raises `DataError` for other options."""
    recorded = recorded_pretraining(run.folder)
    if not recorded:
        if options.is_asked_for or options.unlabelled_file:
            raise DataError(
                f"--pretrain_minutes, --unlabelled_file: the run in {run.folder} was started without it; leave it out"
            )
        return SelfPretrainingArguments(0.0)
    run.noted[SELF_PRETRAINING] = recorded
    if not (options.is_asked_for or options.is_declined):
        earlier = read_run(run.folder, ["pretraining"])["pretraining"]
        options = replace(options, **{name: earlier.get(name) for name in ("pretrain_minutes", "pretrain_epochs")})
    check_unchanged(run.folder, {"pretraining": options}, ())
    return options


def rehearse_fine_tuning(run: Run, data: ReviewData) -> None:
    """Raise `DataError` for arguments with which the fine-tuning could not start, before the pretraining."""
    splits = {name: rows.select(range(min(SAMPLE, len(rows)))) for name, rows in data.splits.items()}
    sample = data.with_splits(DatasetDict(splits))
    encoded = classification.encode(run, sample, run.groups["model"])
    options: Any = {"preprocess": classification.first_output, "model": encoded.model}
    with discarded(run.groups["training"]) as arguments:
        classification.keep_best_epoch(arguments, sample)
        metrics = classification.metrics_of(data)
        trainer = build_trainer(ClassifierTrainer, encoded.tokenizer, encoded.splits, metrics, arguments, **options)
        rehearse(trainer)
