# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Give texts, or pairs of texts, one of several labels, any number of them, or a number."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import torch
from datasets import DatasetDict
from torch import Tensor
from transformers import pipeline

from .. import presets
from ..bridges.model_sources import token_limit
from ..data import demo_reviews
from ..data.encoded_texts import encode_texts
from ..data.labelled_texts import ReviewData, load_splits
from ..data.splits import DataArguments
from ..data.text_pairs import TEXT_FIELDS, as_fields, check_single, of_parts, pair_columns, text_lists, texts_of
from ..inference.answers import MULTI_LABEL, gives_numbers, names_of
from ..inference.arguments import PredictArguments
from ..inference.classification import Classifier, explain, load_any, uncounted
from ..inference.explanations import has_more_words
from ..inference.rows import row_writer
from ..report.calibration import Calibration
from ..report.classification import Judge
from ..report.classification_card import classification
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
from ..tasks import CLASSIFY
from ..utils.errors import DataError, counted, one_line
from .answerer import MORE_THAN_ANY
from .base import Comparison, Encoded, FileRow, Report, Space, Task, Training, Use
from .classifier_answers import Classification, ClassifierPage

ONE_CLASS, SEVERAL, NUMBER = "single_label_classification", "multi_label_classification", "regression"
PURPOSES = {
    ONE_CLASS: "A text classifier with the labels {labels}.",
    SEVERAL: "A text classifier that gives each text any number of the labels {labels}.",
    NUMBER: "A regression model that predicts a number for each text: {labels}.",
}
PROBABILITIES = 'model(**tokenizer(text, truncation=True, return_tensors="pt")).logits.softmax(-1)'
ANSWERS = {
    SEVERAL: PROBABILITIES.replace("softmax(-1)", "sigmoid()"),
    NUMBER: PROBABILITIES.replace("softmax(-1)", "item()"),
}
ANSWERED = {
    ONE_CLASS: "It assigns one of its labels to every text, even if none applies.",
    NUMBER: "It predicts a number for every text, even if none applies, also outside the range of the labels.",
}
LABELS = """{
        each["label"]: each["score"] for each in pipe(%s, truncation=True, top_k=None)
    }"""
PAIR = '{"text": text, "text_pair": text_pair}'
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


class Classifying(Task):
    name = CLASSIFY
    arguments = ClassifierModelArguments, DataArguments, SelfPretrainingArguments, ClassifierTrainingArguments
    predicts, reports_everywhere = False, True
    lab = Comparison(
        presets.ENCODERS, "accuracy", ("loss",), "--ema_decay 0 --no_calibrate --num_train_epochs 1",
        (ModelArguments, DataArguments, ClassifierTrainingArguments),
    )  # fmt: skip
    keeps_predictions = True
    use = Use("text-classification", "text-classification", "AutoModelForSequenceClassification", PROBABILITIES)
    space = Space("text-classification", LABELS % "text")
    results = staticmethod(classification)

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

    # Card

    def purpose_of(self, record: Mapping[str, Any]) -> str:
        return PURPOSES[record.get("problem_type") or ONE_CLASS]

    def use_of(self, record: Mapping[str, Any]) -> Use:
        return self.use._replace(answer=ANSWERS.get(record.get("problem_type") or ONE_CLASS, PROBABILITIES))

    def limits_of(self, record: Mapping[str, Any]) -> list[str]:
        """Of a model of several labels, which may give none, there is nothing to say."""
        problem_type = record.get("problem_type") or ONE_CLASS
        return [ANSWERED[problem_type]] if problem_type in ANSWERED else []

    # Use

    def space_of(self, config: Any, has_pairs: bool) -> Space:
        space = self.space
        if has_pairs:
            space = space._replace(answer=LABELS % PAIR, fields=TEXT_FIELDS)
        if gives_numbers(config):
            space = space._replace(output='gr.JSON(label="Answer")', options=', function_to_apply="none"')
        return space

    def explained_as(self, config: Any) -> str:
        if gives_numbers(config):
            return "regression"
        return "multi-label" if config.problem_type == MULTI_LABEL or config.num_labels == 1 else "classification"

    def load(self, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> Classification:
        """Load a classifier, of pairs if the arguments name two columns; or the linear model of a folder."""
        classifier, limits, pairs = load_any(arguments), {"top_k": MORE_THAN_ANY}, arguments.has_pairs
        pipe: Any = None
        if isinstance(classifier, Classifier):
            model = classifier.model
            pipe = pipeline("text-classification", model=model, tokenizer=classifier.tokenizer, device=model.device)
        return Classification(pipe, limits, classifier=classifier, has_pairs=pairs, explains=arguments.explain)

    def page(self, arguments: PredictArguments) -> ClassifierPage:
        return ClassifierPage(self, self.load(arguments), pair_columns(arguments.model) or self.fields)

    def prepare(self, arguments: PredictArguments) -> None:
        arguments.name_columns()
        arguments.check_answer(["row", *self.columns(arguments)])
        if not arguments.has_pairs:
            check_single(arguments.model, "name the columns of both in a table: --text_column premise hypothesis")

    def columns(self, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        optional = {
            "text": arguments.with_text,
            "text_pair": arguments.with_text and arguments.has_pairs,
            "words": arguments.explain,
            "top": arguments.top_k,
        }
        return ["label", "score", *(name for name, is_given in optional.items() if is_given)]

    def writer(self, handle: TextIO, arguments: PredictArguments, answerer: Any) -> Callable[[dict[str, Any]], object]:
        return row_writer(handle, arguments, self.columns(arguments), names_of(answerer.config))

    def answer(self, answerer: Classification, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        classifier, texts = answerer.classifier, [text for _, text, _ in rows]
        words: Sequence[Any] = [None] * len(texts)
        answers = classifier.classify(texts, uncounted if answerer.explains else answerer.progress)
        if answerer.explains:
            words = explain(classifier, texts, answerer.progress)
            answerer.long += sum(map(has_more_words, texts))
        for (row, text, kept), (label, score, *top), each in zip(rows, answers, words):
            answer = {"label": label, "score": score, "words": each, "top": top[0] if top else None}
            answerer.unsure += label in (None, []) and score is not None
            yield {**answer, "text_pair": "", **as_fields(text), **kept, "row": row}


TASK = Classifying()
