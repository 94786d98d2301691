# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The models whose figures are drawn: one from a folder, or a small one of a preset with random weights."""

import textwrap
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig

import modeling_scratch
from tokenization import special_token_ids, train_wordlevel_tokenizer

from ..bridges.configs import FAMILIES
from ..bridges.model_limits import check_model_files
from ..bridges.model_sources import Tokenizers, load_tokenizers
from ..modeling_base import ScratchPreTrainedModel
from ..sharing.verification_outputs import load_model
from ..utils.errors import DataError
from .drawing import HEADS, PRESETS

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
SPREAD = 0.15  # of the random weights; with the usual 0.02, every token would attend to all others equally
POSITIONS = 256
STYLES = {"scratch_encoder": "bert", "scratch_decoder": "gpt", "scratch_seq2seq": "marian"}  # of tokenizers


def model_from(folder: str | Path) -> ScratchPreTrainedModel:
    """Load a model of this package, or a native checkpoint that it converts. Raises `DataError` for anything else."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"--model {folder}: folder not found")
    if not (folder / "config.json").is_file():
        is_run = any(folder.glob("checkpoint-*"))
        advice = "the run is unfinished; name one of its checkpoint-* folders" if is_run else "name a saved model"
        raise DataError(f"--model {folder}: no config.json: {advice}")
    try:
        check_model_files(folder)
        kind = AutoConfig.from_pretrained(folder).model_type
        if kind in HEADS:
            model: Any = load_model(folder)[0]
        elif kind in FAMILIES:
            model = modeling_scratch.load_pretrained(folder).eval()
        else:
            raise DataError(f"{kind} is no model of this package, and none that it converts")
    except Exception as error:  # files and configurations: libraries raise many types
        raise DataError(f"--model {folder}: {textwrap.shorten(str(error), 240)}") from error
    model.set_attn_implementation("eager")  # fused kernels never form the weights
    return model


def tokenizers_of(folder: str | Path) -> Tokenizers:
    """Load source and target tokenizers of a model's folder. Raises `DataError` if there are none."""
    tokenizers = load_tokenizers(str(folder))
    if any(len(tokenizer) <= len(tokenizer.all_special_tokens) for tokenizer in tokenizers):  # what some families make
        raise DataError(f"--model {folder}: no tokenizer; save the one used in training")
    return tokenizers


def small_model(preset: str, texts: list[str]) -> tuple[ScratchPreTrainedModel, Tokenizers]:
    """Return a small model of a preset with random weights, always the same, and a tokenizer of the words of texts."""
    style = STYLES[PRESETS[preset]().model_type]
    tokenizer = train_wordlevel_tokenizer(texts, vocab_size=1_000, style=style, show_progress=False)
    ids = {**special_token_ids(tokenizer), "vocab_size": len(tokenizer), "max_position_embeddings": POSITIONS}
    options = {**SMALL, **ids, "initializer_range": SPREAD, "attn_implementation": "eager"}
    config = PRESETS[preset](**options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return HEADS[config.model_type](config).eval(), (tokenizer, tokenizer)
