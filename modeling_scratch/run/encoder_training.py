# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What trainings of encoders share: arguments, the trainer, and the epoch that is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from datasets import Dataset
from torch import Tensor
from transformers import (
    DataCollatorWithPadding,
    EvalPrediction,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainingArguments,
)

from ..modeling_base import ScratchPreTrainedModel
from ..utils.errors import DataError
from .arguments import RunArguments, check_rates, checking_arguments
from .callbacks import WeightAverage, early_stopping, save_where_evaluated
from .trainer import RunTrainer

Metrics = Callable[[EvalPrediction], dict[str, float]]
# The arguments that name inputs: one, or a list of them.
INPUTS = (
    "model_name_or_path", "tokenizer_name_or_path", "data_dir", "train_file", "validation_file", "test_file",
)  # fmt: skip


@dataclass
class EncoderTrainingArguments(RunArguments, TrainingArguments):
    """transformers.TrainingArguments with defaults for small encoders on a CPU."""

    weight_decay: float = field(default=0.01, metadata={"help": "Weight decay, except for biases and norms."})
    warmup_steps: float = field(default=0.1, metadata={"help": "Warm-up steps; below 1, a fraction of all steps."})
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


def inputs_of(*groups: Any) -> list[str]:
    """Return the inputs that the arguments of a run name, which must lie outside its folder."""
    values = [getattr(group, name, None) for group in groups for name in INPUTS]
    return [each for value in values for each in ([value] if isinstance(value, str) else value or ())]


@checking_arguments()
def build_trainer(
    tokenizer: PreTrainedTokenizerBase,
    splits: Mapping[str, Dataset],
    metrics: Metrics,
    arguments: EncoderTrainingArguments,
    collator: Any = None,
    preprocess: Callable[[Any, Tensor], Any] | None = None,
    **options: Any,
) -> RunTrainer:
    """Build a trainer. options: the model, and others of `RunTrainer`.

    preprocess: from logits and labels to what is kept of a batch of evaluation.
    """
    average: list[TrainerCallback] = [WeightAverage(decay)] if (decay := getattr(arguments, "ema_decay", 0)) else []
    trainer = RunTrainer(
        args=arguments,
        **options,
        data_collator=collator or DataCollatorWithPadding(tokenizer),
        train_dataset=splits["train"],
        eval_dataset=splits["validation"],
        processing_class=tokenizer,
        compute_metrics=metrics,
        preprocess_logits_for_metrics=preprocess,
        callbacks=[*average, *early_stopping(arguments.early_stopping_patience)],
    )
    if not isinstance(trainer.model, ScratchPreTrainedModel):  # others take num_items_in_batch, and ignore it
        trainer.model_accepts_loss_kwargs = False
    return trainer


def choose_epoch_on_validation(arguments: Any, data: Any, best_by: tuple[str, bool]) -> None:
    """Keep the best epoch on validation, the one with the best_by score, if there is a separate test split.

    With a moving average of the weights, there is no epoch to choose. arguments: training arguments with `ema_decay`,
    and with load_best_model_at_end if it is given; data: with `splits`.
    """
    is_declined = arguments.load_best_model_at_end is False
    if arguments.load_best_model_at_end and (arguments.ema_decay or "test" not in data.splits):
        raise DataError("--load_best_model_at_end requires --ema_decay 0 and a test split for evaluation")
    chosen_at = arguments.eval_strategy == arguments.save_strategy != "no"
    arguments.load_best_model_at_end = (
        "test" in data.splits and not arguments.ema_decay and chosen_at and not is_declined
    )
    if arguments.load_best_model_at_end:
        save_where_evaluated(arguments)
        if not arguments.names_best_metric:
            arguments.metric_for_best_model, arguments.greater_is_better = best_by
    if arguments.early_stopping_patience and not arguments.load_best_model_at_end:
        needs = {
            "no --load_best_model_at_end False": not is_declined,
            "--ema_decay 0": not arguments.ema_decay,
            "a test split for evaluation": "test" in data.splits,
            "an evaluation with each checkpoint (--eval_strategy and --save_strategy)": chosen_at,
        }
        unmet = " and ".join(need for need, is_met in needs.items() if not is_met)
        raise DataError(f"--early_stopping_patience requires {unmet}")
