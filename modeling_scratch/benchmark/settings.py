# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Benchmark settings: model sizes, hardware options and repetitions."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Shape:
    """The size of an encoder, a decoder, or each side of an encoder-decoder."""

    layers: int
    width: int
    heads: int
    vocab_size: int
    max_length: int = 512  # tokens per text

    @property
    def inner(self) -> int:
        """The feed-forward width."""
        return 4 * self.width


QUICK = Shape(layers=2, width=32, heads=2, vocab_size=600, max_length=48)
SMALL = Shape(layers=4, width=256, heads=4, vocab_size=16_000)
BASE = Shape(layers=12, width=768, heads=12, vocab_size=30_522)  # BERT base


@dataclass(frozen=True)
class Settings:
    """The settings of a benchmark run. quick: tiny sizes, as a smoke test."""

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
    compile: bool = False  # training steps, and the generation of GPT-2, of both sides
    batch_size: int | None = None  # overrides the workload's texts per training step

    @property
    def shape(self) -> Shape:
        return QUICK if self.quick else SMALL if self.device == "cpu" else BASE

    def few(self, usual: int) -> int:
        """Return the number of texts, tokens or steps, reduced in quick mode."""
        return max(2, usual // 16) if self.quick else usual

    def autocast(self) -> AbstractContextManager:
        """Mixed precision as in Trainer's bf16: weights stay float32."""
        if self.dtype == "float32":
            return nullcontext()
        return torch.autocast(torch.device(self.device).type, dtype=getattr(torch, self.dtype))

    def wait(self) -> None:
        """Synchronise with the accelerator."""
        if self.device != "cpu":
            torch.accelerator.synchronize()
