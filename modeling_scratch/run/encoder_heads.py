# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What trainings of taggers and of models that answer questions share: defaults, tokenizers, models and limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from .. import presets
from ..bridges.model_sources import token_limit
from ..data.text_pairs import TextPair
from ..utils.options import option
from .encoder_models import ModelArguments, build_model, build_tokenizer
from .encoder_training import EncoderTrainingArguments


@dataclass
class HeadModelArguments(ModelArguments):
    """The model to train, with defaults for positions of words, which the demo's preset has."""

    preset: str = option("demo", f"The configuration of a new model: {', '.join(presets.ENCODERS)}.")
    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] = option(
        "byte_bpe", "The kind of a new tokenizer."
    )
    vocab_size: int = option(8_000, "The maximum vocabulary size of a new tokenizer.")


@dataclass
class HeadTrainingArguments(EncoderTrainingArguments):
    """transformers.TrainingArguments with defaults for small models on a CPU, and few texts."""

    learning_rate: float = option(2e-3, "The peak learning rate of AdamW.")
    num_train_epochs: float = option(10.0, "The number of training epochs.")
    per_device_train_batch_size: int = option(16, "Training texts per step and device.")
    per_device_eval_batch_size: int = option(64, "Texts per evaluation batch.")


def tokenizer_of_head(
    options: HeadModelArguments, data: Any, checkpoint: str | None, **more: Any
) -> PreTrainedTokenizerBase:
    """Load or train a tokenizer. A new one tells the texts of pairs apart, and learns from each of them once."""
    texts = data.texts("train")
    if isinstance(texts[0], TextPair):
        texts = list(dict.fromkeys(part for pair in texts for part in pair.parts))
        more["token_type_ids"] = True
    return build_tokenizer(options, texts, checkpoint, **more)


def model_with_head(
    options: HeadModelArguments, tokenizer: PreTrainedTokenizerBase, labels: Sequence[str], head: str, **more: Any
) -> PreTrainedModel:
    """Build a model, with the limit of `token_limit`. Padding is on the right: a token keeps its index in a batch."""
    model = build_model(options, tokenizer, labels, head, **{"problem_type": None, **more})
    tokenizer.model_max_length, tokenizer.padding_side = token_limit(tokenizer, model.config), "right"
    return model
