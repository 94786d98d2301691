# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The texts that a classifier is pretrained on: those of its train split and unlabelled ones.

The texts that it is evaluated on are removed, and those that differ from one of them only by case, white space or
compatibility characters.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from ..utils.errors import DataError, counted
from ..utils.files import check_inputs
from .columns import normalised
from .documents import DocumentArguments, Documents, hold_out, read_documents
from .labelled_texts import ReviewData
from .splits import DataArguments, FileSource, unlabelled_files
from .text_pairs import column_names

SENTENCE_END = re.compile(r"(?<=[.!?])\s|<br\s?/?>|\n")  # after its mark, or at a line break
HELD_OUT_FRACTION, MOST_HELD_OUT = 0.1, 200  # of the documents, for the loss of the masked tokens


@dataclass(frozen=True)
class Corpus:
    """The texts to pretrain on, and notes on those that were removed.

    labelled: the number of those of the train split, which are the first. evaluated: the texts of the other splits,
    normalised.
    """

    texts: list[str]
    notes: list[str]
    labelled: int
    evaluated: frozenset[str]

    @property
    def unlabelled(self) -> list[str]:
        return self.texts[self.labelled :]

    def documents(self, seed: int) -> Documents:
        """Hold out some of the texts, to measure the pretraining on."""
        fraction = min(HELD_OUT_FRACTION, MOST_HELD_OUT / len(self.texts))
        train, held_out, _ = hold_out(self.texts, fraction, seed)
        return Documents(train, held_out, [*self.notes, "validation: held out of these texts"])

    def unlabelled_sentences(self, least: int, most: int, number: int, seed: int) -> list[str]:
        """Return at most `number` different sentences of `least` to `most` words, from unlabelled texts at random."""
        texts = Random(seed).sample(self.unlabelled, len(self.unlabelled))
        sentences = (sentence.strip() for text in texts for sentence in SENTENCE_END.split(text))
        fitting = (each for each in sentences if least <= len(each.split()) <= most)
        return list(islice(unique(each for each in fitting if normalised(each) not in self.evaluated), number))


def load_corpus(data: ReviewData, arguments: DataArguments, files: Sequence[str] = ()) -> Corpus:
    """Return the texts of the train split and the unlabelled ones, without those of the validation and test splits.

    files: unlabelled texts beside those of the data folder. Raises `DataError` for files that cannot be read. Pairs are
    those of the train split alone, as none are pretrained on.
    """
    if data.has_pairs:
        return Corpus(data.texts("train"), [], data.splits["train"].num_rows, frozenset())
    paths = [*map(Path, files), *(unlabelled_files(Path(arguments.data_dir)) if arguments.data_dir else ())]
    sources = {"the train split": list(data.splits["train"]["text"])}
    for path in paths:
        sources[str(path)] = read_unlabelled(path, arguments)
    others = [rows for split, rows in data.splits.items() if split != "train"]
    evaluated = frozenset(normalised(text) for rows in others for text in rows["text"])
    kept = {source: [text for text in texts if normalised(text) not in evaluated] for source, texts in sources.items()}
    notes = [
        f"pretraining on {counted(len(kept[source]), 'text')} of {source}; {len(texts) - len(kept[source]):,} were "
        "removed, as they equal a validation or test text (apart from case, white space and compatibility characters)"
        for source, texts in sources.items()
    ]
    corpus = [text for texts in kept.values() for text in texts]
    if not corpus:
        raise DataError("no text is left to pretrain on: all equal a validation or test text")
    return Corpus(corpus, notes, len(kept["the train split"]), evaluated)


def unique(texts: Iterable[str]) -> Iterator[str]:
    """Yield each text once."""
    seen = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def read_unlabelled(path: Path, arguments: DataArguments) -> list[str]:
    """Return the texts of a file: its lines if it is a txt file, or its text column."""
    check_inputs([path], arguments.max_file_size)
    if not path.exists():
        raise DataError(f"--unlabelled_file {path}: file not found")
    text_column = next(iter(column_names(arguments.text_column)), None)
    limit = arguments.max_file_size
    lines = DocumentArguments([str(path)], text_column=text_column, document="line", max_file_size=limit)
    return list(read_documents(FileSource([path], arguments.table_form), lines))
