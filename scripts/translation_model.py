# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tokenizers and the model that train_translation.py trains: new ones of a preset, or those of a checkpoint."""

from dataclasses import dataclass, field
from typing import Literal

import datasets
from model_sources import load_checkpoint, preset_config
from text_files import DataError
from text_generation import position_limit
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from translation_data import TranslationData

from modeling_scratch import ScratchSeq2SeqForConditionalGeneration, presets
from modeling_scratch.pipelines import TARGET_FOLDER
from tokenization import KINDS, special_token_ids

DEFAULT_PRESET = "captions"
# How a checkpoint searches or draws: a run says itself how it translates, and the two may contradict each other.
SEARCH = (
    *("do_sample", "temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff"),
    *("num_beams", "early_stopping", "length_penalty", "num_return_sequences"),
)


@dataclass
class TranslationModelArguments:
    """What to train: a preset from scratch, or a checkpoint further."""

    preset: str | None = field(
        default=None,
        metadata={"help": f"Settings of a new model: {', '.join(presets.SEQ2SEQS)}; {DEFAULT_PRESET} if not named."},
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
        new = [name for name in ("preset", "config_overrides", "separate_vocabularies") if getattr(self, name)]
        if self.model_name_or_path and new:
            raise DataError(f"--{', --'.join(new)}: for a new model, and --model_name_or_path is as it is")
        if self.max_length < 4:
            raise DataError(f"--max_length {self.max_length}: leaves no room for a text and its end")


Tokenizers = tuple[PreTrainedTokenizerBase, PreTrainedTokenizerBase]


def build_tokenizers(arguments: TranslationModelArguments, data: TranslationData, checkpoint: str | None) -> Tokenizers:
    """Of the source and of the target, often one and the same: those that the weights were trained with, or new ones.

    checkpoint: of this run, to go on from. New tokenizers know the train split alone.
    """
    if name := checkpoint or arguments.model_name_or_path:
        return load_tokenizers(name, arguments.trust_remote_code)
    sources, targets = data.sources("train"), data.targets("train")
    if arguments.separate_vocabularies:
        return _train(arguments, sources), _train(arguments, targets)
    shared = _train(arguments, sources + targets)
    return shared, shared


def load_tokenizers(name: str, trust_remote_code: bool = False) -> Tokenizers:
    """Those of a checkpoint; raises `DataError` where the decoder has a vocabulary of its own, and it is missing."""
    source = load_checkpoint(AutoTokenizer, name, trust_remote_code)
    config = load_checkpoint(AutoConfig, name, trust_remote_code)
    is_shared = getattr(config, "share_encoder_decoder_embeddings", True)
    if is_shared or getattr(source, "separate_vocabs", False):  # Marian's tokenizer holds both itself
        return source, source
    try:
        return source, load_checkpoint(AutoTokenizer, name, trust_remote_code, subfolder=TARGET_FOLDER)
    except DataError as error:
        raise DataError(
            f"{name}: its decoder has a vocabulary of its own, but there is no tokenizer in {TARGET_FOLDER}/; "
            "copy that folder from where the model was trained"
        ) from error


def _train(arguments: TranslationModelArguments, texts: list[str]) -> PreTrainedTokenizerBase:
    options = {"add_prefix_space": True} if arguments.tokenizer_kind == "byte_bpe" else {}
    length = {"model_max_length": arguments.max_length, "length": len(texts)}
    try:
        return KINDS[arguments.tokenizer_kind](texts, arguments.vocab_size, style="marian", **options, **length)
    except ValueError as error:
        raise DataError(f"no tokenizer can be trained: {error}") from error


def build_model(arguments: TranslationModelArguments, tokenizers: Tokenizers) -> PreTrainedModel:
    """A new model of the preset for these tokenizers, or the checkpoint's; texts of max_length tokens fit into it."""
    if name := arguments.model_name_or_path:
        model = load_checkpoint(AutoModelForSeq2SeqLM, name, arguments.trust_remote_code)
        model.generation_config.update(**dict.fromkeys(SEARCH))
    else:
        model = _new_model(arguments, *tokenizers)
    limit = position_limit(model.config)
    if limit is not None and arguments.max_length > limit:
        raise DataError(f"--max_length {arguments.max_length}: the model has positions for {limit} tokens; lower it")
    return model


def _new_model(
    arguments: TranslationModelArguments, source: PreTrainedTokenizerBase, target: PreTrainedTokenizerBase
) -> PreTrainedModel:
    settings = {
        "vocab_size": len(source),
        "decoder_vocab_size": len(target),
        "share_encoder_decoder_embeddings": source is target,
        "max_position_embeddings": arguments.max_length,
        "sparse_prediction": True,
        **special_token_ids(target),
    }
    preset = arguments.preset or DEFAULT_PRESET
    return ScratchSeq2SeqForConditionalGeneration(
        preset_config(presets.SEQ2SEQS, preset, arguments.config_overrides, **settings)
    )


def encode_pairs(data: TranslationData, split: str, tokenizers: Tokenizers, max_length: int) -> datasets.Dataset:
    """Columns input_ids and labels. Pairs that are too long are left out of train, and said; elsewhere they are cut."""
    options = {"truncation": split != "train", "max_length": max_length, "verbose": False}
    inputs = tokenizers[0](data.sources(split), **options)["input_ids"]
    labels = tokenizers[1](text_target=data.targets(split), **options)["input_ids"]
    fitting = [pair for pair in zip(inputs, labels) if max(map(len, pair)) <= max_length]
    if len(fitting) < len(inputs):
        print(f"{split}: {len(inputs) - len(fitting):,} pairs are longer than --max_length {max_length} and left out")
    if not fitting:
        raise DataError(f"{split}: every pair is longer than {max_length} tokens; raise --max_length")
    return datasets.Dataset.from_dict(dict(zip(("input_ids", "labels"), zip(*fitting))))
