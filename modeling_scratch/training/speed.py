# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The time of training steps on this machine, measured on models and trainers that are thrown away."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from itertools import chain, islice, repeat
from math import ceil
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch
from datasets import DatasetDict
from transformers import PreTrainedTokenizerBase, Trainer, TrainingArguments

from ..data.documents import Documents
from ..data.labelled_texts import ReviewData
from ..data.ngrams import fill_ngrams, has_empty_ngrams
from . import classification, objectives, pretraining
from .classification import ClassifierTrainer, ClassifierTrainingArguments
from .encoder_models import ModelArguments, build_model
from .encoder_training import build_trainer
from .pretraining import PretrainingArguments
from .recipes import Speeds
from .run import rehearse

SAMPLE = 2_000  # texts of each split
LEAST_STEPS, MOST_STEPS, SECONDS = 2, 20, 5.0  # that are timed
EVALUATION = 0.4  # the time of a row in evaluation, relative to training
EVALUATIONS = 11  # of a pretraining stage


@contextmanager
def discarded(arguments: TrainingArguments) -> Iterator[Any]:
    """Yield a copy of the arguments for a trainer that writes and reports nowhere."""
    with TemporaryDirectory() as folder:
        arguments = copy(arguments)
        arguments.output_dir, arguments.report_to = folder, []
        arguments.resume_from_checkpoint = None
        yield arguments


def seconds_per_row(trainer: Trainer) -> float:
    """Return the mean time of a training row. The first step is not counted, as it builds what later ones reuse."""
    rehearse(trainer)
    trainer.create_optimizer_and_scheduler(MOST_STEPS)
    batches = chain.from_iterable(repeat(trainer.get_train_dataloader()))
    trainer.current_gradient_accumulation_steps = trainer.args.gradient_accumulation_steps
    model: Any = trainer.model
    model.train()
    start, steps, rows = 0.0, 0, 0
    while steps <= LEAST_STEPS or (steps <= MOST_STEPS and perf_counter() - start < SECONDS):
        for batch in islice(batches, trainer.args.gradient_accumulation_steps):
            trainer.training_step(model, batch)
            rows += len(batch["labels"])
        optimizer: Any = trainer.optimizer
        optimizer.step()
        optimizer.zero_grad()
        if torch.accelerator.is_available():
            torch.accelerator.synchronize()
        steps += 1
        if steps == 1:
            start, rows = perf_counter(), 0
    return (perf_counter() - start) / rows


def build_classifier(
    arguments: ModelArguments,
    training: ClassifierTrainingArguments,
    data: ReviewData,
    tokenizer: PreTrainedTokenizerBase,
) -> ClassifierTrainer:
    """Return the trainer of a new classifier. Raises `DataError` for arguments that do not permit training."""
    model = build_model(
        arguments, tokenizer, data.label_names, problem_type=data.problem_type, has_pairs=data.has_pairs
    )
    splits, _ = classification.encode_splits(data.splits, tokenizer, model.config)
    classification.fill_empty_ngrams(model, splits, tokenizer)
    metrics = classification.metrics_of(data)
    options: Any = {"preprocess": classification.first_output, "model": model}
    return build_trainer(ClassifierTrainer, tokenizer, splits, metrics, training, **options)


def measure_fine_tuning(
    arguments: ModelArguments,
    training: ClassifierTrainingArguments,
    data: ReviewData,
    tokenizer: PreTrainedTokenizerBase,
) -> Speeds:
    """Return the time of an epoch with its evaluation. Raises `DataError` for arguments that do not permit training."""
    sample = {
        split: rows.select(sorted(Random(0).sample(range(len(rows)), min(SAMPLE, len(rows)))))
        for split, rows in data.splits.items()
    }
    with discarded(training) as copied:
        classification.keep_best_epoch(copied, data)
        trainer = build_classifier(arguments, copied, data.with_splits(DatasetDict(sample)), tokenizer)
        seconds = seconds_per_row(trainer)
    rows, evaluated = len(data.splits["train"]), len(data.splits["validation"])
    steps = ceil(rows / (training.train_batch_size * training.gradient_accumulation_steps))
    return Speeds(seconds * (rows + EVALUATION * evaluated), steps)


def measure_pretraining(
    arguments: objectives.PretrainingModelArguments,
    training: PretrainingArguments,
    documents: Documents,
    tokenizer: PreTrainedTokenizerBase,
) -> tuple[float, float, float]:
    """Return the seconds of a step, the steps of an epoch, and the seconds of all evaluations."""
    sample = Documents(_sample(documents.train), _sample(documents.validation), [])
    model = objectives.build_model(arguments, tokenizer)
    data = objectives.prepare(arguments, sample, tokenizer, training.seed)
    rows: Any = data.train
    if has_empty_ngrams(model):
        fill_ngrams(model, rows.ids, rows.starts, tokenizer.all_special_ids)
    with discarded(training) as copied:
        seconds = training.train_batch_size * seconds_per_row(pretraining.build_trainer(model, tokenizer, data, copied))
    rows_of_character = len(rows) / _characters(sample.train)
    steps, evaluation = (
        _characters(texts) * rows_of_character / training.train_batch_size
        for texts in (documents.train, documents.validation)
    )
    return seconds, steps, EVALUATIONS * EVALUATION * evaluation * seconds


def _sample(texts: Any) -> list[str]:
    return Random(0).sample(list(texts), min(SAMPLE, len(texts)))


def _characters(texts: Any) -> int:
    return sum(map(len, texts))
