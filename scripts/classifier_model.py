# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tokenizer and the model that train_classifier.py trains: new ones from a preset, or those of a checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import datasets
from model_sources import checkpoint_overrides, load_checkpoint, load_model, preset_config
from text_files import DataError
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

import modeling_scratch
from modeling_scratch import ScratchEncoderConfig, presets
from tokenization import KINDS, special_token_ids


@dataclass
class ModelArguments:
    """What to train: a preset from scratch, or a checkpoint further."""

    preset: str = field(
        default="reviews", metadata={"help": f"Settings of a new model: {', '.join(presets.ENCODERS)}."}
    )
    config_overrides: str | None = field(
        default=None,
        metadata={
            "help": "Changes to the preset, as hidden_size=128,hidden_act=gelu; of a checkpoint, what has no weights."
        },
    )
    model_name_or_path: str | None = field(
        default=None, metadata={"help": "A checkpoint to fine-tune instead of a new model."}
    )
    tokenizer_name_or_path: str | None = field(default=None, metadata={"help": "A tokenizer instead of a new one."})
    tokenizer_kind: Literal["wordlevel", "bpe", "byte_bpe"] = field(
        default="wordlevel", metadata={"help": "The kind of a new tokenizer."}
    )
    vocab_size: int = field(default=16_000, metadata={"help": "Tokens of a new tokenizer, at most."})
    lowercase: bool = field(
        default=True, metadata={"help": "A new tokenizer ignores case; --no_lowercase: it does not."}
    )
    max_length: int | None = field(default=None, metadata={"help": "Tokens of a text; what is longer is cut there."})
    trust_remote_code: bool = field(default=False, metadata={"help": "Run the code that a checkpoint brings along."})

    def __post_init__(self) -> None:
        if self.model_name_or_path:
            checkpoint_overrides(self.config_overrides)
        if self.max_length is not None and self.max_length < 4:
            raise DataError(f"--max_length {self.max_length}: leaves no room for a text between its special tokens")


def build_tokenizer(
    arguments: ModelArguments, texts: Sequence[str], resumed: str | None = None
) -> PreTrainedTokenizerBase:
    """The checkpoint's, the one named, or a new one trained on texts, which are those of the train split alone.

    resumed: the checkpoint of this run that it goes on from; then it is that one's.
    """
    if name := resumed or arguments.tokenizer_name_or_path or arguments.model_name_or_path:
        tokenizer = load_checkpoint(AutoTokenizer, name, arguments.trust_remote_code)
        if arguments.max_length is not None:
            tokenizer.model_max_length = arguments.max_length
        return _with_padding(tokenizer, name)
    limit = _preset_config(arguments).max_position_embeddings
    options = {"lowercase": arguments.lowercase, "model_max_length": limit, "min_frequency": 2, "length": len(texts)}
    try:
        return KINDS[arguments.tokenizer_kind](texts, arguments.vocab_size, style="bert", **options)
    except ValueError as error:
        raise DataError(f"no tokenizer can be trained: {error}") from error


def _with_padding(tokenizer: PreTrainedTokenizerBase, name: str) -> PreTrainedTokenizerBase:
    """Those of GPT-2 and Llama know none; the attention mask tells it from the token that ends a text."""
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise DataError(f"{name}: its tokenizer has no pad_token, and no eos_token in its place")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def encode_splits(
    splits: datasets.DatasetDict, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig
) -> tuple[datasets.DatasetDict, list[str]]:
    """Columns input_ids, attention_mask and label of each split, and a line for each split in which texts were cut.

    They are cut where the tokenizer says, or the positions of the model end.
    """
    limit = min(tokenizer.model_max_length, getattr(config, "max_position_embeddings", tokenizer.model_max_length))
    tokenizer.model_max_length = limit
    notes = []
    encoded = {}
    for split, rows in splits.items():
        columns = tokenizer(list(rows["text"]), truncation=True)
        cut = sum(bool(encoding.overflowing) for encoding in columns.encodings or ())
        if cut:
            notes.append(f"{split}: {cut:,} texts are longer than {limit} tokens and were cut there (--max_length)")
        encoded[split] = datasets.Dataset.from_dict({**columns, "label": list(rows["label"])})
    return datasets.DatasetDict(encoded), notes


def build_model(
    arguments: ModelArguments, tokenizer: PreTrainedTokenizerBase, label_names: Sequence[str]
) -> PreTrainedModel:
    """A classifier into label_names, saved with the model: a new one of the preset, or the checkpoint's body."""
    labels = {"id2label": dict(enumerate(label_names)), "label2id": {name: i for i, name in enumerate(label_names)}}
    if arguments.model_name_or_path:
        options = {"ignore_mismatched_sizes": True, **checkpoint_overrides(arguments.config_overrides), **labels}
        head, name = "ForSequenceClassification", arguments.model_name_or_path
        model = load_model(AutoModelForSequenceClassification, head, name, arguments.trust_remote_code, **options)
        if model.config.pad_token_id is None:
            model.config.pad_token_id = tokenizer.pad_token_id
        return model
    ids = special_token_ids(tokenizer)
    config = _preset_config(arguments, vocab_size=len(tokenizer), num_labels=len(label_names), **ids, **labels)
    return modeling_scratch.ScratchEncoderForSequenceClassification(config)


def _preset_config(arguments: ModelArguments, **settings: Any) -> ScratchEncoderConfig:
    if arguments.max_length is not None:
        settings["max_position_embeddings"] = arguments.max_length
    return preset_config(presets.ENCODERS, arguments.preset, arguments.config_overrides, **settings)
