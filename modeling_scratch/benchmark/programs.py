# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Start-up workloads: importing, loading a model, and training a tokenizer."""

import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tokenization import train_bpe_tokenizer

from ..utils.errors import DataError
from .data import draw_texts
from .models import CLASSIFIER, make_pair
from .settings import Settings
from .timing import Comparison, Job, Side, measure

IMPORTS = "import modeling_scratch", "from transformers import BertModel"
VOCAB_SIZE = 8_000


def imports(settings: Settings) -> Iterator[dict[str, Any]]:
    """Measure the wall time of fresh processes that run one statement."""

    def job(statement: str) -> Job:
        return lambda _: subprocess.run([sys.executable, "-c", statement], check=True)

    ours, peer = IMPORTS
    yield _seconds("import", f"{ours}, beside {peer}", job(ours), job(peer), settings)


def load(settings: Settings) -> Iterator[dict[str, Any]]:
    """Measure the loading time of a classifier with equal weights."""
    ours, peer = make_pair(CLASSIFIER, settings)
    with TemporaryDirectory() as own, TemporaryDirectory() as theirs:
        ours.save_pretrained(own)
        peer.save_pretrained(theirs)
        setting = "from_pretrained of a classifier's folder"
        yield _seconds("load", setting, _loader(ours, own), _loader(peer, theirs), settings)


def _loader(model: Any, folder: str) -> Job:
    return lambda _: type(model).from_pretrained(folder)


def tokenizer_train(settings: Settings) -> Iterator[dict[str, Any]]:
    """Measure BPE training against a direct call of the tokenizers library."""
    texts, source = draw_texts(settings, "imdb", settings.few(2_000))
    vocab_size = settings.few(VOCAB_SIZE)

    def library(_: int = 0) -> Tokenizer:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size, min_frequency=2, initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        return tokenizer

    special = len(train_bpe_tokenizer(texts, 300, show_progress=False).all_special_tokens)

    def own(_: int = 0) -> Any:
        return train_bpe_tokenizer(texts, vocab_size + special, show_progress=False)

    ours = own().tokenize(texts[0])
    if ours != library().encode(texts[0]).tokens:
        raise DataError("tokenizer-train: the two sides tokenise differently; not timed")
    setting = f"{vocab_size:,} byte pairs, {len(texts):,} texts, {source}"
    yield _seconds("tokenizer-train", setting, own, library, settings, "the same tokens of a text")


def _seconds(workload: str, setting: str, ours: Job, peer: Job, settings: Settings, agreement: str = "") -> Any:
    sides = Side(ours, [1.0] * settings.rounds), Side(peer, [1.0] * settings.rounds)
    return measure(Comparison(workload, setting, sides[0], sides[1], agreement, unit="s"), settings)
