# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load labelled text from files, a folder or the Hub as train, validation and test splits of (text, label).

`ReviewData.describe()` reports every row left out or held out and every renamed label.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import datasets

from ..utils.errors import DataError
from ..utils.files import rows_digest
from .columns import (
    SAMPLE_ROWS,
    SENTIMENT_NAMES,
    Label,
    choose_columns,
    name_labels,
    normalised,
    parse_label,
    parse_text,
)
from .labels import (
    RARE_RATIO,
    LabelMap,
    as_options,
    parse_label_map,
    proposed_label_map,
    similar_label_warnings,
    small_class_warnings,
)
from .splits import DataArguments, Source, open_sources

SPLITS = ("train", "validation", "test")
HIDDEN_LABEL = -1  # the value of a withheld label in `datasets.ClassLabel`, as in GLUE's test splits


@dataclass(frozen=True)
class ReviewData:
    """Splits with the columns text (string) and label (`ClassLabel`), and notes on how they were prepared."""

    splits: datasets.DatasetDict
    label_names: list[str]
    notes: list[str]
    warnings: list[str]

    @classmethod
    def from_pairs(
        cls,
        splits: Mapping[str, Sequence[tuple[str, int]]],
        label_names: list[str],
        notes: list[str],
        warnings: list[str],
    ) -> "ReviewData":
        """Build the splits from (text, index into label_names) pairs."""
        label = datasets.ClassLabel(names=label_names)
        features = datasets.Features({"text": datasets.Value("string"), "label": label})
        tables = {
            split: datasets.Dataset.from_dict(dict(zip(("text", "label"), zip(*pairs))), features=features)
            for split, pairs in splits.items()
        }
        return cls(datasets.DatasetDict(tables), label_names, notes, warnings)

    def digests(self) -> dict[str, str | None]:
        """Return the digest of each split."""
        return {split: self.digest(split) for split in self.splits}

    def digest(self, split: str) -> str:
        """Return a digest of the texts and labels of a split, in their order."""
        rows = self.splits[split]
        return rows_digest((text, self.label_names[label]) for text, label in zip(rows["text"], rows["label"]))

    def describe(self) -> str:
        """Return a report: the size of each split by class, then the notes, then the warnings."""
        lines = []
        for split, dataset in self.splits.items():
            counts = Counter(dataset["label"])
            classes = [f"{self.label_names[label]} {number:,}" for label, number in sorted(counts.items())[:10]]
            more = ["..."] if len(counts) > len(classes) else []
            lines.append(f"{split}: {dataset.num_rows:,} rows ({', '.join([*classes, *more])})")
        return "\n".join([*lines, *self.notes, *(f"WARNING: {warning}" for warning in self.warnings)])


class Example(NamedTuple):
    """One labelled text with its original label and its location (file and row)."""

    text: str
    label: Label
    where: str


def load_splits(arguments: DataArguments) -> ReviewData:
    """Load, check and split the data that `arguments` select. Raises `DataError` for invalid data.

    The train split defines the classes. If validation and test are both missing, both are held out of train. If only
    validation is missing, only validation is held out. A missing test split alone stays missing.
    """
    sources, notes = open_sources(arguments)
    sample = [values for _, values in islice(sources["train"].rows(), SAMPLE_ROWS)]
    columns = choose_columns(sample, str(sources["train"]), arguments.text_column, arguments.label_column)
    notes.append(f"text column: {columns[0]!r}; label column: {columns[1]!r}")
    label_map = LabelMap(parse_label_map(arguments.label_map or ()))
    train = _read_examples("train", sources["train"], columns, label_map, notes)
    names = _name_labels(train, sources["train"].class_names(columns[1]), arguments, notes)
    _check_labels("train", train, columns[1], names)
    splits = {"train": train}
    for split in ("validation", "test"):
        if split in sources:
            named = bool(arguments.train_file)
            rows = _read_evaluation(split, sources[split], columns, names, label_map, notes, named)
            splits.update({split: rows} if rows else {})
    label_map.check_used()
    counts = Counter(example.label for example in train)
    warnings = [*similar_label_warnings(counts), *small_class_warnings(counts), *_conflicts(splits)]
    splits = _fill_splits(splits, arguments, notes)
    splits = {split: _limit(split, rows, arguments, notes) for split, rows in splits.items()}
    ids = {label: number for number, label in enumerate(names)}
    pairs = {split: [(example.text, ids[example.label]) for example in rows] for split, rows in splits.items()}
    return ReviewData.from_pairs(pairs, list(names.values()), notes, [*warnings, *_overlaps(splits)])


def _read_examples(
    split: str, source: Source, columns: tuple[str, str], label_map: LabelMap, notes: list[str]
) -> list[Example]:
    """Return the labelled texts of a split, with the labels that `label_map` gives."""
    text_column, label_column = columns
    examples = []
    left_out: dict[str, list[str]] = {"text": [], "label": []}
    for where, values in source.rows(columns):
        text = parse_text(values[text_column], text_column, where)
        label = parse_label(values[label_column], label_column, where)
        if text is None or label is None:
            left_out["text" if text is None else "label"].append(where)
        else:
            examples.append(Example(text, label, where))
    class_names = source.class_names(label_column) or []
    if class_names:
        name_of: dict[Label, str] = dict(enumerate(class_names))
        left_out["label"] += [example.where for example in examples if example.label == HIDDEN_LABEL]
        examples = [
            example._replace(label=name_of.get(example.label, example.label))
            for example in examples
            if example.label != HIDDEN_LABEL
        ]
    repeated = len(examples) - len({example.text for example in examples})
    if repeated:
        notes.append(f"{split}: {repeated:,} rows repeat the text of an earlier row; they were kept")
    for field, locations in left_out.items():
        if locations:
            notes.append(
                f"{split}: {len(locations):,} rows without a {field} were dropped, first {'; '.join(locations[:3])}"
            )
    counts = dict(Counter(example.label for example in examples).most_common())
    read_as = label_map.read(split, counts, class_names, notes)
    return [example._replace(label=read_as[example.label]) for example in examples]


def _read_evaluation(
    split: str,
    source: Source,
    columns: tuple[str, str],
    names: Mapping[Label, str],
    label_map: LabelMap,
    notes: list[str],
    named: bool,
) -> list[Example]:
    """Return the checked examples of a split, or none if its labels are withheld and the file was not named."""
    unlabelled = split == "test" and not named and columns[1] not in next(source.rows())[1]
    examples = [] if unlabelled else _read_examples(split, source, columns, label_map, notes)
    if not named and {example.label for example in examples} <= {HIDDEN_LABEL} - set(names):
        notes.append(f"{split}: not used, as it has no labels")
        return []
    _check_labels(split, examples, columns[1], names)
    return examples


def _check_labels(split: str, examples: Sequence[Example], column: str, names: Mapping[Label, str]) -> None:
    if not examples:
        raise DataError(f"the {split} split has no row with both text and label")
    unknown = [example for example in examples if example.label not in names]
    if unknown:
        known = ", ".join(repr(label) for label in names)
        counts = dict.fromkeys(names, RARE_RATIO) | {example.label: 1 for example in unknown}
        proposed = {label: name for label, name in proposed_label_map(counts).items() if label not in names}
        advice = f"read it as another one ({as_options(proposed)})" if proposed else "correct it"
        raise DataError(
            f"{unknown[0].where}, column {column!r}: the label {unknown[0].label!r} does not occur in train: {known}; "
            f"{advice}, or add train rows with this label"
        )


def _name_labels(
    train: Sequence[Example], class_names: Sequence[str] | None, arguments: DataArguments, notes: list[str]
) -> dict[Label, str]:
    names = name_labels([example.label for example in train], arguments.class_names, class_names)
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
    splits: dict[str, list[Example]], arguments: DataArguments, notes: list[str]
) -> dict[str, list[Example]]:
    """Hold out validation if it is missing, and also test if both are missing."""
    if "validation" in splits:
        return splits
    missing = ["validation"] if "test" in splits else ["validation", "test"]
    held_out = _hold_out(splits["train"], missing, arguments.validation_fraction, arguments.split_seed)
    for split in missing:
        notes.append(
            f"{split}: not in the data; {len(held_out[split]):,} rows held out of train "
            f"(--validation_fraction {arguments.validation_fraction}, --split_seed {arguments.split_seed})"
        )
    return {split: (held_out | splits | {"train": held_out["train"]})[split] for split in SPLITS}


def _hold_out(
    examples: Sequence[Example], splits: Sequence[str], fraction: float, seed: int
) -> dict[str, list[Example]]:
    """Hold out a fraction of the texts for each of `splits`. Rows of equal normalised text share a split."""
    distinct = list({example.text: example for example in examples}.values())
    order = stratified_order([example.label for example in distinct], seed)
    size = max(1, round(fraction * len(distinct)))
    drawn = {split: order[n * size : (n + 1) * size] for n, split in enumerate(splits)}
    split_of = {normalised(distinct[row].text): split for split, rows in drawn.items() for row in rows}
    divided: dict[str, list[Example]] = {split: [] for split in ("train", *splits)}
    for example in examples:
        divided[split_of.get(normalised(example.text), "train")].append(example)
    classes = {example.label for example in examples}
    if not all(divided.values()) or {example.label for example in divided["train"]} != classes:
        raise DataError(
            f"{len(distinct)} different texts are too few to hold out {' and '.join(splits)} and train on every class; "
            "add texts or a validation file"
        )
    return divided


def _limit(split: str, examples: list[Example], arguments: DataArguments, notes: list[str]) -> list[Example]:
    limit = arguments.max_train_samples if split == "train" else arguments.max_eval_samples
    if limit is None or limit >= len(examples):
        return examples
    notes.append(f"{split}: {limit:,} of {len(examples):,} rows used, stratified by class")
    order = stratified_order([example.label for example in examples], arguments.split_seed)
    return [examples[row] for row in sorted(order[:limit])]


def _conflicts(splits: Mapping[str, Sequence[Example]], most: int = 3) -> list[str]:
    """Return a warning on texts that occur with different labels, with the first `most` of them."""
    rows: dict[str, dict[Label, str]] = {}
    for example in chain.from_iterable(splits.values()):
        rows.setdefault(example.text, {}).setdefault(example.label, example.where)
    conflicts = [labels for labels in rows.values() if len(labels) > 1]
    if not conflicts:
        return []
    first = ["; ".join(f"{where}: {label!a}" for label, where in labels.items()) for labels in conflicts[:most]]
    more = ["..."] if len(conflicts) > most else []
    return [f"{len(conflicts):,} texts occur with different labels, which were kept: {' | '.join([*first, *more])}"]


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
