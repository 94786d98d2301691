# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Benchmark data: texts of realistic length, and batches in random order, grouped by length, and packed."""

import math
import random
from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import Tensor
from transformers import DataCollatorWithPadding, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from tokenization import train_wordlevel_tokenizer

from ..data.collators import FlatBatches
from ..utils.errors import DataError
from .settings import SEED, Settings

Batch = dict[str, Any]
Rows = list[list[int]]

# Data set: the text column; mean and standard deviation of the logarithm of a text's length in words and punctuation,
# over the training split. Where the data are not at hand, lengths are drawn from the log-normal distribution of these.
TEXTS = {"sst2": ("sentence", 1.92, 0.92), "imdb": ("text", 5.43, 0.65), "multi30k": ("en", 2.53, 0.30)}
MEGABATCH = 50  # batches that Trainer's group_by_length sorts at a time


def draw_texts(settings: Settings, name: str, count: int) -> tuple[list[str], str]:
    """Return random texts of a training split, or synthetic ones of the same length distribution, and a description."""
    draw = random.Random(SEED)
    column, mean, deviation = TEXTS[name]
    if settings.data_folder is None:
        lengths = [max(1, round(draw.lognormvariate(mean, deviation))) for _ in range(count)]
        # A distinct word for each rank; frequent words are short.
        words = [str(rank).translate(str.maketrans("0123456789", "etaoinshrd")) for rank in range(5000)]
        frequencies = [1 / (rank + 10) for rank in range(5000)]  # approximately
        return [" ".join(draw.choices(words, frequencies, k=length)) for length in lengths], f"lengths as of {name}"
    from ..data.columns import read_texts

    path = settings.data_folder / name / "train.parquet"
    if not path.is_file():
        raise DataError(f"--data_folder {settings.data_folder}: {name}/train.parquet not found")
    texts = [text for _, text in read_texts(path, column) if text.strip()]
    return draw.sample(texts, min(count, len(texts))), name


def train_tokenizer(settings: Settings, texts: Sequence[str]) -> PreTrainedTokenizerBase:
    """Train a word-level tokenizer, as train-classifier does by default."""
    options: dict[str, Any] = {"lowercase": True, "model_max_length": settings.shape.max_length, "show_progress": False}
    return train_wordlevel_tokenizer(texts, settings.shape.vocab_size, **options)


def in_random_order(rows: Rows, size: int, steps: int, rounds: int) -> list[list[Rows]]:
    """Draw random batches without replacement, as Trainer does: rounds of `steps` batches of `size` texts."""
    order = random.Random(SEED).sample(rows, len(rows))
    batches = [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
    if len(batches) < steps * rounds:
        raise DataError(f"{len(rows):,} texts are too few for {rounds} rounds of {steps} batches of {size}")
    return [batches[number * steps : (number + 1) * steps] for number in range(rounds)]


def grouped_by_length(rows: Rows, size: int, steps: int, rounds: int) -> list[list[Rows]]:
    """Batches as Trainer's group_by_length makes them: each megabatch sorted by length, then cut.

    A round has steps batches, spread evenly from the longest to the shortest, so that each stands for an epoch.
    """
    draw = random.Random(SEED)
    rounds_of_batches = []
    for _ in range(rounds):
        mega = sorted(draw.sample(rows, min(MEGABATCH * size, len(rows))), key=len, reverse=True)
        batches = [mega[start : start + size] for start in range(0, len(mega) - size + 1, size)]
        offset = draw.random()
        rounds_of_batches.append([batches[math.floor((step + offset) * len(batches) / steps)] for step in range(steps)])
    return rounds_of_batches


def padded(tokenizer: PreTrainedTokenizerBase, rows: Rows, multiple: int | None = None) -> Batch:
    """With two labels in turns; padded to the longest, or to a multiple of that many tokens."""
    features = [{"input_ids": ids, "label": number % 2} for number, ids in enumerate(rows)]
    return dict(DataCollatorWithPadding(tokenizer, pad_to_multiple_of=multiple)(features))


def padding_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer that only pads."""
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"[PAD]": 0}, "[PAD]")), pad_token="[PAD]")


def packed(rows: Rows) -> Batch:
    """Return the batch without padding, as used on accelerators."""
    return FlatBatches()([{"input_ids": ids, "label": number % 2} for number, ids in enumerate(rows)])


def on_device(batch: Batch, device: str) -> Batch:
    return {
        name: each.to(device, non_blocking=True) if isinstance(each, Tensor) else each for name, each in batch.items()
    }
