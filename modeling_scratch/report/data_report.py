# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A report on labelled texts before any training.

It describes the splits that `load_splits` returns, which are those that training would use.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from html import unescape
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from .. import presets
from ..data.label_types import ClassSet, Number
from ..data.labelled_texts import ReviewData, load_splits
from ..data.labels import parse_label_map
from ..data.splits import DataArguments
from ..data.text_pairs import parts_of
from ..utils.errors import DataError, counted, quoted
from ..utils.markdown import bullets, excerpt, table
from ..utils.options import option
from ..utils.terminal import told

MOST_LABELS, MOST_CONFLICTS = 50, 200
LONGEST_LABEL, LONGEST_LINE = 24, 10_000  # characters
SPECIAL_TOKENS = 2
QUARTILES = "quartile 1", "median", "quartile 3"
TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass
class DataReportArguments(DataArguments):
    """The data of a report."""

    RETIRED = {
        "--write_label_map": "write the pairs that the report proposes into a csv file of source,target",
        "--check_labels": "train, and read misclassified.csv of the run; cleanlab doubts the labels of all splits",
        "--output": "write what is printed into a file: modeling-scratch data reviews.csv > report.md",
    }

    max_length: int = option(
        presets.ENCODERS["reviews"]().max_position_embeddings,
        "The maximum number of tokens in training; here, tokens are words and punctuation marks.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.uses_demo:
            raise DataError("name a table or a folder: modeling-scratch data my_reviews, or --dataset_name")


def with_source(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the option of the table or the folder that they start with."""
    if not arguments or arguments[0].startswith("-"):
        return list(arguments)
    return ["--data_dir" if Path(arguments[0]).is_dir() else "--train_file", *arguments]


def report(arguments: DataReportArguments) -> None:
    """Print the report on the data as Markdown. Raises `DataError` for data that training would refuse."""
    with told("reading the data"):
        data = load_splits(arguments)
        sections = sections_of(data, arguments.max_length)
    sections.append(section("Train", training_command(arguments)))
    if options := advised(arguments, data):
        sections.append(section("Train with the proposed options", training_command(arguments, **options)))
    print("\n\n".join(sections))


def advised(arguments: DataReportArguments, data: ReviewData) -> dict[str, Any]:
    """Return the options of labels that the report proposes, with those that are given."""
    options = dict(data.proposed)
    if proposed := options.get("label_map"):  # the given map leads to the targets of the proposed one
        given = parse_label_map(arguments.label_map or ())
        merged = {source: proposed.get(target, target) for source, target in given.items()} | proposed
        options["label_map"] = [f"{source}={target}" for source, target in merged.items()]
    if "drop_labels" in options:
        options["drop_labels"] = [*(arguments.drop_labels or ()), *options["drop_labels"]]
    return options


def training_command(arguments: DataReportArguments, **changed: Any) -> str:
    """Return the command that trains on the data of a report: its options. Settings follow from the number of texts.

    changed: other values of options.
    """
    given = []
    for each in fields(DataArguments):
        if (value := changed.get(each.name, getattr(arguments, each.name))) != each.default:
            given += [f"--{each.name}", *map(str, value if isinstance(value, list) else [value])]
    if arguments.max_length != DataReportArguments.max_length:
        given += ["--max_length", str(arguments.max_length)]
    source = Path(arguments.train_file or arguments.data_dir or arguments.dataset_name).resolve()
    folder = f"runs/{source.name.partition('.')[0] or 'mine'}"
    free = next(name for name in chain([folder], (f"{folder}-{n}" for n in count(2))) if not Path(name).exists())
    return shlex.join(["modeling-scratch", "train-classifier", *given, "--output_dir", free])


# Sections


def section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *parts])


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table that a terminal can show, too: only the bars of its texts are escaped."""
    return unescape(table(heads, rows).replace(f"&#{ord('|')};", r"\|"))


def listed(lines: Sequence[str]) -> str:
    return bullets([excerpt(line, LONGEST_LINE) for line in lines])


def sections_of(data: ReviewData, max_length: int) -> list[str]:
    """Return the sections of the report as Markdown, without the command to train."""
    lengths, cut = _lengths(data, max_length)
    sections = [
        section("Labels", _numbers(data) if isinstance(data.label_type, Number) else _labels(data)),
        section("Lengths", lengths),
        section("To check", listed(data.warnings or ["nothing was found"])),
    ]
    if conflicts := data.conflicts():  # the texts are left to the files
        lines = ["; ".join(f"{quoted(label)} in {where}" for label, where in each.items()) for each in conflicts]
        more = [f"{len(lines) - MOST_CONFLICTS:,} other texts"] if len(lines) > MOST_CONFLICTS else []
        sections.append(section("Labels of one text", listed([*lines[:MOST_CONFLICTS], *more])))
    return [*sections, section("What training does with the data", listed([*data.notes, *cut]))]


def _labels(data: ReviewData) -> str:
    """Return the number of texts that have each class."""
    are_sets = isinstance(data.label_type, ClassSet)
    classes = range(len(data.label_names))
    counts = [
        data.labels(split).sum(0).astype(int) if are_sets else np.bincount(data.labels(split), minlength=len(classes))
        for split in data.splits
    ]
    order = sorted(classes, key=lambda label: -counts[0][label])
    rows: list[list[object]] = [
        [excerpt(data.label_names[label], LONGEST_LABEL), *(f"{count[label]:,}" for count in counts)]
        for label in order[:MOST_LABELS]
    ]
    if len(order) > MOST_LABELS:
        rows.append([f"{len(order) - MOST_LABELS:,} other labels", *("" for _ in counts)])
    rows.append(["all texts", *(f"{len(split):,}" for split in data.splits.values())])
    return plain_table(["label", *data.splits], rows)


def _numbers(data: ReviewData) -> str:
    rows = [
        [name, *(f"{np.quantile(data.labels(split), share):.4g}" for split in data.splits)]
        for name, share in zip(("lowest", *QUARTILES, "highest"), (0, 0.25, 0.5, 0.75, 1))
    ]
    return plain_table([excerpt(data.label_names[0], LONGEST_LABEL), *data.splits], rows)


def _lengths(data: ReviewData, limit: int) -> tuple[str, list[str]]:
    """Return the table of the lengths in words, and notes on texts of more tokens than the limit."""
    lines, notes = [], []
    for split, rows in data.splits.items():
        texts = [" ".join(parts_of(text)) for text in data.texts(split)]  # the two of a pair behind each other
        words = np.quantile([len(text.split()) for text in texts], [0.25, 0.5, 0.75, 1]).round()
        cut = sum(len(TOKEN.findall(text)) + SPECIAL_TOKENS > limit for text in texts)
        lines.append([split, *(f"{int(number):,}" for number in words), f"{cut / rows.num_rows:.1%}"])
        if cut:
            what = f"{counted(cut, 'text')} of more than {limit} tokens"
            notes.append(f"{split}: about {what}, which training truncates (--max_length)")
    return plain_table(["words of a text", *QUARTILES, "longest", f"above {limit} tokens"], lines), notes
