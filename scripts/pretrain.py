# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pretrain an encoder, a decoder or an encoder-decoder on plain text, from scratch or from a checkpoint.

    python scripts/pretrain.py --objective clm --train_file input.txt --tokenizer_kind character --block_size 64 \
        --per_device_train_batch_size 12 --max_steps 2000 --output_dir runs/characters
    python scripts/pretrain.py --objective mlm --train_file train.parquet unsupervised.parquet --whole_word \
        --preset reviews --vocab_size 16000 --num_train_epochs 2 --output_dir runs/encoder
    python scripts/train_classifier.py --model_name_or_path runs/encoder --data_dir reviews --output_dir runs/tuned

Every argument of transformers.TrainingArguments is taken, too. A test split is never opened. The output folder holds
the model, the tokenizer, the configuration of the run (run_config.json), its scores (all_results.json,
evaluation.json, results.md), its learning curve and a model card of all that (README.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from checkpoints import checkpoint_to_resume, step_of
from command_line import run_program
from documents import DocumentArguments, load_documents
from early_stopping import early_stopping
from packed_documents import NumberedRows, Pieces, SimilarLengths, StreamedRows
from pretraining_data import PretrainingData, prepare
from pretraining_model import PretrainingModelArguments, build_model, build_tokenizer
from pretraining_report import first_words, report, token_losses, token_metrics, write_sample
from run_arguments import RunArguments
from run_folder import check, check_unchanged, claim, train_and_save, write_run
from run_lock import alone
from run_summary import summary
from several_processes import whole_model
from sharing import SharingTrainer, share
from text_files import DataError
from torch.utils.data import Sampler
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import EvalLoopOutput, IntervalStrategy, SaveStrategy
from weight_average import WeightAverage


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


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(pretrain, (PretrainingModelArguments, DocumentArguments, PretrainingArguments), __doc__, arguments)


@alone
def pretrain(
    model_arguments: PretrainingModelArguments, data_arguments: DocumentArguments, arguments: PretrainingArguments
) -> None:
    """Read, tokenise, train, evaluate, save; what can be wrong with the input is found before the training starts."""
    output = Path(arguments.output_dir or "")
    check_training(data_arguments, arguments)
    checkpoint = checkpoint_to_resume(arguments)
    groups = {"model": model_arguments, "data": data_arguments, "training": arguments}
    if checkpoint:
        check_unchanged(output, groups)
    elif arguments.should_save:
        check(output, arguments.overwrite, inputs_of(model_arguments, data_arguments))
    set_seed(arguments.seed)
    documents = load_documents(data_arguments)
    print(documents.describe())
    tokenizer = build_tokenizer(model_arguments, documents.train, checkpoint)
    model = build_model(model_arguments, tokenizer)
    data = prepare(model_arguments, documents, tokenizer, arguments.seed)
    print(*data.notes, f"model: {model.num_parameters():,} parameters", sep="\n")
    if arguments.should_save:
        if not checkpoint:
            claim(output)
        write_run(output, "scripts/pretrain.py", groups, notes=[*documents.notes, *data.notes])
    trainer = build_trainer(model, tokenizer, data, arguments)
    train_and_save(trainer, checkpoint)
    if arguments.should_save:
        print("", report(trainer, data, documents.validation[0], step_of(checkpoint)), sep="\n")
    share(trainer, documents.validation)
    if arguments.should_save and model_arguments.objective == "clm":
        prompt = first_words(data.validation[0]["input_ids"], tokenizer)
        print("\na sample:", write_sample(whole_model(trainer), tokenizer, prompt, data.longest), sep="\n")
    if arguments.should_save:
        print(f"\n{summary(trainer, checkpoint)}")


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


if __name__ == "__main__":
    main()
