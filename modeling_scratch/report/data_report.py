# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A report on labelled texts before any training: as text, or as one HTML page.

It describes the splits that `load_splits` returns, which are those that training would use.
"""

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from .. import presets
from ..data.columns import Label
from ..data.label_types import ClassSet, Number
from ..data.labelled_texts import ReviewData, load_splits
from ..data.labels import as_pairs, parse_label_map
from ..data.splits import DataArguments
from ..data.text_pairs import parts_of, shortened
from ..tasks import every
from ..utils.errors import DataError, counted, quoted
from ..utils.files import check_output, write_text
from ..utils.markdown import excerpt
from ..utils.options import option
from ..utils.terminal import told
from .doubtful_labels import HEADS, DoubtfulLabel, find_doubtful_labels, save_doubtful_labels
from .sections import Section, as_page, as_text

MOST_LABELS, MOST_CONFLICTS, LONGEST_LABEL = 50, 200, 24
SPECIAL_TOKENS = 2
LONGEST_START = 10_000  # bytes
PATHS = ("data_dir", "train_file", "validation_file", "test_file")
OUTPUTS = {"output": (".html", ".htm"), "check_labels": (".csv",)}  # and their suffixes
SHOWN, LONGEST = 20, 80  # labels in doubt, and characters of their texts
TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass
class DataReportArguments(DataArguments):
    """The data of a report, and the page to write."""

    RETIRED = {"--write_label_map": "write the pairs that the report proposes into a csv file of source,target"}

    max_length: int = option(
        presets.ENCODERS["reviews"]().max_position_embeddings,
        "The maximum number of tokens in training; here, tokens are words and punctuation marks.",
    )
    output: str | None = option(None, "A file for the report as one HTML page: report.html.")
    check_labels: str | None = option(
        None, "A csv file for the texts whose labels a cross-validated linear model disputes."
    )
    overwrite: bool = option(False, "Replace the output files.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.uses_demo:
            raise DataError("name a table or a folder: modeling-scratch data my_reviews, or --dataset_name")
        for name in OUTPUTS:
            if (value := getattr(self, name)) is not None:
                self._check_output(name, value)

    def _check_output(self, name: str, value: str) -> None:
        if Path(value).suffix.lower() not in OUTPUTS[name]:
            raise DataError(f"--{name} {value}: use the suffix {OUTPUTS[name][0]}")
        if name != "output" and self.data_dir and Path(value).resolve().is_relative_to(Path(self.data_dir).resolve()):
            raise DataError(f"--{name} {value}: a table in the folder of the data; name a file in another folder")
        for source in (self.train_file, self.validation_file, self.test_file):
            check_output(f"--{name}", value, source, self.overwrite)


def with_source(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the option of the table or the folder that they start with."""
    if not arguments or arguments[0].startswith("-"):
        return list(arguments)
    return ["--data_dir" if Path(arguments[0]).is_dir() else "--train_file", *arguments]


def report(arguments: DataReportArguments) -> None:
    """Print the report on the data, and write it as a page. Raises `DataError` for data that training would refuse."""
    with told("reading the data"):
        data = _load(arguments)
        sections = sections_of(data, arguments)
    with told("looking for doubtful labels"):
        doubtful = find_doubtful_labels(data) if arguments.check_labels else None
    doubts = [doubts_section(doubtful, data)] if doubtful is not None else []
    print("\n\n".join(map(as_text, [*sections, *doubts, *_commands(arguments, data)])))
    if arguments.output:
        commands = _commands(arguments, data, without_folders=True)
        # A page may be passed on: it has no texts.
        doubts = [doubts_section(doubtful, data, with_texts=False)] if doubtful is not None else []
        write_text(Path(arguments.output), as_page([*sections, *doubts, *commands]))
        print(f"\nwritten: {arguments.output}")
    if arguments.check_labels and doubtful is not None:
        save_doubtful_labels(doubtful, Path(arguments.check_labels))
        print(f"\nwritten: {arguments.check_labels}")


def _load(arguments: DataReportArguments) -> ReviewData:
    """Load the splits. Raises `DataError` for data that training would refuse, or that another command trains on."""
    try:
        return load_splits(arguments)
    except DataError as error:
        path, has_names = arguments.train_file, arguments.text_column or arguments.label_column
        if path and not has_names and (command := _other_command(Path(path))):
            raise DataError(
                f"{path}: not a table of texts and labels: `modeling-scratch {command} --train_file {path}` trains on "
                "such files, and prints what it finds in them before it starts"
            ) from error
        raise


def _other_command(path: Path) -> str | None:
    """Return the command that trains on a file which is no table of texts and labels."""
    start = b""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(LONGEST_START)
    found = (task for task in every() if path.suffix.lower() in task.files or re.search(task.keys, start))
    return next((task.program.replace("_", "-") for task in found), None)


def sections_of(data: ReviewData, arguments: DataReportArguments) -> list[Section]:
    """Return the sections of the report, without the command to train."""
    lengths, cut = _lengths(data, arguments.max_length)
    return [
        Section("Labels", table=_labels(data)),
        Section("Lengths", table=lengths),
        Section("To check", data.warnings or ["nothing was found"]),
        *([Section("Texts with different labels", table=_conflicts(data))] if data.conflicts else []),
        Section("What training does with the data", [*data.notes, *cut]),
    ]


def _labels(data: ReviewData) -> list[list[str]]:
    if isinstance(data.label_type, Number):
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
    if isinstance(data.label_type, ClassSet):
        return Counter(dict(enumerate(data.label_type.array(column).sum(0).astype(int).tolist())))
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


def doubts_section(found: Sequence[DoubtfulLabel], data: ReviewData, with_texts: bool = True) -> Section:
    """Return the labels in doubt, the most probable errors first."""
    what = f"{counted(len(found), 'label')} of {counted(sum(map(len, data.splits.values())), 'text')} in doubt"
    line = f"{what}: TF-IDF with logistic regression, trained on other texts, is sure of another class"
    first = f"{line}. The first {SHOWN}:" if len(found) > SHOWN else line
    rows = [[*each[:-1], textwrap.shorten(shortened(each.text), LONGEST, placeholder=" …")] for each in found[:SHOWN]]
    columns = len(HEADS) + with_texts
    return Section("Labels to check", [first], [row[:columns] for row in ([*HEADS, "text"], *rows)] if found else ())


def _commands(arguments: DataReportArguments, data: ReviewData, without_folders: bool = False) -> list[Section]:
    """Return the command to train, and where labels are probably one class, the one that reads them so."""
    sections = [Section("Train", command=training_command(arguments, without_folders))]
    if as_pairs(data.proposed):
        title, merged = "Train with the label variants merged", as_pairs(joined_map(arguments, data))
        sections.append(Section(title, command=training_command(arguments, without_folders, label_map=merged)))
    return sections


def joined_map(arguments: DataReportArguments, data: ReviewData) -> dict[Label, Label]:
    """Return the given map of labels, and the proposed one, to whose targets it leads."""
    given = parse_label_map(arguments.label_map or ())
    return {source: data.proposed.get(target, target) for source, target in given.items()} | dict(data.proposed)


def training_command(arguments: DataReportArguments, without_folders: bool = False, **changed: Any) -> str:
    """Return the command that trains on the data of a report: its options. Settings follow from the number of texts.

    without_folders: of files, show the names alone, as a page may be passed on. changed: other values of options.
    """
    given = []
    for each in fields(DataArguments):
        if (value := changed.get(each.name, getattr(arguments, each.name))) != each.default:
            if without_folders and each.name in PATHS:
                value = Path(value).resolve().name
            if without_folders and each.name == "label_map":
                value = [pair if "=" in pair else Path(pair).name for pair in value]
            given += [f"--{each.name}", *map(str, value if isinstance(value, list) else [value])]
    if arguments.max_length != DataReportArguments.max_length:
        given += ["--max_length", str(arguments.max_length)]
    source = Path(arguments.train_file or arguments.data_dir or arguments.dataset_name).resolve()
    output = ["--output_dir", _free(f"runs/{source.name.partition('.')[0] or 'mine'}")]
    return shlex.join(["modeling-scratch", "train-classifier", *given, *output])


def _free(folder: str) -> str:
    """Return the folder, or the first of folder-2, folder-3 and so on that does not exist."""
    found, number = folder, 2
    while Path(found).exists():
        found, number = f"{folder}-{number}", number + 1
    return found
