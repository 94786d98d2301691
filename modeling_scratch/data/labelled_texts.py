# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load labelled text from files, a folder or the Hub as train, validation and test splits of (text, label).

A text can be a pair of texts.

`ReviewData.describe()` reports every row left out or held out and every renamed label.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, NamedTuple

import datasets
import numpy as np

from ..configuration_scratch import ProblemType
from ..utils.errors import DataError, counted, first_few, quoted
from ..utils.files import rows_digest
from .columns import SAMPLE_ROWS, Label, choose_columns, is_missing, label_key, normalised, parse_texts
from .held_out import complete_splits, missing_splits, overlaps, sampled
from .label_types import (
    SENTIMENT_NAMES,
    LabelType,
    Number,
    OneClass,
    check_numbers,
    choose_label_type,
    name_classes,
    number_key,
    parse_class,
)
from .labels import (
    RARE_RATIO,
    LabelMap,
    as_options,
    joined_labels,
    label_warnings,
    parse_label_map,
    proposed_label_map,
    type_warnings,
)
from .splits import SPLITS, DataArguments, FileSource, PartSource, Source, open_splits, split_named
from .tables import Row
from .text_pairs import TEXT_FIELDS, column_names, parts_of, text_lists, texts_of

ONE_CLASS = OneClass()
SPLIT_COLUMNS = ("split", "set", "subset", "partition", "fold")  # others that name splits are features
MOST_PROPOSED = 20  # unknown labels for which an error proposes others
SEPARATED = "labels such as {!r} look like several: if they are, set --label_separator {!r}"
HIDDEN_LABEL = (-1,)  # the value of a withheld label in `datasets.ClassLabel`, as in GLUE's test splits


@dataclass(frozen=True)
class ReviewData:
    """Splits with the columns text, text_pair (of pairs only) and label, and notes on how they were prepared.

    places: the file and the row of each text of a split, if it was read from files. conflicts: of each text that occurs
    with different labels, the place of each label. proposed: labels and those that they probably stand for.
    separators: what probably separates the labels of a text, if anything does.
    text_columns: where the texts were read from. sources: the rows of each split, those that are left out, too.
    held_out: the texts of validation and test, those beyond --max_eval_samples, too.
    """

    splits: datasets.DatasetDict
    label_names: list[str]
    notes: list[str]
    warnings: list[str]
    label_type: LabelType = ONE_CLASS
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    conflicts: Sequence[Mapping[Any, str]] = ()
    proposed: Mapping[Label, Label] = field(default_factory=dict)
    separators: Sequence[str] = ()
    text_columns: Sequence[str] = ()
    sources: Mapping[str, Source | PartSource] = field(default_factory=dict)
    held_out: Sequence[str] = ()

    @classmethod
    def from_pairs(
        cls,
        splits: Mapping[str, Sequence[tuple[str, Any]]],
        label_names: list[str],
        notes: list[str],
        warnings: list[str],
        label_type: LabelType = ONE_CLASS,
    ) -> "ReviewData":
        """Build the splits from pairs of a text and its stored label, such as an index into label_names."""
        tables = {}
        for split, pairs in splits.items():
            columns = dict(zip(TEXT_FIELDS, text_lists([text for text, _ in pairs])))
            tables[split] = datasets.Dataset.from_dict({**columns, "label": [label for _, label in pairs]})
        return cls(datasets.DatasetDict(tables), label_names, notes, warnings, label_type)

    def with_splits(self, splits: datasets.DatasetDict) -> "ReviewData":
        """Return the data with other splits, of whose texts the places are not known."""
        return replace(self, splits=splits, places={})

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
        """Return the labels of a split as an array."""
        return self.label_type.array(self.splits[split]["label"][:])

    def digests(self) -> dict[str, str | None]:
        """Return the digest of each split."""
        return {split: self.digest(split) for split in self.splits}

    def digest(self, split: str) -> str:
        """Return a digest of the texts and labels of a split, in their order."""
        shown = (self.label_type.shown(label, self.label_names) for label in self.splits[split]["label"][:])
        return rows_digest((*parts_of(text), label) for text, label in zip(self.texts(split), shown))

    def describe(self) -> str:
        """Return a report: the size of each split with its labels, then the notes, then the warnings."""
        summary = self.label_type.summary
        sizes = [
            f"{split}: {counted(rows.num_rows, 'row')} ({summary(rows['label'][:], self.label_names)})"
            for split, rows in self.splits.items()
        ]
        return "\n".join([*sizes, *self.notes, *(f"WARNING: {warning}" for warning in self.warnings)])


class Example(NamedTuple):
    """One text: its label, and its place (file and row). The label is a cell, then a tuple of classes, or a number."""

    text: str
    label: Any
    where: str

    def with_classes(self, read_as: Mapping[Label, Label]) -> "Example":
        """Return the example with other classes in place of its own, without those that are not given."""
        label = tuple(dict.fromkeys(read_as[each] for each in self.label if each in read_as))
        return Example(self.text, label, self.where)


Splits = Mapping[str, Sequence[Example]]


def load_splits(arguments: DataArguments) -> ReviewData:
    """Load, check and split the data that `arguments` select. Raises `DataError` for invalid data.

    The train split defines the classes. If validation and test are both missing, both are held out of train. If only
    validation is missing, only validation is held out. A missing test split alone stays missing.
    """
    sources, columns, notes = _opened(arguments)
    train = list(examples_in(sources["train"], columns))
    cells = [example.label for example in train]
    label_type = choose_label_type(arguments.problem_type, arguments.label_separator, cells, notes)
    reader = _reader(arguments, columns, label_type, notes)
    splits, names = reader.read(sources, train)
    del train  # for the memory
    counts, conflicts = _counts(splits["train"]), _conflicts(splits)
    proposed = proposed_label_map(counts)
    is_one_class = isinstance(label_type, OneClass)
    joined = joined_labels(cells) if is_one_class and not arguments.problem_type else {}
    warnings = [SEPARATED.format(cell, separator) for separator, cell in joined.items()]
    warnings += type_warnings(cells)
    warnings += label_warnings(counts, proposed, is_one_class) if counts else []
    missing = missing_splits(splits)
    splits = complete_splits(splits, missing, lambda row: normalised(row.text), arguments, "rows", notes, reader.strata)
    check_learned(splits, counts)
    held_out = [row.text for split, rows in splits.items() if split != "train" for row in rows]
    splits = sampled(splits, arguments, "rows", notes, reader.strata)
    if isinstance(label_type, Number):
        check_numbers([example.label for example in splits["train"]], arguments.class_names)
    label_names = list(names.values()) or arguments.class_names or [columns[-1]]  # a number has the name of its column
    ids = {label: number for number, label in enumerate(names)}
    pairs = {split: [(row.text, label_type.stored(row.label, ids)) for row in rows] for split, rows in splits.items()}
    given = {split: [row.text for row in rows] for split, rows in splits.items() if split not in missing}
    warnings += [*_conflict_warnings(conflicts), *overlaps(given, "texts")]
    data = ReviewData.from_pairs(pairs, label_names, notes, warnings, label_type)
    places = {split: [row.where for row in rows] for split, rows in splits.items()}
    data = replace(data, places=places, conflicts=conflicts, proposed=proposed, separators=[*joined])
    return replace(data, text_columns=columns[:-1], sources=sources, held_out=held_out)


def examples_in(source: Source | PartSource, columns: Sequence[str]) -> Iterator[Example]:
    """Stream the rows of a source. Raises `DataError` for what is no text, and for a missing column."""
    *text_columns, label_column = columns
    for row in source.rows(columns):
        yield Example(parse_texts(row.values, text_columns, row.where), row.values[label_column], row.where)


def _opened(arguments: DataArguments) -> tuple[Mapping[str, Source | PartSource], tuple[str, ...], list[str]]:
    """Return the source of each split, the columns of texts and labels, and notes on both."""
    opened, notes = (arguments.tables, []) if arguments.tables else open_splits(arguments)
    sources: dict[str, Source | PartSource] = {**opened}
    train = opened["train"]
    try:
        sample = [row.values for row in islice(train.rows(), SAMPLE_ROWS)]
        columns = choose_columns(sample, str(train), arguments.text_column, arguments.label_column)
    except DataError as error:  # which how the table was read may explain
        raise DataError("; ".join([str(error), *notes])) from error
    if isinstance(train, FileSource):
        given = {*column_names(arguments.text_column), arguments.label_column}
        notes += train.first.header_notes(name for name in columns if name not in given)
        if not train.first.has_header:  # and so in the other splits, where a few rows may not tell it
            form = replace(arguments.form, no_header=True)
            files = [(split, source.paths) for split, source in opened.items() if isinstance(source, FileSource)]
            sources = {split: FileSource(paths, form) for split, paths in files}
    if len(sources) == 1:
        others = [name for name in sample[0] if name.lower() in SPLIT_COLUMNS and name not in columns]
        sources.update(_parts(train, others, notes))
    *texts, label = map(repr, columns)
    notes.append(f"text column{'s' * (len(texts) > 1)}: {' and '.join(texts)}; label column: {label}")
    return sources, columns, notes


def _parts(table: Source, columns: Sequence[str], notes: list[str]) -> dict[str, PartSource]:
    """Return the splits into which one of the columns divides a table: by all of its rows, train and another one.

    Raises `DataError` where some rows name two splits, and another row names none: it would be trained on, or left out.
    """
    for column in columns:
        first: dict[str | None, Row] = {}  # of each split, and of cells that name none
        for row in table.rows():  # of JSON, some may lack the column
            first.setdefault(split_named(row.values.get(column)), row)
        if "train" in first and (other := first.pop(None, None)):
            cell = other.values.get(column)
            what = "is empty" if is_missing(cell) else f"has {cell!r}, which is not the name of a split"
            advice = "correct it, or rename the column if it should not divide the rows"
            if len(first) > 1:
                raise DataError(f"{other.where}: column {column!r} {what}; {advice}")
            notes.append(f"column {column!r} divides no rows, as {other.where} {what}; {advice}")
        elif "train" in first and len(first) > 1:
            parts = {split: PartSource(table, column, split) for split in SPLITS if split in first}
            notes.append(f"column {column!r} divides the rows into {', '.join(parts)}; rename it if it should not")
            return parts
    return {}


# Rows


@dataclass(frozen=True)
class _Reader:
    """How the rows of all splits become examples. columns: of the text, or of a pair of them, and of the label."""

    arguments: DataArguments
    columns: tuple[str, ...]
    label_type: LabelType
    map: LabelMap
    notes: list[str]

    def read(
        self, sources: Mapping[str, Source | PartSource], train: Iterable[Example]
    ) -> tuple[dict[str, list[Example]], dict[Label, str]]:
        """Return the examples of each split that has labels, and the name of each class; none for numbers."""
        splits = {"train": self.examples("train", sources["train"], train)}
        declared = sources["train"].class_names(self.columns[-1]) or self.label_type.declared()
        names = self.names(splits["train"], self.map.applied(declared))
        for split in SPLITS[1:]:
            if split in sources and (rows := self.evaluation(split, sources[split], names)):
                splits[split] = rows
        self.map.check_used()
        return splits, names

    def examples(self, split: str, source: Source | PartSource, rows: Iterable[Example]) -> list[Example]:
        """Return the labelled texts of a split, with the labels that the map gives."""
        class_names = source.class_names(self.columns[-1]) or []
        examples = self.labelled(split, rows, hides_labels=bool(class_names))
        if class_names:  # integers stand for them
            examples = [example.with_classes(dict(enumerate(class_names))) for example in examples]
        if repeated := len(examples) - len({example.text for example in examples}):
            self.notes.append(f"{split}: kept {counted(repeated, 'row')} with the text of an earlier row")
        if not isinstance(self.label_type, Number):
            read_as = self.map.read(split, _counts(examples), class_names, self.notes)
            if any(label != target for label, target in read_as.items()) or self.map.dropped:
                examples = [example.with_classes(read_as) for example in examples]
            examples = [example for example in examples if example.label or not isinstance(self.label_type, OneClass)]
        if not examples and split == "train":
            raise DataError("the train split has no row with both text and label")
        return examples

    def labelled(self, split: str, rows: Iterable[Example], hides_labels: bool) -> list[Example]:
        """Return the rows with a text and a label. Notes tell of the others, by what they lack."""
        examples, dropped = [], "label to keep (--drop_labels)"
        left_out: dict[str, list[str]] = {"text": [], "label": [], dropped: []}
        for text, cell, where in rows:
            label = self.label_type.parse(cell, f"{where}, column {self.columns[-1]!r}")
            if label is None and not is_missing(cell):  # a number of --drop_labels
                self.map.seen.setdefault(number_key(cell), cell)
                left_out[dropped].append(where)
            elif not text or label is None or (hides_labels and label == HIDDEN_LABEL):
                left_out["label" if text else "text"].append(where)
            else:
                examples.append(Example(text, label, where))
        self.notes.extend(
            f"{split}: dropped {counted(len(places), 'row')} without a {what}, first {'; '.join(places[:3])}"
            for what, places in left_out.items()
            if places
        )
        return examples

    def evaluation(self, split: str, source: Source | PartSource, names: Mapping[Label, str]) -> list[Example]:
        """Return the checked examples of a split, or none if its labels are withheld and the file was not named."""
        named = bool(self.arguments.train_file) and isinstance(source, FileSource)
        unlabelled = split == "test" and not named and self.columns[-1] not in next(iter(source.rows())).values
        examples = [] if unlabelled else self.examples(split, source, examples_in(source, self.columns))
        if not named and {example.label for example in examples} <= {HIDDEN_LABEL} - {(label,) for label in names}:
            self.notes.append(f"{split}: not used, as it has no labels")
            return []
        if not examples:
            raise DataError(f"the {split} split has no row with both text and label")
        if not isinstance(self.label_type, Number):
            self.check_classes(examples, names)
        return examples

    def check_classes(self, examples: Sequence[Example], names: Mapping[Label, str]) -> None:
        """Raise `DataError` for a class that train does not have."""
        unknown = {label: row.where for row in reversed(examples) for label in row.label if label not in names}
        if not unknown:
            return
        label, *others = reversed(unknown)
        counts = dict.fromkeys(names, RARE_RATIO) | dict.fromkeys(map(label_key, islice(unknown, MOST_PROPOSED)), 1)
        proposed = {label: name for label, name in proposed_label_map(counts).items() if label not in names}
        advice = f"read it as another one ({as_options(proposed)})" if proposed else "correct it"
        also = f" (nor do {', '.join(map(repr, others[:MOST_PROPOSED]))})" if others else ""
        raise DataError(
            f"{unknown[label]}, column {self.columns[-1]!r}: the label {label!r} does not occur in train{also}: "
            f"{', '.join(map(repr, names))}; {advice}, or add train rows with this label"
        )

    def names(self, train: Sequence[Example], declared: Sequence[Label]) -> dict[Label, str]:
        """Return the name of each class, in the order of the class ids; none for numbers."""
        given = self.arguments.class_names
        if isinstance(self.label_type, Number):
            return {}
        labels = [label for example in train for label in example.label]
        if not labels:
            raise DataError(
                "no row of the train split has a label; is the label column the right one (--label_column)?"
            )
        names = name_classes(labels, given, declared)
        if not isinstance(self.label_type, OneClass):
            return names if given else {label: str(label) for label in names}
        if list(names) == [0, 1] and not given:
            named = " and ".join(SENTIMENT_NAMES)
            self.notes.append(f"labels 0 and 1 are named {named}; set --class_names to change this")
        return names

    def strata(self, examples: Sequence[Example]) -> list:
        return self.label_type.strata([example.label for example in examples])


def _reader(arguments: DataArguments, columns: tuple[str, ...], label_type: LabelType, notes: list[str]) -> _Reader:
    dropped = arguments.drop_labels or ()
    if not isinstance(label_type, Number):
        classes = [parse_class(label, f"--drop_labels {label}") for label in dropped]
        label_map = LabelMap(parse_label_map(arguments.label_map or ()), set(map(label_key, classes)) - {None})
        return _Reader(arguments, columns, label_type, label_map, notes)
    if arguments.label_map:
        raise DataError("--label_map: the labels are numbers, which it cannot change")
    keys = frozenset(map(number_key, dropped))
    return _Reader(arguments, columns, Number(keys), LabelMap(dropped=keys), notes)


def check_learned(splits: Splits, counts: Mapping[Label, int]) -> None:
    """Raise `DataError` if splits that were held out leave train without a text of a class. counts: those before."""
    if lost := sorted(map(str, counts.keys() - _counts(splits["train"]).keys())):
        raise DataError(
            f"holding out validation and test texts leaves train without a text of {', '.join(map(repr, lost[:5]))}: "
            "add texts of these labels or a validation file, or leave the labels out with --drop_labels"
        )


# Findings


def _counts(examples: Sequence[Example]) -> dict[Label, int]:
    """Return the number of texts of each class, the most frequent first; none for numbers."""
    labels = (example.label for example in examples if isinstance(example.label, tuple))
    return dict(Counter(chain.from_iterable(labels)).most_common())


def _conflicts(splits: Splits) -> list[dict[Any, str]]:
    """Return of each text that occurs with different labels the place of each label; of sets of them, tuples."""
    places: dict[str, dict[Any, str]] = {}
    for example in chain.from_iterable(splits.values()):
        is_class = isinstance(example.label, tuple) and len(example.label) == 1
        label = example.label[0] if is_class else example.label
        places.setdefault(example.text, {}).setdefault(label, example.where)
    return [labels for labels in places.values() if len(labels) > 1]


def _conflict_warnings(conflicts: Sequence[Mapping[Any, str]]) -> list[str]:
    """Return a warning on texts that occur with different labels, with the first three of them."""
    if not conflicts:
        return []
    first = ["; ".join(f"{where}: {quoted(label)}" for label, where in labels.items()) for labels in conflicts]
    return [f"{counted(len(conflicts), 'text')} with different labels, all kept: {first_few(first, 3, ' | ')}"]
