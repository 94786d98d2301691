# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The encoder that a program trains, from a preset or a checkpoint, and its tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import transformers
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

import modeling_scratch
from tokenization import KINDS, special_token_ids

from .. import presets
from ..bridges.model_sources import (
    ALLOW_SPECIAL_TOKENS,
    ask_for_mask,
    check_folder,
    checkpoint_overrides,
    load_checkpoint,
    load_model,
    override_parts,
    preset_config,
    read_special_tokens,
    token_limit,
    with_padding,
)
from ..configuration_scratch import ProblemType, ScratchEncoderConfig
from ..data.text_pairs import TextPair
from ..utils.errors import DataError
from ..utils.options import option

PRESET = "reviews"


@dataclass
class ModelArguments:
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

    preset: str = option(PRESET, "The configuration of a new model.", presets.ENCODERS)
    config_overrides: str | None = option(
        None, "Changes to the preset, e.g. hidden_size=128; to a checkpoint, only in fields without weights."
    )
    model_name_or_path: str | None = option(None, "A checkpoint to fine-tune, instead of a new model.")
    tokenizer_name_or_path: str | None = option(None, "An existing tokenizer, instead of a new one.")
    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] = option(
        "wordlevel", "The kind of a new tokenizer."
    )
    vocab_size: int = option(16_000, "The maximum vocabulary size of a new tokenizer.")
    min_frequency: int = option(2, "The number of times that a word must occur for a new tokenizer to know it.")
    lowercase: bool = option(True, "Lower-case the text in a new tokenizer; False keeps case.")
    max_length: int | None = option(None, "The maximum number of tokens; longer texts are truncated.")
    allow_special_tokens: bool = option(False, ALLOW_SPECIAL_TOKENS)
    trust_remote_code: bool = option(False, "Allow the checkpoint's own code to run.")

    def __post_init__(self) -> None:
        check_folders(self)
        if self.model_name_or_path:
            checkpoint_overrides(self.config_overrides)
        else:  # build the config before the data are read; without a preset yet, only the names of its fields are known
            names = {part.partition("=")[0].strip() for part in override_parts(self.config_overrides)}
            if self.preset is not None or names - vars(ScratchEncoderConfig()).keys():
                preset_of(self)
        if self.max_length is not None and self.max_length < 4:
            raise DataError(f"--max_length {self.max_length}: must be at least 4")
        if self.min_frequency is not None and self.min_frequency < 1:
            raise DataError(f"--min_frequency {self.min_frequency}: must be at least 1")


@dataclass
class HeadModelArguments(ModelArguments):
    """The model to train, with defaults for positions of words, which the demo's preset has."""

    preset: str = option("demo", "The configuration of a new model.", presets.ENCODERS)
    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] = option(
        "byte_bpe", "The kind of a new tokenizer."
    )
    vocab_size: int = option(8_000, "The maximum vocabulary size of a new tokenizer.")


def check_folders(arguments: Any) -> None:
    """Raise `DataError` for a path in place of a checkpoint or a tokenizer where there is none."""
    for name in ("model_name_or_path", "tokenizer_name_or_path"):
        if value := getattr(arguments, name):
            check_folder(value, f"--{name}")


def build_tokenizer(
    arguments: ModelArguments, texts: Sequence[str], resumed: str | None = None, **options: Any
) -> PreTrainedTokenizerBase:
    """Load the named or the checkpoint's tokenizer, or train a new one on `texts`, those of the train split.

    resumed: the checkpoint that this run resumes from; its tokenizer takes precedence. options: further arguments of
    the function that trains a new tokenizer.
    """
    if name := resumed or arguments.tokenizer_name_or_path or arguments.model_name_or_path:
        tokenizer = load_checkpoint(AutoTokenizer, name, arguments.trust_remote_code)
        if arguments.max_length is not None:
            tokenizer.model_max_length = arguments.max_length
        read_special_tokens(tokenizer, arguments.allow_special_tokens)
        return with_padding(tokenizer, name)
    limit = preset_of(arguments).max_position_embeddings
    options |= {name: getattr(arguments, name) for name in ("lowercase", "min_frequency")}
    tokenizer = new_tokenizer(arguments, texts, style="bert", model_max_length=limit, **options)
    read_special_tokens(tokenizer, arguments.allow_special_tokens)
    return tokenizer


def new_tokenizer(arguments: Any, texts: Sequence[str], **options: Any) -> PreTrainedTokenizerBase:
    """Train a tokenizer of the kind and the size of the arguments. Raises `DataError` if the texts do not permit it."""
    try:
        return KINDS[arguments.tokenizer_kind](texts, arguments.vocab_size, length=len(texts), **options)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"cannot train a tokenizer: {error}") from error


def build_model(
    arguments: ModelArguments,
    tokenizer: PreTrainedTokenizerBase,
    label_names: Sequence[str],
    head: str = "ForSequenceClassification",
    problem_type: ProblemType | None = "single_label_classification",
    has_pairs: bool = False,
) -> PreTrainedModel:
    """Build a classifier with the given label names, from the preset or with the checkpoint's base model.

    head: the suffix of the classes that have the head. has_pairs: whether a new model reads pairs of texts, and so has
    embeddings of their token types if the tokenizer tells them.
    """
    labels = {
        "id2label": dict(enumerate(label_names)),
        "label2id": {name: i for i, name in enumerate(label_names)},
        "problem_type": problem_type,
    }
    if arguments.model_name_or_path:
        options = {"ignore_mismatched_sizes": True, **checkpoint_overrides(arguments.config_overrides), **labels}
        auto_class, name = getattr(transformers, f"AutoModel{head}"), arguments.model_name_or_path
        model = load_model(auto_class, head, name, arguments.trust_remote_code, **options)
        if model.config.pad_token_id is None:
            model.config.pad_token_id = tokenizer.pad_token_id
        ask_for_mask(tokenizer, model)
        return model
    settings = {**special_token_ids(tokenizer), **labels}
    if has_pairs and "token_type_ids" in tokenizer.model_input_names:
        settings["type_vocab_size"] = 2
    config = preset_of(arguments, vocab_size=len(tokenizer), num_labels=len(label_names), **settings)
    model = getattr(modeling_scratch, f"ScratchEncoder{head}")(config)
    if arguments.min_frequency == 1 and tokenizer.unk_token_id is not None:
        # Training sees hardly a word that is unknown: a random embedding would stay, as noise in new texts.
        torch.nn.init.zeros_(model.get_input_embeddings().weight[tokenizer.unk_token_id])
    ask_for_mask(tokenizer, model)
    return model


def preset_of(arguments: ModelArguments, **settings: Any) -> ScratchEncoderConfig:
    if arguments.max_length is not None:
        settings["max_position_embeddings"] = arguments.max_length
    return preset_config(presets.ENCODERS, arguments.preset or PRESET, arguments.config_overrides, **settings)


def tokenizer_of_head(
    options: ModelArguments, data: Any, checkpoint: str | None, **more: Any
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
