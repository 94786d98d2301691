# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels that are probably one class: warn of them, propose a mapping, and apply the one that is given."""

import difflib
import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..utils.errors import DataError, counted, quoted, some
from .columns import Label, is_missing, label_key, normalised
from .label_types import MAX_CLASSES, parse_class
from .tables import did_you_mean, read_rows

LABEL_MAP_HELP = (
    'Labels to read as another one: source=target, e.g. Biling=billing "log in=login", or a csv file with the columns '
    "source and target."
)
DROP_LABELS_HELP = "Placeholder labels such as N/A, whose rows are left out."
PLACEHOLDERS = {"n/a", "na", "nan", "none", "null", "nil", "unknown", "undefined", "tbd", "-", "?", r"\n"}  # \N: of SQL
LABEL_MAP_COLUMNS = "source", "target"
RARE_RATIO = 10  # a typo is at least so many times rarer than the label that was meant
MOST_TYPOS = 20  # rows with the same one; a label of more rows is meant
TYPO_SIMILARITY = 0.8  # of difflib's ratio
LEAST_ROWS = 5  # of a class that can be learned
IMBALANCE = 9  # a greater ratio of class sizes is high (Fernández et al. 2018, Learning from Imbalanced Data Sets)
NEGATION = re.compile("(un|in|im|il|ir|dis|non|not|no)[ -]?")
LONGEST_LABEL = 40  # longer ones are texts, and compared by case alone
MOST_SHOWN = 10  # labels in a warning
SEPARATORS = "|;,"  # of labels in a cell, as tables have them
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")


# The map that is given


def parse_label_map(pairs: Sequence[str]) -> dict[Label, Label]:
    """Return {key of a source label: target label} of `source=target` pairs, or of files with such pairs.

    Raises `DataError` for a pair without two sides, for a source with two targets, and for a target that is a source.
    """
    parsed: dict[Label, Label] = {}
    for where, sides in _sides(pairs):
        labels = [parse_class(side, f"--label_map {where}") for side in sides]
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
        for row in read_rows(Path(pair), LABEL_MAP_COLUMNS):
            yield row.where, list(row.values.values())


@dataclass
class LabelMap:
    """The class that each class is read as, in all splits: that of `--label_map`, then its usual spelling.

    dropped: the keys of classes that mean that there is none. seen: the spelling of each key that a split has.
    """

    targets: dict[Label, Label] = field(default_factory=dict)
    dropped: Collection[Label] = ()
    spellings: dict[Label, Label] = field(default_factory=dict)
    seen: dict[Label, Label] = field(default_factory=dict)

    def read(
        self, split: str, counts: Mapping[Label, int], declared: Sequence[str], notes: list[str]
    ) -> dict[Label, Label]:
        """Return what each class of a split is read as, without those that are left out. Notes tell of both.

        counts: of the classes, the most frequent first. declared: names of classes, which keep their spelling.
        """
        read_as: dict[Label, Label] = {}
        for name in declared:
            self.spellings.setdefault(label_key(name), name)
        for label, count in counts.items():
            self.seen.setdefault(label_key(label), label)
            target = self.targets.get(label_key(label), label)
            if self.is_dropped(label):
                notes.append(f"{split}: left out the label {quoted(label)} of {counted(count, 'row')} (--drop_labels)")
            else:
                spelling = self.spellings.setdefault(label_key(target), target)
                read_as[label] = target if target in declared else spelling
        changed = [
            f"{_counted(label, counts)} as {quoted(target)}" for label, target in read_as.items() if label != target
        ]
        if changed:
            notes.append(f"{split}: labels that are read as others: {', '.join(changed)}")
        return read_as

    def is_dropped(self, label: Label) -> bool:
        """Return whether the class, or the one that it is read as, is left out."""
        target = self.targets.get(label_key(label), label)
        return label_key(label) in self.dropped or label_key(target) in self.dropped

    def applied(self, declared: Sequence[Label]) -> list[Label]:
        """Return the declared classes without those that are dropped, or read as another one."""
        kept = (name for name in declared if not self.is_dropped(name))
        return list(dict.fromkeys(self.targets.get(label_key(name), name) for name in kept))

    def check_used(self) -> None:
        """Raise `DataError` if `--label_map` or `--drop_labels` names a label that no split has."""
        given = {**dict.fromkeys(self.targets, "--label_map"), **dict.fromkeys(self.dropped, "--drop_labels")}
        for source, option in given.items():
            if source not in self.seen:
                known = list(map(str, self.seen.values()))
                names = f"{', '.join(map(repr, known[:20]))}{did_you_mean(source, known)}"
                raise DataError(f"{option}: no row has the label {source!r}; labels: {names}")


# The map that is proposed


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
        groups.setdefault(_BETWEEN_LETTERS.sub("", normalised(label_key(label))), []).append(label)
    totals = {folded: sum(counts[label] for label in group) for folded, group in groups.items()}
    kept: list[str] = []
    proposed: dict[Label, Label] = {}
    for folded in sorted(groups, key=lambda folded: -totals[folded]):
        meant = _meant_by(folded, totals, kept) if len(groups) <= MAX_CLASSES else None
        target = groups[meant or folded][0]
        kept += [] if meant else [folded]
        proposed.update((label, target) for label in groups[folded] if label != target)
    return proposed


def _meant_by(rare: str, totals: Mapping[str, int], kept: Sequence[str]) -> str | None:
    """Return the label that a rare one is probably a typo of."""
    if totals[rare] > MOST_TYPOS or len(rare) > LONGEST_LABEL:
        return None
    frequent = [other for other in kept if totals[other] >= RARE_RATIO * totals[rare] and _may_be_typo(rare, other)]
    return next(iter(difflib.get_close_matches(rare, frequent, 1, TYPO_SIMILARITY)), None)


def _may_be_typo(rare: str, frequent: str) -> bool:
    shorter, longer = sorted((rare, frequent), key=len)
    digits = [[*filter(str.isdigit, label)] for label in (rare, frequent)]
    is_other_word = len(longer) > len(shorter) * 4 / 3 or NEGATION.fullmatch(longer.removesuffix(shorter))
    return not is_other_word and digits[0] == digits[1]  # male and female are similar, too


def as_pairs(mapping: Mapping[Label, Label]) -> list[str]:
    """Return a mapping as the values of `--label_map`, without the labels with "=", which cannot be written."""
    return [f"{source}={target}" for source, target in mapping.items() if "=" not in f"{source}{target}"]


def as_options(mapping: Mapping[Label, Label]) -> str:
    """Return a mapping as an option of the command line, quoted for a shell; "" if no label of it can be written."""
    pairs = as_pairs(mapping)
    return " ".join(["--label_map", *map(shlex.quote, pairs)]) if pairs else ""


# Warnings


def placeholders(labels: Iterable[Label]) -> list[Label]:
    """Return the labels that probably stand for none."""
    return [label for label in labels if str(label_key(label)).casefold() in PLACEHOLDERS]


def label_warnings(counts: Mapping[Label, int], proposed: Mapping[Label, Label], is_one_class: bool) -> Iterator[str]:
    """Yield warnings on placeholders, probable variants of one class, small classes, and classes of very unlike sizes.

    counts: the rows of each class of train. is_one_class: a text has one.
    """
    if found := placeholders(counts):
        listed = ", ".join(_counted(label, counts) for label in found)
        option = " ".join(["--drop_labels", *(shlex.quote(str(label)) for label in found)])
        yield f"labels that are probably placeholders: {listed}; if they are, add {option}"
    if proposed:
        listed = "; ".join(f"{_counted(source, counts)} of {_counted(to, counts)}" for source, to in proposed.items())
        yield f"labels that are probably variants of one class: {listed}; if they are, add {as_options(proposed)}"
    joined = Counter[Label]()
    for label, count in counts.items():
        joined[proposed.get(label, label)] += count  # so that typos are not told again as rare classes
    if small := [
        f"{quoted(label)} ({count})" for label, count in sorted(joined.items(), key=str) if count < LEAST_ROWS
    ]:
        yield f"classes with fewer than {LEAST_ROWS} rows can hardly be learned: {some(small, MOST_SHOWN)}"
    sizes = _learnable(joined)
    frequent, rare = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    if is_one_class and (ratio := sizes[frequent] / sizes[rare]) > IMBALANCE:
        what = f"{quoted(frequent)} has {ratio:,.0f} times as many rows as {quoted(rare)}"
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
    counts = Counter((type(value), value) for value in cells if isinstance(value, int | float | str))
    kinds = {bool if kind is bool else str if issubclass(kind, str) else int for kind, _ in counts}
    spelled = {str(value).casefold() for kind, value in counts if not issubclass(kind, str)}
    is_spelled = any(str(value).strip().casefold() in spelled for kind, value in counts if issubclass(kind, str))
    if len(kinds) < 2 or not (is_spelled or {bool, int} <= kinds):
        return []
    listed = ", ".join(
        f"{json.dumps(value, ensure_ascii=False)} ({counted(count, 'row')})"
        for (_, value), count in counts.most_common(MOST_SHOWN)
    )
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
