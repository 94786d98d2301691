# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A tokenizer trained on text files and saved."""

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal

from transformers import PreTrainedTokenizerFast

from tokenization import KINDS, STYLES

from ..data.columns import read_texts
from ..data.documents import read_column, read_plain_text
from ..data.splits import find_splits, open_hub
from ..utils.errors import DataError

TOKENIZER_FILES = {"tokenizer.json", "tokenizer_config.json"}
SAMPLE_TEXTS = 1_000


@dataclass
class TextArguments:
    """Where the texts come from: exactly one of `train_file`, `data_dir` and `dataset_name`."""

    train_file: list[str] | None = field(
        default=None, metadata={"help": "Files to train on: txt (a text a line), csv, tsv, jsonl or parquet."}
    )
    data_dir: str | None = field(default=None, metadata={"help": "A folder with train.csv, .tsv, .jsonl or .parquet."})
    dataset_name: str | None = field(default=None, metadata={"help": "A data set on the Hub; its train split is used."})
    dataset_config_name: str | None = field(default=None, metadata={"help": "The configuration of that data set."})
    text_column: list[str] | None = field(
        default=None, metadata={"help": "The columns that hold texts; found by itself where there is only one."}
    )

    def __post_init__(self) -> None:
        if [self.train_file, self.data_dir, self.dataset_name].count(None) != 2:
            raise DataError("give exactly one of --train_file, --data_dir and --dataset_name")


@dataclass
class TokenizerArguments:
    """What is trained, and where it goes."""

    output_dir: str = field(metadata={"help": "The folder to save the tokenizer in."})
    kind: Literal["byte_bpe", "bpe", "wordlevel", "character"] = field(
        default="byte_bpe",
        metadata={
            "help": "BPE on bytes (lossless), BPE on characters with </w> at a word's end, one token a word, or one a "
            "character (lossless)."
        },
    )
    vocab_size: int = field(default=8_000, metadata={"help": "The number of tokens of all kinds."})
    style: str = field(default="bert", metadata={"help": "The special tokens.", "choices": [*STYLES]})
    lowercase: bool = field(default=False, metadata={"help": "Take capital letters for small ones."})
    min_frequency: int | None = field(
        default=None, metadata={"help": "How often a pair (2 if not given) or a word (1 if not given) has to occur."}
    )
    max_length: int = field(default=512, metadata={"help": "Tokens that the model takes; truncation cuts there."})
    padding_side: Literal["right", "left"] = field(default="right", metadata={"help": "left to generate in batches."})
    token_type_ids: bool = field(default=False, metadata={"help": "The model takes token_type_ids."})
    overwrite: bool = field(default=False, metadata={"help": "Replace the tokenizer in output_dir."})
    show_progress: bool = field(default=True, metadata={"help": "Show a progress bar."})


@dataclass
class Sample:
    """A uniform random sample of the texts that stream through, drawn while they do (Vitter 1985, algorithm R)."""

    texts: list[str] = field(default_factory=list)
    seen: int = 0

    def watch(self, stream: Iterator[str]) -> Iterator[str]:
        """Pass the stream on as it is."""
        generator = random.Random(0)
        for self.seen, text in enumerate(stream, 1):
            if self.seen <= SAMPLE_TEXTS:
                self.texts.append(text)
            elif (place := generator.randrange(self.seen)) < SAMPLE_TEXTS:
                self.texts[place] = text
            yield text


def stream_texts(arguments: TextArguments) -> Iterator[str]:
    """All texts, as they are read; raises `DataError` for what cannot be."""
    columns: Sequence[str | None] = arguments.text_column or [None]
    if arguments.dataset_name:
        source = open_hub(arguments.dataset_name, arguments.dataset_config_name)[0]["train"]
        return chain.from_iterable(read_column(source, column) for column in columns)
    paths = [Path(name) for name in arguments.train_file or ()]
    if arguments.data_dir:
        paths = find_splits(Path(arguments.data_dir))["train"]
    return chain.from_iterable(_read_file(path, columns) for path in paths)


def _read_file(path: Path, columns: Sequence[str | None]) -> Iterator[str]:
    if path.suffix.lower() == ".txt":
        return read_plain_text(path, "line")
    return (text for column in columns for _, text in read_texts(path, column))


def check_output(folder: Path, overwrite: bool) -> None:
    """Refuse to write over anything that the user did not give up: other files never, a tokenizer when asked to."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        return
    if not folder.is_dir():
        raise DataError(f"--output_dir {folder}: this is a file, but has to be a folder")
    names = {path.name for path in folder.iterdir()}
    if others := sorted(names - TOKENIZER_FILES):
        raise DataError(
            f"--output_dir {folder}: there are other files in it, such as {others[0]}; choose another folder"
        )
    if names and not overwrite:
        raise DataError(
            f"--output_dir {folder}: there is a tokenizer in it; choose another folder, or give --overwrite"
        )


def save(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write beside, then move file by file: whatever else is in the folder stays there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as beside:
        tokenizer.save_pretrained(beside)
        for path in sorted(Path(beside).iterdir()):
            path.replace(folder / path.name)


def train(texts: Iterator[str], arguments: TokenizerArguments) -> PreTrainedTokenizerFast:
    """The tokenizer that `arguments` describe; raises ValueError as the training functions do."""
    options = {} if arguments.min_frequency is None else {"min_frequency": arguments.min_frequency}
    return KINDS[arguments.kind](
        texts,
        arguments.vocab_size,
        style=arguments.style,
        lowercase=arguments.lowercase,
        model_max_length=arguments.max_length,
        padding_side=arguments.padding_side,
        token_type_ids=arguments.token_type_ids,
        show_progress=arguments.show_progress,
        **options,
    )


def report(tokenizer: PreTrainedTokenizerFast, sample: Sample) -> str:
    """Lines on how the tokenizer does on the texts it was trained on."""
    batch = tokenizer(sample.texts, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    ids = list(chain.from_iterable(batch))
    unknown = ids.count(tokenizer.unk_token_id) / max(1, len(ids))
    return (
        f"vocabulary: {len(tokenizer):,} tokens\n"
        f"tokens per text: {len(ids) / len(batch):.1f} on average, {unknown:.2%} of them unknown "
        f"({len(batch):,} of {sample.seen:,} texts)"
    )


def run(texts: TextArguments, arguments: TokenizerArguments) -> None:
    """Train, save and report."""
    folder = Path(arguments.output_dir)
    check_output(folder, arguments.overwrite)
    start, sample = time.perf_counter(), Sample()
    tokenizer = train(sample.watch(stream_texts(texts)), arguments)
    seconds = time.perf_counter() - start
    save(tokenizer, folder)
    print(report(tokenizer, sample))
    print(f"time: {seconds:.1f} s\nsaved: {folder}\nload: AutoTokenizer.from_pretrained({str(folder)!r})")
