# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load labelled text from files, a folder or the Hub as train, validation and test splits of (text, label).

A text can be a pair of texts.

`ReviewData.describe()` reports every row left out or held out and every renamed label.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import datasets
import numpy as np

from ..configuration_scratch import ProblemType
from ..utils.errors import DataError, counted, first_few, quoted, some
from ..utils.files import rows_digest
from .columns import SAMPLE_ROWS, Label, choose_columns, label_key, normalised, parse_texts
from .held_out import Division, left_out, missing_splits, overlaps
from .label_types import SENTIMENT_NAMES, ClassSet, LabelType, Number, OneClass, choose_label_type, name_classes
from .labels import LabelMap, find_doubts
from .splits import SPLIT_NAMES, SPLITS, DataArguments, FileSource, Source, open_splits
from .tables import did_you_mean
from .text_pairs import TEXT_FIELDS, column_names, parts_of, text_lists, texts_of

ONE_CLASS = OneClass()
SPLIT_COLUMNS = ("split", "set", "subset", "partition", "fold")  # others that name splits are features
MOST_UNKNOWN = 20  # labels that an error names
HIDDEN_LABEL = (-1,)  # the value of a withheld label in `datasets.ClassLabel`, as in GLUE's test splits


@dataclass(frozen=True)
class ReviewData:
    """Splits with the columns text, text_pair (of pairs only) and label, and notes on how they were prepared.

    places: the file and the row of each text of a split, if it was read from files.
    proposed: options that would mend what is probably wrong with the labels.
    text_columns: where the texts were read from. sources: the rows of each split, those that are left out, too.
    held_out: the texts of validation and test, those beyond --max_eval_samples, too.
    """

    splits: datasets.DatasetDict
    label_names: list[str]
    notes: list[str]
    warnings: list[str]
    label_type: LabelType = ONE_CLASS
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    proposed: Mapping[str, Any] = field(default_factory=dict)
    text_columns: Sequence[str] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    held_out: Sequence[str] = ()

    @classmethod
    def from_pairs(
        cls, splits: Mapping[str, Sequence[tuple[str, Any]]], label_names: list[str], *others: Any, **fields: Any
    ) -> "ReviewData":
        """Build the splits from pairs of a text and its stored label, such as an index into label_names.

        others, fields: the other fields: notes, warnings and so on.
        """
        tables = {}
        for split, pairs in splits.items():
            columns = dict(zip(TEXT_FIELDS, text_lists([text for text, _ in pairs])))
            tables[split] = datasets.Dataset.from_dict({**columns, "label": [label for _, label in pairs]})
        return cls(datasets.DatasetDict(tables), label_names, *others, **fields)

    def places_of(self, split: str) -> Sequence[str]:
        """Return where each text of a split was read: "reviews.csv, row 3", or its row in the split."""
        return self.places.get(split) or [f"{split}, row {row}" for row in range(1, len(self.splits[split]) + 1)]

    @property
    def problem_type(self) -> ProblemType:
        return self.label_type.problem_type

    @property
    def has_pairs(self) -> bool:
        return TEXT_FIELDS[1] in self.splits["train"].column_names

    def texts(self, split: str) -> list[str]:
        """Return the texts of a split, or its pairs (`TextPair`)."""
        return texts_of(self.splits[split])

    def labels(self, split: str) -> np.ndarray:
        """Return the labels of a split: N class indices or numbers, or (N, C) of 0.0 and 1.0."""
        return np.asarray(self.splits[split]["label"][:], dtype=self.label_type.dtype)

    def digests(self) -> dict[str, str | None]:
        """Return the digest of each split."""
        return {split: self.digest(split) for split in self.splits}

    def digest(self, split: str) -> str:
        """Return a digest of the texts and labels of a split, in their order."""
        return rows_digest((*parts_of(text), label) for text, label in self._shown(split))

    def _shown(self, split: str) -> Iterator[tuple[str, str]]:
        """Yield each text with its label in words."""
        shown = (self.label_type.shown(label, self.label_names) for label in self.splits[split]["label"][:])
        return zip(self.texts(split), shown)

    def conflicts(self) -> list[dict[str, str]]:
        """Return of each text that occurs with different labels, or sets of labels, the place of each."""
        places: dict[str, dict[str, str]] = {}
        for split in self.splits:
            for (text, label), where in zip(self._shown(split), self.places_of(split)):
                places.setdefault(text, {}).setdefault(label, where)
        return [labels for labels in places.values() if len(labels) > 1]

    def describe(self) -> str:
        """Return a report: the size of each split with its labels, then the notes, then the warnings."""
        sizes = []
        for split, rows in self.splits.items():
            summary = self.label_type.summary(self.labels(split), self.label_names)
            sizes.append(f"{split}: {counted(rows.num_rows, 'row')} ({summary})")
        return "\n".join([*sizes, *self.notes, *(f"WARNING: {warning}" for warning in self.warnings)])


class Example(NamedTuple):
    """One text: its label, and its place (file and row). The label is a cell, then a tuple of classes, or a number."""

    text: str
    label: Any
    where: str


def load_splits(arguments: DataArguments) -> ReviewData:
    """Load, check and split the data that `arguments` select. Raises `DataError` for invalid data.

    The train split defines the classes. If validation and test are both missing, both are held out of train. If only
    validation is missing, only validation is held out. A missing test split alone stays missing.
    """
    sources, columns, notes = _opened(arguments)
    train = list(examples_in(sources["train"], columns))
    cells = [example.label for example in train]
    label_type = choose_label_type(arguments.problem_type, arguments.label_separator, cells, notes)
    splits, names = _Reader(arguments, columns, label_type, notes).read(sources, train)
    del train  # for the memory
    counts, missing = _counts(splits["train"]), missing_splits(splits)
    division = Division(arguments, "row", notes, lambda rows: label_type.strata([row.label for row in rows]))
    splits = division.completed(splits, missing, lambda row: normalised(row.text))
    _check_learned(counts, splits["train"])
    held_out = [row.text for split, rows in splits.items() if split != "train" for row in rows]
    splits = division.sampled(splits, attrgetter("text"))
    _check_different(_labels(splits["train"]))
    ids = {label: number for number, label in enumerate(names)}
    proposed, warnings = find_doubts(cells, counts, isinstance(label_type, OneClass))
    data = ReviewData.from_pairs(
        {split: [(row.text, label_type.stored(row.label, ids)) for row in rows] for split, rows in splits.items()},
        list(names.values()) or arguments.class_names or [columns[-1]],  # a number has the name of its column
        notes,
        warnings,
        label_type,
        places={split: [row.where for row in rows] for split, rows in splits.items()},
        proposed=proposed,
        text_columns=columns[:-1],
        sources=sources,
        held_out=held_out,
    )
    warnings += [*_absent_warnings(splits, names), *_conflict_warnings(data.conflicts())]
    warnings += overlaps({split: data.texts(split) for split in splits if split not in missing}, "text")
    return data


def examples_in(source: Source, columns: Sequence[str]) -> Iterator[Example]:
    """Stream the rows of a source. Raises `DataError` for what is no text, and for a missing column."""
    *text_columns, label_column = columns
    for row in source.rows(columns):
        yield Example(parse_texts(row.values, text_columns, row.where), row.values[label_column], row.where)


def _opened(arguments: DataArguments) -> tuple[Mapping[str, Source], tuple[str, ...], list[str]]:
    """Return the source of each split, the columns of texts and labels, and notes on both."""
    sources, notes = (arguments.tables, []) if arguments.tables else open_splits(arguments)
    train = sources["train"]
    try:
        sample = [row.values for row in islice(train.rows(), SAMPLE_ROWS)]
        columns = choose_columns(sample, str(train), arguments.text_column, arguments.label_column)
    except DataError as error:  # which how the table was read may explain
        header = train.tables[0].header_notes(()) if isinstance(train, FileSource) else []
        raise DataError("; ".join([str(error), *notes, *header])) from error
    if isinstance(train, FileSource):
        given = {*column_names(arguments.text_column), arguments.label_column}
        notes += train.tables[0].header_notes(name for name in columns if name not in given)
        if not train.tables[0].has_header:  # and so in the other splits, where a few rows may not tell it
            form = replace(arguments.form, no_header=True)
            sources = {name: replace(each, form=form) for name, each in sources.items() if isinstance(each, FileSource)}
    if len(sources) == 1:
        _refuse_splits(train, [name for name in sample[0] if name.lower() in SPLIT_COLUMNS and name not in columns])
    *texts, label = map(repr, columns)
    notes.append(f"text column{'s' * (len(texts) > 1)}: {' and '.join(texts)}; label column: {label}")
    return sources, columns, notes


def _refuse_splits(table: Source, columns: Sequence[str]) -> None:
    """Raise `DataError` for a column that divides the rows into splits: those of all would be trained on."""
    for column in columns:
        names = {str(row.values.get(column)).strip().lower() for row in table.rows()}  # of JSON, rows may lack it
        found = {SPLIT_NAMES[name] for name in names if name in SPLIT_NAMES}
        if "train" in found and len(found) > 1:
            rows = f"for name, rows in table.groupby({column!r}, dropna=False)"
            files = f"{rows}: rows.to_csv(f'{{name}}.csv', index=False)"
            what = f"column {column!r} names splits: write a file for each ({files}), and name their folder"
            raise DataError(f"{table}: {what}, or leave the column out")


# Rows


class _Reader:
    """How the rows of all splits become examples. columns: of the text, or of a pair of them, and of the label."""

    def __init__(
        self, arguments: DataArguments, columns: Sequence[str], label_type: LabelType, notes: list[str]
    ) -> None:
        self.label_map = LabelMap(arguments.label_map or (), arguments.drop_labels or ())
        self.arguments, self.columns, self.label_type, self.notes = arguments, columns, label_type, notes
        self.are_numbers = isinstance(label_type, Number)
        if self.are_numbers and self.label_map:
            raise DataError("--label_map and --drop_labels: the labels are numbers, which they cannot change")

    def read(
        self, sources: Mapping[str, Source], train: Iterable[Example]
    ) -> tuple[dict[str, list[Example]], dict[Label, str]]:
        """Return the examples of each split that has labels, and the name of each class; none for numbers."""
        splits = {"train": self.examples("train", sources["train"], train)}
        if not splits["train"]:
            raise DataError("the train split has no row with both text and label")
        length = self.label_type.length if isinstance(self.label_type, ClassSet) else 0
        declared = sources["train"].class_names(self.columns[-1]) or range(length)
        read_as = self.label_map.applied(map(label_key, declared)).values()
        names = self.names(splits["train"], list(dict.fromkeys(read_as)))
        for split in SPLITS[1:]:
            if split in sources and (rows := self.evaluation(split, sources[split], names)):
                splits[split] = rows
        self.label_map.check_used()
        return splits, names

    def examples(self, split: str, source: Source, rows: Iterable[Example]) -> list[Example]:
        """Return the labelled texts of a split, with the labels that the map gives. Notes tell of the others."""
        class_names = dict(enumerate(map(label_key, source.class_names(self.columns[-1]) or ())))
        examples: list[Example] = []
        without: dict[str, list[str]] = {"text": [], "label": []}
        for text, cell, where in rows:
            label = self.label_type.parse(cell, f"{where}, column {self.columns[-1]!r}")
            if not text or label is None or (class_names and label == HIDDEN_LABEL):
                without["label" if text else "text"].append(where)
                continue
            if class_names and isinstance(label, tuple):  # integers stand for them
                label = tuple(class_names[each] for each in label if each in class_names)
            examples.append(Example(text, label, where))
        for what, places in without.items():
            self.notes += left_out(split, "row", f"without a {what}", places)
        if repeated := len(examples) - len({example.text for example in examples}):
            self.notes.append(f"{split}: kept {counted(repeated, 'row')} with the text of an earlier row")
        return examples if self.are_numbers else self.mapped(split, examples)

    def mapped(self, split: str, examples: list[Example]) -> list[Example]:
        """Return the examples with the classes that theirs are read as, without those that are left out."""
        read_as = self.label_map.read(split, _counts(examples), self.notes)
        read = (
            each._replace(label=tuple(dict.fromkeys(read_as[label] for label in each.label if label in read_as)))
            for each in examples
        )
        return [each for each in read if each.label or not isinstance(self.label_type, OneClass)]

    def evaluation(self, split: str, source: Source, names: Mapping[Label, str]) -> list[Example]:
        """Return the checked examples of a split, or none if its labels are withheld and the file was not named."""
        named = bool(self.arguments.train_file) and isinstance(source, FileSource)
        unlabelled = split == "test" and not named and self.columns[-1] not in next(iter(source.rows())).values
        examples = [] if unlabelled else self.examples(split, source, examples_in(source, self.columns))
        if not named and {example.label for example in examples} <= {HIDDEN_LABEL} - {(label,) for label in names}:
            self.notes.append(f"{split}: not used, as it has no labels")
            return []
        if not examples:
            raise DataError(f"the {split} split has no row with both text and label")
        if not self.are_numbers:
            self.check_classes(examples, names)
        return examples

    def check_classes(self, examples: Sequence[Example], names: Mapping[Label, str]) -> None:
        """Raise `DataError` for a class that train does not have."""
        unknown = {label: row.where for row in reversed(examples) for label in row.label if label not in names}
        if unknown:
            label, *others = reversed(unknown)
            also = f" (nor do {', '.join(map(repr, others[:MOST_UNKNOWN]))})" if others else ""
            known = f"{', '.join(map(repr, names))}{did_you_mean(label, names)}"
            raise DataError(
                f"{unknown[label]}, column {self.columns[-1]!r}: the label {label!r} does not occur in train{also}: "
                f"{known}; correct it, read it as another one (--label_map {shlex.quote(f'{label}=...')}), leave it "
                "out (--drop_labels), or add train rows with it"
            )

    def names(self, train: Sequence[Example], declared: Sequence[Label]) -> dict[Label, str]:
        """Return the name of each class, in the order of the class ids; none for numbers."""
        given = self.arguments.class_names
        if self.are_numbers:
            if given and len(given) > 1:
                raise DataError(f"--class_names {' '.join(given)}: a regression has one number; give one name for it")
            return {}
        names = name_classes(_labels(train), given, declared)
        if list(names) == [0, 1] and not given and isinstance(self.label_type, OneClass):
            named = f"labels 0 and 1 are named {' and '.join(SENTIMENT_NAMES)}"
            self.notes.append(f"{named}; set --class_names to change this")
            return dict(zip(names, SENTIMENT_NAMES))
        return names


def _check_different(labels: Sequence[Any]) -> None:
    """Raise `DataError` for fewer than two different labels."""
    if len({*labels}) < 2:
        found = f"has only one label, {labels[0]!r}" if labels else "has no label"
        what = "training needs two different ones: add rows of others, or name their column with --label_column"
        raise DataError(f"the train split {found}; {what}")


def _check_learned(counts: Mapping[Label, int], train: Sequence[Example]) -> None:
    """Raise `DataError` if splits that were held out leave train without a text of a class. counts: those before."""
    if lost := sorted(map(str, counts.keys() - _counts(train).keys())):
        what = f"leaves train without a text of {', '.join(map(repr, lost[:5]))}"
        advice = "add texts of these labels or a validation file, or leave the labels out with --drop_labels"
        raise DataError(f"holding out validation and test texts {what}: {advice}")


def _labels(examples: Iterable[Example]) -> list[Any]:
    """Return the classes, or the numbers."""
    return [part for one in examples for part in (one.label if isinstance(one.label, tuple) else (one.label,))]


def _counts(examples: Iterable[Example]) -> dict[Label, int]:
    """Return the number of texts of each class, the most frequent first; none for numbers."""
    return dict(Counter(_labels(one for one in examples if isinstance(one.label, tuple))).most_common())


def _absent_warnings(splits: Mapping[str, Sequence[Example]], names: Mapping[Label, str]) -> Iterator[str]:
    """Yield a warning for each evaluated split that lacks a class of train."""
    for split, rows in splits.items():
        absent = sorted(quoted(names[label]) for label in names.keys() - _counts(rows).keys())
        if absent and split != "train":
            yield f"{split}: has no text of {some(absent)}, which its scores do not cover"


def _conflict_warnings(conflicts: Sequence[Mapping[Any, str]]) -> list[str]:
    """Return a warning on texts that occur with different labels, with the first three of them."""
    if not conflicts:
        return []
    first = ["; ".join(f"{where}: {quoted(label)}" for label, where in labels.items()) for labels in conflicts]
    return [f"{counted(len(conflicts), 'text')} with different labels, all kept: {first_few(first, 3, ' | ')}"]
