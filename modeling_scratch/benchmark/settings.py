# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Benchmark settings: model sizes, hardware options and repetitions."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from ..utils.errors import DataError
from ..utils.options import option


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

    @property
    def fields(self) -> dict[str, int]:
        """The fields of a config."""
        return {
            "vocab_size": self.vocab_size, "hidden_size": self.width, "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads, "intermediate_size": self.inner,
            "max_position_embeddings": self.max_length,
        }  # fmt: skip


QUICK = Shape(layers=2, width=32, heads=2, vocab_size=600, max_length=48)
SMALL = Shape(layers=4, width=256, heads=4, vocab_size=16_000)
SEED = 0  # of weights, texts and their order
BASE = Shape(layers=12, width=768, heads=12, vocab_size=30_522)  # BERT base


@dataclass(frozen=True)
class Settings:
    """The settings of a benchmark run."""

    rounds: int = option(7, "The number of rounds per side; at most 2 with --quick.")
    quick: bool = option(False, "Use tiny sizes, as a smoke test.")
    data_folder: Path | None = option(None, "Holds sst2/, imdb/, multi30k/; synthetic texts by default.")
    device: str = option("cpu", "cpu, or cuda, which uses BERT base sizes and packed batches.")
    dtype: Literal["float32", "bfloat16", "float16"] = option("float32", "The precision.")
    batch_size: int | None = option(None, "Overrides the workload's texts per training step.")
    compile: bool = option(False, "Compile the generation of both sides, over a static cache.")

    def __post_init__(self) -> None:
        if self.quick:
            object.__setattr__(self, "rounds", min(self.rounds, 2))
        for name in ("rounds", "batch_size"):
            if (number := getattr(self, name)) is not None and number < 1:
                raise DataError(f"--{name} {number}: must be at least 1")

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
        wait_for(self.device)


def wait_for(device: str) -> None:
    """Wait until a device has ended what it was given. device: its type, such as "cuda"."""
    if device != "cpu":
        torch.accelerator.synchronize()
