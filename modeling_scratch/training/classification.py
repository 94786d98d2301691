# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier: arguments, data and evaluation."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import datasets
from datasets import DatasetDict
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, pipeline, set_seed
from transformers.trainer_utils import TrainOutput

from .. import presets
from ..bridges.model_sources import token_limit
from ..configuration_scratch import ProblemType
from ..data import demo_reviews
from ..data.encoded_texts import encode_texts
from ..data.labelled_texts import ReviewData, load_splits
from ..data.splits import DataArguments
from ..data.text_pairs import as_fields, parts_of, text_lists, texts_of
from ..report.calibration import Calibration
from ..report.classification_report import REPORTS, ClassifierReport
from ..report.metrics import METRICS, ClassificationMetrics, macro_f1_decides
from ..report.run_tables import Stage, fine_tuning_stage, report_splits, report_stages
from ..report.saved_baseline import SAVE_LINEAR_MODEL, delete_linear
from ..utils.errors import DataError, counted, one_line
from .checkpoints import step_of
from .class_weights import CLASS_WEIGHTS, ClassWeights, balanced_weights
from .encoder_models import ModelArguments, build_model, build_tokenizer
from .encoder_training import EncoderTrainingArguments, Metrics, build_trainer, choose_epoch_on_validation
from .r_drop import R_DROP, PaddedRDropTraining, check_r_drop
from .regression import NumberTraining, predicts_numbers, start_at_mean
from .run import Run, pipeline_call, summary
from .run_folder import delete_set_aside
from .search import (
    TRIED,
    TrialTrainer,
    check_search,
    keep_no_weights,
    search,
    space_of,
    with_dropout,
)
from .temperature import calibrate
from .trainer import RatesByDepth, SharingTrainer, share
from .what_to_try import what_to_try

PROGRAM = "scripts/train_classifier.py"

SENTENCES = (
    "This thriller is gripping from start to finish.",
    "I had expected a triumph, but this film is dull.",
    "I cannot agree that this drama is a yawn.",
)


BY_TEXTS = "by default, that of the table in docs/own-data.md for so many texts"


def encode_splits(
    splits: datasets.DatasetDict, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig
) -> tuple[datasets.DatasetDict, list[str]]:
    """Tokenise each split into input_ids, attention_mask and label, and return notes on truncated texts.

    The limit is that of `token_limit`.
    """
    limit = token_limit(tokenizer, config)
    tokenizer.model_max_length = limit
    notes = []
    encoded = {}
    for split, rows in splits.items():
        try:
            columns, cut = encode_texts(texts_of(rows), tokenizer)
        except Exception as error:  # of tokenizers: of no type of its own
            raise DataError(f"{split}: the tokenizer cannot read the texts: {one_line(error)}") from error
        if cut:
            notes.append(f"{split}: truncated {counted(cut, 'text')} to {limit} tokens (--max_length)")
        encoded[split] = columns.add_column("label", list(rows["label"]))
    return datasets.DatasetDict(encoded), notes


@dataclass
class ClassifierModelArguments(ModelArguments):
    """The model to train, with defaults by the number of texts."""

    preset: str | None = field(
        default=None,
        metadata={"help": f"The configuration of a new model: {', '.join(presets.ENCODERS)}. {BY_TEXTS.capitalize()}."},
    )
    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] | None = field(
        default=None,
        metadata={"help": "The kind of a new tokenizer; by default words, or bpe without white space."},
    )
    vocab_size: int | None = field(
        default=None, metadata={"help": f"The maximum vocabulary size of a new tokenizer; {BY_TEXTS}."}
    )
    min_frequency: int | None = field(
        default=None,
        metadata={"help": f"The number of times that a word must occur for a new tokenizer to know it; {BY_TEXTS}."},
    )


@dataclass
class ClassifierTrainingArguments(EncoderTrainingArguments):
    """The arguments of a classifier's training."""

    output_dir: str | None = field(default="runs/demo", metadata={"help": "The folder for the model and all results."})
    learning_rate: float | None = field(
        default=None, metadata={"help": f"The peak learning rate of AdamW; {BY_TEXTS}."}
    )
    num_train_epochs: float | None = field(
        default=None, metadata={"help": f"The number of training epochs; {BY_TEXTS}."}
    )
    per_device_train_batch_size: int | None = field(
        default=None, metadata={"help": f"Training texts per step and device; {BY_TEXTS}."}
    )
    per_device_eval_batch_size: int = field(default=128, metadata={"help": "Texts per evaluation batch."})
    ema_decay: float | None = field(
        default=None,
        metadata={
            "help": "Decay of the moving average of weights used at the end; 0: no averaging. By default 0.999 for "
            "many steps, and 0 for fewer."
        },
    )
    texts_in_card: bool | None = field(
        default=None,
        metadata={
            "help": "Quote texts of the evaluated split, with the answers, in what a push uploads: the card, "
            "results.md, evaluation.json and verify.json. By default only the demo's."
        },
    )
    flat_batches: bool | None = field(
        default=None,
        metadata={"help": "Train on batches without padding; by default only on CUDA (CPUs pack internally)."},
    )
    class_weights: Literal["balanced"] | None = field(default=None, metadata={"help": CLASS_WEIGHTS})
    calibrate: bool = field(
        default=True, metadata={"help": "Divide the logits by a temperature, which is fitted on validation at the end."}
    )
    r_drop: float = field(default=0.0, metadata={"help": R_DROP})
    save_linear_model: bool | None = field(default=None, metadata={"help": SAVE_LINEAR_MODEL})
    evaluate_train: bool = field(
        default=False, metadata={"help": "Also score the training texts, in a table of the scores of each split."}
    )
    search_trials: int = field(
        default=0, metadata={"help": "The number of trials of a hyperparameter search on validation; 0: train once."}
    )
    search_over: list[str] = field(
        default_factory=lambda: list(TRIED), metadata={"help": f"The arguments to search over: {', '.join(TRIED)}."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_search(self)
        check_r_drop(self.r_drop, bool(self.class_weights))
        if self.class_weights and self.search_trials:
            raise DataError("--search_trials excludes --class_weights")


class ClassifierTrainer(PaddedRDropTraining, ClassWeights, NumberTraining, RatesByDepth, SharingTrainer):
    """The trainer of a classification run. After training, it calibrates the probabilities of the final weights."""

    calibration = Calibration()

    def train(self, *args: Any, **kwargs: Any) -> TrainOutput:
        result = super().train(*args, **kwargs)
        is_wanted = cast(ClassifierTrainingArguments, self.args).calibrate
        self.calibration = calibrate(self) if is_wanted else Calibration(obstacle="--calibrate False was given")
        return result


def load_data(run: Run) -> ReviewData:
    """Load the data of the run, and check that they are those that it was started with."""
    arguments = run.groups["data"]
    data = load_demo(arguments) if arguments.uses_demo else load_splits(arguments)
    run.check_data(data.digests())
    print(data.describe())
    return data


def train_on(
    run: Run,
    data: ReviewData,
    model_arguments: ModelArguments,
    report: ClassifierReport | None = None,
    stages: Sequence[Stage] = (),
) -> None:
    """Tokenise, train, evaluate and save. stages: those of the run before this one, which made the report."""
    data_arguments, arguments = run.groups["data"], run.groups["training"]
    check_kind(data.problem_type, arguments)
    encoded = encode(run, data, model_arguments)
    if arguments.search_trials:
        return print(search_arguments(run, data, encoded))
    keep_best_epoch(arguments, data)
    report = report or make_report(run, data)
    # Without a test split, the report is on validation.
    trainer = train_model(run, data, encoded, report.metrics, evaluates=report.split == "test")
    advice = what_to_try(run, data, trainer.state)
    print(unescape(report.write(trainer, encoded.splits, trainer.calibration, advice)))
    if arguments.evaluate_train:
        print(report_splits(trainer, encoded.splits))
    if stages and run.is_main:
        print(report_stages(run.folder, [*stages, fine_tuning_stage(trainer, step_of(run.checkpoint))]))
    share(trainer, report.texts)
    if run.is_main:
        sentences = SENTENCES if data_arguments.uses_demo else report.texts[:3]
        print(classify(run.folder, sentences, model_arguments.trust_remote_code))
        print(f"\n{summary(trainer, run.checkpoint)}", next_commands(run.folder, data.has_pairs), sep="\n")


class Encoded(NamedTuple):
    """What a classifier is trained with, and notes on truncated texts."""

    tokenizer: PreTrainedTokenizerBase
    model: PreTrainedModel
    splits: DatasetDict
    notes: list[str]


def check_kind(problem_type: ProblemType, arguments: ClassifierTrainingArguments) -> None:
    """Raise `DataError` for options that only concern texts with one class each."""
    if problem_type == "single_label_classification":
        return
    for name in ("label_smoothing_factor", "search_trials", "class_weights", "r_drop"):
        if getattr(arguments, name):
            raise DataError(f"--{name} requires one class per text, and the task is {problem_type}: remove it")


def list_of_parts(texts: Sequence[str]) -> list[str]:
    """Return what a new tokenizer learns from: the texts, or both texts of each pair."""
    return list(chain.from_iterable(text_lists(texts)))


def types_of(data: ReviewData) -> dict[str, Any]:
    """Return the option of a new tokenizer that tells the texts of a pair apart."""
    return {"token_type_ids": True} if data.has_pairs else {}


def encode(run: Run, data: ReviewData, model_arguments: ModelArguments) -> Encoded:
    """Build the tokenizer and the model, and encode the splits."""
    tokenizer = build_tokenizer(model_arguments, list_of_parts(data.texts("train")), run.checkpoint, **types_of(data))
    model = build_model(
        model_arguments, tokenizer, data.label_names, problem_type=data.problem_type, has_pairs=data.has_pairs
    )
    splits, truncations = encode_splits(data.splits, tokenizer, model.config)
    print("\n".join(truncations))
    return Encoded(tokenizer, model, splits, truncations)


def train_model(run: Run, data: ReviewData, encoded: Encoded, metrics: Metrics, evaluates: bool) -> ClassifierTrainer:
    """Train and save a classifier, and return its trainer. evaluates: whether to score it on validation at the end."""
    tokenizer, model, splits, truncations = encoded
    arguments = run.groups["training"]
    trainer = build_trainer(
        ClassifierTrainer, tokenizer, splits, metrics, arguments, preprocess=first_output, model=model
    )
    rows = {split: len(dataset) for split, dataset in splits.items()}
    record = {"labels": data.label_names, "rows": rows, "problem_type": data.problem_type}
    record["text_columns"] = list(data.text_columns)
    record |= fit_to_labels(trainer, run, data)
    run.start(trainer, [*data.notes, *data.warnings, *truncations], **record)
    if run.is_main:
        delete_linear(run.folder)  # that of a run which is resumed: the report decides again whether to save it
    run.train(trainer, evaluates)
    return trainer


def fit_to_labels(trainer: ClassifierTrainer, run: Run, data: ReviewData) -> dict[str, Any]:
    """Set the unit of a regression, or the weights of the classes, and return what to record of them."""
    options, model = run.groups["model"], trainer.model
    if data.problem_type == "regression":
        numbers = data.labels("train")
        trainer.unit = float(numbers.std())
        if not predicts_numbers(options.model_name_or_path, options.trust_remote_code):
            start_at_mean(model, numbers)
    if not run.groups["training"].class_weights:
        return {}
    weights = balanced_weights(data.splits["train"]["label"], len(data.label_names))
    trainer.use_class_weights(weights)
    return {"weights_of_classes": dict(zip(data.label_names, weights))}


def metrics_of(data: ReviewData) -> Metrics:
    return METRICS.get(data.problem_type) or ClassificationMetrics(data.label_names)


def make_report(run: Run, data: ReviewData) -> ClassifierReport:
    """Train the baselines. Raises `DataError` if the data do not permit it."""
    arguments = run.groups["training"]
    return REPORTS[data.problem_type](data, arguments.seed, run.is_main, arguments.class_weights is not None)


def search_arguments(run: Run, data: ReviewData, encoded: Encoded) -> str:
    """Search for arguments: each trial is a complete training run, scored on validation. Test is not used."""
    groups, arguments = run.groups, run.groups["training"]
    tokenizer, _, splits, _ = encoded
    space, overrides = space_of(arguments), groups["model"].config_overrides

    def model_of(trial: Any) -> PreTrainedModel:
        changed = with_dropout(overrides, space.suggest(trial)) if trial else overrides
        set_seed(arguments.seed)
        changed_arguments = replace(groups["model"], config_overrides=changed)
        model = build_model(changed_arguments, tokenizer, data.label_names, has_pairs=data.has_pairs)
        set_seed(arguments.seed)  # as Trainer does for a given model
        return model

    metrics = ClassificationMetrics(data.label_names)
    options: Any = {"preprocess": first_output, "model_init": model_of}
    trainer = build_trainer(TrialTrainer, tokenizer, splits, metrics, keep_no_weights(arguments), **options)
    trainer.metric, _ = decisive_metric(data, arguments)
    run.start(trainer, data.notes, labels=data.label_names)
    report = search(trainer, space, overrides)
    delete_set_aside(run.folder)
    return report


def load_demo(arguments: DataArguments) -> ReviewData:
    """Return the demo reviews, limited to the requested numbers."""
    if arguments.problem_type not in (None, "single_label_classification") or arguments.label_separator:
        raise DataError("--problem_type and --label_separator: the demo reviews have one class each; give --train_file")
    if arguments.has_pairs:
        raise DataError("--text_column: the demo reviews have one text each; for pairs of texts, give --train_file")
    limits = {"train": arguments.max_train_samples}
    splits = {
        split: rows[: limits.get(split, arguments.max_eval_samples)]
        for split, rows in demo_reviews.demo_splits().items()
    }
    notes = ["no data was given: these are generated film reviews; --train_file or --data_dir reads yours"]
    return ReviewData.from_pairs(splits, list(demo_reviews.LABEL_NAMES), notes, [])


# Of each kind of labels: the score that chooses, and whether a greater one is better.
DECISIVE = {
    "single_label_classification": ("accuracy", True),
    "multi_label_classification": ("f1_micro", True),
    "regression": ("rmse", False),
}


def decisive_metric(data: ReviewData, arguments: ClassifierTrainingArguments) -> tuple[str, bool]:
    """Return the score that chooses the best epoch, and whether a greater one is better."""
    is_weighted, has_classes = bool(arguments.class_weights), data.problem_type == "single_label_classification"
    if has_classes and macro_f1_decides(data.splits["train"]["label"], is_weighted):
        return "f1_macro", True
    return DECISIVE[data.problem_type]


def keep_best_epoch(arguments: ClassifierTrainingArguments, data: ReviewData) -> None:
    choose_epoch_on_validation(arguments, data, decisive_metric(data, arguments))


def first_output(outputs: Any, _: Tensor) -> Tensor:
    """Return the logits of models with several outputs."""
    return outputs[0] if isinstance(outputs, tuple) else outputs


def classify(output: Path, sentences: Sequence[str], trust_remote_code: bool) -> str:
    """Classify a few texts with a pipeline loaded from the saved folder."""
    task: Any = "text-classification"
    classifier = pipeline(task, model=str(output), trust_remote_code=trust_remote_code)
    pairs = [as_fields(text) if len(parts_of(text)) == 2 else text for text in sentences]
    answers = classifier(pairs, truncation=True)
    shown = (" | ".join(" ".join(part.split()) for part in parts_of(text))[:80] for text in sentences)
    rows = [f"{answer['label']:>10} {answer['score']:.3f}  {text}" for text, answer in zip(shown, answers)]
    return "\n".join(["", pipeline_call(f"{task!r}, model={str(output)!r}"), *rows])


def next_commands(output: Path, has_pairs: bool) -> str:
    """Return commands that use the saved model."""
    model, pair = f"--model {shlex.quote(str(output))}", ' --text_pair "another"' if has_pairs else ""
    return (
        f"next: modeling-scratch predict {model} --input new.csv --output answers.csv\n"
        f'      modeling-scratch explain {model} --text "a text"{pair} --output inside.html'
    )
