# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is probably wrong with labels: warn of it, propose options, and apply those that are given."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..utils.errors import DataError, counted, quoted, some
from .columns import Label, normalised
from .label_types import is_placeholder, parse_class
from .tables import did_you_mean, read_rows

LABEL_MAP_COLUMNS = "source", "target"
LEAST_ROWS = 5  # of a class that can be learned
IMBALANCE = 9  # a greater ratio of class sizes is high (Fernández et al. 2018, Learning from Imbalanced Data Sets)
MOST_SHOWN = 10  # labels in a warning
MISSPELT = 0.85  # a greater similarity of labels is probably a slip
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")


# The options that are given


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


class LabelMap:
    """The class that each class is read as, in all splits; none where it, or that one, is dropped."""

    def __init__(self, pairs: Sequence[str], dropped: Sequence[str]) -> None:
        self.targets = parse_label_map(pairs)
        self.dropped = {parse_class(label, "--drop_labels", keeps_text=True) for label in dropped} - {None}
        self.seen: dict[Label, int] = {}  # of all splits

    def __bool__(self) -> bool:
        return bool(self.targets or self.dropped)

    def applied(self, labels: Iterable[Label]) -> dict[Label, Label]:
        """Return what each label is read as, without those that are left out."""
        read_as = {label: self.targets.get(label, label) for label in labels}
        return {label: target for label, target in read_as.items() if self.dropped.isdisjoint((label, target))}

    def read(self, split: str, counts: Mapping[Label, int], notes: list[str]) -> dict[Label, Label]:
        """Return what each class of a split is read as. Notes tell of those that change."""
        self.seen.update(counts)
        read_as = self.applied(counts)
        changed = [f"{_counted(label, counts)} as {quoted(name)}" for label, name in read_as.items() if label != name]
        left_out = [_counted(label, counts) for label in counts if label not in read_as]
        for what, labels in (("read as others", changed), ("left out (--drop_labels)", left_out)):
            if labels:
                notes.append(f"{split}: labels that are {what}: {', '.join(labels)}")
        return read_as

    def check_used(self) -> None:
        """Raise `DataError` if `--label_map` or `--drop_labels` names a label that no split has."""
        given = {**dict.fromkeys(self.targets, "--label_map"), **dict.fromkeys(self.dropped, "--drop_labels")}
        for source, option in given.items():
            if source not in self.seen:
                known = list(map(str, self.seen))
                names = f"{', '.join(map(repr, known[:20]))}{did_you_mean(source, known)}"
                raise DataError(f"{option}: no row has the label {source!r}; labels: {names}")


# Warnings, and the options that are proposed


def find_doubts(
    cells: Sequence[object], counts: Mapping[Label, int], is_one_class: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of options that would mend what is probably wrong with the labels, and warnings.

    cells, counts: those of train, and the rows of each class. is_one_class: a text has one.
    """
    options: dict[str, Any] = {}
    warnings = _type_warnings(cells)
    if found := [label for label in counts if is_placeholder(label)]:
        options["drop_labels"] = list(map(str, found))
        listed = ", ".join(_counted(label, counts) for label in found)
        option = shlex.join(["--drop_labels", *options["drop_labels"]])
        warnings.append(f"labels that are probably placeholders: {listed}; if they are, add {option}")
    if proposed := proposed_label_map(counts):
        options["label_map"] = proposed
        listed = "; ".join(f"{_counted(source, counts)} of {_counted(to, counts)}" for source, to in proposed.items())
        option = shlex.join(["--label_map", *(f"{source}={target}" for source, target in proposed.items())])
        warnings.append(f"labels that are probably variants of one class: {listed}; if they are, add {option}")
    joined = Counter[Label]()
    for label, count in counts.items():
        joined[proposed.get(label, label)] += count
    return options, [*warnings, *_size_warnings(joined, is_one_class)]


def proposed_label_map(counts: Mapping[Label, int]) -> dict[Label, Label]:
    """Return {label: the label that it probably stands for}: the most frequent of its variants.

    They differ only by case, by compatibility characters, or by blanks, hyphens and underscores between letters.
    """
    groups: dict[str, list[Label]] = {}
    for label in sorted(counts, key=lambda label: (-counts[label], str(label))):
        if isinstance(label, str) and "=" not in label:  # which --label_map divides
            groups.setdefault(_BETWEEN_LETTERS.sub("", normalised(label)), []).append(label)
    return {label: group[0] for group in groups.values() for label in group[1:]}


def _size_warnings(counts: Mapping[Label, int], is_one_class: bool) -> list[str]:
    """Return warnings on small classes, and on classes of very unlike sizes."""
    warnings = []
    if small := [label for label in sorted(counts, key=str) if counts[label] < LEAST_ROWS]:
        large = [str(label) for label in counts if counts[label] >= LEAST_ROWS]
        shown = small[:MOST_SHOWN]  # a comparison with each of thousands of classes would take minutes
        misspelt = {label: found for label in shown if (found := _likely_class(str(label), large))}
        likes = {label: f", like {quoted(found)}" for label, found in misspelt.items()}
        listed = some([f"{quoted(label)} ({counts[label]}{likes.get(label, '')})" for label in small], MOST_SHOWN)
        others = [str(label) for label in shown if label not in misspelt]
        ways = ["add rows"]
        if others and len(counts) - len(small) > 1:
            ways.append(f"leave theirs out by {shlex.join(['--drop_labels', *others])}")
        if misspelt:
            maps = [f"{label}={found}" for label, found in misspelt.items()]
            ways.append(f"read misspelt ones as others by {shlex.join(['--label_map', *maps])}")
        advice = f"; {', or '.join(ways)}" if len(ways) > 1 else ""
        warnings.append(f"classes with fewer than {LEAST_ROWS} rows can hardly be learned: {listed}{advice}")
    if is_one_class and counts and is_imbalanced(Counter(counts).elements()):
        (frequent, most), *_, (rare, fewest) = Counter(_learnable(counts)).most_common()
        what = f"{quoted(frequent)} has {most / fewest:,.0f} times as many rows as {quoted(rare)}"
        advice = "macro F1 decides, and --class_weights balanced makes rare classes count more"
        warnings.append(f"imbalanced classes: {what}; if the training split is imbalanced, {advice}")
    return warnings


def _likely_class(label: str, classes: Sequence[str]) -> str | None:
    """Return the class of which a label is probably a misspelling, unlike a numbered one."""
    is_word = not any(sign.isdigit() or sign == "=" for sign in label)  # --label_map divides at the sign =
    close = get_close_matches(label, classes, 1, MISSPELT) if is_word else []
    return close[0] if close else None


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


def _type_warnings(cells: Iterable[object]) -> list[str]:
    """Return a warning if the cells of JSON or Parquet spell the labels in several types, such as 1, "1" and true."""
    counts = Counter(json.dumps(cell, ensure_ascii=False) for cell in cells if isinstance(cell, int | str))
    others = {spelled for spelled in counts if not spelled.startswith('"')}
    truths = others & {"true", "false"}
    if not any(f'"{spelled}"' in counts for spelled in others) and (not truths or truths == others):
        return []
    listed = ", ".join(f"{spelled} ({counted(count, 'row')})" for spelled, count in counts.most_common(MOST_SHOWN))
    what = "texts of integers are read as integers, true as True; write one type, or join the classes with --label_map"
    return [f"labels of several types in one column: {listed}; {what}"]
