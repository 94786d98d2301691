# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load unlabelled text: training and validation documents, and the texts that a classifier is pretrained on.

The test split is never opened, so that pretraining cannot contaminate a later evaluation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal

from ..utils.errors import DataError, counted
from ..utils.files import MAX_FILE_SIZE, MAX_FILE_SIZE_HELP, rows_digest
from ..utils.options import option
from .columns import find_text_columns, is_missing, normalised, parse_text
from .held_out import draw, overlaps
from .labelled_texts import ReviewData
from .splits import DataArguments, DatasetSource, FileSource, Source, check_sources, open_splits, unlabelled_files
from .tables import FOUND, READERS, TableArguments, TableForm, open_table
from .text_files import MAX_FIELD_CHARACTERS, format_of
from .text_pairs import column_names, parts_of

DocumentKind = Literal["file", "paragraph", "line"]

HELD_OUT_FRACTION, MOST_HELD_OUT = 0.1, 200  # of the documents, for the loss of the masked tokens


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
    for table in getattr(sources["train"], "tables", ())[:1]:
        found = [] if arguments.text_column else find_text_columns(table)
        notes += [*table.header_notes(found), *(f"{table.path.name}: text column {name!r}" for name in found)]
    train = list(read_documents(sources["train"], arguments))
    if "validation" in sources:
        validation, what = list(read_documents(sources["validation"], arguments)), "the data set's own split"
    else:
        train, validation, what = hold_out(train, arguments.validation_fraction, arguments.split_seed)
    if not any(validation) or not any(train):
        raise DataError(f"{sources['train']}: too little text to hold out validation; add text or --validation_file")
    validation = validation[: arguments.max_validation_documents]
    if "validation" in sources:
        notes += overlaps({"train": train, "validation": validation}, "document", "WARNING: ")
    notes += ["test: never opened; pretraining reads only train and validation", f"validation: {what}"]
    return Documents(train, validation, notes)


def read_documents(source: Source, arguments: DocumentArguments) -> Iterator[str]:
    """Stream the non-blank documents of a split. Raises `DataError` for unreadable input."""
    parts: Sequence[Any] = source.paths if isinstance(source, FileSource) else [source]
    texts = chain.from_iterable(_texts_in(part, arguments, getattr(source, "form", FOUND)) for part in parts)
    documents = (text for text in texts if not is_missing(text))
    if (first := next(documents, None)) is None:
        raise DataError(f"{source}: contains only empty text")
    yield from chain([first], documents)


def _texts_in(part: Path | DatasetSource, arguments: DocumentArguments, form: TableForm) -> Iterator[str]:
    """Stream the texts of a file or of a split of a data set, of which a missing one is ""."""
    if isinstance(part, Path) and format_of(part) == ".txt":
        yield from read_plain_text(part, arguments.document, form)
        return
    table = open_table(part, form) if isinstance(part, Path) else part
    column = arguments.text_column or find_text_columns(table)[0]
    for row in table.rows([column]):
        yield parse_text(row.values[column], column, row.where)


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


# The texts that a classifier is pretrained on


def load_corpus(data: ReviewData, arguments: DataArguments, files: Sequence[str], seed: int) -> Documents:
    """Return the texts of the train split and the unlabelled ones, some of them held out by the seed.

    Texts that the classifier is evaluated on are removed, and those that differ from one of them only by case, white
    space or compatibility characters. files: unlabelled texts beside those of the data folder. Raises `DataError` for
    files that cannot be read.
    """
    paths = [*map(Path, files), *(unlabelled_files(Path(arguments.data_dir)) if arguments.data_dir else ())]
    sources = {"the train split": list(data.splits["train"]["text"])}
    sources |= {str(path): _texts_of(path, arguments) for path in paths}
    evaluated = evaluation_texts(data)
    kept = {source: [text for text in texts if normalised(text) not in evaluated] for source, texts in sources.items()}
    notes = [
        f"pretraining on {counted(len(kept[source]), 'text')} of {source}; {len(texts) - len(kept[source]):,} were "
        "removed, as they equal a validation or test text (apart from case, white space and compatibility characters)"
        for source, texts in sources.items()
    ]
    corpus = [text for texts in kept.values() for text in texts]
    if not corpus:
        raise DataError("no text is left to pretrain on: all equal a validation or test text")
    train, held_out, _ = hold_out(corpus, min(HELD_OUT_FRACTION, MOST_HELD_OUT / len(corpus)), seed)
    return Documents(train, held_out, [*notes, "validation: held out of these texts"])


def evaluation_texts(data: ReviewData) -> frozenset[str]:
    """Return the normalised texts of validation and test: also of rows that have no label, or that are left out."""
    shown = (data.texts(split) for split in data.splits if split != "train")
    texts = chain(data.held_out, *shown)
    found = {normalised(part) for text in texts for part in parts_of(text)}
    for split in data.sources.keys() - {"train"}:
        for row in data.sources[split].rows():
            cells = (row.values.get(column) for column in data.text_columns)
            found |= {normalised(str(cell)) for cell in cells if cell is not None}
    return frozenset(found)


def _texts_of(path: Path, arguments: DataArguments) -> list[str]:
    """Return the texts of a file: its lines if it is a txt file, or its text column."""
    text_column = next(iter(column_names(arguments.text_column)), None)
    limit = arguments.max_file_size
    lines = DocumentArguments(train_file=[str(path)], text_column=text_column, document="line", max_file_size=limit)
    return list(read_documents(FileSource([path], arguments.form), lines))
