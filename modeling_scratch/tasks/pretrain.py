# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pretrain on plain text: masked tokens, next tokens or denoising. The objective says what the model then does."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

from transformers import PreTrainedModel, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .. import presets
from ..bridges.model_sources import position_limit
from ..data.documents import DocumentArguments, Documents, load_documents
from ..data.packed_documents import NumberedRows, Pieces, SimilarLengths
from ..report.pretraining import (
    PretrainingData,
    report_pretraining,
    token_losses,
    token_metrics,
    write_sample,
)
from ..run.arguments import RunArguments
from ..run.objectives import PretrainingModelArguments, build_model, build_tokenizer, prepare
from ..run.resuming import rows_a_step
from ..tasks import PRETRAIN
from ..utils.errors import DataError
from ..utils.options import option
from . import fill, write
from .answerer import record_settings
from .base import Comparison, Curve, Encoded, Report, Task, Training
from .card import Card, Metric, Use

DENOISED = "An encoder-decoder pretrained on denoising, for fine-tuning."
# The purpose and the use of other models by their objective.
PURPOSES = {"mlm": (fill.CARD.purpose, fill.CARD.use), "clm": (write.CARD.purpose, write.CARD.use)}


@dataclass
class PretrainingArguments(RunArguments, TrainingArguments):
    """transformers.TrainingArguments with defaults for small models on a CPU."""

    RETIRED = {
        **RunArguments.RETIRED,
        "--streaming": "leave it out: a training text is read into memory; name some of the files of a larger one",
    }
    output_dir: str | None = option("runs/pretrained", "The folder for the model and all results.")
    learning_rate: float = option(1e-3, "The peak learning rate of AdamW.")
    lr_scheduler_type: str = option("cosine", "The learning rate schedule after warm-up.")
    weight_decay: float = option(0.1, "Weight decay, except for biases and norms.")
    adam_beta2: float = option(0.98, "Decay of AdamW's second moment.")
    warmup_steps: float = option(0.05, "Warm-up steps; below 1, a fraction of all steps.")
    num_train_epochs: float = option(1.0, "The number of training epochs.")
    per_device_train_batch_size: int = option(32, "Training rows per step and device.")
    per_device_eval_batch_size: int = option(32, "Rows per evaluation batch.")
    eval_strategy: str = option("steps", "When to evaluate.")
    eval_steps: float | None = option(0.1, "The interval in steps; below 1, a fraction of all steps.")
    save_strategy: str = option("steps", "When to save a checkpoint.")
    save_steps: float = option(0.2, "The interval in steps; below 1, a fraction of all steps.")
    save_total_limit: int | None = option(1, "The number of checkpoints to keep.")
    logging_steps: float = option(0.02, "Steps between log entries; below 1, a fraction of all steps.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.label_smoothing_factor:
            raise DataError("--label_smoothing_factor is not supported: the perplexity is computed from the loss")


class CountEpochs(TrainerCallback):
    """Set the epoch of the rows, so that their noise differs between epochs."""

    def __init__(self, rows: NumberedRows) -> None:
        self.rows = rows

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.rows.set_epoch(int(state.epoch or 0))


class PretrainingCard(Card):
    """The card of the encoder-decoders, and of each model by the objective that a run records."""

    def of(self, record: Mapping[str, Any]) -> Card:
        purpose, use = PURPOSES.get(record["model"]["objective"], (self.purpose, self.use))
        return PretrainingCard(purpose, use)

    def metrics(self, evaluation: Mapping[str, Any]) -> list[Metric]:
        scores = evaluation["scores"]
        definition = f"perplexity: exp of {scores['loss']['meaning']}"
        return [Metric("perplexity", scores["perplexity"]["value"], definition, "validation")]


class Pretraining(Task):
    name = PRETRAIN
    card = PretrainingCard(DENOISED, Use(None, "seq2seq-generation", "AutoModelForSeq2SeqLM"))
    arguments = PretrainingModelArguments, DocumentArguments, PretrainingArguments
    scores = ("perplexity",)
    best_by, keeps_best, predicts, evaluates = ("loss", False), False, False, ("validation",)
    curve = Curve("loss (nats per predicted token)", "eval_perplexity", "perplexity", is_share=False)
    lab = Comparison(presets.DECODERS, "loss", ("perplexity",), "--objective clm --validation_fraction 0.05")
    read = staticmethod(load_documents)

    def build_tokenizer(self, options: PretrainingModelArguments, data: Documents, checkpoint: str | None) -> Any:
        return build_tokenizer(options, data.train, checkpoint)

    def build_model(self, options: PretrainingModelArguments, data: Documents, tokenizer: Any) -> PreTrainedModel:
        model = build_model(options, tokenizer)
        positions = position_limit(model.config)
        if options.objective == "clm" and positions is not None:  # else a pipeline samples 256 tokens, whatever fits
            record_settings(model.config, write.CARD.use.pipeline, max_length=positions)
        return model

    def answerer(self, training: Training) -> PretrainingData:
        """Return the rows of both splits, and what their scores mean."""
        return prepare(training.options, training.data, training.tokenizer, training.arguments.seed)

    def encode(self, training: Training, split: str) -> Encoded:
        data: PretrainingData = training.answerer
        return Encoded(getattr(data, split), [], notes=data.notes if split == "train" else ())

    def trainer(self, training: Training) -> dict[str, Any]:
        data: PretrainingData = training.answerer
        arguments = training.arguments = copy(training.arguments)  # run_config.json has those of the user
        arguments.remove_unused_columns = False  # the collators use columns that the model does not
        arguments.label_names = [data.label_name]
        sampler = None
        if isinstance(data.train, Pieces):
            sampler = SimilarLengths(data.train.lengths, rows_a_step(arguments), arguments.seed)
        batches = {"data_collator": data.collator, "train_sampler": sampler}
        return {**batches, "preprocess_logits_for_metrics": token_losses, "callbacks": [CountEpochs(data.train)]}

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        data: PretrainingData = training.answerer
        return partial(token_metrics, text=data.text if data.is_whole_text else None)

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        data: PretrainingData = training.answerer
        history, example = trainer.state.log_history, training.data.validation[0]
        report = report_pretraining(history, data, example, training.run.resumed_at)
        if training.options.objective != "clm":
            return Report(*report)
        sample = write_sample(trainer.model, training.tokenizer, example)
        return Report(*report, f"a sample:\n{sample}")


TASK = Pretraining()
