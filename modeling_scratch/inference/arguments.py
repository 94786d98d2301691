# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The arguments of a prediction: model, input, output, and what the answers contain."""

import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..bridges.model_sources import ALLOW_SPECIAL_TOKENS
from ..data.columns import find_text_columns
from ..data.tables import READERS, TableArguments, is_review_folder, open_table
from ..data.text_files import CONLL, format_of, unknown_format
from ..data.text_pairs import TEXT_COLUMN_HELP, TEXT_FIELDS, TextColumns, as_recorded, column_names, trained_columns
from ..utils.errors import DataError
from ..utils.files import MAX_FILE_SIZE, MAX_FILE_SIZE_HELP, check_inputs, check_output
from ..utils.options import REQUIRED, option

ALL = "all"  # of --top_k
SCORE = "score_"  # and the name of a class: a column of its scores, by --top_k all
UNKNOWN_WORDS = "unknown_words"  # a column of lines of JSON that have some


@dataclass
class InputAndOutput:
    """The model, input and output of a prediction run."""

    model: str = option(
        REQUIRED,
        "A classifier, a tagger, a translator, or a model that answers questions: a folder or a name on the Hub.",
    )
    input: str = option(
        "-",
        "A csv, tsv, jsonl, json, parquet or xlsx file, or txt (for a translator: any suffix) with one text per line; "
        "-: standard input.",
    )
    max_file_size: float = option(MAX_FILE_SIZE, MAX_FILE_SIZE_HELP)
    output: str = option("-", "The output file, jsonl or csv; -: standard output.")
    format: Literal["jsonl", "csv"] | None = option(None, "The output format; inferred from the file name, else jsonl.")


@dataclass
class PredictArguments(TableArguments, InputAndOutput):
    """A prediction run: what it reads, what the answers contain, and how the model computes them."""

    RETIRED = {
        "--explain": "use `modeling-scratch explain`, whose page shows what each word adds to an answer",
        "--precision int8": "use --precision bfloat16, or `modeling-scratch export --format onnx`",
    }
    text_column: TextColumns = option(None, TEXT_COLUMN_HELP)
    keep_columns: list[str] | None = option(
        None, "Columns of the table to copy to the output; one that the answers have, too, becomes given_NAME."
    )
    with_text: bool = option(False, "Include the text in each output row.")
    top_k: str | None = option(
        None, "Add this many of the most likely classes with their probabilities; all: every class."
    )
    threshold: float | None = option(
        None, "The lowest probability of a label. By default, a text gets one label, or of several those above 0.5."
    )
    overwrite: bool = option(False, "Replace the output file.")
    batch_size: int = option(
        32, "Texts per batch; on a CPU, batches are further limited to 2,048 tokens, but hold at least one text."
    )
    max_length: int | None = option(None, "The maximum number of tokens; the tokenizer's by default.")
    device: str | None = option(None, "cpu, cuda, cuda:1, ...; by default an available accelerator.")
    precision: Literal["float32", "bfloat16"] = option(
        "float32", "The precision of the weights; on a CPU, bfloat16 pays off for large models."
    )
    allow_special_tokens: bool = option(False, ALLOW_SPECIAL_TOKENS)
    trust_remote_code: bool = option(False, "Allow the checkpoint's own code to run.")
    no_progress: bool = option(False, "Disable the progress bar, which is shown only on a terminal.")

    def __post_init__(self) -> None:
        output = Path(self.output)
        if self.format is None and self.output != "-" and output.suffix.lower() not in (".jsonl", ".csv"):
            raise DataError(f"--output {output}: unknown format; use the suffix .jsonl or .csv, or set --format")
        self.kept: dict[str, str] = {}  # the columns to copy, by their names in the output
        self.format = self.format or ("csv" if output.suffix.lower() == ".csv" else "jsonl")
        if self.top_k not in (None, ALL) and not (str(self.top_k).isdecimal() and int(str(self.top_k)) > 0):
            raise DataError(f"--top_k {self.top_k}: must be {ALL} or an integer from 1")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise DataError(f"--threshold {self.threshold}: must be from 0 to 1")
        if self.batch_size < 1:
            raise DataError(f"--batch_size {self.batch_size}: must be at least 1")
        check_inputs([self.input], self.max_file_size)
        self.text_column = as_recorded(self.text_column)
        if (names := column_names(self.text_column)) and not self.is_table:
            raise DataError(f"--text_column {' '.join(names)}: requires a table ({', '.join(READERS)})")
        _ = self.form  # which checks it
        if self.keep_columns and not self.is_table:
            raise DataError(f"--keep_columns {self.keep_columns[0]}: requires a table ({', '.join(READERS)})")
        check_output("--output", self.output, self.input, self.overwrite)

    def name_columns(self, are_fixed: bool = False, has_lines: bool = False) -> None:
        """Name the text columns of a table if nobody has: those that the model was trained on, or the one of texts.

        Print them, and the delimiter. Raises `DataError` for a file of another format, or without such a column.
        are_fixed: whether the columns have the names of the model's fields. has_lines: whether other files, such as
        test.en, have a text a line.
        """
        path = Path(self.input)
        if path.is_file() and format_of(path) not in (".txt", *READERS) and not has_lines:
            raise unknown_format(path, [".txt", *READERS])
        if not self.is_table:
            return
        table = open_table(path, self.form)
        notes = list(table.notes)
        if not self.text_column and not are_fixed:
            trained = trained_columns(self.model)
            table = table.as_in_training(trained)
            self.no_header = not table.has_header
            names = find_text_columns(table, trained)
            self.text_column = as_recorded(list(names))
            notes += table.header_notes(name for name in names if name not in trained)
            notes.append(f"text column{'s' * (len(names) > 1)}: {' and '.join(map(repr, names))}")
        print("".join(f"{note}\n" for note in notes), end="", file=sys.stderr)

    def keep_beside(self, columns: Collection[str]) -> None:
        """Name the columns to keep in the output: those of the table, and given_NAME for one of the answers."""
        taken = {"row", UNKNOWN_WORDS, *columns}
        for name in self.keep_columns or ():
            new = name
            while new in taken or (self.top_k == ALL and new.startswith(SCORE)):
                new = f"given_{new}"
            self.kept[new] = name
            taken.add(new)

    @property
    def texts(self) -> dict[str, str]:
        """The text columns to copy, by their names in the output."""
        return dict(zip(TEXT_FIELDS, column_names(self.text_column))) if self.with_text else {}

    @property
    def has_pairs(self) -> bool:
        return len(column_names(self.text_column)) == 2

    @property
    def is_table(self) -> bool:
        """Whether rows have columns: those of CoNLL, too, and the text and the label of files in folders."""
        return format_of(Path(self.input)) in (*READERS, *CONLL) or is_review_folder(Path(self.input))
