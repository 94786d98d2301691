# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What fewer bits bring a trained classifier, and what they cost it: speed and accuracy on labelled sentences."""

from collections.abc import Iterator
from typing import Any

from benchmark_data import TEXTS
from benchmark_settings import Settings
from benchmark_timing import Comparison, Side, measure
from precision import REDUCED, to_precision
from predict import Classifier, PredictArguments, load_classifier
from text_files import DataError, read_rows

NAME = "sst2"  # whose validation split it is


def precisions(settings: Settings) -> Iterator[dict[str, Any]]:
    """The same checkpoint, by predict.py, in each precision beside float32; of no checkpoint, nothing."""
    if settings.model is None:
        return
    texts, labels = _labelled(settings)
    texts, labels = texts[: settings.few(len(texts))], labels[: settings.few(len(texts))]
    arguments = PredictArguments(model=settings.model, device=settings.device)
    full = load_classifier(arguments)
    tokens = [float(sum(map(len, full.tokenizer(texts, truncation=True)["input_ids"])))] * settings.rounds
    expected = _classes(full, texts)
    for precision in REDUCED:
        if precision == "int8" and settings.device != "cpu":
            continue
        reduced = load_classifier(arguments)
        reduced.model = to_precision(reduced.model, precision)
        found = _classes(reduced, texts)
        changed = sum(one != other for one, other in zip(found, expected))
        costs = f"accuracy {_accuracy(found, labels)} for {_accuracy(expected, labels)}"
        setting = f"{NAME} validation, {precision} beside float32: {costs}, {changed} of {len(texts)} answers differ"
        ours, peer = (_side(classifier, texts, tokens) for classifier in (reduced, full))
        yield measure(Comparison("precision", setting, ours, peer, costs), settings)


def _side(classifier: Classifier, texts: list[str], tokens: list[float]) -> Side:
    return Side(lambda _: classifier.classify(texts, lambda _: None), tokens)


def _labelled(settings: Settings) -> tuple[list[str], list[Any]]:
    if settings.data_folder is None:
        raise DataError(f"precision: give --data_folder, which holds {NAME}/validation.parquet")
    columns = [TEXTS[NAME][0], "label"]
    rows = [
        [row[name] for name in columns]
        for _, row in read_rows(settings.data_folder / NAME / "validation.parquet", columns)
    ]
    return [str(text) for text, _ in rows], [label for _, label in rows]


def _classes(classifier: Classifier, texts: list[str]) -> list[int]:
    names: Any = classifier.model.config.label2id
    return [names[label] for label, _ in classifier.classify(texts, lambda _: None)]


def _accuracy(found: list[int], labels: list[Any]) -> str:
    return f"{sum(one == other for one, other in zip(found, labels)) / len(labels):.2%}"
