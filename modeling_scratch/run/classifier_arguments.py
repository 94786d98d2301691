# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The arguments of a classifier: those of every encoder, with defaults by the number of texts."""

from dataclasses import dataclass
from typing import Literal

from .. import presets
from ..utils.options import option
from .arguments import EncoderTrainingArguments
from .encoder_models import ModelArguments
from .losses import CLASS_WEIGHTS
from .search import check_search

BY_TEXTS = "by default, that of the table in docs/own-data.md for so many texts"


@dataclass
class ClassifierModelArguments(ModelArguments):
    """The model to train, with defaults by the number of texts."""

    preset: str | None = option(None, f"The configuration of a new model; {BY_TEXTS}.", presets.ENCODERS)
    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] | None = option(
        None, "The kind of a new tokenizer; by default words, or bpe without white space."
    )
    vocab_size: int | None = option(None, f"The maximum vocabulary size of a new tokenizer; {BY_TEXTS}.")
    min_frequency: int | None = option(
        None, f"The number of times that a word must occur for a new tokenizer to know it; {BY_TEXTS}."
    )


@dataclass
class ClassifierTrainingArguments(EncoderTrainingArguments):
    """The arguments of a classifier's training."""

    output_dir: str | None = option("runs/demo", "The folder for the model and all results.")
    learning_rate: float | None = option(None, f"The peak learning rate of AdamW; {BY_TEXTS}.")
    num_train_epochs: float | None = option(None, f"The number of training epochs; {BY_TEXTS}.")
    per_device_train_batch_size: int | None = option(None, f"Training texts per step and device; {BY_TEXTS}.")
    per_device_eval_batch_size: int = option(128, "Texts per evaluation batch.")
    ema_decay: float | None = option(
        None,
        "Decay of the moving average of weights used at the end; 0: no averaging. By default 0.999 for "
        "many steps, and 0 for fewer.",
    )
    cuda_graphs: bool | None = option(
        None, "Run steps as CUDA graphs; by default on CUDA with --bf16, from 200 steps on."
    )
    class_weights: Literal["balanced"] | None = option(None, CLASS_WEIGHTS)
    calibrate: bool = option(True, "Divide the logits by a temperature, which is fitted on validation at the end.")
    save_linear_model: bool | None = option(
        None,
        "Save the linear model that the report compares with, in the folder linear. By default if it is significantly "
        "better.",
    )
    search_trials: int = option(0, "The number of trials of a hyperparameter search on validation; 0: train once.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_search(self)
