# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Give texts, or pairs of texts, one of several labels, any number of them, or a number."""

import shlex
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from torch import Tensor

from .. import presets
from ..bridges.model_sources import token_limit
from ..data.encoded_texts import encode_rows
from ..data.labelled_texts import ReviewData, load_splits
from ..data.splits import DataArguments
from ..data.text_pairs import as_fields, of_parts, text_lists
from ..run.classifier import complete_by_texts, load_demo, open_classifier, report_classifier, train_baselines
from ..run.classifier_arguments import ClassifierModelArguments, ClassifierTrainingArguments
from ..run.encoder_models import ModelArguments, build_model, build_tokenizer
from ..run.problem_types import PROBLEMS, best_score, start_head, trainer_options, weights_of
from ..run.self_pretraining import SelfPretrainingArguments, check_combination
from ..run.temperature import calibrate
from .base import Comparison, Encoded, Report, Training
from .classifier_answers import AnsweringClassifier

SENTENCES = [
    "This thriller is gripping from start to finish.",
    "I had expected a triumph, but this film is dull.",
    "I cannot agree that this drama is a yawn.",
]


class Classifying(AnsweringClassifier):
    arguments = ClassifierModelArguments, DataArguments, SelfPretrainingArguments, ClassifierTrainingArguments
    reports_everywhere = True
    lab = Comparison(
        presets.ENCODERS, "accuracy", ("loss",), "--ema_decay 0 --no_calibrate --num_train_epochs 1",
        (ModelArguments, DataArguments, ClassifierTrainingArguments),
    )  # fmt: skip

    complete = staticmethod(complete_by_texts)
    best = staticmethod(best_score)

    # Before the training

    def check(self, model: Any, data: Any, options: Any, arguments: Any) -> None:
        check_combination(options, model, data, arguments)

    def open(self, *options: Any) -> Any:
        return open_classifier(self, *options)

    def read(self, arguments: DataArguments) -> ReviewData:
        return load_demo(arguments) if arguments.uses_demo else load_splits(arguments)

    def before_training(self, run: Any, data: ReviewData) -> Any:
        return train_baselines(self, run, data)

    def build_tokenizer(self, options: ModelArguments, data: ReviewData, checkpoint: str | None) -> Any:
        """Load or train a tokenizer. A new one learns from both texts of a pair, and tells them apart."""
        texts = list(chain.from_iterable(text_lists(data.texts("train"))))
        types = {"token_type_ids": True} if data.has_pairs else {}
        return build_tokenizer(options, texts, checkpoint, **types)

    def build_model(self, options: ModelArguments, data: ReviewData, tokenizer: Any) -> Any:
        kind: Any = {"problem_type": data.problem_type, "has_pairs": data.has_pairs}
        model = build_model(options, tokenizer, data.label_names, **kind)
        start_head(model, data, options)
        return model

    def encode(self, training: Training, split: str) -> Encoded:
        rows, limit = training.data.splits[split], token_limit(training.tokenizer, training.model.config)
        columns, notes = encode_rows(rows, split, training.tokenizer, limit)
        return Encoded(columns, [], notes=notes)

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        return PROBLEMS[training.data.problem_type].metrics(training.data.label_names)

    def kept_of(self, outputs: Any, labels: Tensor) -> Tensor:
        """Return the logits of models with several outputs."""
        return outputs[0] if isinstance(outputs, tuple) else outputs

    def trainer(self, training: Training) -> dict[str, Any]:
        return trainer_options(training.data, training.arguments, training.model, self.collate(training))

    # After it

    def settle(self, training: Training, trainer: Any) -> None:
        training.weights = calibrate(trainer)

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        return report_classifier(training, trainer, predicted)

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
