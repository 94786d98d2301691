# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Find the train, validation and test splits in a folder's files or in a data set on the Hub."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from ..configuration_scratch import ProblemType
from ..utils.errors import DataError, one_line
from ..utils.files import MAX_FILE_SIZE, MAX_FILE_SIZE_HELP, check_inputs
from ..utils.options import option
from .labels import parse_label_map
from .tables import (
    FOUND,
    READERS,
    Row,
    Table,
    TableArguments,
    TableForm,
    is_review_folder,
    open_table,
    refuse_links_out,
    select,
)
from .text_files import CONLL, format_of, intact, other_command, unknown_format
from .text_pairs import TEXT_COLUMN_HELP, TextColumns, as_recorded, column_names

if TYPE_CHECKING:  # who names files needs no such library, and waits a second for it
    import datasets

SPLIT_NAMES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}

SPLITS = ("train", "validation", "test")
SAVED = ("dataset_dict.json", "state.json")  # in folders of `datasets.save_to_disk`

_SPLIT_FILE = re.compile(
    rf"(?P<split>{'|'.join(SPLIT_NAMES)})"
    r"(-\d+-of-(?P<shards>\d+)(-[0-9a-f]+)?)?"  # the Hub's shards; older ones have a hash
    r"(?P<suffix>(\.[a-z0-9]+){0,2})"
)


def unlabelled_files(folder: Path) -> list[Path]:
    """Return the files of unlabelled texts in a folder of splits, such as unsupervised.csv.

    Raises `DataError` for a link out of the folder.
    """
    files = [path for path in sorted(folder.glob("unsupervised*")) if format_of(path) in (".txt", *READERS)]
    refuse_links_out(folder, files)
    return files


def find_splits(folder: Path, suffixes: Collection[str] = tuple(READERS)) -> dict[str, list[Path]]:
    """Find the files of each split in `folder` by name: train, validation (valid, val, dev) and test.

    A split is `train.csv`, shards such as `train-00000-of-00002.parquet`, or a folder `train/` with a folder of
    .txt files for each label. A folder of such folders is the train split.
    suffixes: of the formats. Other names are ignored. Raises `DataError` if a split has two candidates or lacks a
    shard, or if train is missing.
    """
    if not folder.is_dir():
        what = "a file; name a folder, or give the file as --train_file" if folder.is_file() else "folder not found"
        raise DataError(f"{folder}: {what}")
    found: dict[str, dict[Any, list[Path]]] = {}  # of each split, by the number of shards and the suffix
    for path in sorted(folder.iterdir()):
        match = _SPLIT_FILE.fullmatch(path.name.lower())
        if match and (is_review_folder(path) if path.is_dir() else format_of(path) in suffixes):
            kinds = found.setdefault(SPLIT_NAMES[match["split"]], {})
            kinds.setdefault(match.group("split", "shards", "suffix"), []).append(path)
    if not found and is_review_folder(folder) and ".csv" in suffixes:
        return {"train": [folder]}
    if "train" not in found:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:10]) or "nothing"
        advice = max(map(other_command, folder.glob("train.*")), default="")
        wanted = f"{', '.join('train' + s for s in suffixes)}, or shards such as train-00000-of-00002.parquet"
        raise DataError(f"{folder}: no train file ({wanted}); it contains {names}{advice}")
    for split, kinds in found.items():
        ((_, shards, _), files), *others = kinds.items()
        if others:
            both = f"{files[0]} and {others[0][1][0]} are both candidates for the {split} split"
            raise DataError(f"{both}; keep one or name it with --{split}_file")
        if shards and len(files) != int(shards):
            raise DataError(f"{files[0]}: only {len(files)} of {int(shards)} shards are present; download the rest")
    splits = {split: next(iter(kinds.values())) for split, kinds in found.items()}
    refuse_links_out(folder, chain.from_iterable(splits.values()))
    return splits


def files_of(arguments: Any) -> dict[str, list[Path]]:
    """Return the files that options such as --train_file name, by split."""
    given = {split: getattr(arguments, f"{split}_file", None) for split in SPLITS}
    lists = {split: [names] if isinstance(names, str) else names for split, names in given.items() if names}
    return {split: list(map(Path, names)) for split, names in lists.items()}


def check_sources(arguments: Any) -> None:
    """Apply `check_inputs` to the files that a data set's options name, and to those of splits in a folder."""
    present = Path(arguments.data_dir).glob("*.*") if arguments.data_dir else ()
    found = [path for path in present if path.name.lower().partition(".")[0].split("-")[0] in SPLIT_NAMES]
    check_inputs([*chain.from_iterable(files_of(arguments).values()), *found], arguments.max_file_size)


HUB_ALIASES = {"sst2": ("nyu-mll/glue", "sst2"), "imdb": ("stanfordnlp/imdb", None)}


@dataclass
class SplitArguments:
    """The source of the splits of one data set: exactly one of `dataset_name`, `data_dir` and `train_file`."""

    dataset_name: str | None = option(None, "A data set on the Hub.")
    dataset_config_name: str | None = option(None, "The configuration of that data set.")
    data_dir: str | None = option(None, "A folder with train.*, validation.* and test.*.")
    train_file: str | None = option(None, "Training data.")
    validation_file: str | None = option(None, "Validation data; requires --train_file.")
    test_file: str | None = option(None, "Test data; requires --train_file.")
    max_train_samples: int | None = option(None, "The maximum number of training rows.")
    max_eval_samples: int | None = option(None, "The maximum number of rows of each other split.")
    validation_fraction: float = option(0.1, "The fraction of train to hold out for each missing split.")
    split_seed: int = option(0, "The seed of held-out splits and of samples.")
    max_file_size: float = option(MAX_FILE_SIZE, MAX_FILE_SIZE_HELP)

    def __post_init__(self) -> None:
        self.check()
        if not (self.dataset_name or self.data_dir or self.train_file):
            raise DataError("no data source; give one of --train_file, --data_dir and --dataset_name")

    def check(self) -> None:
        """Raise `DataError` for options that contradict each other, and for files that are too large."""
        files = self.train_file or self.validation_file or self.test_file
        given = {"--dataset_name": self.dataset_name, "--data_dir": self.data_dir, "--train_file": files}
        sources = [name for name, value in given.items() if value]
        if len(sources) > 1:
            raise DataError(f"{' and '.join(sources)} are mutually exclusive; give only one")
        if files and not self.train_file:
            raise DataError("--validation_file and --test_file require --train_file")
        if self.dataset_config_name and not self.dataset_name:
            raise DataError("--dataset_config_name requires --dataset_name")
        if not 0 < self.validation_fraction < 0.5:
            raise DataError(f"--validation_fraction {self.validation_fraction}: must be between 0 and 0.5")
        for name in ("max_train_samples", "max_eval_samples"):
            if (limit := getattr(self, name)) is not None and limit < 1:
                raise DataError(f"--{name} {limit}: must be at least 1")
        check_sources(self)

    @property
    def input_suffix(self) -> str:
        """The suffix of new texts like those of the files: that of their tables, else .txt, with a text a line."""
        files = files_of(self).get("train") or (sorted(Path(self.data_dir).glob("train*")) if self.data_dir else [])
        return next((suffix for suffix in map(format_of, files) if suffix in READERS), ".txt" if files else ".csv")


@dataclass
class DataArguments(TableArguments, SplitArguments):
    """The source of labelled text: at most one of `dataset_name`, `data_dir` and `train_file`."""

    dataset_name: str | None = option(None, "A data set on the Hub; sst2 and imdb are short names.")
    data_dir: str | None = option(None, "A folder with train.*, validation.* and test.*, or of .txt files by label.")
    train_file: str | None = option(None, "Training data: csv, tsv, jsonl, parquet or xlsx.")
    text_column: TextColumns = option(None, TEXT_COLUMN_HELP)
    label_column: str | None = option(None, "The label column; inferred by default.")
    label_map: list[str] | None = option(
        None,
        'Labels to read as another one: source=target, e.g. Billing=billing "log in=login", or a csv file with the '
        "columns source and target.",
    )
    drop_labels: list[str] | None = option(None, "Labels whose rows are left out, such as the placeholder N/A.")
    class_names: list[str] | None = option(None, "The label names, in the order of the class ids.")
    problem_type: ProblemType | None = option(None, "A text has one class, several, or a number; inferred by default.")
    label_separator: str | None = option(None, "What separates the labels of a text in a cell, e.g. '|'.")
    demo_words: Literal["all", "common"] = option("all", "Opinion words of the demo: all, or the common ones (faster).")

    def __post_init__(self) -> None:
        self.tables: Mapping[str, DatasetSource] | None = None  # of a call from Python; no option names them
        self.text_column = as_recorded(self.text_column)
        if self.label_separator is not None and self.problem_type not in (None, "multi_label_classification"):
            raise DataError(f"--label_separator: {self.problem_type} has one label per text; remove one of the two")
        if self.label_separator == "":
            raise DataError("--label_separator: is empty; give a character such as '|', or lists in JSON lines")
        self.check()
        _ = self.form  # which checks it
        parse_label_map(self.label_map or ())

    @property
    def has_pairs(self) -> bool:
        """Whether each row has two texts."""
        return len(column_names(self.text_column)) == 2

    @property
    def uses_demo(self) -> bool:
        """Whether no source is given, so that the built-in demo reviews are used."""
        return not (self.dataset_name or self.data_dir or self.train_file)


# Sources of rows


@dataclass(frozen=True)
class FileSource:
    """One split in one file or in its shards."""

    paths: Sequence[Path]
    form: TableForm = FOUND

    def __str__(self) -> str:
        return str(self.paths[0])

    @cached_property
    def tables(self) -> list[Table]:
        """The files that are tables, and how they are read."""
        return [open_table(path, self.form) for path in self.paths if format_of(path) not in (".txt", *CONLL)]

    def notes(self) -> Iterator[str]:
        """Yield what was found on how the tables are read."""
        return chain.from_iterable(table.notes for table in self.tables)

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """Stream the rows. Raises `DataError` as `Table.rows` does."""
        return chain.from_iterable(table.rows(columns) for table in self.tables)

    def class_names(self, column: str) -> list[str] | None:
        """Return the class names of a label column, which the Hub's Parquet files store in their schema."""
        if self.paths[0].suffix.lower() != ".parquet":
            return None
        from datasets import Features

        with intact(self.paths[0], f"a table with valid class names of column {column!r}"):  # which can be any JSON
            schema = pq.read_schema(self.paths[0])
            only_column = pa.schema([schema.field(column)], metadata=schema.metadata)
            return _class_names(Features.from_arrow_schema(only_column)[column])


@dataclass(frozen=True)
class DatasetSource:
    """One split as a `datasets.Dataset`."""

    name: str
    dataset: "datasets.Dataset"

    def __str__(self) -> str:
        return self.name

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """Stream the rows. Raises `DataError` for a missing column."""
        names = list(columns or self.dataset.column_names)
        select(dict.fromkeys(self.dataset.column_names), names, self.name)
        batches = self.dataset.select_columns(names).iter(batch_size=1_000)
        rows = (dict(zip(batch, values)) for batch in batches for values in zip(*batch.values()))
        return (Row(number, values, f"{self.name}, row {number}") for number, values in enumerate(rows, 1))

    def class_names(self, column: str) -> list[str] | None:
        """Return the class names of a label column if it is a `datasets.ClassLabel`."""
        return _class_names((self.dataset.features or {}).get(column))


Source = FileSource | DatasetSource


def _class_names(feature: Any) -> list[str] | None:
    """Return the names of a `datasets.ClassLabel`, or of a list of them."""
    from datasets import ClassLabel

    feature = getattr(feature, "feature", feature)
    return list(feature.names) if isinstance(feature, ClassLabel) else None


def open_hub(name: str, config_name: str | None = None) -> tuple[dict[str, Source], list[str]]:
    """Return the splits of a data set on the Hub or in a local folder, and a note on ignored splits."""
    if config_name is None:
        name, config_name = HUB_ALIASES.get(name, (name, None))
    from datasets import load_dataset

    try:
        dataset = load_dataset(name, config_name)
    except Exception as error:  # network, access, configuration, files: the client raises many types
        advice = "check its name and the network, or use local files: --data_dir folder (make train DATA=folder)"
        raise DataError(f"data set {name!r} could not be loaded: {one_line(error)}; {advice}") from error
    return _splits_of(dataset, " ".join(filter(None, (name, config_name))))


def _open_saved(folder: str) -> tuple[dict[str, Source], list[str]]:
    """Return the splits that `datasets` saved by `save_to_disk`."""
    from datasets import Dataset, load_from_disk

    refuse_links_out(Path(folder), Path(folder).rglob("*.arrow"))
    with intact(Path(folder), "a data set of `save_to_disk`"):
        dataset = load_from_disk(folder)
    return _splits_of({"train": dataset} if isinstance(dataset, Dataset) else dataset, folder)


def _splits_of(dataset: Mapping[str, Any], title: str) -> tuple[dict[str, Source], list[str]]:
    splits: dict[str, Source] = {}
    for name in filter(SPLIT_NAMES.get, dataset):
        if (split := SPLIT_NAMES[name]) in splits:
            raise DataError(f"data set {title!r}: two splits are both candidates for {split}; name a file of one")
        splits[split] = DatasetSource(f"{title} {name}", dataset[name])
    if "train" not in splits:
        raise DataError(f"data set {title!r} has no train split; its splits: {', '.join(map(str, dataset))}")
    return splits, _ignored(dataset.keys() - SPLIT_NAMES.keys())


def _ignored(names: Collection[str]) -> list[str]:
    return [f"ignored, as not named after a split: {', '.join(sorted(names))}"] if names else []


def open_splits(
    arguments: Any, suffixes: Collection[str] = tuple(READERS), opened: Collection[str] = SPLITS
) -> tuple[Mapping[str, Source], list[str]]:
    """Return the splits that the arguments of a data set select, and notes on ignored files or splits, and on tables.

    suffixes: of the formats. opened: the splits to return; files of others are not opened.
    """
    folder = arguments.data_dir
    if arguments.dataset_name:
        return open_hub(arguments.dataset_name, arguments.dataset_config_name)
    if folder and any(Path(folder, name).is_file() for name in SAVED):
        return _open_saved(folder)
    files, notes = files_of(arguments), []
    if folder:
        files, unlabelled = find_splits(Path(folder), suffixes), unlabelled_files(Path(folder))
        used = {*unlabelled, *chain.from_iterable(files.values())}
        notes = _ignored([path.name for path in {*Path(folder).iterdir()} - used if format_of(path) in suffixes])
        if unlabelled:
            names = ", ".join(path.name for path in unlabelled)
            notes.append(f"without labels, read only in pretraining (--pretrain_minutes): {names}")
    if not files:
        raise DataError("no data source; give --data_dir, --train_file or --dataset_name")
    for path in chain.from_iterable(files.values()):
        if path.is_file() and format_of(path) not in suffixes:
            raise unknown_format(path, suffixes)
    sources = {split: FileSource(paths, arguments.form) for split, paths in files.items() if split in opened}
    return dict(sources), [*notes, *chain.from_iterable(source.notes() for source in sources.values())]
