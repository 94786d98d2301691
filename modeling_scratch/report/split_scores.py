# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The scores of every split, the training texts included: how far a model is better on the texts that it has seen."""

import json
from collections.abc import Mapping
from pathlib import Path

import datasets
from transformers import Trainer

from ..utils.files import write_json, write_text
from ..utils.markdown import table

OF_TIME = ("runtime", "samples_per_second", "steps_per_second", "model_preparation_time")


def report_splits(trainer: Trainer, splits: datasets.DatasetDict) -> str:
    """Return the table of the scores of each split, and add it to results.md and evaluation.json.

    Every process of a distributed run has to call this.
    """
    scores = {split: _scores(trainer, rows, split) for split, rows in splits.items()}
    if not trainer.is_world_process_zero():
        return ""
    folder, text = Path(trainer.args.output_dir or ""), f"{split_table(scores)}\n"
    results, evaluation = folder / "results.md", folder / "evaluation.json"
    write_text(results, f"{results.read_text(encoding='utf-8')}\n{text}")
    write_json(evaluation, {**json.loads(evaluation.read_text(encoding="utf-8")), "split_scores": scores})
    return text


def _scores(trainer: Trainer, rows: datasets.Dataset, split: str) -> dict[str, float]:
    metrics = trainer.predict(rows, metric_key_prefix=split).metrics or {}
    named = {name.removeprefix(f"{split}_"): value for name, value in metrics.items()}
    return {name: value for name, value in named.items() if name not in OF_TIME}


def split_table(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of the scores that evaluation.json records."""
    names = list(next(iter(scores.values())))
    rows = [[split, *(f"{found[name]:.4f}" for name in names)] for split, found in scores.items()]
    return table(["split", *(name.replace("_", " ") for name in names)], rows)
