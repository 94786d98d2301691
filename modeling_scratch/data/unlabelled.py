# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The texts that a classifier is pretrained on: those of its train split and unlabelled ones.

The texts that it is evaluated on are removed, and those that differ from one of them only by case, white space or
compatibility characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ..utils.errors import DataError, counted
from .columns import normalised
from .documents import DocumentArguments, Documents, hold_out, read_documents
from .labelled_texts import ReviewData
from .splits import DataArguments, FileSource, unlabelled_files
from .text_pairs import column_names, parts_of

HELD_OUT_FRACTION, MOST_HELD_OUT = 0.1, 200  # of the documents, for the loss of the masked tokens


@dataclass(frozen=True)
class Corpus:
    """The texts to pretrain on, and notes on those that were removed."""

    texts: list[str]
    notes: list[str]

    def documents(self, seed: int) -> Documents:
        """Hold out some of the texts, to measure the pretraining on."""
        fraction = min(HELD_OUT_FRACTION, MOST_HELD_OUT / len(self.texts))
        train, held_out, _ = hold_out(self.texts, fraction, seed)
        return Documents(train, held_out, [*self.notes, "validation: held out of these texts"])


def load_corpus(data: ReviewData, arguments: DataArguments, files: Sequence[str] = ()) -> Corpus:
    """Return the texts of the train split and the unlabelled ones, without those of the validation and test splits.

    files: unlabelled texts beside those of the data folder. Raises `DataError` for files that cannot be read.
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
    return Corpus(corpus, notes)


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
