# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What comes before the training of a classifier: defaults by its texts, stages, baselines, and a rehearsal."""

from dataclasses import replace
from functools import partial
from typing import Any

from datasets import DatasetDict

from ..data.demo_reviews import COMMON_SHARE, LABEL_NAMES, TRAIN_SIZE, demo_splits
from ..data.labelled_texts import ReviewData
from ..report.classification_report import ClassifierReport
from ..report.metrics import ONE_CLASS
from ..sharing.run_record import DEFAULTS
from ..tasks.base import Task
from ..utils.errors import DataError
from ..utils.terminal import told
from .defaults import choose, complete, known_defaults, settings_text
from .life_cycle import Run, rehearse
from .losses import check_options
from .self_pretraining import SelfPretrainingArguments, corpus_of, discarded, open_run, pretrain
from .train import make_trainer, prepared

SAMPLE = 64  # texts of each split, in the rehearsal


def load_demo(arguments: Any) -> ReviewData:
    """Return the demo reviews, limited to the requested numbers."""
    if arguments.problem_type not in (None, ONE_CLASS) or arguments.label_separator or arguments.has_pairs:
        raise DataError("the demo reviews are single texts with one class each: for others, give --train_file")
    limits = {"train": arguments.max_train_samples}
    size = min(arguments.max_train_samples or TRAIN_SIZE, TRAIN_SIZE)
    reviews = demo_splits(size, common_share=1 if arguments.demo_words == "common" else COMMON_SHARE)
    splits = {split: rows[: limits.get(split, arguments.max_eval_samples)] for split, rows in reviews.items()}
    notes = ["no data was given: these are generated film reviews; --train_file or --data_dir reads yours"]
    return ReviewData.from_pairs(splits, list(LABEL_NAMES), notes, [])


def open_classifier(task: Task, model: Any, data: Any, options: SelfPretrainingArguments, arguments: Any) -> Run:
    """Open the run. A resumed one has the defaults that it was started with."""
    if known := known_defaults(arguments):
        model, arguments = complete(known, model, arguments)
    run = open_run(f"scripts/{task.program}.py", model, data, options, arguments)
    run.noted[DEFAULTS] = known
    return run


def complete_by_texts(run: Run, data: ReviewData) -> None:
    """Choose the settings that are not given by the number of texts, and pretrain first if it is asked for."""
    check_options(data, run.groups["training"])
    corpus, model = corpus_of(run, data), run.groups["model"]
    if run.noted[DEFAULTS] is None:
        is_demo, training = run.groups["data"].uses_demo, run.groups["training"]
        run.noted[DEFAULTS] = known = choose(data, is_demo, model, training, corpus is not None)
        run.groups["model"], run.groups["training"] = complete(known, model, training)
        if not (is_demo or model.model_name_or_path):
            print(settings_text(data, run.groups["model"], run.groups["training"]))
    if corpus is not None:
        run.unlabelled = corpus.train
        run.stages.append(partial(pretrain, run, corpus, data.notes))


def baselines_of(task: Task, run: Run, data: ReviewData) -> Any:
    """Train the baselines, and rehearse the fine-tuning that follows stages. Raises `DataError` if it cannot start."""
    arguments = run.groups["training"]
    is_weighted = arguments.class_weights is not None
    try:
        with told("training the baselines"):
            baselines = ClassifierReport(data, arguments.seed, is_weighted) if run.is_main else None
    except ValueError as error:
        raise DataError(f"the baseline cannot be trained: {error}") from error
    if run.stages:
        rows = {name: rows.select(range(min(SAMPLE, len(rows)))) for name, rows in data.splits.items()}
        sample, options = replace(data, splits=DatasetDict(rows), places={}), run.groups["model"]
        with discarded(arguments) as copied:
            tokenizer = task.build_tokenizer(options, sample, run.checkpoint)
            rehearse(make_trainer(task, prepared(task, options, copied, sample, tokenizer)))
    return baselines
