# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Give texts, or pairs of texts, one of several labels, any number of them, or a number."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from .. import presets
from ..bridges.model_sources import token_limit
from ..data.encoded_texts import encode_texts
from ..data.labelled_texts import ReviewData, load_splits
from ..data.splits import DataArguments
from ..data.text_pairs import texts_of
from ..report.report_files import stage_of
from ..run.classifier import baselines_of, complete_by_texts, load_demo, open_classifier
from ..run.defaults import ClassifierModelArguments, ClassifierTrainingArguments
from ..run.encoder_models import ModelArguments, build_model, tokenizer_of_head
from ..run.losses import METRICS, best_score, calibrate, start_head, trainer_options, weights_of
from ..run.self_pretraining import SelfPretrainingArguments, check_combination
from ..utils.errors import DataError, counted, one_line
from .base import Comparison, Encoded, Report, Task, Training
from .classifier_answers import CARD, Classification, ClassifierPage


def logits_of(outputs: Any, labels: Tensor) -> Tensor:
    """Return the logits of models with several outputs."""
    return outputs[0] if isinstance(outputs, tuple) else outputs


class Classifying(Task):
    name, explained, card = "classify", "classification", CARD
    answering, page = Classification, ClassifierPage
    arguments = ClassifierModelArguments, DataArguments, SelfPretrainingArguments, ClassifierTrainingArguments
    lab = Comparison(
        presets.ENCODERS, "accuracy", ("loss",), "--ema_decay 0 --no_calibrate --num_train_epochs 1",
        (ModelArguments, DataArguments, ClassifierTrainingArguments),
    )  # fmt: skip
    open, train_baselines = open_classifier, baselines_of  # which take the task first
    check = staticmethod(check_combination)
    complete = staticmethod(complete_by_texts)
    best, build_tokenizer = staticmethod(best_score), staticmethod(tokenizer_of_head)

    def read(self, arguments: DataArguments) -> ReviewData:
        return load_demo(arguments) if arguments.uses_demo else load_splits(arguments)

    def build_model(self, options: ModelArguments, data: ReviewData, tokenizer: Any) -> Any:
        about: Any = {"problem_type": data.problem_type, "has_pairs": data.has_pairs}
        model = build_model(options, tokenizer, data.label_names, **about)
        start_head(model, data, options)
        return model

    def encode(self, training: Training, split: str) -> Encoded:
        rows, limit = training.data.splits[split], token_limit(training.tokenizer, training.model.config)
        training.tokenizer.model_max_length = limit
        try:
            columns, cut = encode_texts(texts_of(rows), training.tokenizer)
        except Exception as error:  # of tokenizers: of no type of its own
            raise DataError(f"{split}: the tokenizer cannot read the texts: {one_line(error)}") from error
        notes = [f"{split}: truncated {counted(cut, 'text')} to {limit} tokens (--max_length)"] if cut else []
        return Encoded(columns.add_column("label", rows["label"][:]), [], notes=notes)

    def score_names(self, data: ReviewData) -> Sequence[str]:
        return METRICS[data.problem_type].names

    def trainer(self, training: Training) -> dict[str, Any]:
        options = trainer_options(training.data, training.arguments, training.model)
        return {"preprocess_logits_for_metrics": logits_of, **options}

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        return METRICS[training.data.problem_type]

    def record(self, training: Training) -> dict[str, Any]:
        data, weights = training.data, {}
        if training.arguments.class_weights:
            weights = {"weights_of_classes": dict(zip(data.label_names, weights_of(data)))}
        about = {"labels": data.label_names, "problem_type": data.problem_type}
        return {**about, "text_columns": list(data.text_columns), **weights}

    def settle(self, training: Training, trainer: Any) -> None:
        training.weights = calibrate(trainer)

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        stages, state = list(training.stages), trainer.state
        if stages:  # and fine-tuning last
            texts = f"{len(training.data.splits['train']):,}"
            stages.append(stage_of(state.log_history, state.global_step, texts, training.run.resumed_at))
        return training.baselines.report(trainer, predicted, training.weights, stages)


TASK = Classifying()
