# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train, validation and test: the files of a folder, or a dataset of the Hub."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from ..utils.errors import DataError, one_line
from .rows import READERS, Row, is_review_folder, missing_column, read_rows, refuse_links_out

SPLIT_NAMES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}

_SPLIT_FILE = re.compile(
    rf"(?P<split>{'|'.join(SPLIT_NAMES)})"
    r"(-(?P<shard>\d+)-of-(?P<shards>\d+)(-[0-9a-f]+)?)?"  # the Hub's shards; older ones end in a hash
    rf"(?P<suffix>{'|'.join(map(re.escape, READERS))})"
)


def find_splits(folder: Path) -> dict[str, list[Path]]:
    """The files of each split in `folder`, found by name: train, validation (valid, val, dev) and test.

    `train.csv`, shards like `train-00000-of-00002.parquet`, or a folder `train/` with neg/ and pos/. Other names are
    left alone. Raises `DataError` where a split has two candidates or lacks a shard, or where train is not found.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    found: dict[str, dict[str, list[Path]]] = {}
    for path in sorted(folder.iterdir()):
        match = _SPLIT_FILE.fullmatch(path.name.lower())
        if match and path.is_file():
            one_set = f"{match['split']} {match['shards']} {match['suffix']}"
            found.setdefault(SPLIT_NAMES[match["split"]], {}).setdefault(one_set, []).append(path)
        elif path.name in ("train", "test") and is_review_folder(path):
            found.setdefault(path.name, {})[path.name] = [path]
    if "train" not in found:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:10]) or "nothing"
        raise DataError(
            f"{folder}: there is no train file ({', '.join('train' + s for s in READERS)}, "
            f"or shards such as train-00000-of-00002.parquet), but {names}"
        )
    chosen = {split: _only_candidate(split, list(candidates.values())) for split, candidates in found.items()}
    refuse_links_out(folder, [path for paths in chosen.values() for path in paths])
    return chosen


def _only_candidate(split: str, candidates: list[list[Path]]) -> list[Path]:
    if len(candidates) > 1:
        names = " and ".join(str(files[0]) for files in candidates)
        raise DataError(f"{names} could each be the {split} split; keep one, or name it with --{split}_file")
    files = candidates[0]
    match = _SPLIT_FILE.fullmatch(files[0].name.lower())
    if match and match["shards"] and len(files) != int(match["shards"]):
        raise DataError(f"{files[0]}: {len(files)} of {int(match['shards'])} shards are here; fetch the others")
    return files


HUB_ALIASES = {"sst2": ("nyu-mll/glue", "sst2"), "imdb": ("stanfordnlp/imdb", None)}


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
    class_names: list[str] | None = field(default=None, metadata={"help": "Names of the labels, in order of the ids."})
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
class FileSource:
    """One split in one file, or in the shards of it."""

    paths: Sequence[Path]

    def __str__(self) -> str:
        return str(self.paths[0])

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Row]]:
        """Stream `(place, values)`; raises `DataError` as `read_rows` does."""
        for path in self.paths:
            for row, values in read_rows(path, columns):
                yield f"{path.name}, row {row}", values

    def class_names(self, column: str) -> list[str] | None:
        """The names of a column of class ids, which Parquet files from the Hub carry in their schema."""
        if self.paths[0].suffix.lower() != ".parquet":
            return None
        schema = pq.read_schema(self.paths[0])
        only_column = pa.schema([schema.field(column)], metadata=schema.metadata)
        return _class_names(datasets.Features.from_arrow_schema(only_column)[column])


@dataclass(frozen=True)
class HubSource:
    """One split of a data set on the Hub."""

    name: str
    dataset: datasets.Dataset | datasets.IterableDataset

    def __str__(self) -> str:
        return self.name

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Row]]:
        """Stream `(place, values)`; raises `DataError` for a column that is not there."""
        there = self._columns()
        for column in columns or ():
            if column not in there:
                raise missing_column(column, there, self.name)
        row = count(1)
        for batch in self.dataset.select_columns(list(columns or there)).iter(batch_size=1_000):
            for values in zip(*batch.values()):
                yield f"{self.name}, row {next(row)}", dict(zip(batch, values))

    def _columns(self) -> list[str]:
        """What streamed text and CSV files do not declare is read off their first row."""
        return list(self.dataset.column_names or next(iter(self.dataset), {}))

    def class_names(self, column: str) -> list[str] | None:
        """The names of a column of class ids, where it is a `datasets.ClassLabel`."""
        return _class_names((self.dataset.features or {}).get(column))


Source = FileSource | HubSource


def _class_names(feature: object) -> list[str] | None:
    return list(feature.names) if isinstance(feature, datasets.ClassLabel) else None


def open_folder(folder: Path) -> tuple[dict[str, Source], list[str]]:
    """The splits that `find_splits` sees, and a note on the data files that are none."""
    splits = find_splits(folder)
    used = {path for paths in splits.values() for path in paths}
    others = [path.name for path in sorted(folder.iterdir()) if path.suffix.lower() in READERS and path not in used]
    notes = [f"not the name of a split, so not used: {', '.join(others)}"] if others else []
    return {split: FileSource(paths) for split, paths in splits.items()}, notes


def open_hub(name: str, config_name: str | None = None, streaming: bool = False) -> tuple[dict[str, Source], list[str]]:
    """The splits of a data set on the Hub (or in a local folder that `datasets` can load), and a note on the others.

    streaming: rows come from the network as they are read, none are kept.
    """
    if config_name is None:
        name, config_name = HUB_ALIASES.get(name, (name, None))
    try:
        found = datasets.load_dataset(name, config_name, streaming=streaming)
    except Exception as error:  # from network, access, configuration or files: the client's own errors are open-ended
        raise DataError(
            f"data set {name!r} could not be loaded: {one_line(error)}; check its name and the network, "
            "or use files that you have: --data_dir folder (make train DATA=folder)"
        ) from error
    title = " ".join(filter(None, (name, config_name)))
    splits: dict[str, Source] = {
        SPLIT_NAMES[split]: HubSource(f"{title} {split}", rows) for split, rows in found.items() if split in SPLIT_NAMES
    }
    others = sorted(set(found) - set(SPLIT_NAMES))
    if "train" not in splits:
        raise DataError(f"data set {title!r} has no train split, but {', '.join(map(str, found))}")
    return splits, [f"not the name of a split, so not used: {', '.join(others)}"] if others else []


def open_sources(arguments: DataArguments) -> tuple[dict[str, Source], list[str]]:
    """The splits that `arguments` name, and notes on what there is beside them."""
    if arguments.dataset_name:
        return open_hub(arguments.dataset_name, arguments.dataset_config_name)
    if arguments.data_dir:
        return open_folder(Path(arguments.data_dir))
    if not arguments.train_file:
        raise DataError("no data was named; give --data_dir, --train_file or --dataset_name")
    files = {"train": arguments.train_file, "validation": arguments.validation_file, "test": arguments.test_file}
    return {split: FileSource([Path(file)]) for split, file in files.items() if file}, []
