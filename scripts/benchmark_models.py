# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pairs of models of equal function, and the real lengths of text that they are measured on."""

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet
import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    GPT2Config,
    MarianConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.trainer_pt_utils import LengthGroupedSampler

import modeling_scratch
from tokenization import train_wordlevel_tokenizer

Batch = dict[str, Tensor]

# name: (column of the data set, tokens a text has at most, median and spread of generated lengths)
TEXTS = {"sst2": ("sentence", 128, 8, 0.75), "imdb": ("text", 512, 175, 0.6)}
SPECIAL: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}


def read_texts(folder: Path | None, name: str, count: int) -> tuple[list[str], str]:
    """Texts of the training split, drawn at random, or as long ones of invented words; and which of the two."""
    column, _, median, spread = TEXTS[name]
    draw = random.Random(0)
    if folder is not None:
        texts = pyarrow.parquet.read_table(folder / name / "train.parquet", columns=[column])[column].to_pylist()
        return draw.sample(texts, min(count, len(texts))), f"{name}, train"
    lengths = (max(1, round(math.exp(draw.gauss(math.log(median), spread)))) for _ in range(count))
    words = [f"w{number}" for number in range(5000)]
    return [" ".join(draw.choices(words, k=length)) for length in lengths], f"generated, as long as {name}"


class TextBatches:
    """Batches of real texts, padded to their longest: in random order, or grouped by length as Trainer does."""

    def __init__(self, texts: Sequence[str], max_length: int, size: int, vocab_size: int) -> None:
        self.tokenizer: PreTrainedTokenizerBase = train_wordlevel_tokenizer(texts, vocab_size=vocab_size)
        self.ids = self.tokenizer(list(texts), truncation=True, max_length=max_length)["input_ids"]
        self.size = size

    def draw(self, count: int, grouped: bool) -> list[Batch]:
        generator = torch.Generator().manual_seed(0)
        order = torch.randperm(len(self.ids), generator=generator).tolist()
        if grouped:
            lengths = [len(ids) for ids in self.ids]
            order = list(LengthGroupedSampler(self.size, lengths=lengths, generator=generator))
        whole = [order[i : i + self.size] for i in range(0, len(order) - self.size + 1, self.size)]
        picked = random.Random(0).sample(whole, min(count, len(whole)))
        return [self._batch([self.ids[index] for index in indices]) for indices in picked]

    def _batch(self, rows: list[list[int]]) -> Batch:
        padded = self.tokenizer.pad({"input_ids": rows}, return_tensors="pt")
        labels = torch.arange(len(rows)) % 2
        return {"input_ids": padded["input_ids"], "attention_mask": padded["attention_mask"], "labels": labels}


def bert(vocab_size: int, width: int, layers: int) -> BertConfig:
    return BertConfig(
        vocab_size=vocab_size, hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64,
        intermediate_size=4 * width, max_position_embeddings=512, pad_token_id=0,
    )  # fmt: skip


def gpt2(vocab_size: int, width: int, layers: int) -> GPT2Config:
    return GPT2Config(
        vocab_size=vocab_size, n_embd=width, n_layer=layers, n_head=width // 64, n_positions=512, **SPECIAL
    )  # fmt: skip


def marian(vocab_size: int, width: int, layers: int) -> MarianConfig:
    sides: dict[str, Any] = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in {
        "layers": layers, "attention_heads": width // 64, "ffn_dim": 4 * width}.items()}  # fmt: skip
    return MarianConfig(
        vocab_size=vocab_size, d_model=width, max_position_embeddings=512, decoder_start_token_id=0,
        forced_eos_token_id=None, **SPECIAL, **sides,
    )  # fmt: skip


def pair(model_class: type[PreTrainedModel], config: PreTrainedConfig, **changes: Any) -> tuple[Any, Any]:
    """The native model, its weights drawn so that answers differ, and the scratch model of the same function."""
    torch.manual_seed(0)
    config._attn_implementation = "sdpa"
    peer = model_class(config)
    with torch.no_grad():
        for parameter in peer.parameters():
            if parameter.ndim > 1 and parameter.requires_grad:
                nn.init.normal_(parameter, std=0.08)
    with TemporaryDirectory() as folder:
        peer.save_pretrained(folder)
        ours = modeling_scratch.load_pretrained(folder)
    for name, value in changes.items():
        setattr(ours.config, name, value)
    return peer.eval(), ours.eval()


@torch.no_grad()
def check_equal(peer: Any, ours: Any, batch: Batch, rows: Tensor | None = None) -> None:
    """Raises where the two are not the same function; rows: the labelled tokens, where ours answers these alone."""
    expected, found = peer(**batch).logits, ours(**batch).logits
    torch.testing.assert_close(found, expected if rows is None else expected[rows], atol=1e-3, rtol=1e-3)


def training_step(model: Any) -> Any:
    """batch -> nothing: what Trainer does with a batch, forward, backward, clipping and the fused AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    model.train()

    def step(batch: Batch) -> None:
        model(**batch).loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def linear_shapes(width: int, layers: int) -> list[tuple[int, int]]:
    """(in, out) of the linear layers of a stack."""
    return [(width, width)] * 4 * layers + [(width, 4 * width), (4 * width, width)] * layers


def step_flops(batches: Sequence[Batch], width: int, layers: int, spared: bool) -> Iterator[float]:
    """Of a training step: 6 a weight and token, and 12 a feature and pair of tokens that attend to each other.

    spared: without what the last block need not compute where one token a text is read (its output projection and its
    feed-forward layer, 9 of 12 squares of the width).
    """
    for batch in batches:
        lengths = batch["attention_mask"].sum(-1).double()
        linear = 12.0 * layers * width**2 * lengths.sum().item()
        if spared:
            linear -= 9.0 * width**2 * (lengths.sum().item() - len(lengths))
        yield 6 * linear + 12 * layers * width * (lengths**2).sum().item()
