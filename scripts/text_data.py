# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labelled text from the user's files, folder or the Hub, as train, validation and test splits of (text, label).

Nothing is left out, held out or renamed without a line about it in `ReviewData.describe()`.
"""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import datasets
from text_columns import SAMPLE_ROWS, SENTIMENT_NAMES, Label, choose_columns, name_labels, parse_label, parse_text
from text_files import DataError
from text_sources import FileSource, Source, open_folder, open_hub

HIDDEN_LABEL = -1  # how `datasets.ClassLabel` writes a label that is kept secret, as in GLUE's test splits


def _option(default: object, text: str) -> object:
    return field(default=default, metadata={"help": text})


@dataclass
class DataArguments:
    """Where labelled text comes from: one of `dataset_name`, `data_dir` or `train_file`, or none of them."""

    dataset_name: str | None = field(
        default=None, metadata={"help": "A data set on the Hub; sst2 and imdb are short names."}
    )
    dataset_config_name: str | None = field(default=None, metadata={"help": "The configuration of that data set."})
    data_dir: str | None = field(
        default=None,
        metadata={"help": "A folder with train.*, validation.* and test.* (csv, tsv, jsonl, parquet), or aclImdb."},
    )
    train_file: str | None = field(default=None, metadata={"help": "Training data: csv, tsv, jsonl or parquet."})
    validation_file: str | None = field(default=None, metadata={"help": "Validation data, beside a train_file."})
    test_file: str | None = field(default=None, metadata={"help": "Test data, beside a train_file."})
    text_column: str | None = field(default=None, metadata={"help": "The column of the text, if not obvious."})
    label_column: str | None = field(default=None, metadata={"help": "The column of the label, if not obvious."})
    label_names: list[str] | None = field(default=None, metadata={"help": "Names of the labels, in order of the ids."})
    max_train_samples: int | None = field(default=None, metadata={"help": "Train on this many rows of all."})
    max_eval_samples: int | None = field(default=None, metadata={"help": "Keep this many rows of each other split."})
    validation_fraction: float = field(
        default=0.1, metadata={"help": "The share of train that is held out for each split that is missing."}
    )
    split_seed: int = field(default=0, metadata={"help": "The seed of what is held out, and of samples."})

    def __post_init__(self) -> None:
        files = self.train_file or self.validation_file or self.test_file
        given = {"--dataset_name": self.dataset_name, "--data_dir": self.data_dir, "--train_file": files}
        sources = [option for option, value in given.items() if value]
        if len(sources) > 1:
            raise DataError(f"{' and '.join(sources)} are given, but the data comes from one of them; drop the others")
        if files and not self.train_file:
            raise DataError("--validation_file and --test_file go with --train_file: give that, too")
        if self.dataset_config_name and not self.dataset_name:
            raise DataError("--dataset_config_name goes with --dataset_name: give that, too")
        if not 0 < self.validation_fraction < 0.5:
            raise DataError(f"--validation_fraction is {self.validation_fraction}, but has to lie between 0 and 0.5")
        for option in ("max_train_samples", "max_eval_samples"):
            if (limit := getattr(self, option)) is not None and limit < 1:
                raise DataError(f"--{option} is {limit}, but has to be 1 or more")

    @property
    def uses_demo(self) -> bool:
        """Whether no data was named, so that the program falls back on the reviews that come with it."""
        return not (self.dataset_name or self.data_dir or self.train_file)


@dataclass(frozen=True)
class ReviewData:
    """Splits with the columns text (string) and label (`ClassLabel`), and what was done to get there."""

    splits: datasets.DatasetDict
    label_names: list[str]
    notes: list[str]
    warnings: list[str]

    def describe(self) -> str:
        """Lines to print: the size of each split by class, then every note, then every warning."""
        lines = []
        for split, dataset in self.splits.items():
            counts = Counter(dataset["label"])
            classes = [f"{self.label_names[label]} {number:,}" for label, number in counts.most_common(10)]
            more = ["..."] if len(counts) > len(classes) else []
            lines.append(f"{split}: {dataset.num_rows:,} rows ({', '.join([*classes, *more])})")
        return "\n".join([*lines, *self.notes, *(f"WARNING: {warning}" for warning in self.warnings)])


class Example(NamedTuple):
    """One labelled text, with its label as it was read, and the file and row it stands in."""

    text: str
    label: Label
    where: str


def load_splits(arguments: DataArguments) -> ReviewData:
    """Read, check and divide the data that `arguments` name; every fault in it is a `DataError`.

    Without a validation split, one is held out of train; without validation and test, both are. With a validation split
    only, there is no test split. The label set is that of the train split.
    """
    sources, notes = _open_sources(arguments)
    columns = _choose_columns(sources["train"], arguments)
    train = _read_examples(sources["train"], columns, notes)
    names = _name_labels(sources["train"], train, columns[1], arguments, notes)
    splits = {"train": train}
    for split in ("validation", "test"):
        if split in sources and (examples := _read_labelled(sources[split], columns, names, arguments, notes)):
            splits[split] = examples
    splits = _fill_splits(splits, arguments, notes)
    for split, limit in ...
    ids = {label: number for number, label in enumerate(names)}
