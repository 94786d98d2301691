# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Give texts, or pairs of texts, one of several labels, any number of them, or a number."""

import shlex
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import DatasetDict
from torch import Tensor

from .. import presets
from ..bridges.model_sources import token_limit
from ..data import demo_reviews
from ..data.encoded_texts import encode_texts
from ..data.labelled_texts import ReviewData, load_splits
from ..data.splits import DataArguments
from ..data.text_pairs import as_fields, of_parts, text_lists, texts_of
from ..report.calibration import Calibration
from ..report.classification import Judge
from ..report.classification_metrics import ClassificationMetrics, macro_f1_decides
from ..report.judges import KIND_JUDGES, KindJudge
from ..report.saved_baseline import delete_linear
from ..report.split_scores import report_splits
from ..report.stages import fine_tuning_stage, report_stages
from ..run.batches import training_batches
from ..run.checkpoints import step_of
from ..run.classifier_arguments import ClassifierModelArguments, ClassifierTrainingArguments
from ..run.defaults import choose, complete, known_defaults, settings_text
from ..run.encoder_models import ModelArguments, build_model, build_tokenizer
from ..run.encoder_training import choose_epoch_on_validation
from ..run.life_cycle import Run, rehearse
from ..run.losses import RDrop, StandardisedError, WeightedCrossEntropy, balanced_weights
from ..run.optimizers import predicts_numbers, scale_last_linear, start_at_mean
from ..run.remedies import remedies
from ..run.self_pretraining import (
    SelfPretrainingArguments,
    check_combination,
    corpus_of,
    discarded,
    open_run,
    pretrain,
)
from ..run.temperature import calibrate
from ..run.train import make_trainer, prepared
from ..sharing.run_record import DEFAULTS
from ..utils.errors import DataError, counted, one_line
from .base import Comparison, Encoded, Report, Training
from .classifier_answers import NUMBER, ONE_CLASS, SEVERAL, AnsweringClassifier

SENTENCES = [
    "This thriller is gripping from start to finish.",
    "I had expected a triumph, but this film is dull.",
    "I cannot agree that this drama is a yawn.",
]
SAMPLE = 64  # texts of each split, in the rehearsal


# Problem types


class Problem(NamedTuple):
    """What a problem type needs in training.

    best_by: the score that chooses the epoch, and whether a greater one is better. report: compares the model with
    linear ones. loss, changes: of the data and the arguments, for `RunTrainer`.
    """

    best_by: tuple[str, bool]
    report: Callable[..., Judge | KindJudge]
    metrics: Callable[[Sequence[str]], Callable[..., dict[str, float]]]
    loss: Callable[[ReviewData, Any], Any] = lambda data, arguments: None
    changes: Callable[[ReviewData], list[Any]] = lambda data: []


def unit_of(data: ReviewData) -> float:
    """The standard deviation of the train labels, in which a regression learns."""
    return float(data.labels("train").std())


def weights_of(data: ReviewData) -> list[float]:
    return balanced_weights(data.splits["train"]["label"], len(data.label_names))


def weighted_loss(data: ReviewData, arguments: Any) -> WeightedCrossEntropy | None:
    if not arguments.class_weights:
        return None
    if arguments.world_size > 1 or arguments.n_gpu > 1:
        raise DataError("--class_weights runs in one process, on one device")
    return WeightedCrossEntropy(torch.tensor(weights_of(data)), arguments.label_smoothing_factor)


def of_one_class(data: ReviewData, arguments: Any, is_main: bool) -> Judge:
    is_weighted = arguments.class_weights is not None
    return Judge(data, arguments.seed, is_main, with_mean=arguments.mean_with_baseline, is_weighted=is_weighted)


def of_another_kind(data: ReviewData, arguments: Any, is_main: bool) -> KindJudge:
    return KIND_JUDGES[data.problem_type](data, arguments.seed, judges=is_main)


PROBLEMS = {
    ONE_CLASS: Problem(("accuracy", True), of_one_class, ClassificationMetrics, weighted_loss),
    SEVERAL: Problem(("f1_micro", True), of_another_kind, lambda names: KIND_JUDGES[SEVERAL].metrics),
    NUMBER: Problem(
        ("rmse", False),
        of_another_kind,
        lambda names: KIND_JUDGES[NUMBER].metrics,
        lambda data, arguments: StandardisedError(unit_of(data)),
        lambda data: [partial(scale_last_linear, unit=unit_of(data))],
    ),
}
OF_ONE_CLASS = "label_smoothing_factor", "search_trials", "mean_with_baseline", "class_weights", "r_drop"


def check_options(problem_type: str, arguments: Any) -> None:
    """Raise `DataError` for options that only concern texts with one class each."""
    for name in OF_ONE_CLASS if problem_type != ONE_CLASS else ():
        if getattr(arguments, name):
            raise DataError(f"--{name} requires one class per text, and the task is {problem_type}: remove it")


def load_demo(arguments: DataArguments) -> ReviewData:
    """Return the demo reviews, limited to the requested numbers."""
    if arguments.problem_type not in (None, ONE_CLASS) or arguments.label_separator:
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


class Classifying(AnsweringClassifier):
    arguments = ClassifierModelArguments, DataArguments, SelfPretrainingArguments, ClassifierTrainingArguments
    predicts, reports_everywhere = False, True
    lab = Comparison(
        presets.ENCODERS, "accuracy", ("loss",), "--ema_decay 0 --no_calibrate --num_train_epochs 1",
        (ModelArguments, DataArguments, ClassifierTrainingArguments),
    )  # fmt: skip

    # Before the training

    def open(
        self,
        model: ClassifierModelArguments,
        data: DataArguments,
        options: SelfPretrainingArguments,
        arguments: ClassifierTrainingArguments,
    ) -> Run:
        """Open the run. A resumed one has the defaults that it was started with."""
        check_combination(options, model, data, arguments)
        if known := known_defaults(arguments):
            model, arguments = complete(known, model, arguments)
        run = open_run(f"scripts/{self.program}.py", model, data, options, arguments)
        run.noted[DEFAULTS], run.wanted = known, options
        return run

    def read(self, arguments: DataArguments) -> ReviewData:
        return load_demo(arguments) if arguments.uses_demo else load_splits(arguments)

    def complete(self, run: Run, data: ReviewData) -> None:
        """Choose the settings that are not given by the number of texts, and pretrain first if it is asked for."""
        check_options(data.problem_type, run.groups["training"])
        corpus, model = corpus_of(run, data, run.wanted), run.groups["model"]
        if run.noted[DEFAULTS] is None:
            is_demo, training = run.groups["data"].uses_demo, run.groups["training"]
            run.noted[DEFAULTS] = known = choose(data, is_demo, model, training, corpus is not None)
            run.groups["model"], run.groups["training"] = complete(known, model, training)
            if not (is_demo or model.model_name_or_path):
                print(settings_text(data, run.groups["model"], run.groups["training"]))
        if corpus is not None:
            run.stages.append(partial(pretrain, run, corpus, data.notes))

    def before_training(self, run: Run, data: ReviewData) -> Judge | KindJudge:
        """Train the baselines. Raise `DataError` for arguments with which the fine-tuning could not start."""
        arguments = run.groups["training"]
        choose_epoch_on_validation(copy(arguments), data, self.best(data, arguments))
        baselines = PROBLEMS[data.problem_type].report(data, arguments, run.is_main)
        if run.stages:
            rows = {name: rows.select(range(min(SAMPLE, len(rows)))) for name, rows in data.splits.items()}
            sample, options = data.with_splits(DatasetDict(rows)), run.groups["model"]
            with discarded(arguments) as copied:
                tokenizer = self.build_tokenizer(options, sample, run.checkpoint)
                rehearse(make_trainer(self, prepared(self, options, copied, sample, tokenizer)))
        return baselines

    def build_tokenizer(self, options: ModelArguments, data: ReviewData, checkpoint: str | None) -> Any:
        """Load or train a tokenizer. A new one learns from both texts of a pair, and tells them apart."""
        texts = list(chain.from_iterable(text_lists(data.texts("train"))))
        types = {"token_type_ids": True} if data.has_pairs else {}
        return build_tokenizer(options, texts, checkpoint, **types)

    def build_model(self, options: ModelArguments, data: ReviewData, tokenizer: Any) -> Any:
        kind: Any = {"problem_type": data.problem_type, "has_pairs": data.has_pairs}
        model = build_model(options, tokenizer, data.label_names, **kind)
        if data.problem_type == NUMBER and not predicts_numbers(options.model_name_or_path, options.trust_remote_code):
            start_at_mean(model, data.labels("train"))
        return model

    def encode(self, training: Training, split: str) -> Encoded:
        """Return input_ids, attention_mask and label, and a note on truncated texts. The limit is `token_limit`'s."""
        rows, tokenizer = training.data.splits[split], training.tokenizer
        tokenizer.model_max_length = limit = token_limit(tokenizer, training.model.config)
        try:
            columns, cut = encode_texts(texts_of(rows), tokenizer)
        except Exception as error:  # of tokenizers: of no type of its own
            raise DataError(f"{split}: the tokenizer cannot read the texts: {one_line(error)}") from error
        notes = [f"{split}: truncated {counted(cut, 'text')} to {limit} tokens (--max_length)"] if cut else []
        return Encoded(columns.add_column("label", list(rows["label"])), [], notes=notes)

    def best(self, data: ReviewData, arguments: Any) -> tuple[str, bool]:
        """Return the score that chooses the best epoch: of rare classes, macro F1."""
        is_weighted = bool(arguments.class_weights)
        if data.problem_type == ONE_CLASS and macro_f1_decides(data.splits["train"]["label"], is_weighted):
            return "f1_macro", True
        return PROBLEMS[data.problem_type].best_by

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        return PROBLEMS[training.data.problem_type].metrics(training.data.label_names)

    def kept_of(self, outputs: Any, labels: Tensor) -> Tensor:
        """Return the logits of models with several outputs."""
        return outputs[0] if isinstance(outputs, tuple) else outputs

    def trainer(self, training: Training) -> dict[str, Any]:
        data, arguments = training.data, training.arguments
        check_options(data.problem_type, arguments)
        problem = PROBLEMS[data.problem_type]
        return {
            "compute_loss_func": problem.loss(data, arguments),
            "changes": problem.changes(data),
            "train_collator": training_batches(arguments, training.model, self.collate(training)),
            "added_loss": RDrop(arguments.r_drop) if arguments.r_drop else None,
        }

    # After it

    def settle(self, training: Training, trainer: Any) -> None:
        """Calibrate the probabilities of the final weights."""
        if trainer.is_world_process_zero():
            delete_linear(Path(trainer.args.output_dir))  # of a run which is resumed: the report decides again
        is_wanted = training.arguments.calibrate
        training.weights = calibrate(trainer) if is_wanted else Calibration(obstacle="--calibrate False was given")

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        run, data = training.run, training.data
        splits = DatasetDict({name: encoded.rows for name, encoded in training.encoded.items()})
        advice = remedies(run, data, trainer.state)
        texts = [unescape(training.baselines.evaluate(trainer, splits, training.weights, advice))]
        if training.arguments.evaluate_train:
            texts.append(report_splits(trainer, splits))
        if training.stages and run.is_main:
            rows = [*training.stages, fine_tuning_stage(trainer, step_of(run.checkpoint))]
            texts.append(report_stages(run.folder, rows))
        return Report("\n".join(texts))

    def notes(self, data: ReviewData) -> list[str]:
        return [*data.notes, *data.warnings]

    def record(self, training: Training) -> dict[str, Any]:
        data, weights = training.data, {}
        if training.arguments.class_weights:
            weights = {"weights_of_classes": dict(zip(data.label_names, weights_of(data)))}
        about = {"labels": data.label_names, "problem_type": data.problem_type}
        return {**about, "text_columns": list(data.text_columns), **weights}

    def sample_texts(self, training: Training, split: str) -> list[Any]:
        is_demo = training.run.groups["data"].uses_demo
        return SENTENCES if is_demo else super().sample_texts(training, split)

    def sample(self, pipe: Any, *texts: str) -> str:
        [answer] = pipe([as_fields(of_parts(texts))], truncation=True)
        return f"{answer['label']} {answer['score']:.3f}"

    def next_commands(self, folder: Path, data: ReviewData) -> list[str]:
        model, pair = f"--model {shlex.quote(str(folder))}", ' --text_pair "another"' if data.has_pairs else ""
        return [
            f"next: modeling-scratch predict {model} --input new.csv --output answers.csv",
            f'      modeling-scratch explain {model} --text "a text"{pair} --output inside.html',
        ]


TASK = Classifying()
