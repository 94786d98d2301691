# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report on labelled texts says of them: labels, lengths, what to check, and labels in doubt."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import unescape

import numpy as np

from ..data.label_types import ClassSet, Number
from ..data.labelled_texts import ReviewData
from ..data.text_pairs import from_fields, parts_of, shortened
from ..utils.errors import counted, quoted
from ..utils.markdown import excerpt, table
from .doubtful_labels import HEADS

MOST_LABELS, MOST_CONFLICTS = 50, 200
LONGEST_LABEL, LONGEST_LINE = 24, 10_000  # characters
SPECIAL_TOKENS = 2
SHOWN, LONGEST = 20, 80  # labels in doubt, and characters of their texts
TOKEN = re.compile(r"\w+|[^\w\s]")


def section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *parts])


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table that a terminal can show, too: only the bars of its texts are escaped."""
    return unescape(table(heads, rows).replace(f"&#{ord('|')};", r"\|"))


def listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {excerpt(line, LONGEST_LINE)}" for line in lines)


def sections_of(data: ReviewData, max_length: int) -> list[str]:
    """Return the sections of the report as Markdown, without the command to train."""
    lengths, cut = _lengths(data, max_length)
    return [
        section("Labels", _labels(data)),
        section("Lengths", lengths),
        section("To check", listed(data.warnings or ["nothing was found"])),
        *([section("Labels of one text", _conflicts(data))] if data.conflicts else []),
        section("What training does with the data", listed([*data.notes, *cut])),
    ]


def _labels(data: ReviewData) -> str:
    if isinstance(data.label_type, Number):
        return _numbers(data)
    counts = {split: _class_counts(data, split) for split in data.splits}
    order = sorted(range(len(data.label_names)), key=lambda label: -counts["train"][label])
    rows = [
        [excerpt(data.label_names[label], LONGEST_LABEL), *(f"{count[label]:,}" for count in counts.values())]
        for label in order[:MOST_LABELS]
    ]
    if len(order) > MOST_LABELS:
        rows.append([f"{len(order) - MOST_LABELS:,} other labels", *("" for _ in counts)])
    return plain_table(
        ["label", *counts], [*rows, ["all texts", *(f"{len(split):,}" for split in data.splits.values())]]
    )


def _conflicts(data: ReviewData) -> str:
    """Return the labels and places of each text with different labels; the texts are left to the files."""
    places = [
        "; ".join(f"{quoted(label)} in {where}" for label, where in labels.items())
        for labels in data.conflicts[:MOST_CONFLICTS]
    ]
    more = len(data.conflicts) - MOST_CONFLICTS
    return listed([*places, *([f"{more:,} other texts"] if more > 0 else [])])


def _class_counts(data: ReviewData, split: str) -> Counter[int]:
    """Return the number of texts that have each class."""
    column = data.splits[split]["label"][:]
    if isinstance(data.label_type, ClassSet):
        return Counter(dict(enumerate(data.label_type.array(column).sum(0).astype(int).tolist())))
    return Counter(column)


def _numbers(data: ReviewData) -> str:
    shares = {"lowest": 0, "quartile 1": 0.25, "median": 0.5, "quartile 3": 0.75, "highest": 1}
    rows = [
        [name, *(f"{np.quantile(data.labels(split), share):.4g}" for split in data.splits)]
        for name, share in shares.items()
    ]
    return plain_table([excerpt(data.label_names[0], LONGEST_LABEL), *data.splits], rows)


def _lengths(data: ReviewData, limit: int) -> tuple[str, list[str]]:
    """Return the table of the lengths in words, and notes on texts of more tokens than the limit."""
    heads = ["words of a text", "quartile 1", "median", "quartile 3", "longest", f"above {limit} tokens"]
    lines, notes = [], []
    for split, rows in data.splits.items():
        texts = _read_texts(data, split)
        words = np.quantile([len(text.split()) for text in texts], [0.25, 0.5, 0.75, 1]).round()
        cut = sum(len(TOKEN.findall(text)) + SPECIAL_TOKENS > limit for text in texts)
        lines.append([split, *(f"{int(number):,}" for number in words), f"{cut / rows.num_rows:.1%}"])
        if cut:
            what = f"{counted(cut, 'text')} of more than {limit} tokens"
            notes.append(f"{split}: about {what}, which training truncates (--max_length)")
    return plain_table(heads, lines), notes


def _read_texts(data: ReviewData, split: str) -> list[str]:
    """Return the texts of a split, the two of a pair behind each other."""
    return [" ".join(parts_of(text)) for text in data.texts(split)]


def doubts_section(found: Sequence[Mapping[str, str]], data: ReviewData) -> str:
    """Return the labels in doubt, the most probable errors first."""
    what = f"{counted(len(found), 'label')} of {counted(sum(map(len, data.splits.values())), 'text')} in doubt"
    line = f"{what}: TF-IDF with logistic regression, trained on other texts, is sure of another class"
    first = f"{line}. The first {SHOWN}:" if len(found) > SHOWN else line
    rows = [[*(each[head] for head in HEADS), excerpt(shortened(from_fields(each)), LONGEST)] for each in found[:SHOWN]]
    return section("Labels to check", first, *([plain_table([*HEADS, "text"], rows)] if found else []))
