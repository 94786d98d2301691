# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classify texts with any checkpoint of a text classifier, in files of any size, in the order they came.

    python scripts/predict.py --model runs/demo --input reviews.csv --output labels.jsonl
    cat lines.txt | python scripts/predict.py --model runs/demo | head

A result has `row` (the first of the input is 1), `label` and `score`: the probability of the likeliest label; all
labels and their probabilities, as lists, where a text can have several (config.problem_type); or the number itself of
a regression. Rows without a text are kept, with neither label nor score. The output file appears once it is complete.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from text_columns import is_missing, read_texts
from text_files import DataError
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

import modeling_scratch  # noqa: F401  its models become known to the Auto classes

# Texts are sorted by length within a chunk: enough of them to leave hardly any padding, few enough for any memory.
CHUNK_TEXTS = 8_192
CHUNK_CHARACTERS = 4_000_000
NO_LIMIT = 10**20  # tokenizers that know no limit say 10^30

Answer = tuple[Any, Any]


@dataclass
class PredictArguments:
    """What is classified, with what, and where the results go."""

    model: str = field(metadata={"help": "A folder or a name on the Hub: a text classifier and its tokenizer."})
    input: str = field(
        default="-",
        metadata={"help": "csv, tsv, jsonl, parquet, or txt with a text a line; -: lines of standard input."},
    )
    output: str = field(default="-", metadata={"help": "The file to write, jsonl or csv; -: standard output."})
    text_column: str | None = field(
        default=None, metadata={"help": "The column that holds the text; found by itself where only one can."}
    )
    format: Literal["jsonl", "csv"] | None = field(
        default=None, metadata={"help": "Of the output, where its name does not tell; jsonl on standard output."}
    )
    with_text: bool = field(default=False, metadata={"help": "Repeat each text in its result."})
    overwrite: bool = field(default=False, metadata={"help": "Replace the output file."})
    batch_size: int = field(default=32, metadata={"help": "Texts that go through the model at a time."})
    max_length: int | None = field(
        default=None, metadata={"help": "Tokens of a text; what is longer is cut there. The tokenizer's own if none."}
    )
    device: str | None = field(default=None, metadata={"help": "cpu, cuda, cuda:1, ...; an accelerator if there is."})
    dtype: Literal["float32", "bfloat16", "float16"] = field(
        default="float32", metadata={"help": "The precision to compute in."}
    )
    trust_remote_code: bool = field(default=False, metadata={"help": "Run the code that a checkpoint brings along."})
    no_progress: bool = field(default=False, metadata={"help": "Show no progress bar; there is none off a terminal."})

    def check(self) -> None:
        """Settle the format; raise `DataError` for what cannot work, before anything is loaded."""
        suffix = Path(self.output).suffix.lower().removeprefix(".")
        self.format = self.format or ("jsonl" if self.output == "-" else suffix)  # type: ignore[assignment]
        if self.format not in ("jsonl", "csv"):
            raise DataError(f"--output {self.output}: name it .jsonl or .csv, or say which with --format")
        if self.batch_size < 1:
            raise DataError(f"--batch_size {self.batch_size}: has to be at least 1")
        if self.output != "-":
            check_output(Path(self.output), Path(self.input), self.overwrite)


def check_output(output: Path, source: Path, overwrite: bool) -> None:
    if not output.parent.is_dir():
        raise DataError(f"--output {output}: there is no folder {output.parent}")
    if output.exists() and not output.is_file():
        raise DataError(f"--output {output}: this is no ordinary file")
    if output.exists() and source.exists() and output.samefile(source):
        raise DataError(f"--output {output}: this is the input; choose another name")
    if output.exists() and not overwrite:
        raise DataError(f"--output {output}: there is such a file; choose another name, or replace it: --overwrite")


def read_input(arguments: PredictArguments) -> Iterator[tuple[int, str]]:
    """Stream `(row, text)`, a missing text being ""; raises `DataError` for what cannot be read."""
    path = Path(arguments.input)
    if arguments.input == "-":
        yield from read_lines(sys.stdin.buffer, "standard input")
    elif path.suffix.lower() != ".txt":
        yield from read_texts(path, arguments.text_column)
    else:
        with path.open("rb") as handle:
            yield from read_lines(handle, str(path))


def read_lines(handle: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    for row, line in enumerate(handle, 1):
        try:
            text = line.decode("utf-8-sig" if row == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(f"{name}, line {row}, byte {error.start}: this is not UTF-8; convert it: iconv") from error
        yield row, "" if is_missing(text) else text


def in_chunks(rows: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """As many rows at a time as fit the memory, whether the texts are short or long."""
    chunk: list[tuple[int, str]] = []
    characters = 0
    for row, text in rows:
        chunk.append((row, text))
        characters += len(text)
        if len(chunk) >= CHUNK_TEXTS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


class Classifier:
    """A model and its tokenizer; `cut` counts the texts that were longer than `max_length` tokens."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, arguments: PredictArguments) -> None:
        pass
