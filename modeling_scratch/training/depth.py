# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The number of blocks of a classifier of few texts, tried on texts that are held out of the train split.

Attention needs texts to learn from: with hundreds of them, a mean of embeddings often scores higher.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from datasets import DatasetDict
from sklearn.model_selection import KFold
from transformers import PreTrainedTokenizerBase, PrinterCallback, set_seed

from ..data.documents import counted
from ..data.labelled_texts import ReviewData
from ..data.labels import is_imbalanced
from ..evaluation.stages import Stage
from ..utils.markdown import percent
from . import classification
from .run import Run, rehearse
from .speed import discarded

DEPTHS = (0, 1)  # of two that score alike, the smaller is chosen
LEAST_FOLDS, LEAST_JUDGED, MOST_JUDGED = 3, 500, 2_000  # of the train split


def choose_depth(run: Run, data: ReviewData, tokenizer: PreTrainedTokenizerBase) -> tuple[int, Stage]:
    """Return the number of blocks that scores highest on held-out texts, and the row of the report."""
    begun, folds = time.perf_counter(), list(folds_of(data, run.groups["training"].seed))
    metric, greater_is_better = metric_of(data)
    weights = [len(fold.splits["validation"]) for fold in folds]
    scores = {
        depth: float(np.average([score(run, fold, tokenizer, depth, metric) for fold in folds], weights=weights))
        for depth in DEPTHS
    }
    chosen = (max if greater_is_better else min)(DEPTHS, key=scores.__getitem__)
    shown = {depth: f"{value:.4g}" if metric == "rmse" else percent(value) for depth, value in scores.items()}
    what = f"{metric.replace('_', ' ')} on {counted(sum(weights), 'held-out text')} of train"
    result = f"{what}: " + ", ".join(f"{shown[depth]} with {counted(depth, 'block')}" for depth in DEPTHS)
    read = f"{counted(len(data.splits['train']), 'text')}, {counted(len(folds), 'fold')}"
    return chosen, Stage("number of blocks", read, 0, (time.perf_counter() - begun) / 60, result)


def metric_of(data: ReviewData) -> tuple[str, bool]:
    """Return what decides, and whether a greater value is better. With imbalanced classes, accuracy tells nothing."""
    if data.problem_type == "single_label_classification" and is_imbalanced(data.splits["train"]["label"]):
        return "f1", True
    return classification.BEST_BY[data.problem_type]


def folds_of(data: ReviewData, seed: int) -> Iterator[ReviewData]:
    """Yield the train split as other texts to train on and to validate on, until enough texts were held out."""
    train = data.splits["train"]
    folds = KFold(max(LEAST_FOLDS, len(train) // MOST_JUDGED), shuffle=True, random_state=seed).split(range(len(train)))
    parts: list[tuple[Sequence[int], Sequence[int]]] = list(folds)
    judged = list(accumulate(len(held_out) for _, held_out in parts))
    for (others, held_out), before in zip(parts, [0, *judged]):
        if before < LEAST_JUDGED:
            splits = DatasetDict({"train": train.select(others), "validation": train.select(held_out)})
            yield replace(data, splits=splits)


def score(run: Run, data: ReviewData, tokenizer: PreTrainedTokenizerBase, depth: int, metric: str) -> float:
    """Train a model of so many blocks, which is discarded, and return its score on validation."""
    overrides = f"{run.groups['model'].config_overrides},num_hidden_layers={depth}"
    arguments = replace(run.groups["model"], config_overrides=overrides)
    set_seed(run.groups["training"].seed)
    model = classification.build_model(
        arguments, tokenizer, data.label_names, problem_type=data.problem_type, has_pairs=data.has_pairs
    )
    splits, _ = classification.encode_splits(data.splits, tokenizer, model.config)
    classification.fill_empty_ngrams(model, splits, tokenizer)
    with discarded(run.groups["training"]) as copied:
        copied.save_strategy = copied.eval_strategy = copied.logging_strategy = "no"
        copied.load_best_model_at_end, copied.early_stopping_patience, copied.disable_tqdm = False, None, True
        metrics = classification.metrics_of(data)
        trainer = classification.build_trainer(
            classification.ClassifierTrainer, tokenizer, splits, metrics, copied, model=model
        )
        classification.fit_to_labels(trainer, run, data)
        trainer.remove_callback(PrinterCallback)
        rehearse(trainer)
        trainer.train()
        return trainer.evaluate()[f"eval_{metric}"]
