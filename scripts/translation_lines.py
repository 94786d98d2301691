# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pairs of a text and its translation in two text files, such as train.en and train.de, line by line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from text_columns import read_lines
from text_files import READERS, SPLIT_NAMES, DataError, Row


@dataclass(frozen=True)
class LinePairs:
    """One split in two text files: line n of the one is the translation of line n of the other."""

    paths: Sequence[Path]

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Stream `(place, {file ending: text})`; raises `DataError` where one file has more lines than the other."""
        names = [path.suffix.removeprefix(".") for path in self.paths]
        with self.paths[0].open("rb") as first, self.paths[1].open("rb") as second:
            lines = (read_lines(handle, str(path)) for handle, path in zip((first, second), self.paths))
            for number, pair in enumerate(zip_longest(*lines), 1):
                if None in pair:
                    raise self._mismatch()
                yield f"{self}, line {number}", {name: text for name, (_, text) in zip(names, pair)}

    def _mismatch(self) -> DataError:
        counts = []
        for path in self.paths:
            with path.open("rb") as handle:
                counts.append(f"{path} has {sum(1 for _ in handle):,} lines")
        return DataError(f"{', '.join(counts)}: line n of the one has to translate line n of the other; mend the files")


def pair_of_files(paths: Sequence[Path], option: str) -> LinePairs:
    """The two files that an option names."""
    if paths[0].suffix == paths[1].suffix:
        raise DataError(f"{option}: {paths[0]} and {paths[1]} end the same; the endings name the languages")
    for path in paths:
        if not path.is_file():
            raise DataError(f"{option} {path}: there is no such file")
    return LinePairs(paths)


def find_line_pairs(folder: Path, source: str | None, target: str | None) -> dict[str, LinePairs]:
    """The splits of a folder by file endings, source and target; none where it holds tables.

    Raises `DataError` where a split lacks a side or has two candidates, or where the endings are not named.
    """
    found: dict[str, LinePairs] = {}
    names = SPLIT_NAMES if source and target else {}
    for name, split in names.items():
        paths = [folder / f"{name}.{ending}" for ending in (source, target)]
        there = [path.is_file() for path in paths]
        if any(there) and not all(there):
            raise DataError(f"{paths[there.index(False)]} is missing: {paths[there.index(True)]} is there")
        if all(there) and split in found:
            raise DataError(f"{found[split]}, {LinePairs(paths)}: each could be the {split} split; keep one of the two")
        if all(there):
            found[split] = LinePairs(paths)
    if "train" in found:
        return found
    _refuse_unnamed(folder)
    return {}


def _refuse_unnamed(folder: Path) -> None:
    files = sorted(path for path in folder.glob("train*") if path.is_file())
    if len(files) > 1 and not any(path.suffix.lower() in READERS for path in files):
        raise DataError(
            f"{folder}: which two of {', '.join(path.name for path in files)}? name their endings as --source_column "
            "and --target_column"
        )
