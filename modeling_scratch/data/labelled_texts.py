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
    SENTIMENT_NAMES,
    Label,
    choose_columns,
    is_missing,
    label_key,
    name_labels,
    normalised,
    number_warnings,
    parse_texts,
)
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
    LabelMap,
    as_options,
    dropped_keys,
    imbalance_warnings,
    parse_label_map,
    placeholder_warnings,
    proposed_label_map,
    similar_label_warnings,
    small_class_warnings,
)
from .splits import DataArguments, Source, open_sources
from .text_pairs import TEXT_FIELDS, parts_of, text_lists, texts_of

SPLITS = ("train", "validation", "test")
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


class Findings(NamedTuple):
    """What there is to check in labels, with the fields `proposed` and `conflicts` of the data."""

    proposed: dict[Label, Label]
    conflicts: list[dict[Label, str]]
    warnings: list[str]


def load_splits(arguments: DataArguments) -> ReviewData:
    """Load, check and split the data that `arguments` select. Raises `DataError` for invalid data.

    The train split defines the classes. If validation and test are both missing, both are held out of train. If only
    validation is missing, only validation is held out. A missing test split alone stays missing.
    """
    sources, notes = open_sources(arguments)
    sample = [values for _, values in islice(sources["train"].rows(), SAMPLE_ROWS)]
    columns = choose_columns(sample, str(sources["train"]), arguments.text_column, arguments.label_column)
    label_column = columns[-1]
    notes.append(_columns_note(columns))
    cells = [row.get(label_column) for row in sample]
    kind, inferred = choose_kind(arguments.problem_type, arguments.label_separator, cells)
    notes += inferred
    labels = _label_reader(kind, arguments)
    train = _read_examples("train", sources["train"], columns, labels, notes)
    _check_labels("train", train, label_column, None, kind)
    declared = labels.map.applied(sources["train"].class_names(label_column))
    names = _name_labels(train, declared, arguments, kind, notes)
    splits = {"train": train}
    for split in ("validation", "test"):
        if split in sources:
            named = bool(arguments.train_file)
            rows = _read_evaluation(split, sources[split], columns, names, labels, notes, named)
            splits.update({split: rows} if rows else {})
    labels.map.check_used()
    found = _findings(splits, kind, () if arguments.problem_type else cells)
    splits = _fill_splits(splits, arguments, kind, notes)
    held_out = [row.text for split, rows in splits.items() if split != "train" for row in rows]
    splits = {split: _limit(split, rows, arguments, kind, notes) for split, rows in splits.items()}
    if isinstance(kind, Number):
        check_numbers([example.label for example in splits["train"]], arguments.class_names)
    label_names = list(names.values()) or arguments.class_names or [label_column]  # a number has the name of its column
    data = _as_data(splits, list(names), label_names, notes, found, kind)
    return replace(data, text_columns=columns[:-1], held_out=held_out)


def _as_data(
    splits: Mapping[str, Sequence[Example]],
    labels: Sequence[Label],
    label_names: list[str],
    notes: list[str],
    found: Findings,
    kind: LabelKind,
) -> ReviewData:
    """Build the splits from examples. labels: the original ones, in the order of label_names."""
    ids = {label: number for number, label in enumerate(labels)}
    pairs = {split: [(row.text, kind.stored(row.label, ids)) for row in rows] for split, rows in splits.items()}
    places = {split: [row.where for row in rows] for split, rows in splits.items()}
    data = ReviewData.from_pairs(pairs, label_names, notes, [*found.warnings, *_overlaps(splits)], kind)
    return replace(data, places=places, conflicts=found.conflicts, proposed=found.proposed)


def _findings(splits: Mapping[str, Sequence[Example]], kind: LabelKind, cells: Sequence[object]) -> Findings:
    """cells: of the labels, if nobody has said that each is one class."""
    counts = _counts(splits["train"], kind)
    proposed, conflicts = proposed_label_map(counts), _conflicts(splits)
    numbers = number_warnings([row.text for row in splits["train"]])
    warnings = [*numbers, *_class_warnings(counts, proposed, kind, cells), *_conflict_warnings(conflicts)]
    return Findings(proposed, conflicts, warnings)


def _class_warnings(
    counts: Mapping[Label, int], proposed: Mapping[Label, Label], kind: LabelKind, cells: Sequence[object]
) -> list[str]:
    joined = Counter[Label]()
    for label, count in counts.items():
        joined[proposed.get(label, label)] += count  # so that typos are not told again as rare classes
    warnings = [*placeholder_warnings(counts), *similar_label_warnings(counts, proposed), *small_class_warnings(joined)]
    if kind is not ONE_CLASS:
        return warnings
    return [*joined_label_warnings(cells), *warnings, *imbalance_warnings(counts)]


def _columns_note(columns: Sequence[str]) -> str:
    *texts, label = map(repr, columns)
    return f"text column{'s' * (len(texts) > 1)}: {' and '.join(texts)}; label column: {label}"


class LabelReader(NamedTuple):
    """How the labels of all splits are read: their kind, and the label that each class is read as."""

    kind: LabelKind
    map: LabelMap


def _label_reader(kind: LabelKind, arguments: DataArguments) -> LabelReader:
    if isinstance(kind, Number):
        if arguments.label_map:
            raise DataError("--label_map: the labels are numbers, which it cannot change")
        keys = frozenset(map(number_key, arguments.drop_labels or ()))
        return LabelReader(Number(keys), LabelMap(dropped=keys))
    dropped = dropped_keys(arguments.drop_labels or ())
    return LabelReader(kind, LabelMap(parse_label_map(arguments.label_map or ()), dropped))


def _read_examples(
    split: str, source: Source, columns: tuple[str, ...], labels: LabelReader, notes: list[str]
) -> list[Example]:
    """Return the labelled texts of a split, with the labels that the map gives."""
    (*text_columns, label_column), kind = columns, labels.kind
    examples = []
    left_out: dict[str, list[str]] = {"text": [], "label": [], "label to keep (--drop_labels)": []}
    for where, values in source.rows(columns):
        text = parse_texts(values, text_columns, where)
        label = kind.parse(values[label_column], label_column, where)
        if label is None and not is_missing(value := values[label_column]):  # a number of --drop_labels
            labels.map.seen.setdefault(number_key(value), value)
            left_out["label to keep (--drop_labels)"].append(where)
        elif text is None or label is None:
            left_out["text" if text is None else "label"].append(where)
        else:
            examples.append(Example(text, label, where))
    class_names = source.class_names(label_column) or []
    if class_names:
        left_out["label"] += [example.where for example in examples if example.label == HIDDEN_LABEL]
        examples = _named_examples(examples, class_names, kind)
    repeated = len(examples) - len({example.text for example in examples})
    if repeated:
        notes.append(f"{split}: kept {counted(repeated, 'row')} with the text of an earlier row")
    for column, locations in left_out.items():
        if locations:
            dropped = f"{split}: dropped {counted(len(locations), 'row')} without a {column}"
            notes.append(f"{dropped}, first {'; '.join(locations[:3])}")
    labels.map.see(_counts(examples, kind))
    examples = _without_dropped(split, examples, labels, notes)
    read_as = labels.map.read(split, _counts(examples, kind), class_names, notes)
    return [example._replace(label=kind.renamed(example.label, read_as)) for example in examples]


def _named_examples(examples: Sequence[Example], class_names: Sequence[str], kind: LabelKind) -> list[Example]:
    """Return the examples whose labels are not withheld, with the declared names of their classes."""
    name_of: dict[Label, str] = dict(enumerate(class_names))
    return [
        example._replace(label=kind.renamed(example.label, name_of))
        for example in examples
        if example.label != HIDDEN_LABEL
    ]


def _counts(examples: Sequence[Example], kind: LabelKind) -> dict[Label, int]:
    """Return the number of texts of each class, the most frequent first."""
    return dict(Counter(label for example in examples for label in kind.classes(example.label)).most_common())


def _without_dropped(split: str, examples: Sequence[Example], labels: LabelReader, notes: list[str]) -> list[Example]:
    """Leave out the labels of --drop_labels, and the texts that have no other one."""
    kind, dropped = labels.kind, labels.map.left_out
    if not dropped or isinstance(kind, Number):
        return list(examples)
    for label, count in _counts(examples, kind).items():
        if label_key(label) in dropped:
            notes.append(f"{split}: left out the label {quoted(label)} of {counted(count, 'row')} (--drop_labels)")
    kept = [example._replace(label=kind.without(example.label, dropped)) for example in examples]
    return [example for example in kept if example.label is not None]


def _read_evaluation(
    split: str,
    source: Source,
    columns: tuple[str, ...],
    names: Mapping[Label, str],
    labels: LabelReader,
    notes: list[str],
    named: bool,
) -> list[Example]:
    """Return the checked examples of a split, or none if its labels are withheld and the file was not named."""
    unlabelled = split == "test" and not named and columns[-1] not in next(source.rows())[1]
    examples = [] if unlabelled else _read_examples(split, source, columns, labels, notes)
    if not named and {example.label for example in examples} <= {HIDDEN_LABEL} - set(names):
        notes.append(f"{split}: not used, as it has no labels")
        return []
    _check_labels(split, examples, columns[-1], names, labels.kind)
    return examples


def _check_labels(
    split: str, examples: Sequence[Example], column: str, names: Mapping[Label, str] | None, kind: LabelKind
) -> None:
    """Raise `DataError` if there is no example, or a class that is not one of names, if these are known."""
    if not examples:
        raise DataError(f"the {split} split has no row with both text and label")
    found = ((row, label) for row in examples if names is not None for label in kind.classes(row.label))
    unknown = [(row, label) for row, label in found if label not in (names or ())]
    if unknown:
        others = dict.fromkeys(label for _, label in unknown)
        raise _unknown_label(*unknown[0], column, list(islice(others, MOST_PROPOSED)), names or {})


def _unknown_label(
    example: Example, label: Label, column: str, unknown: Sequence[Label], names: Mapping[Label, str]
) -> DataError:
    counts = dict.fromkeys(names, RARE_RATIO) | dict.fromkeys(map(label_key, unknown), 1)
    proposed = {label: name for label, name in proposed_label_map(counts).items() if label not in names}
    advice = f"read it as another one ({as_options(proposed)})" if proposed else "correct it"
    return DataError(
        f"{example.where}, column {column!r}: the label {label!r} does not occur in train: "
        f"{', '.join(map(repr, names))}; {advice}, or add train rows with this label"
    )


def _name_labels(
    train: Sequence[Example],
    class_names: Sequence[str] | None,
    arguments: DataArguments,
    kind: LabelKind,
    notes: list[str],
) -> dict[Label, str]:
    """Return the name of each class; none for numbers."""
    if isinstance(kind, Number):
        return {}
    labels = [label for example in train for label in kind.classes(example.label)]
    if not labels:
        raise DataError("no row of the train split has a label; is the label column the right one (--label_column)?")
    names = name_labels(labels, arguments.class_names, class_names)
    if isinstance(kind, ClassSet):
        return names if arguments.class_names or class_names else {label: str(label) for label in names}
    if list(names) == [0, 1] and not arguments.class_names:
        notes.append(f"labels 0 and 1 are named {' and '.join(SENTIMENT_NAMES)}; set --class_names to change this")
    return names


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


def _fill_splits(
    splits: dict[str, list[Example]], arguments: DataArguments, kind: LabelKind, notes: list[str]
) -> dict[str, list[Example]]:
    """Hold out validation if it is missing, and also test if both are missing."""
    if "validation" in splits:
        return splits
    missing = ["validation"] if "test" in splits else ["validation", "test"]
    held_out = _hold_out(splits["train"], missing, arguments.validation_fraction, arguments.split_seed, kind)
    for split in missing:
        notes.append(
            f"{split}: not in the data; {counted(len(held_out[split]), 'row')} held out of train "
            f"(--validation_fraction {arguments.validation_fraction}, --split_seed {arguments.split_seed})"
        )
    return {split: (held_out | splits | {"train": held_out["train"]})[split] for split in SPLITS}


def _hold_out(
    examples: Sequence[Example], splits: Sequence[str], fraction: float, seed: int, kind: LabelKind
) -> dict[str, list[Example]]:
    """Hold out a fraction of the texts for each of `splits`. Rows of equal normalised text share a split."""
    distinct = list({example.text: example for example in examples}.values())
    order = stratified_order(kind.strata([example.label for example in distinct]), seed)
    size = max(1, round(fraction * len(distinct)))
    drawn = {split: order[n * size : (n + 1) * size] for n, split in enumerate(splits)}
    split_of = {normalised(distinct[row].text): split for split, rows in drawn.items() for row in rows}
    divided: dict[str, list[Example]] = {split: [] for split in ("train", *splits)}
    for example in examples:
        divided[split_of.get(normalised(example.text), "train")].append(example)
    learned, all_classes = (
        {label for row in rows for label in kind.classes(row.label)} for rows in (divided["train"], examples)
    )
    held_out = " and ".join(splits)
    if not all(divided.values()):
        raise DataError(
            f"{len(distinct)} different texts are too few to hold out {held_out}; add texts or a validation file"
        )
    if lost := sorted(map(str, all_classes - learned)):
        raise DataError(
            f"holding out {held_out} leaves train without a text of {', '.join(map(repr, lost[:5]))}: add texts of "
            "these labels or a validation file, or leave the labels out with --drop_labels"
        )
    return divided


def _limit(
    split: str, examples: list[Example], arguments: DataArguments, kind: LabelKind, notes: list[str]
) -> list[Example]:
    limit = arguments.max_train_samples if split == "train" else arguments.max_eval_samples
    if limit is None or limit >= len(examples):
        return examples
    notes.append(f"{split}: {limit:,} of {len(examples):,} rows used, stratified by label")
    order = stratified_order(kind.strata([example.label for example in examples]), arguments.split_seed)
    return [examples[row] for row in sorted(order[:limit])]


def _conflicts(splits: Mapping[str, Sequence[Example]]) -> list[dict[Label, str]]:
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


def _overlaps(splits: Mapping[str, Sequence[Example]]) -> list[str]:
    """Return warnings on evaluation texts that also occur in train, as they are or normalised."""
    train = {example.text for example in splits["train"]}
    train_normalised = set(map(normalised, train))
    warnings = []
    for split, examples in splits.items():
        others = [example.text for example in examples if split != "train"]
        leaked = sum(text in train for text in others)
        alike = sum(normalised(text) in train_normalised for text in others) - leaked
        if leaked or alike:
            more = "apart from case, white space and compatibility characters"
            also = f" ({alike:,} more {more})" if alike else ""
            warnings.append(
                f"{split}: the texts of {leaked:,} of its {len(examples):,} rows also occur in train{also}, "
                "which inflates its scores; they were kept"
            )
    return warnings
