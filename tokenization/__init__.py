# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tokenizers trained from scratch, with special tokens that fit each style of model; independent of the models."""

from collections.abc import Callable
from functools import partial

from transformers import PreTrainedTokenizerFast

from .special_tokens import STYLES, SpecialTokens, special_token_ids
from .training import train_bpe_tokenizer, train_character_tokenizer, train_wordlevel_tokenizer

# The kinds by name, for command lines.
KINDS: dict[str, Callable[..., PreTrainedTokenizerFast]] = {
    "byte_bpe": partial(train_bpe_tokenizer, byte_level=True),
    "bpe": partial(train_bpe_tokenizer, byte_level=False),
    "wordlevel": train_wordlevel_tokenizer,
    "words": partial(train_wordlevel_tokenizer, web_text=True),
    "character": train_character_tokenizer,
}

__all__ = [
    "KINDS", "STYLES", "SpecialTokens", "special_token_ids", "train_bpe_tokenizer", "train_character_tokenizer",
    "train_wordlevel_tokenizer",
]  # fmt: skip
