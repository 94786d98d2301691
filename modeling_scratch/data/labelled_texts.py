# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load labelled text from files, a folder or the Hub as train, validation and test splits of (text, label).

A text can be a pair of texts.

`ReviewData.describe()` reports every row left out or held out and every renamed label.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, NamedTuple

import datasets
import numpy as np

from ..configuration_scratch import ProblemType
from ..utils.errors import DataError, counted, quoted
from ..utils.files import rows_digest
from .columns import (
    SAMPLE_ROWS,
    Label,
    choose_columns,
    is_missing,
    label_key,
    normalised,
    number_warnings,
    parse_texts,
)
from .held_out import complete_splits, missing_splits, sampled
from .label_kinds import (
    ONE_CLASS,
    ClassSet,
    LabelKind,
    Number,
    check_numbers,
    choose_kind,
    joined_label_warnings,
    number_key,
)
from .labels import (
    RARE_RATIO,
    SENTIMENT_NAMES,
    LabelMap,
    as_options,
    dropped_keys,
    imbalance_warnings,
    name_labels,
    parse_label_map,
    placeholder_warnings,
    proposed_label_map,
    similar_label_warnings,
    small_class_warnings,
)
from .splits import SPLITS, DataArguments, Source, open_sources
from .text_pairs import TEXT_FIELDS, parts_of, text_lists, texts_of

MOST_PROPOSED = 20  # unknown labels for which an error proposes others
HIDDEN_LABEL = -1  # the value of a withheld label in `datasets.ClassLabel`, as in GLUE's test splits


@dataclass(frozen=True)
class ReviewData:
    """Splits with the columns text, text_pair (of pairs only) and label, and notes on how they were prepared.

    places: the file and the row of each text of a split, if it was read from files. conflicts: of each text that occurs
    with different labels, the place of each label. proposed: labels and those that they probably stand for.
    text_columns: where the texts were read from. held_out: the texts of validation and test, those beyond
    --max_eval_samples, too.
    """

    splits: datasets.DatasetDict
    label_names: list[str]
    notes: list[str]
    warnings: list[str]
    kind: LabelKind = ONE_CLASS
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    conflicts: Sequence[Mapping[Label, str]] = ()
    proposed: Mapping[Label, Label] = field(default_factory=dict)
    text_columns: Sequence[str] = ()
    held_out: Sequence[str] = ()

    @classmethod
    def from_pairs(
        cls,
        splits: Mapping[str, Sequence[tuple[str, Any]]],
        label_names: list[str],
        notes: list[str],
        warnings: list[str],
        kind: LabelKind = ONE_CLASS,
    ) -> "ReviewData":
        """Build the splits from pairs of a text and its stored label: an index into label_names, or that of `kind`."""
        tables = {}
        for split, pairs in splits.items():
            columns: dict[str, Any] = dict(zip(TEXT_FIELDS, text_lists([text for text, _ in pairs])))
            strings = dict.fromkeys(columns, datasets.Value("string"))
            features = datasets.Features({**strings, "label": kind.feature(label_names)})
            columns["label"] = [label for _, label in pairs]
            tables[split] = datasets.Dataset.from_dict(columns, features=features)
        return cls(datasets.DatasetDict(tables), label_names, notes, warnings, kind)

    def with_splits(self, splits: datasets.DatasetDict) -> "ReviewData":
        """Return the data with other splits, of whose texts the places are not known."""
        return replace(self, splits=splits, places={})

    def places_of(self, split: str) -> Sequence[str]:
        """Return where each text of a split was read: "reviews.csv, row 3", or its row in the split."""
        return self.places.get(split) or [f"{split}, row {row}" for row in range(1, len(self.splits[split]) + 1)]

    @property
    def problem_type(self) -> ProblemType:
        return self.kind.problem_type

    @property
    def has_pairs(self) -> bool:
        return TEXT_FIELDS[1] in self.splits["train"].column_names

    def texts(self, split: str) -> list[str]:
        """Return the texts of a split, or its pairs (`TextPair`)."""
        return texts_of(self.splits[split])

    def labels(self, split: str) -> np.ndarray:
        """Return the labels of a split as the array of their kind."""
        return self.kind.array(self.splits[split]["label"])

    def digests(self) -> dict[str, str | None]:
        """Return the digest of each split."""
        return {split: self.digest(split) for split in self.splits}

    def digest(self, split: str) -> str:
        """Return a digest of the texts and labels of a split, in their order."""
        rows = self.splits[split]
        shown = (self.kind.shown(label, self.label_names) for label in rows["label"])
        return rows_digest((*parts_of(text), label) for text, label in zip(self.texts(split), shown))

    def describe(self) -> str:
        """Return a report: the size of each split with its labels, then the notes, then the warnings."""
        lines = [
            f"{split}: {counted(dataset.num_rows, 'row')} ({self.kind.summary(dataset['label'], self.label_names)})"
            for split, dataset in self.splits.items()
        ]
        return "\n".join([*lines, *self.notes, *(f"WARNING: {warning}" for warning in self.warnings)])


class Example(NamedTuple):
    """One labelled text with its original label and its location (file and row)."""

    text: str
    label: Any  # of the kind of the labels
    where: str


Splits = Mapping[str, Sequence[Example]]


def load_splits(arguments: DataArguments) -> ReviewData:
    """Load, check and split the data that `arguments` select. Raises `DataError` for invalid data.

    The train split defines the classes. If validation and test are both missing, both are held out of train. If only
    validation is missing, only validation is held out. A missing test split alone stays missing.
    """
    sources, notes = open_sources(arguments)
    sample = [values for _, values in islice(sources["train"].rows(), SAMPLE_ROWS)]
    columns = choose_columns(sample, str(sources["train"]), arguments.text_column, arguments.label_column)
    notes.append(_columns_note(columns))
    cells = [row.get(columns[-1]) for row in sample]
    kind, inferred = choose_kind(arguments.problem_type, arguments.label_separator, cells)
    reader = _reader(arguments, columns, kind, [*notes, *inferred])
    splits, names = reader.read(sources)
    proposed, conflicts = proposed_label_map(_counts(splits["train"], kind)), _conflicts(splits)
    warnings = _warnings(splits["train"], proposed, reader.kind, () if arguments.problem_type else cells)
    splits = reader.complete(splits)
    held_out = [row.text for split, rows in splits.items() if split != "train" for row in rows]
    splits = sampled(splits, arguments, "rows", reader.notes, reader.order)
    if isinstance(kind, Number):
        check_numbers([example.label for example in splits["train"]], arguments.class_names)
    label_names = list(names.values()) or arguments.class_names or [columns[-1]]  # a number has the name of its column
    ids = {label: number for number, label in enumerate(names)}
    pairs = {split: [(row.text, kind.stored(row.label, ids)) for row in rows] for split, rows in splits.items()}
    warnings = [*warnings, *_conflict_warnings(conflicts), *_overlaps(splits)]
    data = ReviewData.from_pairs(pairs, label_names, reader.notes, warnings, kind)
    places = {split: [row.where for row in rows] for split, rows in splits.items()}
    data = replace(data, places=places, conflicts=conflicts, proposed=proposed)
    return replace(data, text_columns=columns[:-1], held_out=held_out)


def _columns_note(columns: Sequence[str]) -> str:
    *texts, label = map(repr, columns)
    return f"text column{'s' * (len(texts) > 1)}: {' and '.join(texts)}; label column: {label}"


# Rows


@dataclass(frozen=True)
class _Reader:
    """How the rows of all splits become examples. columns: of the text, or of a pair of them, and of the label."""

    arguments: DataArguments
    columns: tuple[str, ...]
    kind: LabelKind
    map: LabelMap
    notes: list[str]

    def read(self, sources: Mapping[str, Source]) -> tuple[dict[str, list[Example]], dict[Label, str]]:
        """Return the examples of each split that has labels, and the name of each class; none for numbers."""
        splits = {"train": self.examples("train", sources["train"])}
        self.check("train", splits["train"])
        names = self.names(splits["train"], self.map.applied(sources["train"].class_names(self.columns[-1])))
        for split in SPLITS[1:]:
            if split in sources and (rows := self.evaluation(split, sources[split], names)):
                splits[split] = rows
        self.map.check_used()
        return splits, names

    def examples(self, split: str, source: Source) -> list[Example]:
        """Return the labelled texts of a split, with the labels that the map gives."""
        examples, left_out = self.labelled(source)
        class_names = source.class_names(self.columns[-1]) or []
        if class_names:  # integers stand for them
            left_out["label"] += [example.where for example in examples if example.label == HIDDEN_LABEL]
            shown = [example for example in examples if example.label != HIDDEN_LABEL]
            examples = self.renamed(shown, dict(enumerate(class_names)))
        if repeated := len(examples) - len({example.text for example in examples}):
            self.notes.append(f"{split}: kept {counted(repeated, 'row')} with the text of an earlier row")
        for what, places in left_out.items():
            if places:
                dropped = f"{split}: dropped {counted(len(places), 'row')} without a {what}"
                self.notes.append(f"{dropped}, first {'; '.join(places[:3])}")
        self.map.see(_counts(examples, self.kind))
        examples = self.without_dropped(split, examples)
        return self.renamed(examples, self.map.read(split, _counts(examples, self.kind), class_names, self.notes))

    def labelled(self, source: Source) -> tuple[list[Example], dict[str, list[str]]]:
        """Return the rows of a source with a text and a label, and the places of the others by what they lack."""
        *text_columns, label_column = self.columns
        examples, dropped = [], "label to keep (--drop_labels)"
        left_out: dict[str, list[str]] = {"text": [], "label": [], dropped: []}
        for where, values in source.rows(self.columns):
            text = parse_texts(values, text_columns, where)
            label = self.kind.parse(values[label_column], label_column, where)
            if label is None and not is_missing(value := values[label_column]):  # a number of --drop_labels
                self.map.seen.setdefault(number_key(value), value)
                left_out[dropped].append(where)
            elif text is None or label is None:
                left_out["text" if text is None else "label"].append(where)
            else:
                examples.append(Example(text, label, where))
        return examples, left_out

    def renamed(self, examples: Sequence[Example], names: Mapping[Label, Label]) -> list[Example]:
        return [example._replace(label=self.kind.renamed(example.label, names)) for example in examples]

    def without_dropped(self, split: str, examples: list[Example]) -> list[Example]:
        """Leave out the labels of --drop_labels, and the texts that have no other one."""
        dropped = self.map.left_out
        if not dropped or isinstance(self.kind, Number):
            return examples
        self.notes.extend(
            f"{split}: left out the label {quoted(label)} of {counted(count, 'row')} (--drop_labels)"
            for label, count in _counts(examples, self.kind).items()
            if label_key(label) in dropped
        )
        kept = [example._replace(label=self.kind.without(example.label, dropped)) for example in examples]
        return [example for example in kept if example.label is not None]

    def evaluation(self, split: str, source: Source, names: Mapping[Label, str]) -> list[Example]:
        """Return the checked examples of a split, or none if its labels are withheld and the file was not named."""
        named = bool(self.arguments.train_file)
        unlabelled = split == "test" and not named and self.columns[-1] not in next(source.rows())[1]
        examples = [] if unlabelled else self.examples(split, source)
        if not named and {example.label for example in examples} <= {HIDDEN_LABEL} - set(names):
            self.notes.append(f"{split}: not used, as it has no labels")
            return []
        self.check(split, examples)
        if not isinstance(self.kind, Number):
            self.check_classes(examples, names)
        return examples

    def check(self, split: str, examples: Sequence[Example]) -> None:
        if not examples:
            raise DataError(f"the {split} split has no row with both text and label")

    def check_classes(self, examples: Sequence[Example], names: Mapping[Label, str]) -> None:
        """Raise `DataError` for a class that train does not have."""
        unknown: dict[Label, Example] = {}
        for row in examples:
            for label in self.kind.classes(row.label):
                if label not in names:
                    unknown.setdefault(label, row)
        if not unknown:
            return
        label, example = next(iter(unknown.items()))
        counts = dict.fromkeys(names, RARE_RATIO) | dict.fromkeys(map(label_key, islice(unknown, MOST_PROPOSED)), 1)
        proposed = {label: name for label, name in proposed_label_map(counts).items() if label not in names}
        advice = f"read it as another one ({as_options(proposed)})" if proposed else "correct it"
        raise DataError(
            f"{example.where}, column {self.columns[-1]!r}: the label {label!r} does not occur in train: "
            f"{', '.join(map(repr, names))}; {advice}, or add train rows with this label"
        )

    def names(self, train: Sequence[Example], class_names: Sequence[str] | None) -> dict[Label, str]:
        given = self.arguments.class_names
        if isinstance(self.kind, Number):
            return {}
        labels = [label for example in train for label in self.kind.classes(example.label)]
        if not labels:
            raise DataError(
                "no row of the train split has a label; is the label column the right one (--label_column)?"
            )
        names = name_labels(labels, given, class_names)
        if isinstance(self.kind, ClassSet):
            return names if given or class_names else {label: str(label) for label in names}
        if list(names) == [0, 1] and not given:
            named = " and ".join(SENTIMENT_NAMES)
            self.notes.append(f"labels 0 and 1 are named {named}; set --class_names to change this")
        return names

    def order(self, examples: Sequence[Example]) -> list[int]:
        return stratified_order(self.kind.strata([example.label for example in examples]), self.arguments.split_seed)

    def complete(self, splits: Mapping[str, list[Example]]) -> dict[str, list[Example]]:
        """Hold out the splits that are missing."""
        return complete_splits(splits, missing_splits(splits), self.draw, self.arguments, "rows", self.notes)

    def draw(self, examples: Sequence[Example], missing: Sequence[str]) -> list[str]:
        """Return the split of each row: for each of those missing a fraction of the texts, or else "train".

        Rows of equal normalised text share a split.
        """
        distinct = list({example.text: example for example in examples}.values())
        order, size = self.order(distinct), max(1, round(self.arguments.validation_fraction * len(distinct)))
        drawn = {split: order[n * size : (n + 1) * size] for n, split in enumerate(missing)}
        split_of = {normalised(distinct[row].text): split for split, rows in drawn.items() for row in rows}
        chosen = [split_of.get(normalised(example.text), "train") for example in examples]
        held_out = " and ".join(missing)
        if not {"train", *missing} <= set(chosen):
            raise DataError(
                f"{len(distinct)} different texts are too few to hold out {held_out}; add texts or a validation file"
            )
        learned = [row for row, split in zip(examples, chosen) if split == "train"]
        if lost := sorted(map(str, _counts(examples, self.kind).keys() - _counts(learned, self.kind).keys())):
            raise DataError(
                f"holding out {held_out} leaves train without a text of {', '.join(map(repr, lost[:5]))}: add texts of "
                "these labels or a validation file, or leave the labels out with --drop_labels"
            )
        return chosen


def _reader(arguments: DataArguments, columns: tuple[str, ...], kind: LabelKind, notes: list[str]) -> _Reader:
    if not isinstance(kind, Number):
        label_map = LabelMap(parse_label_map(arguments.label_map or ()), dropped_keys(arguments.drop_labels or ()))
        return _Reader(arguments, columns, kind, label_map, notes)
    if arguments.label_map:
        raise DataError("--label_map: the labels are numbers, which it cannot change")
    keys = frozenset(map(number_key, arguments.drop_labels or ()))
    return _Reader(arguments, columns, Number(keys), LabelMap(dropped=keys), notes)


def stratified_order(labels: Sequence[Label], seed: int) -> list[int]:
    """Return the rows in a random order in which every section has the overall class proportions.

    Row k of the n shuffled rows of its class has the relative position (k + 1/2) / n.
    """
    rows = list(range(len(labels)))
    random.Random(seed).shuffle(rows)
    sizes, counts = Counter(labels), Counter[Label]()
    position = {}
    for row in rows:
        position[row] = (counts[labels[row]] + 0.5) / sizes[labels[row]]
        counts[labels[row]] += 1
    return sorted(rows, key=position.__getitem__)


# Findings


def _counts(examples: Sequence[Example], kind: LabelKind) -> dict[Label, int]:
    """Return the number of texts of each class, the most frequent first."""
    return dict(Counter(label for example in examples for label in kind.classes(example.label)).most_common())


def _warnings(
    train: Sequence[Example], proposed: Mapping[Label, Label], kind: LabelKind, cells: Sequence[object]
) -> list[str]:
    """Return warnings on the texts and the classes of train.

    proposed: what each label probably stands for. cells: of the labels, if nobody has said that each is one class.
    """
    counts, joined = _counts(train, kind), Counter[Label]()
    for label, count in counts.items():
        joined[proposed.get(label, label)] += count  # so that typos are not told again as rare classes
    warnings = [*placeholder_warnings(counts), *similar_label_warnings(counts, proposed), *small_class_warnings(joined)]
    if kind is ONE_CLASS:
        warnings = [*joined_label_warnings(cells), *warnings, *imbalance_warnings(counts)]
    return [*number_warnings([row.text for row in train]), *warnings]


def _conflicts(splits: Splits) -> list[dict[Label, str]]:
    """Return of each text that occurs with different labels the place of each label."""
    places: dict[str, dict[Label, str]] = {}
    for example in chain.from_iterable(splits.values()):
        places.setdefault(example.text, {}).setdefault(example.label, example.where)
    return [labels for labels in places.values() if len(labels) > 1]


def _conflict_warnings(conflicts: Sequence[Mapping[Label, str]], most: int = 3) -> list[str]:
    """Return a warning on texts that occur with different labels, with the first `most` of them."""
    if not conflicts:
        return []
    first = ["; ".join(f"{where}: {_shown(label)}" for label, where in labels.items()) for labels in conflicts[:most]]
    more = ["..."] if len(conflicts) > most else []
    return [f"{counted(len(conflicts), 'text')} with different labels, all kept: {' | '.join([*first, *more])}"]


def _shown(label: Label | tuple[Label, ...]) -> str:
    """Return a label, or the labels of a set of them."""
    return " | ".join(map(quoted, label)) or "no label" if isinstance(label, tuple) else quoted(label)


def _overlaps(splits: Splits) -> list[str]:
    """Return warnings on evaluation texts that also occur in train, as they are or normalised."""
    train = {example.text for example in splits["train"]}
    train_normalised = set(map(normalised, train))
    warnings = []
    for split, examples in splits.items():
        texts = [example.text for example in examples if split != "train"]
        leaked = sum(text in train for text in texts)
        alike = sum(normalised(text) in train_normalised for text in texts) - leaked
        if leaked or alike:
            more = f" ({alike:,} more apart from case, white space and compatibility characters)" if alike else ""
            counts = f"{split}: the texts of {leaked:,} of its {len(texts):,} rows also occur in train{more}"
            warnings.append(f"{counts}, which inflates its scores; they were kept")
    return warnings
