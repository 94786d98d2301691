# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The splits of a folder or of a data set on the Hub: rows with their places, and the names of class ids."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import datasets
import pyarrow.parquet as pq
from text_files import READERS, SPLIT_NAMES, DataError, Row, find_splits, missing_column, read_rows

HUB_ALIASES = {"sst2": ("nyu-mll/glue", "sst2"), "imdb": ("stanfordnlp/imdb", None)}


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
        return _class_names(datasets.Features.from_arrow_schema(pq.read_schema(self.paths[0])), column)


@dataclass(frozen=True)
class HubSource:
    """One split of a data set on the Hub."""

    name: str
    dataset: datasets.Dataset

    def __str__(self) -> str:
        return self.name

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Row]]:
        """Stream `(place, values)`; raises `DataError` for a column that is not there."""
        for column in columns or ():
            if column not in self.dataset.column_names:
                raise missing_column(column, self.dataset.column_names, self.name)
        row = count(1)
        for batch in self.dataset.select_columns(list(columns or self.dataset.column_names)).iter(batch_size=1_000):
            for values in zip(*batch.values()):
                yield f"{self.name}, row {next(row)}", dict(zip(batch, values))

    def class_names(self, column: str) -> list[str] | None:
        """The names of a column of class ids, where it is a `datasets.ClassLabel`."""
        return _class_names(self.dataset.features, column)


Source = FileSource | HubSource


def _class_names(features: datasets.Features, column: str) -> list[str] | None:
    feature = features[column]
    return list(feature.names) if isinstance(feature, datasets.ClassLabel) else None


def open_folder(folder: Path) -> tuple[dict[str, Source], list[str]]:
    """The splits that `find_splits` sees, and a note on the data files that are none."""
    splits = find_splits(folder)
    used = {path for paths in splits.values() for path in paths}
    others = [path.name for path in sorted(folder.iterdir()) if path.suffix.lower() in READERS and path not in used]
    notes = [f"not the name of a split, so not used: {', '.join(others)}"] if others else []
    return {split: FileSource(paths) for split, paths in splits.items()}, notes


def open_hub(name: str, config_name: str | None = None) -> tuple[dict[str, Source], list[str]]:
    """The splits of a data set on the Hub (or in a local folder that `datasets` can load), and a note on the others."""
    if config_name is None:
        name, config_name = HUB_ALIASES.get(name, (name, None))
    try:
        found = datasets.load_dataset(name, config_name)
    except Exception as error:  # network, access, a missing configuration, broken files: the client's errors are open-ended
        raise DataError(
            f"data set {name!r} could not be loaded: {error}; check its name and the network, or use files that you have: "
            "--data_dir folder (make train DATA=folder)"
        ) from error
    title = " ".join(filter(None, (name, config_name)))
    splits: dict[str, Source] = {
        SPLIT_NAMES[split]: HubSource(f"{title} {split}", rows) for split, rows in found.items() if split in SPLIT_NAMES
    }
    others = sorted(set(found) - set(SPLIT_NAMES))
    if "train" not in splits:
        raise DataError(f"data set {title!r} has no train split, but {', '.join(map(str, found))}")
    return splits, [f"not the name of a split, so not used: {', '.join(others)}"] if others else []
