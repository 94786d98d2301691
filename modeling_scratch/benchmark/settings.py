# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is measured: the size of the models, the machine's part, and how often."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Shape:
    """Of an encoder or a decoder, and of each side of an encoder-decoder."""

    layers: int
    width: int
    heads: int
    vocab_size: int
    max_length: int = 512  # tokens of a text

    @property
    def inner(self) -> int:
        """Features of the feed-forward layer."""
        return 4 * self.width


QUICK = Shape(layers=2, width=32, heads=2, vocab_size=600, max_length=48)
SMALL = Shape(layers=4, width=256, heads=4, vocab_size=16_000)
BASE = Shape(layers=12, width=768, heads=12, vocab_size=30_522)  # BERT base


@dataclass(frozen=True)
class Settings:
    """Of one run of the benchmark; quick: tiny sizes, to see that all of it works."""

    rounds: int = 7
    quick: bool = False
    data_folder: Path | None = None
    device: str = "cpu"
    dtype: str = "float32"
    attention: str = "sdpa"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    peak_tflops: float | None = None
    seed: int = 0
    model: str | None = None  # a trained classifier
    compile: bool = False  # both sides' training steps
    batch_size: int | None = None  # texts a training step, in place of those of the workload

    @property
    def shape(self) -> Shape:
        return QUICK if self.quick else SMALL if self.device == "cpu" else BASE

    def few(self, usual: int) -> int:
        """A number of texts, tokens or steps: a few of them where it has to be quick."""
        return max(2, usual // 16) if self.quick else usual

    def autocast(self) -> AbstractContextManager:
        """Mixed precision, as Trainer's bf16 has it: weights stay in float32."""
        if self.dtype == "float32":
            return nullcontext()
        return torch.autocast(torch.device(self.device).type, dtype=getattr(torch, self.dtype))

    def wait(self) -> None:
        """For what an accelerator was given to do."""
        if self.device != "cpu":
            torch.accelerator.synchronize()
