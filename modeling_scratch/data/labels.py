# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels that are probably one class: warn of them, propose a mapping, and apply the one that is given."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..utils.errors import DataError, counted, quoted, some
from .columns import Label, is_missing, normalised
from .label_types import is_placeholder, parse_class
from .tables import did_you_mean, read_rows

LABEL_MAP_HELP = (
    'Labels to read as another one: source=target, e.g. Biling=billing "log in=login", or a csv file with the columns '
    "source and target."
)
DROP_LABELS_HELP = "Placeholder labels such as N/A, whose rows are left out."
LABEL_MAP_COLUMNS = "source", "target"
RARE_RATIO = 10  # a typo is at least so many times rarer than the label that was meant
MOST_TYPOS = 20  # rows with the same one; a label of more rows is meant
LONGEST_TYPO = 40  # in characters; longer labels are texts
TYPO_SIMILARITY = 0.8  # of difflib's ratio
LEAST_ROWS = 5  # of a class that can be learned
IMBALANCE = 9  # a greater ratio of class sizes is high (Fernández et al. 2018, Learning from Imbalanced Data Sets)
MOST_SHOWN = 10  # labels in a warning
SEPARATORS = "|;,"  # of labels in a cell, as tables have them
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")


# The map that is given


def parse_label_map(pairs: Sequence[str]) -> dict[Label, Label]:
    """Return {source label: target label} of `source=target` pairs, or of csv files with such pairs.

    Raises `DataError` for a pair without two sides, and for a source with two targets.
    """
    sides: list[tuple[str, Sequence[object]]] = []  # the place of each pair, and its sides
    for pair in pairs:
        if "=" in pair or not pair.lower().endswith(".csv"):
            sides.append((repr(pair), pair.split("=")))
        else:
            sides += [(row.where, [*row.values.values()]) for row in read_rows(Path(pair), LABEL_MAP_COLUMNS)]
    parsed: dict[Label, Label] = {}
    for where, both in sides:
        labels = [parse_class(side, f"--label_map {where}", keeps_text=True) for side in both]
        if len(labels) != 2 or None in labels:
            what = "must be source=target, with a label on each side of one '='; or a csv file without '=' in its name"
            raise DataError(f"--label_map {where}: {what}")
        source, target = labels
        if parsed.setdefault(source, target) != target:
            raise DataError(f"--label_map {where}: {source!r} is already read as {parsed[source]!r}")
    return parsed


@dataclass
class LabelMap:
    """The class that each class is read as, in all splits. dropped: classes that mean that there is none."""

    targets: Mapping[Label, Label] = field(default_factory=dict)
    dropped: Collection[Label] = ()
    seen: dict[Label, None] = field(default_factory=dict)  # of all splits

    def read(self, split: str, counts: Mapping[Label, int], notes: list[str]) -> dict[Label, Label]:
        """Return what each class of a split is read as, without those that are left out. Notes tell of both."""
        self.seen.update(dict.fromkeys(counts))
        read_as = {label: self.targets.get(label, label) for label in counts if not self.is_dropped(label)}
        changed = [f"{_counted(label, counts)} as {quoted(name)}" for label, name in read_as.items() if label != name]
        left_out = [_counted(label, counts) for label in counts if label not in read_as]
        for what, labels in (("read as others", changed), ("left out (--drop_labels)", left_out)):
            if labels:
                notes.append(f"{split}: labels that are {what}: {', '.join(labels)}")
        return read_as

    def is_dropped(self, label: Label) -> bool:
        """Return whether the class, or the one that it is read as, is left out."""
        return not {label, self.targets.get(label, label)}.isdisjoint(self.dropped)

    def applied(self, declared: Sequence[Label]) -> list[Label]:
        """Return the declared classes without those that are dropped, or read as another one."""
        return list(dict.fromkeys(self.targets.get(name, name) for name in declared if not self.is_dropped(name)))

    def check_used(self) -> None:
        """Raise `DataError` if `--label_map` or `--drop_labels` names a label that no split has."""
        given = {**dict.fromkeys(self.targets, "--label_map"), **dict.fromkeys(self.dropped, "--drop_labels")}
        for source, option in given.items():
            if source not in self.seen:
                known = list(map(str, self.seen))
                names = f"{', '.join(map(repr, known[:20]))}{did_you_mean(source, known)}"
                raise DataError(f"{option}: no row has the label {source!r}; labels: {names}")


# The map that is proposed


def proposed_label_map(counts: Mapping[Label, int]) -> dict[Label, Label]:
    """Return {label: the label that it probably stands for}, without chains.

    Labels that differ only by case, by compatibility characters, or by blanks, hyphens and underscores between letters
    stand for the most frequent of them. A label of at most 20 rows that is ten times rarer than another is probably a
    typo of it if at least 80 % of their characters match, and the first does. Labels with digits are no typos.
    """
    strings = [label for label in counts if isinstance(label, str) and "=" not in label]  # which --label_map divides
    groups: dict[str, list[str]] = {}
    for label in sorted(strings, key=lambda label: (-counts[label], label)):
        groups.setdefault(_BETWEEN_LETTERS.sub("", normalised(label)), []).append(label)
    totals = Counter({folded: sum(counts[label] for label in group) for folded, group in groups.items()})
    kept: list[str] = []
    proposed: dict[Label, Label] = {}
    for folded, total in totals.most_common():
        target = groups[folded][0]
        if total <= MOST_TYPOS and len(folded) <= LONGEST_TYPO and not any(map(str.isdigit, folded)):
            alike = [each for each in kept if each[0] == folded[0] and abs(len(each) - len(folded)) < 2]
            frequent = [each for each in alike if totals[each] >= RARE_RATIO * total]
            target = next((groups[each][0] for each in get_close_matches(folded, frequent, 1, TYPO_SIMILARITY)), target)
        if target == groups[folded][0]:
            kept.append(folded)
        proposed.update((label, target) for label in groups[folded] if label != target)
    return proposed


def as_pairs(mapping: Mapping[Label, Label]) -> list[str]:
    """Return a mapping as the values of `--label_map`."""
    return [f"{source}={target}" for source, target in mapping.items()]


# Warnings


def placeholders(labels: Iterable[Label]) -> list[Label]:
    """Return the labels that probably stand for none."""
    return [label for label in labels if is_placeholder(label)]


def label_warnings(counts: Mapping[Label, int], proposed: Mapping[Label, Label], is_one_class: bool) -> Iterator[str]:
    """Yield warnings on placeholders, probable variants of one class, small classes, and classes of very unlike sizes.

    counts: the rows of each class of train. is_one_class: a text has one.
    """
    if found := placeholders(counts):
        listed = ", ".join(_counted(label, counts) for label in found)
        option = shlex.join(["--drop_labels", *map(str, found)])
        yield f"labels that are probably placeholders: {listed}; if they are, add {option}"
    if proposed:
        listed = "; ".join(f"{_counted(source, counts)} of {_counted(to, counts)}" for source, to in proposed.items())
        option = shlex.join(["--label_map", *as_pairs(proposed)])
        yield f"labels that are probably variants of one class: {listed}; if they are, add {option}"
    joined = Counter[Label]()
    for label, count in counts.items():
        joined[proposed.get(label, label)] += count
    small = [f"{quoted(label)} ({count})" for label, count in sorted(joined.items(), key=str) if count < LEAST_ROWS]
    if small:
        yield f"classes with fewer than {LEAST_ROWS} rows can hardly be learned: {some(small, MOST_SHOWN)}"
    if is_one_class and joined and is_imbalanced(joined.elements()):
        (frequent, most), *_, (rare, fewest) = Counter(_learnable(joined)).most_common()
        what = f"{quoted(frequent)} has {most / fewest:,.0f} times as many rows as {quoted(rare)}"
        yield (
            f"imbalanced classes: {what}; if the training split is imbalanced, macro F1 decides, and --class_weights "
            "balanced makes rare classes count more"
        )


def _counted(label: Label, counts: Mapping[Label, int]) -> str:
    return f"{quoted(label)} ({counted(counts[label], 'row')})"


def is_imbalanced(labels: Iterable[Any]) -> bool:
    """Return whether the most frequent class has more than nine times as many rows as the rarest one.

    Classes of fewer rows than `LEAST_ROWS`, such as typos, do not count where there are two others.
    """
    sizes = _learnable(Counter(labels)).values()
    return max(sizes) > IMBALANCE * min(sizes)


def _learnable(counts: Mapping[Label, int]) -> Mapping[Label, int]:
    large = {label: count for label, count in counts.items() if count >= LEAST_ROWS}
    return large if len(large) > 1 else counts


def type_warnings(cells: Iterable[object]) -> list[str]:
    """Return a warning if the cells of JSON or Parquet spell the labels in several types, such as 1, "1" and true."""
    counts = Counter(json.dumps(cell, ensure_ascii=False) for cell in cells if isinstance(cell, int | str))
    others = {spelled for spelled in counts if not spelled.startswith('"')}
    truths = others & {"true", "false"}
    if not any(f'"{spelled}"' in counts for spelled in others) and (not truths or truths == others):
        return []
    listed = ", ".join(f"{spelled} ({counted(count, 'row')})" for spelled, count in counts.most_common(MOST_SHOWN))
    return [
        f"labels of several types in one column: {listed}; texts of integers are read as integers, true as True; write "
        "one type, or join the classes with --label_map"
    ]


def joined_labels(cells: Sequence[object]) -> dict[str, str]:
    """Return {separator: a cell} if cells are few labels in many combinations, with a separator between them."""
    texts = [value for value in cells if isinstance(value, str) and not is_missing(value)]
    for separator in SEPARATORS:
        joined = [text for text in texts if separator in text]
        parts = {part.strip() for text in texts for part in text.split(separator)}
        if len(joined) > len(texts) / 10 and len(parts) < len(set(texts)):
            return {separator: joined[0]}
    return {}
