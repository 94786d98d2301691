# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a tokenizer on text files, save it and report on it."""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from transformers import PreTrainedTokenizerFast

from tokenization import KINDS, STYLES

from ..data.documents import TextSource, read_column, read_plain_text
from ..data.splits import check_sources, find_splits, open_hub
from ..data.tables import TableArguments, TableForm, open_table
from ..data.text_files import format_of
from ..utils.errors import DataError, counted, one_line
from ..utils.files import MAX_FILE_SIZE, MAX_FILE_SIZE_HELP, flush, remove
from ..utils.markdown import percent
from ..utils.options import REQUIRED, option
from ..utils.terminal import told

TOKENIZER_FILES = {"tokenizer.json", "tokenizer_config.json"}
UNFINISHED = ".new-"  # begins the name of the folder that a tokenizer is saved into first
SAMPLE_TEXTS, LONGEST_SAMPLE = 1_000, 100_000  # characters


@dataclass
class TextArguments(TableArguments, TextSource):
    """The texts to learn from."""

    train_file: list[str] | None = option(None, "Training files: txt (one text per line), csv, tsv, jsonl or parquet.")
    data_dir: str | None = option(None, "A folder with train.csv, .tsv, .jsonl or .parquet.")
    text_column: list[str] | None = option(None, "The text columns; inferred if there is only one.")
    max_file_size: float = option(MAX_FILE_SIZE, MAX_FILE_SIZE_HELP)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sources(self.data_dir, self.max_file_size, self.train_file)


@dataclass
class TokenizerArguments:
    """The tokenizer to train and its output folder."""

    output_dir: str = option(REQUIRED, "The folder to save the tokenizer in.")
    kind: Literal["byte_bpe", "bpe", "wordlevel", "words", "character"] = option(
        "byte_bpe",
        "BPE on bytes (lossless), BPE on characters with </w> at word ends, one token per word, the same "
        "without HTML tags and with contractions whole, or one per character (lossless).",
    )
    vocab_size: int = option(8_000, "The vocabulary size, including special tokens.")
    style: str = option("bert", "The set of special tokens.", choices=[*STYLES])
    lowercase: bool = option(False, "Lower-case the text.")
    min_frequency: int | None = option(None, "The minimum count of a pair (default 2) or of a word (default 1).")
    max_length: int = option(512, "The model's maximum length in tokens, for truncation.")
    padding_side: Literal["right", "left"] = option("right", "The padding side; left for batched generation.")
    token_type_ids: bool = option(False, "Return token_type_ids.")
    overwrite: bool = option(False, "Replace an existing tokenizer in output_dir.")
    show_progress: bool = option(True, "Show a progress bar.")


def stream_texts(arguments: TextArguments) -> Iterator[str]:
    """Stream all texts. Raises `DataError` for unreadable input."""
    columns: Sequence[str | None] = arguments.text_column or [None]
    if arguments.dataset_name:
        source = open_hub(arguments.dataset_name, arguments.dataset_config_name)[0]["train"]
        return chain.from_iterable(read_column(source, column) for column in columns)
    paths = [Path(name) for name in arguments.train_file or ()]
    if arguments.data_dir:
        paths = find_splits(Path(arguments.data_dir))["train"]
    return chain.from_iterable(_read_file(path, columns, arguments.form) for path in paths)


def _read_file(path: Path, columns: Sequence[str | None], form: TableForm) -> Iterator[str]:
    if format_of(path) == ".txt":
        return read_plain_text(path, "line", form)
    return (text for column in columns for text in read_column(open_table(path, form), column))


def check_tokenizer_folder(folder: Path, overwrite: bool) -> None:
    """Raise `DataError` if the folder holds other files, or a tokenizer without `overwrite`."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        return
    if not folder.is_dir():
        raise DataError(f"--output_dir {folder}: this is a file, not a folder")
    names = {path.name for path in folder.iterdir() if not _is_unfinished(path)}
    if others := sorted(names - TOKENIZER_FILES):
        raise DataError(f"--output_dir {folder}: contains other files, such as {others[0]}; choose another folder")
    if names and not overwrite:
        raise DataError(f"--output_dir {folder}: contains a tokenizer; choose another folder or give --overwrite")


def _is_unfinished(path: Path) -> bool:
    """Return whether a killed process has left a folder of a tokenizer."""
    return (
        path.name.startswith(UNFINISHED) and path.is_dir() and {one.name for one in path.iterdir()} <= TOKENIZER_FILES
    )


def save(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Save into a temporary folder, then move each file into place. Other files in the folder are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in filter(_is_unfinished, list(folder.iterdir())):
        remove(left)
    with tempfile.TemporaryDirectory(dir=folder, prefix=UNFINISHED) as beside:
        try:
            tokenizer.save_pretrained(beside)
        except Exception as error:  # tokenizers raises Exception itself, on a full disk too
            raise DataError(f"--output_dir {folder}: cannot be written: {one_line(error)}; free disk space") from error
        for path in sorted(Path(beside).iterdir()):
            flush(path)
            path.replace(folder / path.name)
    flush(folder)


def train(texts: Iterable[str], arguments: TokenizerArguments) -> PreTrainedTokenizerFast:
    """Train the tokenizer that `arguments` describe. Raises ValueError as the training functions do."""
    names = ("style", "lowercase", "padding_side", "token_type_ids", "show_progress")
    options = {name: getattr(arguments, name) for name in names}
    if arguments.min_frequency is not None:
        options["min_frequency"] = arguments.min_frequency
    return KINDS[arguments.kind](texts, arguments.vocab_size, model_max_length=arguments.max_length, **options)


def summarize_tokenizer(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str]) -> str:
    """Return statistics of the tokenizer on some of its training texts: of long ones, on their start."""
    starts = [text[:LONGEST_SAMPLE] for text in texts]
    batch = tokenizer(starts, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    ids = list(chain.from_iterable(batch))
    unknown = ids.count(tokenizer.unk_token_id) / max(1, len(ids))
    per_character = len(ids) / max(1, sum(map(len, starts)))
    per_text = per_character * sum(map(len, texts)) / len(texts)
    return (
        f"vocabulary: {len(tokenizer):,} tokens\n"
        f"tokens per text: {per_text:.1f} on average, {percent(unknown)} of them unknown (in the first "
        f"{counted(len(batch), 'text')})"
    )


def run(texts: TextArguments, arguments: TokenizerArguments) -> None:
    """Train, save and report."""
    folder = Path(arguments.output_dir)
    check_tokenizer_folder(folder, arguments.overwrite)
    start, stream = time.perf_counter(), stream_texts(texts)
    first = list(islice(stream, SAMPLE_TEXTS))
    with told("learning from the texts"):
        tokenizer = train(chain(first, stream), arguments)
    seconds = time.perf_counter() - start
    save(tokenizer, folder)
    print(summarize_tokenizer(tokenizer, first))
    print(f"time: {seconds:.1f} s\nsaved: {folder}\nload: AutoTokenizer.from_pretrained({str(folder)!r})")
