# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report on labelled texts says of them: labels, lengths, what to check, and labels in doubt."""

import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..data.label_kinds import ClassSet, Number
from ..data.labelled_texts import ReviewData
from ..data.text_pairs import from_fields, parts_of, shortened
from ..utils.errors import counted, quoted
from ..utils.markdown import excerpt
from .doubtful_labels import HEADS
from .sections import Section

MOST_LABELS, MOST_CONFLICTS, LONGEST_LABEL = 50, 200, 24
SPECIAL_TOKENS = 2
SHOWN, LONGEST = 20, 80  # labels in doubt, and characters of their texts
TOKEN = re.compile(r"\w+|[^\w\s]")


def sections_of(data: ReviewData, max_length: int) -> list[Section]:
    """Return the sections of the report, without the command to train."""
    lengths, cut = _lengths(data, max_length)
    return [
        Section("Labels", table=_labels(data)),
        Section("Lengths", table=lengths),
        Section("To check", data.warnings or ["nothing was found"]),
        *([Section("Texts with different labels", table=_conflicts(data))] if data.conflicts else []),
        Section("What training does with the data", [*data.notes, *cut]),
    ]


def _labels(data: ReviewData) -> list[list[str]]:
    if isinstance(data.kind, Number):
        return _numbers(data)
    counts = {split: _class_counts(data, split) for split in data.splits}
    order = sorted(range(len(data.label_names)), key=lambda label: -counts["train"][label])
    rows = [
        [excerpt(data.label_names[label], LONGEST_LABEL), *(f"{count[label]:,}" for count in counts.values())]
        for label in order[:MOST_LABELS]
    ]
    more = [[f"{len(order) - MOST_LABELS:,} other labels", *("" for _ in counts)]] if len(order) > MOST_LABELS else []
    return [["label", *counts], *rows, *more, ["all texts", *(f"{len(split):,}" for split in data.splits.values())]]


def _conflicts(data: ReviewData) -> list[list[str]]:
    """Return the labels and places of each text with different labels; the texts are left to the files."""
    places = [
        ["; ".join(f"{quoted(label)} in {where}" for label, where in labels.items())]
        for labels in data.conflicts[:MOST_CONFLICTS]
    ]
    more = len(data.conflicts) - MOST_CONFLICTS
    return [["labels of one text"], *places, *([[f"{more:,} other texts"]] if more > 0 else [])]


def _class_counts(data: ReviewData, split: str) -> Counter[int]:
    """Return the number of texts that have each class."""
    column = data.splits[split]["label"][:]
    if isinstance(data.kind, ClassSet):
        return Counter(dict(enumerate(data.kind.array(column).sum(0).astype(int).tolist())))
    return Counter(column)


def _numbers(data: ReviewData) -> list[list[str]]:
    shares = {"lowest": 0, "quartile 1": 0.25, "median": 0.5, "quartile 3": 0.75, "highest": 1}
    rows = [
        [name, *(f"{np.quantile(data.labels(split), share):.4g}" for split in data.splits)]
        for name, share in shares.items()
    ]
    return [[excerpt(data.label_names[0], LONGEST_LABEL), *data.splits], *rows]


def _lengths(data: ReviewData, limit: int) -> tuple[list[list[str]], list[str]]:
    """Return the table of the lengths in words, and notes on texts of more tokens than the limit."""
    table = [["words of a text", "quartile 1", "median", "quartile 3", "longest", f"above {limit} tokens"]]
    notes = []
    for split, rows in data.splits.items():
        texts = _read_texts(data, split)
        words = np.quantile([len(text.split()) for text in texts], [0.25, 0.5, 0.75, 1]).round()
        cut = sum(len(TOKEN.findall(text)) + SPECIAL_TOKENS > limit for text in texts)
        table.append([split, *(f"{int(number):,}" for number in words), f"{cut / rows.num_rows:.1%}"])
        if cut:
            what = f"{counted(cut, 'text')} of more than {limit} tokens"
            notes.append(f"{split}: about {what}, which training truncates (--max_length)")
    return table, notes


def _read_texts(data: ReviewData, split: str) -> list[str]:
    """Return the texts of a split, the two of a pair behind each other."""
    return [" ".join(parts_of(text)) for text in data.texts(split)]


def doubts_section(found: Sequence[Mapping[str, str]], data: ReviewData, with_texts: bool = True) -> Section:
    """Return the labels in doubt, the most probable errors first."""
    what = f"{counted(len(found), 'label')} of {counted(sum(map(len, data.splits.values())), 'text')} in doubt"
    line = f"{what}: TF-IDF with logistic regression, trained on other texts, is sure of another class"
    first = f"{line}. The first {SHOWN}:" if len(found) > SHOWN else line
    rows = [[each[head] for head in HEADS] for each in found[:SHOWN]]
    heads = [*HEADS, *(["text"] if with_texts else [])]
    if with_texts:
        texts = (shortened(from_fields(each)) for each in found)
        rows = [[*row, textwrap.shorten(text, LONGEST, placeholder=" …")] for row, text in zip(rows, texts)]
    return Section("Labels to check", [first], [heads, *rows] if found else ())
