# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tokenizers and the model that train_translation.py trains: new ones of a preset, or those of a checkpoint."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import datasets
from model_sources import load_checkpoint, preset_config
from text_files import DataError
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from translation_data import TranslationData

from modeling_scratch import ScratchSeq2SeqForConditionalGeneration, presets
from tokenization import KINDS, special_token_ids

TARGET_FOLDER = "target_tokenizer"  # beside the model, where its decoder has a vocabulary of its own


@dataclass
class TranslationModelArguments:
    """What to train: a preset from scratch, or a checkpoint further."""

    preset: str = field(
        default="captions", metadata={"help": f"Settings of a new model: {', '.join(presets.SEQ2SEQS)}."}
    )
    config_overrides: str | None = field(
        default=None, metadata={"help": "Changes to the preset, as hidden_size=256,decoder_layers=2."}
    )
    model_name_or_path: str | None = field(
        default=None, metadata={"help": "A checkpoint to train further instead of a new model."}
    )
    tokenizer_kind: Literal["wordlevel", "bpe", "byte_bpe"] = field(
        default="byte_bpe", metadata={"help": "The kind of new tokenizers; byte_bpe gives back every text exactly."}
    )
    vocab_size: int = field(default=6_000, metadata={"help": "Tokens of a new tokenizer, at most."})
    separate_vocabularies: bool = field(
        default=False, metadata={"help": "A vocabulary for each language, each of vocab_size tokens, instead of one."}
    )
    max_length: int = field(
        default=128, metadata={"help": "Tokens: longer pairs are not trained on, longer sources are cut."}
    )
    trust_remote_code: bool = field(default=False, metadata={"help": "Run the code that a checkpoint brings along."})

    def __post_init__(self) -> None:
        if self.model_name_or_path and (self.config_overrides or self.separate_vocabularies):
            raise DataError("--config_overrides and --separate_vocabularies are for new models, not for a checkpoint")
        if self.max_length < 4:
            raise DataError(f"--max_length {self.max_length}: leaves no room for a text and its end")


Tokenizers = tuple[PreTrainedTokenizerBase, PreTrainedTokenizerBase]


def build_tokenizers(arguments: TranslationModelArguments, data: TranslationData) -> Tokenizers:
    """Of the source and of the target, often one and the same; new ones know the train split alone."""
    if name := arguments.model_name_or_path:
        return load_tokenizers(name, arguments.trust_remote_code)
    sources, targets = data.sources("train"), data.targets("train")
    if arguments.separate_vocabularies:
        return _train(arguments, sources), _train(arguments, targets)
    shared = _train(arguments, sources + targets)
    return shared, shared


def load_tokenizers(name: str, trust_remote_code: bool = False) -> Tokenizers:
    """Those beside a checkpoint."""
    source = load_checkpoint(AutoTokenizer, name, trust_remote_code)
    if not (Path(name) / TARGET_FOLDER).is_dir():
        return source, source
    return source, load_checkpoint(AutoTokenizer, str(Path(name) / TARGET_FOLDER), trust_remote_code)


def _train(arguments: TranslationModelArguments, texts: list[str]) -> PreTrainedTokenizerBase:
    options = {"add_prefix_space": True} if arguments.tokenizer_kind == "byte_bpe" else {}
    length = {"model_max_length": arguments.max_length, "length": len(texts)}
    try:
        return KINDS[arguments.tokenizer_kind](texts, arguments.vocab_size, style="marian", **options, **length)
    except ValueError as error:
        raise DataError(f"no tokenizer can be trained: {error}") from error


def build_model(arguments: TranslationModelArguments, tokenizers: Tokenizers) -> PreTrainedModel:
    """A new model of the preset for these tokenizers, or the checkpoint's."""
    if name := arguments.model_name_or_path:
        return load_checkpoint(AutoModelForSeq2SeqLM, name, arguments.trust_remote_code)
    source, target = tokenizers
    vocabularies = {
        "vocab_size": len(source),
        "decoder_vocab_size": len(target),
        "share_encoder_decoder_embeddings": source is target,
        "max_position_embeddings": arguments.max_length,
    }
    config = preset_config(
        presets.SEQ2SEQS, arguments.preset, arguments.config_overrides, **vocabularies, **special_token_ids(target)
    )
    return ScratchSeq2SeqForConditionalGeneration(config)


def encode_pairs(data: TranslationData, split: str, tokenizers: Tokenizers, max_length: int) -> datasets.Dataset:
    """Columns input_ids and labels; prints how many pairs are too long.

    In train they are left out; elsewhere they are cut, for the loss alone: what is judged is the whole text.
    """
    options = {"truncation": split != "train", "max_length": max_length, "verbose": False}
    inputs = tokenizers[0](data.sources(split), **options)["input_ids"]
    labels = tokenizers[1](data.targets(split), **options)["input_ids"]
    fitting = [pair for pair in zip(inputs, labels) if max(map(len, pair)) <= max_length]
    if len(fitting) < len(inputs):
        print(f"{split}: {len(inputs) - len(fitting):,} pairs are longer than --max_length {max_length} and left out")
    if not fitting:
        raise DataError(f"{split}: every pair is longer than {max_length} tokens; raise --max_length")
    return datasets.Dataset.from_dict(dict(zip(("input_ids", "labels"), zip(*fitting))))
