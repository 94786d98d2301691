# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The arguments of a classifier, and one table of those that its user does not give, by the number of training texts.

docs/own-data.md explains the choices. They are printed before the training, and recorded under "defaults", so that a
resumed run has the same.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal, TypeVar

from .. import presets
from ..bridges.model_sources import override_parts
from ..data.labelled_texts import ReviewData
from ..data.text_pairs import parts_of
from ..sharing.run_record import DEFAULTS, read_run
from ..utils.errors import DataError, counted, times
from ..utils.options import option
from .arguments import EncoderTrainingArguments
from .checkpoints import resumes
from .encoder_models import ModelArguments
from .layout import RECORD
from .losses import CLASS_WEIGHTS
from .resuming import rows_a_step
from .search import check_search

BY_TEXTS = "by default, that of the table in docs/own-data.md for this number of texts"


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


AnyModel = TypeVar("AnyModel", bound=ModelArguments)
Values = Mapping[str, Mapping[str, Any]]  # of the groups "model" and "training", by the names of their arguments


PRE_NORM = "norm_position=pre,position_type=rotary,hidden_act=gelu"
# What is pooled starts as the mean of the embeddings. Small random weights give scores near 0: attention starts as a
# mean over all tokens, and training may end before it sees their order. With normalised queries and keys, scores are
# near 1 from the first step on. Fast rotary positions tell neighbours apart, and little dropout keeps them
# (docs/experiments/results.md#word-order).
ORDERED = (
    f"{PRE_NORM},final_norm=false,classifier_norm=true,query_key_norm=true,"
    'rope_parameters={"rope_theta":100.0},classifier_dropout=0.3'
)


@dataclass(frozen=True)
class Row:
    """Settings from a number of training texts on. More epochs than `epochs` are trained to make `LEAST_STEPS`."""

    texts: int
    layers: int
    vocab_size: int
    min_frequency: int
    batch: int
    epochs: int
    learning_rate: float
    hidden_size: int = 64
    dropout: float = 0.1
    switches: str = ORDERED  # of the architecture, besides those of the preset `reviews`


TABLE = (
    Row(0, 1, 8_000, 1, 16, 4, 3e-3),
    Row(2_000, 1, 16_000, 1, 32, 4, 3e-3),
    Row(20_000, 2, 16_000, 2, 64, 3, 1e-3),
)
# Both texts of a pair have to be related to each other, which takes two layers.
PAIRS: dict[str, Any] = {"layers": 2, "learning_rate": 3e-3, "min_frequency": 1}
# After pretraining, deeper models learn from the same labels (docs/experiments/results.md#pretraining).
PRETRAINED: dict[str, Any] = {
    "layers": 4, "hidden_size": 128, "vocab_size": 16_000, "min_frequency": 2, "learning_rate": 5e-4,
    "dropout": 0.2,
    "switches": f"{PRE_NORM},embedding_norm=true,initializer_range=0.05",
}  # fmt: skip
LEAST_STEPS, MOST_EPOCHS = 350, 30
# Of models that label words or spans: 10 epochs, and of a new one up to 100, as many as make 480 steps.
HEAD_EPOCHS, MOST_HEAD_EPOCHS, HEAD_STEPS = 10, 100, 480
NEW_HEAD_RATE, TUNED_HEAD_RATE = 5e-3, 5e-5
AVERAGED_STEPS, EMA_DECAY = 1_000, 0.999  # in fewer steps, an average of the weights lags behind
LONGEST_WORD = 15  # characters a word, on average: longer ones are no words between blanks, as in Chinese

CHECKPOINT: Values = {
    "model": {"preset": "reviews", "tokenizer_kind": "wordlevel", "vocab_size": 16_000, "min_frequency": 2},
    "training": {
        "learning_rate": 5e-4, "num_train_epochs": 3.0, "per_device_train_batch_size": 64, "ema_decay": 0.999,
    },
}  # fmt: skip
# The reviews of the demo have no noise: faster steps, more of them, and no average of the weights.
DEMO: Values = {
    "model": {**CHECKPOINT["model"], "preset": "demo"},
    "training": {
        "learning_rate": 2e-3, "num_train_epochs": 8.0, "per_device_train_batch_size": 64, "ema_decay": 0.0,
    },
}  # fmt: skip


def row_for(texts: int, has_pairs: bool = False, is_pretrained: bool = False) -> Row:
    row = next(row for row in reversed(TABLE) if texts >= row.texts)
    return replace(row, **(PAIRS if has_pairs else PRETRAINED if is_pretrained else {}))


def epochs_for(texts: int, batch: int, least: int, most: int, steps: int = LEAST_STEPS) -> int:
    """Return `least` epochs, or as many more as make the steps, but not more than `most`."""
    return min(most, max(least, ceil(steps * batch / texts)))


def complete_head(run: Any, data: Any) -> None:
    """Choose rate and epochs of a model that labels words or spans, if the user has not. It learns from more steps."""
    training, texts = run.groups["training"], len(data.splits["train"])
    rate, most = NEW_HEAD_RATE, MOST_HEAD_EPOCHS
    if run.options.model_name_or_path:
        rate, most = TUNED_HEAD_RATE, HEAD_EPOCHS
    says_length = training.num_train_epochs is None and training.max_steps <= 0
    epochs = epochs_for(texts, rows_a_step(training), HEAD_EPOCHS, most, HEAD_STEPS)
    recorded = read_run(run.folder).get("training", {}) if run.continues else {}
    for name, value in {"learning_rate": rate, "num_train_epochs": float(epochs)}.items():
        if getattr(training, name) is None:
            setattr(training, name, recorded.get(name, value))
    if says_length:
        print(f"{counted(texts, 'text')}: {length_of(training, texts)}; change them by --num_train_epochs")


def values_of(row: Row, texts: int, has_words: bool = True) -> Values:
    """Return the values of the arguments. has_words: whether white space separates words."""
    sizes = (
        f"hidden_size={row.hidden_size},num_hidden_layers={row.layers},num_attention_heads=4,"
        f"intermediate_size={4 * row.hidden_size},hidden_dropout={row.dropout},classifier_pooling=mean"
    )
    model = {
        "preset": "reviews",
        "config_overrides": f"{sizes},{row.switches}",
        "tokenizer_kind": "words" if has_words else "bpe",
        "vocab_size": row.vocab_size,
        "min_frequency": row.min_frequency,
    }
    training = {
        "learning_rate": row.learning_rate,
        "per_device_train_batch_size": row.batch,
        "num_train_epochs": float(epochs_for(texts, row.batch, row.epochs, MOST_EPOCHS)),
        "ema_decay": EMA_DECAY,
    }
    return {"model": model, "training": training}


def choose(data: ReviewData, is_demo: bool, model: ModelArguments, training: Any, is_pretrained: bool) -> Values:
    """Return the values for the data. is_pretrained: whether this run pretrains first.

    The weights are averaged over a long training, where no epoch is chosen by early stopping.
    """
    if is_demo:
        return DEMO
    values, texts, averages = CHECKPOINT, data.splits["train"].num_rows, not training.early_stopping_patience
    if not model.model_name_or_path:
        parts = [part for text in data.texts("train") for part in parts_of(text)]
        has_words = sum(map(len, parts)) <= LONGEST_WORD * max(1, sum(len(part.split()) for part in parts))
        values = values_of(row_for(texts, data.has_pairs, is_pretrained), texts, has_words)
        averages = averages and steps_of(complete(values, model, training)[1], texts) >= AVERAGED_STEPS
    return values if averages else {**values, "training": {**values["training"], "ema_decay": 0.0}}


def steps_of(training: Any, texts: int) -> int:
    """Return the number of optimizer steps of a training, as Trainer counts them."""
    if training.max_steps > 0:
        return training.max_steps
    batches = ceil(texts / (training.train_batch_size * training.world_size))
    return ceil(training.num_train_epochs * ceil(batches / training.gradient_accumulation_steps))


def length_of(training: Any, texts: int) -> str:
    steps = counted(steps_of(training, texts), "step")
    return steps if training.max_steps > 0 else f"{times(training.num_train_epochs, 'epoch')}, {steps}"


def settings_text(data: ReviewData, model: ModelArguments, training: Any) -> str:
    """Return the line that says the settings of a new model."""
    changes = dict(part.partition("=")[::2] for part in override_parts(model.config_overrides))
    sizes = f"preset {model.preset}"
    if changes.keys() >= {"num_hidden_layers", "hidden_size"}:
        sizes = f"{counted(int(changes['num_hidden_layers']), 'layer')} of {changes['hidden_size']}"
    texts, what = data.splits["train"].num_rows, "pair" if data.has_pairs else "text"
    return (
        f"{counted(texts, what)}: {sizes}, vocabulary {model.vocab_size:,}, {length_of(training, texts)}; change them "
        f"by --config_overrides, --vocab_size, --{'max_steps' if training.max_steps > 0 else 'num_train_epochs'}"
    )


def complete(values: Values, model: AnyModel, training: Any) -> tuple[AnyModel, Any]:
    """Return the arguments, of which those that are None have these values.

    Changes to the preset are added to those of the user, which come last, and count. They go with their preset alone.
    """
    sizes = values["model"].get("config_overrides") if model.preset is None else None
    names = values["model"].keys() - {"config_overrides"}
    found = {name: values["model"][name] for name in names if getattr(model, name) is None}
    overrides = ",".join(filter(None, [sizes, model.config_overrides])) or None
    training = copy(training)
    for name, value in values["training"].items():
        if getattr(training, name) is None:
            setattr(training, name, value)
    return replace(model, **found, config_overrides=overrides), training


def known_defaults(arguments: Any) -> Values | None:
    """Return the values that the run to be resumed was started with; None for a new run."""
    folder = Path(arguments.output_dir or "")
    if not resumes(arguments) or not (record := read_run(folder, CHECKPOINT)):
        return None
    chosen = record.get(DEFAULTS)
    if not isinstance(chosen, dict) or chosen.keys() != CHECKPOINT.keys():
        raise DataError(
            f"{folder / RECORD} is damaged: restore it from a copy, or start a new run with --overwrite, also after "
            "one of an earlier version"
        )
    return chosen
