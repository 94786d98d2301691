# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load unlabelled text: training and validation documents.

The test split is never opened, so that pretraining cannot contaminate a later evaluation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from ..utils.errors import DataError, counted
from ..utils.files import MAX_FILE_SIZE, MAX_FILE_SIZE_HELP, rows_digest
from ..utils.options import option
from .columns import Rows, find_text_columns, is_missing, parse_text
from .held_out import draw, overlap_notes
from .splits import DatasetSource, Source, check_sources, open_splits
from .tables import FOUND, READERS, TableArguments, TableForm, open_table
from .text_files import MAX_FIELD_CHARACTERS, format_of

DocumentKind = Literal["file", "paragraph", "line"]

OWN_SPLIT = "the data set's own split"


@dataclass
class TextSource:
    """The source of unlabelled text: exactly one of `train_file`, `data_dir` and `dataset_name`."""

    train_file: list[str] | None = option(None, "Training files: txt, csv, tsv, jsonl or parquet.")
    data_dir: str | None = option(None, "A folder with train.* and optionally validation.*; test.* is not opened.")
    dataset_name: str | None = option(None, "A data set on the Hub; its test split is not opened.")
    dataset_config_name: str | None = option(None, "The configuration of that data set.")


@dataclass
class DocumentArguments(TableArguments, TextSource):
    """The texts to pretrain on."""

    validation_file: list[str] | None = option(None, "Validation files.")
    text_column: str | None = option(None, "The text column; inferred by default.")
    document: DocumentKind = option("file", "The unit of a document in txt files; blank lines separate paragraphs.")
    validation_fraction: float = option(0.1, "The fraction of train to hold out if there is no validation split.")
    max_validation_documents: int | None = option(None, "The maximum number of validation documents.")
    split_seed: int = option(0, "The seed of the held-out split.")
    max_file_size: float = option(MAX_FILE_SIZE, MAX_FILE_SIZE_HELP)

    def __post_init__(self) -> None:
        if [self.train_file, self.data_dir, self.dataset_name].count(None) != 2:
            raise DataError("give exactly one of --train_file, --data_dir and --dataset_name")
        if self.validation_file and not self.train_file:
            raise DataError("--validation_file requires --train_file")
        if not 0 < self.validation_fraction < 1:
            raise DataError(f"--validation_fraction {self.validation_fraction}: must be between 0 and 1")
        if self.max_validation_documents is not None and self.max_validation_documents < 1:
            raise DataError(f"--max_validation_documents {self.max_validation_documents}: must be at least 1")
        check_sources(self)


@dataclass(frozen=True)
class Documents:
    """Training documents, validation documents, and notes on the split."""

    train: Sequence[str]
    validation: Sequence[str]
    notes: list[str]

    @property
    def splits(self) -> dict[str, Sequence[str]]:
        return {"train": self.train, "validation": self.validation}

    def texts(self, split: str) -> Sequence[str]:
        return self.splits[split]

    def digests(self) -> dict[str, str | None]:
        """Return a digest of the documents of each split, in their order."""
        return {split: rows_digest([texts]) for split, texts in self.splits.items()}

    def describe(self) -> str:
        sizes = (
            f"{split}: {counted(len(texts), 'document')}, {sum(map(len, texts)):,} characters"
            for split, texts in self.splits.items()
        )
        return "\n".join([*sizes, *self.notes])


def load_documents(arguments: DocumentArguments) -> Documents:
    """Load and split the documents that `arguments` select. Raises `DataError` for invalid data."""
    try:
        sources, notes = open_splits(arguments, (".txt", *READERS), ("train", "validation"))
    except DataError as error:
        if not arguments.data_dir or not any(Path(arguments.data_dir).glob("*.txt")):
            raise
        raise DataError(f"{error}; to train on all of its texts: --train_file {arguments.data_dir}/*.txt") from error
    files = getattr(sources["train"], "paths", ())
    notes += [note for path in files[:1] if not _is_plain_text(path) for note in _column_notes(path, arguments)]
    train = list(read_documents(sources["train"], arguments))
    if "validation" in sources:
        validation, what = list(read_documents(sources["validation"], arguments)), OWN_SPLIT
    else:
        train, validation, what = hold_out(train, arguments.validation_fraction, arguments.split_seed)
    if not any(validation) or not any(train):
        raise DataError(f"{sources['train']}: too little text to hold out validation; add text or --validation_file")
    validation = validation[: arguments.max_validation_documents]
    if "validation" in sources:
        notes += overlap_notes({"train": train, "validation": validation}, "document")
    notes += ["test: never opened; pretraining reads only train and validation", f"validation: {what}"]
    return Documents(train, validation, notes)


def _column_notes(path: Path, arguments: DocumentArguments) -> list[str]:
    """Return notes on the header of a table, and on its text column if it is not given."""
    table = open_table(path, arguments.form)
    found = [] if arguments.text_column else [find_text_columns(table)[0]]
    return [*table.header_notes(found), *(f"{path.name}: text column {name!r}" for name in found)]


def _is_plain_text(path: Path) -> bool:
    return format_of(path) == ".txt"


def read_documents(source: Source, arguments: DocumentArguments) -> Iterator[str]:
    """Stream the non-blank documents of a split. Raises `DataError` for unreadable input."""
    has_documents = False
    for text in _texts_in(source, arguments):
        if not is_missing(text):
            has_documents = True
            yield text
    if not has_documents:
        raise DataError(f"{source}: contains only empty text")


def _texts_in(source: Source, arguments: DocumentArguments) -> Iterator[str]:
    if isinstance(source, DatasetSource):
        yield from read_column(source, arguments.text_column)
        return
    for path in source.paths:
        if _is_plain_text(path):
            yield from read_plain_text(path, arguments.document, source.form)
        else:
            yield from read_column(open_table(path, source.form), arguments.text_column)


def read_plain_text(path: Path, document: DocumentKind, form: TableForm = FOUND) -> Iterator[str]:
    """Stream the documents of a txt file: the whole file, its paragraphs or its lines."""
    if document == "file":
        yield form.text(path)
        return
    lines = (line.rstrip("\r\n") for line in form.lines(path, longest=MAX_FIELD_CHARACTERS))
    if document == "line":
        yield from lines
        return
    for is_text, paragraph in groupby(lines, key=lambda line: bool(line.strip())):
        if is_text:
            yield "\n".join(paragraph)


def read_column(source: Rows, column: str | None) -> Iterator[str]:
    """Stream the texts of `column`, by default the one that `find_text_columns` finds. A missing text is ""."""
    column = column or find_text_columns(source)[0]
    for row in source.rows([column]):
        yield parse_text(row.values[column], column, row.where)


def hold_out(documents: list[str], fraction: float, seed: int) -> tuple[list[str], list[str], str]:
    """Hold out a fraction of the distinct documents, or the end of each if there are too few. Last, what was done."""
    order = sorted(set(documents), key=lambda text: draw(text, seed))
    held_out = set(order[: round(fraction * len(order))])
    if held_out:
        kept = [text for text in documents if text not in held_out]
        what = f"{fraction:.0%} of the distinct documents of train, held out (--validation_fraction, --split_seed)"
        return kept, [text for text in order if text in held_out], what
    cuts = [int(len(text) * (1 - fraction)) for text in documents]
    ends = [text[cut:] for text, cut in zip(documents, cuts)]
    what = f"the last {fraction:.0%} of the characters of each document, held out (--validation_fraction)"
    return [text[:cut] for text, cut in zip(documents, cuts)], ends, what
