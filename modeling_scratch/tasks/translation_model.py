# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The encoder-decoder that translates, from a preset or a checkpoint: its options, its tokenizers and its batches."""

from dataclasses import dataclass
from typing import Any, Literal

import datasets
import torch
from transformers import AutoModelForSeq2SeqLM, PreTrainedModel, PreTrainedTokenizerBase, TrainingArguments

from tokenization import special_token_ids

from .. import presets
from ..bridges.model_sources import (
    ALLOW_SPECIAL_TOKENS,
    Tokenizers,
    ask_for_mask,
    check_folder,
    load_body,
    load_tokenizers,
    position_limit,
    preset_config,
    read_special_tokens,
)
from ..data.translation_pairs import TranslationData
from ..inference.generation import SearchArguments
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration
from ..run.arguments import RunArguments
from ..run.defaults import steps_of
from ..run.encoder_models import new_tokenizer
from ..utils.errors import DataError
from ..utils.options import option
from .base import Encoded

DEFAULT_PRESET = "captions"
OF_SEQ2SEQ_TRAINER = (
    *("--predict_with_generate", "--sortish_sampler", "--generation_config", "--generation_max_length"),
    "--generation_num_beams",
)
# Generation settings of a checkpoint that the run's own would contradict.
SEARCH = (
    *("do_sample", "temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff"),
    *("num_beams", "early_stopping", "length_penalty", "num_return_sequences"),
)


@dataclass
class TranslationModelArguments:
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

    preset: str | None = option(
        None, f"The configuration of a new model (default: {DEFAULT_PRESET}).", presets.SEQ2SEQS
    )
    config_overrides: str | None = option(None, "Changes to the preset, e.g. hidden_size=256,decoder_layers=2.")
    model_name_or_path: str | None = option(None, "A checkpoint to fine-tune, instead of a new model.")
    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] = option(
        "byte_bpe", "The kind of new tokenizers; byte_bpe is lossless."
    )
    vocab_size: int = option(6_000, "The maximum vocabulary size of a new tokenizer.")
    separate_vocabularies: bool = option(
        False, "Use one vocabulary of vocab_size tokens per language, instead of a shared one."
    )
    max_length: int = option(
        128, "The maximum number of tokens; longer training pairs are dropped, longer sources truncated."
    )
    allow_special_tokens: bool = option(False, ALLOW_SPECIAL_TOKENS)
    trust_remote_code: bool = option(False, "Allow the checkpoint's own code to run.")

    def __post_init__(self) -> None:
        new = [name for name in ("preset", "config_overrides", "separate_vocabularies") if getattr(self, name)]
        if self.model_name_or_path and new:
            raise DataError(f"--{', --'.join(new)}: for new models only, not for --model_name_or_path")
        if self.max_length < 4:
            raise DataError(f"--max_length {self.max_length}: must be at least 4")
        if self.model_name_or_path:
            check_folder(self.model_name_or_path, "--model_name_or_path")
        else:  # builds the config before the data are read
            preset_config(presets.SEQ2SEQS, self.preset or DEFAULT_PRESET, self.config_overrides)


@dataclass
class TranslationTrainingArguments(RunArguments, TrainingArguments):
    """transformers.TrainingArguments with the defaults of Vaswani et al. 2017, 5.3 and 5.4."""

    RETIRED = {
        **RunArguments.RETIRED,
        **dict.fromkeys(OF_SEQ2SEQ_TRAINER, "leave it out, or use --max_length and --num_beams; evaluations translate"),
    }
    output_dir: str | None = option("runs/translation", "The folder for the model and all results.")
    learning_rate: float = option(0.0, "The peak learning rate; 0: the paper's, (hidden_size * warmup_steps)^-0.5.")
    lr_scheduler_type: str = option("inverse_sqrt", "The learning rate schedule after warm-up.")
    warmup_steps: float = option(800, "Warm-up steps; below 1, a fraction of all steps.")
    adam_beta2: float = option(0.98, "Adam's beta2.")
    adam_epsilon: float = option(1e-9, "Adam's epsilon.")
    label_smoothing_factor: float = option(0.1, "The label smoothing of the training loss.")
    num_train_epochs: float = option(30.0, "The number of training epochs.")
    per_device_train_batch_size: int = option(128, "Training pairs per step and device.")
    per_device_eval_batch_size: int = option(128, "Texts per batch when translating.")
    train_sampling_strategy: str = option("group_by_length", "How training batches are sampled.")
    eval_strategy: str = option("epoch", "When to evaluate.")
    save_strategy: str = option("epoch", "When to save a checkpoint.")
    save_total_limit: int | None = option(1, "The number of checkpoints to keep.")
    logging_steps: float = option(100, "Steps between log entries.")
    num_beams: int = option(5, "The beam size of the final translations.")
    length_penalty: float = option(
        1.0, "The exponent on the length in beam search; larger values favour longer translations."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        SearchArguments(num_beams=self.num_beams)  # applies the same checks

    def paper_rate(self, hidden_size: int, pairs: int) -> float:
        """hidden_size^-0.5 * warmup^-0.5, the peak of Vaswani et al. 2017, equation 3."""
        return (hidden_size * max(1, self.get_warmup_steps(steps_of(self, pairs)))) ** -0.5

    @property
    def beam_search(self) -> dict[str, Any]:
        """The model.generate arguments of the final translations."""
        length_penalty = self.length_penalty if self.num_beams > 1 else None  # only for beam search
        return {"num_beams": self.num_beams, "length_penalty": length_penalty, "do_sample": False}


# Tokenizers, model and data


def build_tokenizers(options: TranslationModelArguments, data: TranslationData, checkpoint: str | None) -> Tokenizers:
    """Return the source and target tokenizers, which may be the same object: the checkpoint's, or new ones.

    checkpoint: the one that this run resumes from. New tokenizers are trained on the train split only.
    """
    if name := checkpoint or options.model_name_or_path:
        tokenizers = load_tokenizers(name, options.trust_remote_code)
    elif options.separate_vocabularies:
        tokenizers = _train(options, data.sources("train")), _train(options, data.targets("train"))
    else:
        tokenizers = (_train(options, data.sources("train") + data.targets("train")),) * 2
    for each in tokenizers:  # a run that an earlier version started goes on as it read its texts
        read_special_tokens(each, not each.split_special_tokens if checkpoint else options.allow_special_tokens)
    return tokenizers


def _train(arguments: TranslationModelArguments, texts: list[str]) -> PreTrainedTokenizerBase:
    prefix = {"add_prefix_space": True} if arguments.tokenizer_kind == "byte_bpe" else {}
    return new_tokenizer(arguments, texts, style="marian", model_max_length=arguments.max_length, **prefix)


def build_model(arguments: TranslationModelArguments, tokenizers: Tokenizers) -> PreTrainedModel:
    """Build a model from the preset or load the checkpoint. It must have positions for max_length tokens."""
    if name := arguments.model_name_or_path:
        model = load_body(AutoModelForSeq2SeqLM, name, arguments.trust_remote_code, dtype=torch.float32)
        model.generation_config.update(**dict.fromkeys(SEARCH))
    else:
        model = _new_model(arguments, *tokenizers)
    ask_for_mask(tokenizers[0], model)
    limit = position_limit(model.config)
    if limit is not None and arguments.max_length > limit:
        raise DataError(f"--max_length {arguments.max_length}: the model has positions for only {limit} tokens")
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


def encode_pairs(data: TranslationData, split: str, tokenizers: Tokenizers, max_length: int) -> Encoded:
    """Tokenise a split into input_ids and labels. Too long pairs are dropped from train and truncated elsewhere."""
    options = {"truncation": split != "train", "max_length": max_length, "verbose": False}
    sides = tokenizers[0](data.sources(split), **options), tokenizers[1](text_target=data.targets(split), **options)
    pairs = list(zip(*(side["input_ids"] for side in sides)))
    fitting = [pair for pair in pairs if max(map(len, pair)) <= max_length]
    dropped = len(pairs) - len(fitting)
    notes = [f"{split}: {dropped:,} pairs exceed --max_length {max_length} and were dropped"] if dropped else []
    if not fitting:
        raise DataError(f"{split}: all pairs exceed {max_length} tokens; raise --max_length")
    columns = dict(zip(("input_ids", "labels"), zip(*fitting)))
    return Encoded(datasets.Dataset.from_dict(columns), [], notes=notes)
