# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load translation pairs from tables with two columns, from two text files, or from the Hub."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path

from ..utils.errors import DataError
from ..utils.files import rows_digest
from ..utils.options import option
from .columns import parse_text
from .held_out import Division, left_out, overlaps
from .splits import SPLIT_NAMES, FileSource, Source, SplitArguments, files_of, open_splits
from .tables import FOUND, HEADED, READERS, Row, TableArguments, TableForm, Values, select
from .text_files import count_words, format_of

USUAL_NAMES = ("source", "target")
NESTED = "translation"  # the Hub's parallel corpora store {"en": ..., "de": ...} in this column
END = re.compile(r"[.!?…。！？]\s*$")  # of a sentence


@dataclass
class TranslationDataArguments(TableArguments, SplitArguments):
    """The source of translation pairs: exactly one of `dataset_name`, `data_dir` and `train_file`."""

    data_dir: str | None = option(None, "A folder with train.*, validation.* and test.*: tables, or a file a language.")
    train_file: list[str] | None = option(  # type: ignore[assignment]
        None, "A table (csv, tsv, jsonl, parquet), or two text files with one text per line."
    )
    validation_file: list[str] | None = option(  # type: ignore[assignment]
        None, "Validation data, for choosing checkpoints."
    )
    test_file: list[str] | None = option(None, "Test data, for the final evaluation.")  # type: ignore[assignment]
    validation_fraction: float = option(0.02, "The fraction of train to hold out if there is no validation split.")
    source_column: str | None = option(None, "The source column or, of two text files, the source's suffix (train.en).")
    target_column: str | None = option(None, "The target column or suffix.")

    def __post_init__(self) -> None:
        super().__post_init__()
        given = {self.source_column, self.target_column}
        if given != {None} and (None in given or len(given) < 2):
            raise DataError("--source_column and --target_column must be given together, and differ")


@dataclass(frozen=True)
class LinePairs:
    """One split in two text files, in which equal line numbers are translations of each other."""

    paths: Sequence[Path]
    form: TableForm = FOUND

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))

    def rows(self) -> Iterator[Row]:
        """Stream the pairs by the suffixes of the files. Raises `DataError` if one has more lines than the other."""
        names = [path.suffix.removeprefix(".") for path in self.paths]
        for number, pair in enumerate(zip_longest(*map(self.form.lines, self.paths)), 1):
            if None in pair:
                counts = [f"{path} has {sum(1 for _ in self.form.lines(path)):,} lines" for path in self.paths]
                raise DataError(f"{', '.join(counts)}: the two files must have one translation per line; align them")
            yield Row(number, dict(zip(names, pair)), f"{self}, line {number}")


def find_line_pairs(folder: Path, source: str | None, target: str | None, form: TableForm) -> dict[str, LinePairs]:
    """Find the splits of a folder by the file suffixes `source` and `target`. Return none if it holds tables.

    Raises `DataError` if a split has two candidates, or if the suffixes are not given.
    """
    splits: dict[str, LinePairs] = {}
    for name, split in SPLIT_NAMES.items():
        pair = LinePairs([folder / f"{name}.{ending}" for ending in (source, target)], form)
        if any(path.is_file() for path in pair.paths) and splits.setdefault(split, pair) != pair:
            raise DataError(f"{splits[split]}, {pair}: both are candidates for the {split} split; keep one")
    files = sorted(path for path in folder.glob("train*") if path.is_file())
    if not splits and len(files) > 1 and not any(format_of(path) in READERS for path in files):
        what = f"ambiguous files {', '.join(path.name for path in files)}"
        raise DataError(f"{folder}: {what}; choose two by their suffixes with --source_column and --target_column")
    return splits


Pair = tuple[str, str]


@dataclass(frozen=True)
class TranslationData:
    """The pairs of each split, the names of their two columns, and notes on how they were prepared."""

    splits: dict[str, list[Pair]]
    columns: tuple[str, str]
    notes: list[str]

    def sources(self, split: str) -> list[str]:
        return [source for source, _ in self.splits[split]]

    def texts(self, split: str) -> list[str]:
        """Return what the model reads."""
        return self.sources(split)

    def targets(self, split: str) -> list[str]:
        return [target for _, target in self.splits[split]]

    def digests(self) -> dict[str, str | None]:
        """Return a digest of the pairs of each split, in their order."""
        return {split: rows_digest(pairs) for split, pairs in self.splits.items()}

    def describe(self) -> str:
        sizes = [f"{split}: {len(pairs):,} pairs" for split, pairs in self.splits.items()]
        return "\n".join([f"{self.columns[0]} -> {self.columns[1]}", *sizes, *self.notes])


def load_pairs(arguments: TranslationDataArguments) -> TranslationData:
    """Load and check the pairs that `arguments` select. Raises `DataError` for invalid data.

    Pairs that lack a side are dropped and reported with their locations. A missing validation split is held out of
    train; a missing test split stays missing.
    """
    sources, notes = _open(arguments)
    columns = _choose_columns(sources["train"], arguments, notes)
    splits = {split: _read_pairs(split, source, columns, notes) for split, source in sources.items()}
    missing = [] if "validation" in splits else ["validation"]
    division = Division(arguments, "pair", notes)
    splits = division.sampled(division.completed(splits, missing, itemgetter(0)), itemgetter(0))
    data = TranslationData(splits, columns, notes)
    notes += overlaps({split: data.sources(split) for split in splits}, "source", "WARNING: ")
    return data


def _open(arguments: TranslationDataArguments) -> tuple[Mapping[str, Source | LinePairs], list[str]]:
    names = arguments.source_column, arguments.target_column
    if arguments.data_dir and (lines := find_line_pairs(Path(arguments.data_dir), *names, arguments.form)):
        return lines, []
    splits, notes = files_of(arguments), list[str]()
    sources: dict[str, Source | LinePairs] = {}
    if not splits:
        found, notes = open_splits(arguments)
        sources.update(found)
    for split, paths in splits.items():
        if is_table := len(paths) == 1 and format_of(paths[0]) in READERS:
            notes += FileSource(paths, arguments.form).notes()
        elif len(paths) != 2 or len({*map(format_of, paths)} - {*READERS}) != 2:
            what = f"give one table ({', '.join(READERS)}) or two text files, whose suffixes name the languages"
            raise DataError(f"--{split}_file {' '.join(map(str, paths))}: {what}")
        sources[split] = (FileSource if is_table else LinePairs)(paths, arguments.form)
    if names == (None, None):
        sources = {split: _with_first_pair(source, notes) for split, source in sources.items()}
    return sources, notes


def _with_first_pair(source: Source | LinePairs, notes: list[str]) -> Source | LinePairs:
    """Return the source, read without a header if the names of its two columns look like texts, which is noted."""
    if not isinstance(source, FileSource) or format_of(source.paths[0]) not in HEADED or source.form.says_header:
        return source
    names = list(next(iter(source.rows())).values)
    words = [count_words(name) for name in names]
    are_words = min(words) > 1 and (max(words) > 2 or any(" " in name for name in names))  # as names in Chinese are not
    are_texts = any(map(END.search, names)) or are_words
    if len(names) != 2 or not are_texts:
        return source
    read = f"the first line is read as a pair, {names[0]!r} and {names[1]!r}"
    notes.append(f"{source}: no header: {read}; if these are the names of the columns, set --header_row 1")
    return replace(source, form=replace(source.form, no_header=True))


def _choose_columns(
    source: Source | LinePairs, arguments: TranslationDataArguments, notes: list[str]
) -> tuple[str, str]:
    first = next(iter(source.rows()), None)
    if first is None:
        raise DataError(f"{source}: contains no pairs")
    names = list(nested(first.values))
    if arguments.source_column and arguments.target_column:
        columns = arguments.source_column, arguments.target_column
        select(dict.fromkeys(names), columns, str(source))
        return columns
    names = [*USUAL_NAMES] if {*USUAL_NAMES} <= {*names} else names
    if len(names) != 2:
        listed = ", ".join(names)
        raise DataError(f"{source}: ambiguous columns {listed}; choose with --source_column and --target_column")
    how = "--source_column and --target_column not given"
    notes.append(f"source column: {names[0]!r}, target column: {names[1]!r} ({how})")
    return names[0], names[1]


def nested(values: Values) -> Values:
    inner = values.get(NESTED)
    return inner if isinstance(inner, dict) else values


def _read_pairs(split: str, source: Source | LinePairs, columns: tuple[str, str], notes: list[str]) -> list[Pair]:
    pairs, empty = list[Pair](), list[str]()
    for row in source.rows():
        values = select(nested(row.values), columns, row.where)
        first, second = (parse_text(value, column, row.where, "").strip() for column, value in values.items())
        if first and second:
            pairs.append((first, second))
        else:
            empty.append(row.where)
    if not pairs:
        raise DataError(f"{source}: no pair has text on both sides")
    notes += left_out(split, "pair", "without both sides", empty)
    return pairs
