# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A report on labelled texts before any training.

It describes the splits that `load_splits` returns, which are those that training would use.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .. import presets
from ..data.columns import Label
from ..data.labelled_texts import ReviewData, load_splits
from ..data.labels import as_pairs, parse_label_map
from ..data.splits import DataArguments
from ..utils.errors import DataError
from ..utils.files import check_output
from ..utils.options import option
from ..utils.terminal import told
from .data_sections import doubts_section, section, sections_of
from .doubtful_labels import find_doubtful_labels, save_doubtful_labels


@dataclass
class DataReportArguments(DataArguments):
    """The data of a report, and the table of doubtful labels to write."""

    RETIRED = {
        "--write_label_map": "write the pairs that the report proposes into a csv file of source,target",
        "--output": "write what is printed into a file: modeling-scratch data reviews.csv > report.md",
    }

    max_length: int = option(
        presets.ENCODERS["reviews"]().max_position_embeddings,
        "The maximum number of tokens in training; here, tokens are words and punctuation marks.",
    )
    check_labels: str | None = option(
        None, "A csv file for the texts whose labels a cross-validated linear model disputes."
    )
    overwrite: bool = option(False, "Replace the file of --check_labels.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.uses_demo:
            raise DataError("name a table or a folder: modeling-scratch data my_reviews, or --dataset_name")
        if (output := self.check_labels) is None:
            return
        if Path(output).suffix.lower() != ".csv":
            raise DataError(f"--check_labels {output}: use the suffix .csv")
        if self.data_dir and Path(output).resolve().is_relative_to(Path(self.data_dir).resolve()):
            raise DataError(f"--check_labels {output}: in the folder of the data; name a file in another folder")
        for source in (self.train_file, self.validation_file, self.test_file):
            check_output("--check_labels", output, source, self.overwrite)


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
    if arguments.check_labels:
        with told("looking for doubtful labels"):
            doubtful = find_doubtful_labels(data)
        save_doubtful_labels(doubtful, Path(arguments.check_labels))
        sections.append(f"{doubts_section(doubtful, data)}\n\nwritten: {arguments.check_labels}")
    sections.append(section("Train", training_command(arguments)))
    if as_pairs(data.proposed):
        merged = training_command(arguments, label_map=as_pairs(joined_map(arguments, data)))
        sections.append(section("Train with the label variants merged", merged))
    print("\n\n".join(sections))


def joined_map(arguments: DataReportArguments, data: ReviewData) -> dict[Label, Label]:
    """Return the given map of labels, and the proposed one, to whose targets it leads."""
    given = parse_label_map(arguments.label_map or ())
    return {source: data.proposed.get(target, target) for source, target in given.items()} | dict(data.proposed)


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
    output = ["--output_dir", _free(f"runs/{source.name.partition('.')[0] or 'mine'}")]
    return shlex.join(["modeling-scratch", "train-classifier", *given, *output])


def _free(folder: str) -> str:
    """Return the folder, or the first of folder-2, folder-3 and so on that does not exist."""
    found, number = folder, 2
    while Path(found).exists():
        found, number = f"{folder}-{number}", number + 1
    return found
