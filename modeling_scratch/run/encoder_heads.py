# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What trainings of taggers and of models that answer questions share: defaults and limits."""

from dataclasses import dataclass, field
from typing import Literal

from transformers import PreTrainedConfig, PreTrainedTokenizerBase

from .. import presets
from ..bridges.model_sources import token_limit
from .encoder_models import ModelArguments
from .encoder_training import EncoderTrainingArguments


@dataclass
class HeadModelArguments(ModelArguments):
    """The model to train, with defaults for positions of words, which the demo's preset has."""

    preset: str = field(
        default="demo", metadata={"help": f"The configuration of a new model: {', '.join(presets.ENCODERS)}."}
    )
    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] = field(
        default="byte_bpe", metadata={"help": "The kind of a new tokenizer."}
    )
    vocab_size: int = field(default=8_000, metadata={"help": "The maximum vocabulary size of a new tokenizer."})


@dataclass
class HeadTrainingArguments(EncoderTrainingArguments):
    """The arguments of the training of a head, with defaults for few texts."""

    learning_rate: float = field(default=2e-3, metadata={"help": "The peak learning rate of AdamW."})
    num_train_epochs: float = field(default=10.0, metadata={"help": "The number of training epochs."})


def limit_length(tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig) -> None:
    """Set the limit of `token_limit`, and pad on the right, so that a token keeps its index in a batch."""
    tokenizer.model_max_length, tokenizer.padding_side = token_limit(tokenizer, config), "right"
