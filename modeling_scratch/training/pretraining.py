# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A pretraining run on plain text: masked tokens, next tokens, or denoising."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch.utils.data import Sampler
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_utils import EvalLoopOutput, IntervalStrategy, SaveStrategy

from ..data.documents import DocumentArguments, load_documents
from ..data.packed_documents import NumberedRows, Pieces, SimilarLengths, StreamedRows
from ..evaluation.pretraining import first_words, report, token_losses, token_metrics, write_sample
from ..utils.errors import DataError
from .arguments import RunArguments
from .callbacks import WeightAverage, early_stopping
from .checkpoints import step_of
from .distributed import whole_model
from .objectives import PretrainingData, PretrainingModelArguments, build_model, build_tokenizer, prepare
from .run import Run
from .run_folder import alone
from .trainer import SharingTrainer


@dataclass
class PretrainingArguments(RunArguments, TrainingArguments):
    """transformers.TrainingArguments with defaults for small models on a CPU."""

    output_dir: str | None = field(default="runs/pretrained", metadata={"help": "Where everything is saved."})
    learning_rate: float = field(default=1e-3, metadata={"help": "The peak learning rate of AdamW."})
    lr_scheduler_type: str = field(default="cosine", metadata={"help": "How the rate falls after warm-up."})
    weight_decay: float = field(default=0.1, metadata={"help": "Weight decay of all but biases and norms."})
    adam_beta2: float = field(default=0.98, metadata={"help": "Decay of the second moment."})
    warmup_steps: float = field(default=0.05, metadata={"help": "Steps of warm-up; below 1: a share of all."})
    num_train_epochs: float = field(default=1.0, metadata={"help": "Passes over the training text."})
    per_device_train_batch_size: int = field(default=32, metadata={"help": "Rows a step, on each device."})
    per_device_eval_batch_size: int = field(default=32, metadata={"help": "Rows a batch when evaluating."})
    eval_strategy: str = field(default="steps", metadata={"help": "When to evaluate."})
    eval_steps: float | None = field(default=0.1, metadata={"help": "How often; below 1: a share of all steps."})
    save_strategy: str = field(default="steps", metadata={"help": "When to save a checkpoint."})
    save_steps: float = field(default=0.2, metadata={"help": "How often; below 1: a share of all steps."})
    save_total_limit: int | None = field(default=1, metadata={"help": "How many checkpoints to keep."})
    logging_steps: float = field(default=0.02, metadata={"help": "Steps between two points of the learning curve."})
    ema_decay: float = field(
        default=0.0, metadata={"help": "Decay of the moving average of the weights that is taken at the end; 0: none."}
    )
    early_stopping_patience: int = field(
        default=0,
        metadata={
            "help": "Stop after so many evaluations in a row that are no better than the best, whose weights are kept; "
            "each is saved as a checkpoint then; 0: never."
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.early_stopping_patience:
            self._choose_on_validation()

    def _choose_on_validation(self) -> None:
        if self.ema_decay or self.eval_strategy == IntervalStrategy.NO:
            raise DataError(
                "--early_stopping_patience needs --ema_decay 0, for it keeps the weights of one evaluation, and "
                "evaluations to choose from (--eval_strategy)"
            )
        self.save_strategy = SaveStrategy(IntervalStrategy(self.eval_strategy).value)
        self.save_steps = self.eval_steps or self.save_steps
        self.load_best_model_at_end, self.metric_for_best_model, self.greater_is_better = True, "loss", False


class PretrainingTrainer(SharingTrainer):
    """Trainer whose evaluation loss is the mean over all predicted tokens, and which batches pieces by length."""

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> EvalLoopOutput:
        output = super().evaluation_loop(*args, **kwargs)
        metrics = output.metrics or {}
        metrics["eval_loss"] = metrics.pop("eval_token_loss")  # Trainer's is the mean over the means of batches
        return output

    def _get_train_sampler(self, *args: Any) -> Sampler | None:
        if not isinstance(self.train_dataset, Pieces):
            return super()._get_train_sampler(*args)
        batch = self.args.train_batch_size * self.args.gradient_accumulation_steps * self.args.world_size
        return SimilarLengths(self.train_dataset.lengths, batch, self.args.seed)


class CountEpochs(TrainerCallback):
    """Tell the rows which epoch it is, so that their noise differs from one to the next."""

    def __init__(self, rows: NumberedRows) -> None:
        self.rows = rows

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.rows.set_epoch(int(state.epoch or 0))


@alone
def pretrain(
    model_arguments: PretrainingModelArguments, data_arguments: DocumentArguments, arguments: PretrainingArguments
) -> None:
    """Read, tokenise, train, evaluate, save; what can be wrong with the input is found before the training starts."""
    check_training(data_arguments, arguments)
    inputs = inputs_of(model_arguments, data_arguments)
    run = Run.open("scripts/pretrain.py", model_arguments, data_arguments, arguments, inputs)
    documents = load_documents(data_arguments)
    print(documents.describe())
    tokenizer = build_tokenizer(model_arguments, documents.train, run.checkpoint)
    model = build_model(model_arguments, tokenizer)
    data = prepare(model_arguments, documents, tokenizer, arguments.seed)
    print(*data.notes, f"model: {model.num_parameters():,} parameters", sep="\n")
    run.start([*documents.notes, *data.notes])
    trainer = build_trainer(model, tokenizer, data, arguments)
    run.train(trainer)
    if run.is_main:
        print("", report(trainer, data, documents.validation[0], step_of(run.checkpoint)), sep="\n")
    run.finish(trainer, documents.validation)
    if run.is_main and model_arguments.objective == "clm":
        prompt = first_words(data.validation[0]["input_ids"], tokenizer)
        print("\na sample:", write_sample(whole_model(trainer), tokenizer, prompt, data.longest), sep="\n")
    if run.is_main:
        print(f"\n{run.summary(trainer)}")


def check_training(data_arguments: DocumentArguments, arguments: PretrainingArguments) -> None:
    if data_arguments.streaming and arguments.max_steps <= 0:
        raise DataError("--streaming has no end that is known before: say how long to train, --max_steps")
    if arguments.label_smoothing_factor:
        raise DataError("--label_smoothing_factor is no part of pretraining, whose loss is read as a perplexity")
    if arguments.prediction_loss_only:
        raise DataError("--prediction_loss_only leaves out what the loss over all tokens is made of; drop it")


def build_trainer(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, data: PretrainingData, arguments: PretrainingArguments
) -> PretrainingTrainer:
    callbacks: list[TrainerCallback] = [CountEpochs(data.train)] if isinstance(data.train, NumberedRows) else []
    if arguments.ema_decay:
        callbacks.append(WeightAverage(arguments.ema_decay))
    callbacks += early_stopping(arguments.early_stopping_patience)
    arguments.remove_unused_columns = False  # the collators need columns that the model does not
    arguments.label_names = [data.label_name]
    if isinstance(data.train, StreamedRows):  # each process reads it: batches of several lengths cannot be sent
        accelerate: Any = arguments.accelerator_config
        accelerate.dispatch_batches = False
    return PretrainingTrainer(
        model,
        arguments,
        data_collator=data.collator,
        train_dataset=data.train,
        eval_dataset=data.validation,
        processing_class=tokenizer,
        compute_metrics=partial(token_metrics, text=data.text if data.is_whole_text else None),
        preprocess_logits_for_metrics=token_losses,
        callbacks=callbacks,
    )


def inputs_of(model_arguments: PretrainingModelArguments, data_arguments: DocumentArguments) -> list[str | None]:
    files = [*(data_arguments.train_file or ()), *(data_arguments.validation_file or ())]
    names = model_arguments.model_name_or_path, model_arguments.tokenizer_name_or_path
    return [*names, data_arguments.data_dir, *files]
