# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What trainings of taggers and of models that answer questions share: arguments, limits, and the trainer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import datasets
from torch import Tensor
from transformers import (
    EvalPrediction,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainingArguments,
)

from .. import presets
from ..bridges.model_sources import token_limit
from ..data.splits import SplitArguments
from ..utils.errors import DataError
from .arguments import RunArguments, checking_arguments
from .callbacks import WeightAverage, early_stopping
from .classification import ModelArguments
from .trainer import RatesByDepth, SharingTrainer, check_rates


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
class HeadTrainingArguments(RunArguments, TrainingArguments):
    """transformers.TrainingArguments with defaults for small encoders on a CPU."""

    learning_rate: float = field(default=2e-3, metadata={"help": "The peak learning rate of AdamW."})
    weight_decay: float = field(default=0.01, metadata={"help": "Weight decay, except for biases and norms."})
    warmup_steps: float = field(default=0.1, metadata={"help": "Warm-up steps; below 1, a fraction of all steps."})
    num_train_epochs: float = field(default=10.0, metadata={"help": "The number of training epochs."})
    eval_strategy: str = field(default="epoch", metadata={"help": "When to evaluate."})
    save_strategy: str = field(default="epoch", metadata={"help": "When to save a checkpoint."})
    save_total_limit: int | None = field(default=1, metadata={"help": "The number of checkpoints to keep."})
    logging_steps: float = field(default=50, metadata={"help": "Steps between log entries."})
    ema_decay: float = field(
        default=0.0,
        metadata={"help": "Decay of the moving average of weights used at the end; 0: no averaging."},
    )
    embedding_learning_rate: float | None = field(
        default=None, metadata={"help": "The peak learning rate of the embeddings; by default that of the layers."}
    )
    layer_decay: float = field(
        default=1.0,
        metadata={"help": "Factor on the learning rate from each layer to the one below; 1: no decay."},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rates(self.layer_decay, self.embedding_learning_rate)
        if self.prediction_loss_only or self.label_names:
            raise DataError("--prediction_loss_only and --label_names are not supported: the scores are of the labels")


class HeadTrainer(RatesByDepth, SharingTrainer):
    """The trainer of an encoder with a head."""


def limit_length(tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig) -> None:
    """Limit the length to the model's positions, and pad on the right, so that a token keeps its index in a batch."""
    tokenizer.model_max_length, tokenizer.padding_side = token_limit(tokenizer, config), "right"


@checking_arguments()
def build_trainer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: dict[str, datasets.Dataset],
    collator: Any,
    metrics: Callable[[EvalPrediction], dict[str, float]],
    arguments: HeadTrainingArguments,
    preprocess: Callable[[Any, Tensor], Any] | None = None,
) -> HeadTrainer:
    """rows: of each split. preprocess: from logits and labels to what is kept of a batch of evaluation."""
    average: list[TrainerCallback] = [WeightAverage(arguments.ema_decay)] if arguments.ema_decay else []
    return HeadTrainer(
        model,
        arguments,
        data_collator=collator,
        train_dataset=rows["train"],
        eval_dataset=rows["validation"],
        processing_class=tokenizer,
        compute_metrics=metrics,
        preprocess_logits_for_metrics=preprocess,
        callbacks=[*average, *early_stopping(arguments.early_stopping_patience)],
    )


def inputs_of(model: ModelArguments, data: SplitArguments) -> list[str | None]:
    """Return the inputs of a run, which must lie outside its folder."""
    files = [data.data_dir, data.train_file, data.validation_file, data.test_file]
    return [model.model_name_or_path, model.tokenizer_name_or_path, *files]
