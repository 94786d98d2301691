# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pretrain on plain text: masked tokens, next tokens or denoising."""

from copy import copy
from dataclasses import dataclass, field, replace
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
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from ..data.documents import DocumentArguments, Documents, load_documents
from ..data.packed_documents import NumberedRows, Pieces, SimilarLengths, StreamedRows
from ..report.pretraining import first_words, report_pretraining, token_losses, token_metrics, write_sample
from ..utils.errors import DataError
from .arguments import RunArguments, checking_arguments
from .callbacks import WeightAverage, early_stopping
from .checkpoints import step_of
from .distributed import whole_model
from .life_cycle import Run, summary
from .objectives import PretrainingData, PretrainingModelArguments, build_model, build_tokenizer, prepare
from .pushing import share
from .run_folder import alone
from .trainer import RunTrainer

PROGRAM = "scripts/pretrain.py"


@dataclass
class PretrainingArguments(RunArguments, TrainingArguments):
    """transformers.TrainingArguments with defaults for small models on a CPU."""

    output_dir: str | None = field(
        default="runs/pretrained", metadata={"help": "The folder for the model and all results."}
    )
    learning_rate: float = field(default=1e-3, metadata={"help": "The peak learning rate of AdamW."})
    lr_scheduler_type: str = field(default="cosine", metadata={"help": "The learning rate schedule after warm-up."})
    weight_decay: float = field(default=0.1, metadata={"help": "Weight decay, except for biases and norms."})
    adam_beta2: float = field(default=0.98, metadata={"help": "Decay of AdamW's second moment."})
    warmup_steps: float = field(default=0.05, metadata={"help": "Warm-up steps; below 1, a fraction of all steps."})
    num_train_epochs: float = field(default=1.0, metadata={"help": "The number of training epochs."})
    per_device_train_batch_size: int = field(default=32, metadata={"help": "Training rows per step and device."})
    per_device_eval_batch_size: int = field(default=32, metadata={"help": "Rows per evaluation batch."})
    eval_strategy: str = field(default="steps", metadata={"help": "When to evaluate."})
    eval_steps: float | None = field(
        default=0.1, metadata={"help": "The interval in steps; below 1, a fraction of all steps."}
    )
    save_strategy: str = field(default="steps", metadata={"help": "When to save a checkpoint."})
    save_steps: float = field(
        default=0.2, metadata={"help": "The interval in steps; below 1, a fraction of all steps."}
    )
    save_total_limit: int | None = field(default=1, metadata={"help": "The number of checkpoints to keep."})
    logging_steps: float = field(
        default=0.02, metadata={"help": "Steps between log entries; below 1, a fraction of all steps."}
    )
    ema_decay: float = field(
        default=0.0, metadata={"help": "Decay of the moving average of weights used at the end; 0: no averaging."}
    )
    early_stopping_patience: int = field(
        default=0,
        metadata={
            "help": "Stop after this many evaluations without improvement and keep the best weights; 0: never. "
            "Each evaluation then saves a checkpoint."
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.early_stopping_patience:
            self._choose_on_validation()
        elif self.load_best_model_at_end and self.ema_decay:
            raise DataError("--load_best_model_at_end keeps the weights of one evaluation, and requires --ema_decay 0")
        self.load_best_model_at_end = bool(self.load_best_model_at_end)

    def _choose_on_validation(self) -> None:
        if self.ema_decay or self.eval_strategy == IntervalStrategy.NO or self.load_best_model_at_end is False:
            raise DataError(
                "--early_stopping_patience requires --ema_decay 0, as it keeps the weights of one evaluation, and "
                "evaluations (--eval_strategy); it excludes --load_best_model_at_end False"
            )
        self.save_strategy = SaveStrategy(IntervalStrategy(self.eval_strategy).value)
        self.save_steps = self.eval_steps or self.save_steps
        self.load_best_model_at_end, self.metric_for_best_model, self.greater_is_better = True, "loss", False


class CountEpochs(TrainerCallback):
    """Set the epoch of the rows, so that their noise differs between epochs."""

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
    """Run the pretraining: read, tokenise, train, evaluate, save. Input errors are raised before training starts."""
    check_training(data_arguments, arguments)
    inputs = inputs_of(model_arguments, data_arguments)
    run = Run.open(PROGRAM, model_arguments, data_arguments, arguments, inputs)
    documents = load_documents(data_arguments)
    run.check_data(documents.digests())
    print(documents.describe())
    pretrain_on(run, documents, build_tokenizer(model_arguments, documents.train, run.checkpoint))


def start(run: Run, documents: Documents, tokenizer: PreTrainedTokenizerBase) -> tuple[RunTrainer, PretrainingData]:
    """Tokenise, build the model and its trainer, and start a run whose data has been checked."""
    model_arguments, arguments = run.groups["model"], run.groups["training"]
    model = build_model(model_arguments, tokenizer)
    data = prepare(model_arguments, documents, tokenizer, arguments.seed)
    print(*data.notes, f"model: {model.num_parameters():,} parameters", sep="\n")
    trainer = build_trainer(model, tokenizer, data, arguments)
    run.start(trainer, [*documents.notes, *data.notes])
    return trainer, data


def pretrain_on(run: Run, documents: Documents, tokenizer: PreTrainedTokenizerBase) -> PretrainingData:
    """Tokenise, train, evaluate and save, in a run whose data has been checked. Return the rows."""
    model_arguments = run.groups["model"]
    trainer, data = start(run, documents, tokenizer)
    run.train(trainer)
    if run.is_main:
        print("", report_pretraining(trainer, data, documents.validation[0], step_of(run.checkpoint)), sep="\n")
    share(trainer, documents.validation)
    if run.is_main and model_arguments.objective == "clm":
        prompt = first_words(data.validation[0]["input_ids"], tokenizer)
        print("\na sample:", write_sample(whole_model(trainer), tokenizer, prompt, data.longest), sep="\n")
    if run.is_main:
        print(f"\n{summary(trainer, run.checkpoint)}")
    return data


def check_training(data_arguments: DocumentArguments, arguments: PretrainingArguments) -> None:
    if data_arguments.streaming and arguments.max_steps <= 0:
        raise DataError("--streaming requires --max_steps, as the length of a stream is unknown")
    if arguments.label_smoothing_factor:
        raise DataError("--label_smoothing_factor is not supported: the perplexity is computed from the loss")
    if arguments.prediction_loss_only:
        raise DataError("--prediction_loss_only is not supported: the evaluation loss is computed from the predictions")


@checking_arguments()
def build_trainer(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, data: PretrainingData, arguments: PretrainingArguments
) -> RunTrainer:
    callbacks: list[TrainerCallback] = [CountEpochs(data.train)] if isinstance(data.train, NumberedRows) else []
    if arguments.ema_decay:
        callbacks.append(WeightAverage(arguments.ema_decay))
    callbacks += early_stopping(arguments.early_stopping_patience)
    arguments = copy(arguments)  # run_config.json has those of the user
    arguments.remove_unused_columns = False  # the collators use columns that the model does not
    arguments.label_names = [data.label_name]
    if isinstance(
        data.train, StreamedRows
    ):  # each process reads the stream: batches differ in length and cannot be dispatched
        accelerate: Any = arguments.accelerator_config
        arguments.accelerator_config = replace(accelerate, dispatch_batches=False)
    return RunTrainer(
        model,
        arguments,
        train_sampler=sampler_of(data.train, arguments),
        data_collator=data.collator,
        train_dataset=data.train,
        eval_dataset=data.validation,
        processing_class=tokenizer,
        compute_metrics=partial(token_metrics, text=data.text if data.is_whole_text else None),
        preprocess_logits_for_metrics=token_losses,
        callbacks=callbacks,
    )


def sampler_of(rows: Any, arguments: TrainingArguments) -> Sampler | None:
    """Return the order of pieces, in batches of similar length; None for other rows."""
    if not isinstance(rows, Pieces):
        return None
    batch = arguments.train_batch_size * arguments.gradient_accumulation_steps * arguments.world_size
    return SimilarLengths(rows.lengths, batch, arguments.seed)


def inputs_of(model_arguments: PretrainingModelArguments, data_arguments: DocumentArguments) -> list[str | None]:
    files = [*(data_arguments.train_file or ()), *(data_arguments.validation_file or ())]
    names = model_arguments.model_name_or_path, model_arguments.tokenizer_name_or_path
    return [*names, data_arguments.data_dir, *files]
