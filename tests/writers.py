# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tiny models that write, with their tokenizers: what they write is nonsense, but depends on what they read."""

from pathlib import Path
from typing import Any

import shared
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from modeling_scratch import (
    ScratchDecoderConfig,
    ScratchDecoderForCausalLM,
    ScratchSeq2SeqConfig,
    ScratchSeq2SeqForConditionalGeneration,
)
from tokenization import special_token_ids, train_character_tokenizer, train_wordlevel_tokenizer

WORDS = [f"word{number}" for number in range(30)]
POSITIONS = 24
SIZES: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": POSITIONS, "position_type": "learned", "hidden_dropout": 0.0,
    "tie_word_embeddings": False,
}  # fmt: skip


def text_of(length: int) -> str:
    """Texts of different lengths share neither beginning nor end."""
    return " ".join(WORDS[(3 * length + place**2) % len(WORDS)] for place in range(length))


def characters() -> PreTrainedTokenizerBase:
    return train_character_tokenizer(["abcdefgh \n"], show_progress=False)


def words(prefix: str = "") -> PreTrainedTokenizerBase:
    texts = [prefix + word for word in WORDS]
    return train_wordlevel_tokenizer(
        texts, len(WORDS) + 3, style="marian", model_max_length=POSITIONS, show_progress=False
    )


def lively(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Any:
    """Without these settings it would say nothing, or one thing only."""
    suppressed = [token for token in tokenizer.all_special_ids if token != tokenizer.eos_token_id]
    model.generation_config.update(no_repeat_ngram_size=2, suppress_tokens=suppressed)
    return shared.lively(model, std=0.7, seed=1)


def decoder(tokenizer: PreTrainedTokenizerBase, **settings: Any) -> Any:
    settings = {**SIZES, **special_token_ids(tokenizer), **settings}
    return lively(ScratchDecoderForCausalLM(ScratchDecoderConfig(vocab_size=len(tokenizer), **settings)), tokenizer)


def translator(source: PreTrainedTokenizerBase, target: PreTrainedTokenizerBase, **settings: Any) -> Any:
    """With one vocabulary for both sides, or two."""
    vocabularies = {
        "vocab_size": len(source),
        "decoder_vocab_size": len(target),
        "share_encoder_decoder_embeddings": source is target,
    }
    settings = {**SIZES, **vocabularies, **special_token_ids(target), **settings}
    return lively(ScratchSeq2SeqForConditionalGeneration(ScratchSeq2SeqConfig(**settings)), target)


def save(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, **generation: Any) -> Path:
    if generation:
        model.generation_config.update(**generation)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_translator(folder: Path) -> Path:
    tokenizer = words()
    return save(folder, translator(tokenizer, tokenizer), tokenizer)
