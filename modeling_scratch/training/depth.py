# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The number of blocks of a classifier of few texts, tried on texts that are held out of the train split.

Attention needs texts to learn from: with hundreds of them, a mean of embeddings often scores higher.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from datasets import DatasetDict
from sklearn.model_selection import KFold, StratifiedKFold
from transformers import EvalPrediction, PreTrainedTokenizerBase, PrinterCallback, set_seed

from ..bridges.model_sources import with_override
from ..data.labelled_texts import ReviewData
from ..evaluation.stages import Stage
from ..utils.errors import counted
from ..utils.markdown import percent
from . import classification
from .encoder_models import ModelArguments
from .run import Run, rehearse
from .speed import build_classifier, discarded

FIELD = "num_hidden_layers"
DEPTHS = (0, 1)  # if both score the same, the smaller is chosen
FOLDS, LEAST_JUDGED = 3, 500  # folds are held out in turn until so many texts are judged
HEADINGS = {"f1_macro": "macro F1", "f1_micro": "micro F1", "rmse": "RMSE"}


def choose_depth(
    run: Run, data: ReviewData, folds: Sequence[ReviewData], tokenizer: PreTrainedTokenizerBase
) -> tuple[int, Stage]:
    """Return the number of blocks that scores highest on held-out texts, and the row of the report."""
    begun = time.perf_counter()
    metric, greater_is_better = classification.decisive_metric(data, run.groups["training"])
    scores = {depth: score(run, data, folds, tokenizer, depth)[metric] for depth in DEPTHS}
    chosen = (max if greater_is_better else min)(DEPTHS, key=scores.__getitem__)
    judged = sum(len(fold.splits["validation"]) for fold in folds)
    shown = {depth: f"{value:.4g}" if metric == "rmse" else percent(value) for depth, value in scores.items()}
    what = f"{HEADINGS.get(metric, metric)} on {counted(judged, 'held-out text')} of train"
    result = f"{what}: " + ", ".join(f"{shown[depth]} with {counted(depth, 'block')}" for depth in DEPTHS)
    read = f"{counted(len(data.splits['train']), 'text')}, {counted(len(folds), 'fold')}"
    return chosen, Stage("number of blocks", read, 0, (time.perf_counter() - begun) / 60, result)


def texts_trained_on(folds: Sequence[ReviewData]) -> int:
    """Return the number of texts in an epoch of all models of the trial."""
    return len(DEPTHS) * sum(len(fold.splits["train"]) for fold in folds)


def folds_of(data: ReviewData, seed: int) -> Iterator[ReviewData]:
    """Yield the train split as other texts to train on and to validate on, until enough texts were held out."""
    train, judged = data.splits["train"], 0
    for others, held_out in split(data, seed):
        splits = DatasetDict({"train": train.select(others), "validation": train.select(held_out)})
        yield data.with_splits(splits)
        judged += len(held_out)
        if judged >= LEAST_JUDGED:
            return


def split(data: ReviewData, seed: int) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield the rows of each fold. Each has its share of the texts of a class that has enough of them."""
    labels = np.asarray(data.splits["train"]["label"])
    has_classes = data.problem_type == "single_label_classification" and np.bincount(labels).max() >= FOLDS
    folds = StratifiedKFold if has_classes else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on a class with fewer texts than folds
        yield from folds(FOLDS, shuffle=True, random_state=seed).split(labels, labels if has_classes else None)


def score(
    run: Run, data: ReviewData, folds: Sequence[ReviewData], tokenizer: PreTrainedTokenizerBase, depth: int
) -> dict[str, float]:
    """Return the scores of the held-out texts of all folds together, by models of so many blocks."""
    logits, labels = zip(*(answers(run, fold, tokenizer, depth) for fold in folds))
    return classification.metrics_of(data)(EvalPrediction(np.concatenate(logits), np.concatenate(labels)))


def answers(
    run: Run, data: ReviewData, tokenizer: PreTrainedTokenizerBase, depth: int
) -> tuple[np.ndarray, np.ndarray]:
    """Train a model of so many blocks, which is discarded, and return its logits and the labels of validation."""
    arguments: ModelArguments = run.groups["model"]
    overrides = with_override(arguments.config_overrides, FIELD, depth)
    set_seed(run.groups["training"].seed)
    with discarded(run.groups["training"]) as copied:
        copied.save_strategy = copied.eval_strategy = copied.logging_strategy = "no"
        copied.load_best_model_at_end, copied.early_stopping_patience, copied.disable_tqdm = False, 0, True
        copied.dataloader_drop_last = False
        trainer = build_classifier(replace(arguments, config_overrides=overrides), copied, data, tokenizer)
        classification.fit_to_labels(trainer, run, data)
        trainer.remove_callback(PrinterCallback)
        rehearse(trainer)
        trainer.train()
        held_out: Any = trainer.eval_dataset
        found = trainer.predict(held_out)
        return np.asarray(found.predictions), np.asarray(found.label_ids)
