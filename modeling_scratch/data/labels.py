# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels that are probably one class: find them, propose a mapping, and apply the one that is given."""

import difflib
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..utils.errors import DataError, counted, quoted
from ..utils.files import write_csv
from .columns import MAX_CLASSES, Label, label_key, normalised, parse_label
from .rows import did_you_mean, read_rows

LABEL_MAP_HELP = (
    'Labels to read as another one: source=target, e.g. Biling=billing "log in=login", or a csv file with the columns '
    "source and target."
)
DROP_LABELS_HELP = "Placeholder labels such as N/A, whose rows are left out."
SENTIMENT_NAMES = ["NEGATIVE", "POSITIVE"]
PLACEHOLDERS = {"n/a", "na", "nan", "none", "null", "nil", "unknown", "undefined", "tbd", "-", "?"}
LABEL_MAP_COLUMNS = "source", "target"
RARE_RATIO = 10  # a typo is at least so many times rarer than the label that was meant
MOST_TYPOS = 20  # rows with the same one; a label of more rows is meant
TYPO_SIMILARITY = 0.8  # of difflib's ratio
LEAST_ROWS = 5  # of a class that can be learned
IMBALANCE = 9  # a greater ratio of class sizes is high (Fernández et al. 2018, Learning from Imbalanced Data Sets)
NEGATION = re.compile("(un|in|im|il|ir|dis|non|not|no)[ -]?")
LONGEST_LABEL = 40  # longer ones are texts, and compared by case alone
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")


def parse_label_map(pairs: Sequence[str]) -> dict[Label, Label]:
    """Return {key of a source label: target label} of `source=target` pairs, or of files with such pairs.

    Raises `DataError` for a pair without two sides, for a source with two targets, and for a target that is a source.
    """
    parsed: dict[Label, Label] = {}
    for where, sides in _sides(pairs):
        labels = [parse_label(side, "label", f"--label_map {where}") for side in sides]
        if len(labels) != 2 or None in labels:
            what = "must be source=target, with a label on each side of one '='; or a csv file without '=' in its name"
            raise DataError(f"--label_map {where}: {what}")
        source = label_key(labels[0])
        if parsed.setdefault(source, labels[1]) != labels[1]:
            raise DataError(f"--label_map {where}: {source!r} is already read as {parsed[source]!r}")
    for source, target in parsed.items():
        if (key := label_key(target)) in parsed:
            raise DataError(f"--label_map: {source!r} is read as {target!r}, which is itself read as {parsed[key]!r}")
    return parsed


def _sides(pairs: Sequence[str]) -> Iterator[tuple[str, Sequence[object]]]:
    """Yield each pair with its place."""
    for pair in pairs:
        if "=" in pair or not pair.lower().endswith(".csv"):
            yield repr(pair), pair.split("=")
            continue
        for row, values in read_rows(Path(pair), LABEL_MAP_COLUMNS):
            yield f"{Path(pair).name}, row {row}", list(values.values())


def write_label_map(path: Path, mapping: Mapping[Label, Label]) -> None:
    """Write a file for `--label_map`."""
    write_csv(path, [LABEL_MAP_COLUMNS, *mapping.items()])


def dropped_keys(labels: Sequence[str]) -> set[Label]:
    """Return the keys of the labels of `--drop_labels`. Raises `DataError` for one that is no label."""
    parsed = [parse_label(label, "label", f"--drop_labels {label}") for label in labels]
    return {label_key(label) for label in parsed if label is not None}


@dataclass
class LabelMap:
    """The label that each label is read as, in all splits: that of `--label_map`, then its usual spelling.

    dropped: the keys of labels that mean that there is none.
    """

    targets: dict[Label, Label] = field(default_factory=dict)
    dropped: Collection[Label] = ()
    spellings: dict[Label, Label] = field(default_factory=dict)
    seen: dict[Label, Label] = field(default_factory=dict)

    @property
    def left_out(self) -> set[Label]:
        """The keys of dropped labels, and of those that are read as one."""
        return {*self.dropped, *(key for key, target in self.targets.items() if label_key(target) in self.dropped)}

    def see(self, labels: Iterable[Label]) -> None:
        """Note the labels that a split has, the most frequent first."""
        for label in labels:
            self.seen.setdefault(label_key(label), label)

    def read(
        self, split: str, counts: Mapping[Label, int], declared: Sequence[str], notes: list[str]
    ) -> dict[Label, Label]:
        """Return what each label of a split is read as. Notes tell of those that change.

        counts: those of the labels, the most frequent first. declared: class names, which keep their spelling.
        """
        mapped = {label: self.targets.get(label_key(label), label) for label in counts}
        for label in [*declared, *mapped.values()]:
            self.spellings.setdefault(label_key(label), label)
        read_as = {
            label: target if target in declared else self.spellings[label_key(target)]
            for label, target in mapped.items()
        }
        changed = {label: target for label, target in read_as.items() if label != target}
        given = {label: target for label, target in changed.items() if label_key(label) in self.targets}
        others = {label: target for label, target in changed.items() if label not in given}
        notes += _reading_notes(split, given, counts, " (--label_map)") + _reading_notes(split, others, counts)
        return read_as

    def applied(self, declared: Sequence[str] | None) -> list[str] | None:
        """Return the declared class names without those that are dropped, or read as another one."""
        if declared is None:
            return None
        kept = (name for name in declared if label_key(name) not in self.left_out)
        return list(dict.fromkeys(str(self.targets.get(label_key(name), name)) for name in kept))

    def check_used(self) -> None:
        """Raise `DataError` if `--label_map` or `--drop_labels` names a label that no split has."""
        given = {**dict.fromkeys(self.targets, "--label_map"), **dict.fromkeys(self.dropped, "--drop_labels")}
        for source, option in given.items():
            if source not in self.seen:
                known = list(map(str, self.seen.values()))
                names = f"{', '.join(map(repr, known[:20]))}{did_you_mean(source, known)}"
                raise DataError(f"{option}: no row has the label {source!r}; labels: {names}")


def _reading_notes(split: str, read_as: Mapping[Label, Label], counts: Mapping[Label, int], why: str = "") -> list[str]:
    """Return one note on the labels of a split that are read as others."""
    if not read_as:
        return []
    if len(read_as) == 1:
        [(label, target)] = read_as.items()
        return [
            f"{split}: the label {quoted(label)} of {counted(counts[label], 'row')} is read as {quoted(target)}{why}"
        ]
    listed = ", ".join(f"{_counted(label, counts)} as {quoted(target)}" for label, target in read_as.items())
    return [f"{split}: {len(read_as)} labels were merged into others{why}: {listed}"]


def name_labels(
    labels: Collection[Label], given: Sequence[str] | None = None, class_names: Sequence[str] | None = None
) -> dict[Label, str]:
    """Return the name of each label, in the order of the class ids: from `given`, or else the label itself.

    `labels` are those of all rows of the train split; `class_names` is the order that the data set declares. Without
    it, integers are in numeric order (0 and 1 alone become NEGATIVE and POSITIVE) and strings are sorted. `given`
    renames integers and class ids by position; string labels keep their names and take its order.
    Raises `DataError` if the labels are not classes, or if `given` does not match them.
    """
    distinct = set(labels)
    if len(distinct) < 2:
        raise DataError(
            f"the train split has only one class, {distinct.pop()!r}, and a classifier needs two: add rows of "
            "another class, or name the column of the labels with --label_column"
        )
    if len(distinct) > MAX_CLASSES or len(distinct) == len(labels) > 2:
        raise DataError(
            f"{len(labels)} rows of the train split have {len(distinct)} different labels: probably the wrong column; "
            "choose the label column with --label_column"
        )
    order: list[Label] = [*class_names] if class_names else sorted(distinct, key=_numbers_first)
    if given is not None:
        return _given_names(order, given, may_rename=bool(class_names) or not any(isinstance(x, str) for x in order))
    return dict(zip(order, SENTIMENT_NAMES if order == [0, 1] else map(str, order)))


def _numbers_first(label: Label) -> tuple[float, str]:
    return (math.inf, label) if isinstance(label, str) else (label, "")


def _given_names(order: Sequence[Label], given: Sequence[str], may_rename: bool) -> dict[Label, str]:
    label_of = {label_key(str(label)): label for label in order}
    if {label_key(name) for name in given} == set(label_of):
        return {label_of[label_key(name)]: name for name in given}
    if not may_rename or len(set(given)) != len(order) or len(given) != len(order):
        raise DataError(
            f"--class_names {' '.join(given)} does not match the labels of the train split: {', '.join(label_of)}"
        )
    return dict(zip(order, given))


def proposed_label_map(counts: Mapping[Label, int]) -> dict[Label, Label]:
    """Return {label: the label that it probably stands for}, without chains.

    Labels that differ only by case, by compatibility characters, or by blanks, hyphens and underscores between letters
    stand for the most frequent of them. A label of at most 20 rows that is ten times rarer than another is probably a
    typo of it if at least 80 % of their characters match. Integers, digits in a label, and negations (relevant,
    irrelevant) are no typos.
    """
    strings = sorted((label for label in counts if isinstance(label, str)), key=lambda label: (-counts[label], label))
    groups: dict[str, list[str]] = {}
    for label in strings:
        groups.setdefault(_folded(label), []).append(label)
    totals = {folded: sum(counts[label] for label in group) for folded, group in groups.items()}
    kept: list[str] = []
    proposed: dict[Label, Label] = {}
    for folded in sorted(groups, key=lambda folded: -totals[folded]):
        rivals = kept if totals[folded] <= MOST_TYPOS and len(groups) <= MAX_CLASSES else []  # each with each other
        meant = [other for other in rivals if totals[other] >= RARE_RATIO * totals[folded] and _is_typo(folded, other)]
        target = groups[max(meant, key=partial(_similarity, folded)) if meant else folded][0]
        kept += [] if meant else [folded]
        proposed.update((label, target) for label in groups[folded] if label != target)
    return proposed


def _folded(label: str) -> str:
    return _BETWEEN_LETTERS.sub("", normalised(label_key(label)))


def _is_typo(rare: str, frequent: str) -> bool:
    shorter, longer = sorted((rare, frequent), key=len)
    if len(longer) > LONGEST_LABEL or len(longer) > len(shorter) * 4 / 3 or _digits(rare) != _digits(frequent):
        return False  # male and female are similar, too
    return not NEGATION.fullmatch(longer.removesuffix(shorter)) and _similarity(rare, frequent) >= TYPO_SIMILARITY


def _similarity(first: str, second: str) -> float:
    return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


def _digits(label: str) -> str:
    return "".join(filter(str.isdigit, label))


def as_pairs(mapping: Mapping[Label, Label]) -> list[str]:
    """Return a mapping as the values of `--label_map`, without the labels with "=", which cannot be written."""
    return [f"{source}={target}" for source, target in mapping.items() if "=" not in f"{source}{target}"]


def as_options(mapping: Mapping[Label, Label]) -> str:
    """Return a mapping as an option of the command line, quoted for a shell; "" if no label of it can be written."""
    pairs = as_pairs(mapping)
    return " ".join(["--label_map", *map(shlex.quote, pairs)]) if pairs else ""


def similar_label_warnings(counts: Mapping[Label, int], proposed: Mapping[Label, Label]) -> list[str]:
    """Return a warning on the labels that are probably one class, with the proposed mapping that makes them one."""
    if not proposed:
        return []
    listed = "; ".join(f"{_counted(source, counts)} of {_counted(to, counts)}" for source, to in proposed.items())
    return [f"labels that are probably variants of one class: {listed}; if they are, add {as_options(proposed)}"]


def _counted(label: Label, counts: Mapping[Label, int]) -> str:
    return f"{quoted(label)} ({counted(counts[label], 'row')})"


def placeholder_warnings(counts: Mapping[Label, int]) -> list[str]:
    """Return a warning on placeholder labels such as N/A."""
    found = [label for label in counts if str(label_key(label)).casefold() in PLACEHOLDERS]
    if not found:
        return []
    listed = ", ".join(_counted(label, counts) for label in found)
    option = " ".join(["--drop_labels", *(shlex.quote(str(label)) for label in found)])
    return [f"labels that are probably placeholders: {listed}; if they are, add {option}"]


def small_class_warnings(counts: Mapping[Label, int]) -> list[str]:
    """Return a warning on classes of fewer rows than `LEAST_ROWS`."""
    small = [f"{quoted(label)} ({count})" for label, count in sorted(counts.items(), key=str) if count < LEAST_ROWS]
    return [f"classes with fewer than {LEAST_ROWS} rows can hardly be learned: {', '.join(small)}"] if small else []


def is_imbalanced(labels: Iterable[Any]) -> bool:
    """Return whether the most frequent class has more than nine times as many rows as the rarest one.

    Classes of fewer rows than `LEAST_ROWS`, such as typos, do not count where there are two others.
    """
    sizes = _learnable(Counter(labels)).values()
    return max(sizes) > IMBALANCE * min(sizes)


def _learnable(counts: Mapping[Label, int]) -> Mapping[Label, int]:
    large = {label: count for label, count in counts.items() if count >= LEAST_ROWS}
    return large if len(large) > 1 else counts


def imbalance_warnings(counts: Mapping[Label, int]) -> list[str]:
    """Return a warning on classes of very different sizes, as `is_imbalanced` tells."""
    sizes = _learnable(counts)
    frequent, rare = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    if (ratio := sizes[frequent] / sizes[rare]) <= IMBALANCE:
        return []
    return [
        f"imbalanced classes: {quoted(frequent)} has {ratio:,.0f} times as many rows as {quoted(rare)}; if the "
        "training split is imbalanced, macro F1 decides, and --class_weights balanced makes rare classes count more"
    ]
