# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The report of a classifier: scores with confidence intervals, beside linear baselines on the same texts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from transformers import Trainer
from transformers.trainer_utils import PredictionOutput

from ..data.labelled_texts import ReviewData
from ..tasks.base import Curve
from ..utils.errors import DataError, quoted
from ..utils.markdown import excerpt
from .baselines import BaselineResult, one_versus_rest, ridge, run_baselines
from .calibration import Calibration, calibration_scores
from .classification_card import one_class_text, paragraphs, scores_text
from .metrics import (
    CLASS_SETS,
    NUMBERS,
    ClassificationMetrics,
    ScoreMetrics,
    class_scores,
    macro_f1_decides,
)
from .plots import CONFUSION_MATRIX, SCATTER, confusion_matrix_png, predicted_against_true_png
from .predictions import ONE_CLASS, Predictions
from .quoted_texts import class_words_text, examples, find_misclassified, misclassified_text, save_misclassified
from .report_files import blocks_text, evaluated_split, quotes_texts, write_report
from .saved_baseline import keep_linear
from .significance import share_interval, with_intervals
from .verdicts import (
    CONSTANT,
    MODEL,
    by_accuracy,
    by_macro_f1,
    by_score,
    has_one_answer,
    of_every_text,
    only_answer_headline,
    with_recommendation,
)

EXAMPLES_OF_CLASS, EXAMPLES = 2, 6  # quoted texts of each class; of reports without classes


class ClassifierReport(ABC):
    """Compares predictions with those of linear models on the test split, or on validation if there is none."""

    problem_type: ClassVar[str]
    curve: ClassVar[Curve]
    metrics: ClassificationMetrics | ScoreMetrics  # the compute_metrics of Trainer

    def __init__(self, data: ReviewData, seed: int, trains_baselines: bool = True, is_weighted: bool = False) -> None:
        """trains_baselines: whether this process evaluates; in a distributed run, only one does.

        is_weighted: whether training, and so the baselines, weight the classes.
        """
        self.data, self.split, self.is_weighted = data, evaluated_split(data.splits), is_weighted
        self.texts, self.labels = data.texts(self.split), data.labels(self.split)
        self.train_labels, self.baselines = data.labels("train"), list[BaselineResult]()
        if not trains_baselines:
            return
        try:
            self.baselines = self.train_baselines(data.texts("train"), seed)
        except ValueError as error:
            raise DataError(f"the baseline cannot be trained: {error}{self.numbered_classes}") from error

    @abstractmethod
    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        """Train the linear models, and let them predict the texts."""

    @property
    def numbered_classes(self) -> str:
        return ""

    def write(self, trainer: Trainer, predicted: PredictionOutput, calibration: Calibration, advice: str = "") -> str:
        """Return the report. Report, scores, predictions and plots are also written to the run's folder.

        predicted: the outputs of the trained model for the evaluated split.
        advice: what the report says to try if the model is near a constant answer or worse than a baseline.
        """
        if not trainer.is_world_process_zero():
            return ""
        folder, logits = Path(trainer.args.output_dir or ""), np.asarray(predicted.predictions)
        names, digest = self.data.label_names, self.data.digest(self.split)
        about = self.split, digest, names, self.texts, self.labels, logits, self.problem_type
        predictions = Predictions.of_logits(*about)
        predictions.save(folder)
        evaluation, comparison = self.evaluation(predictions.predicted)
        evaluation["calibration"] = self.calibration(calibration, logits)
        evaluation["linear_model"] = self._keep_linear(trainer.args, comparison)
        notes = [blocks_text(trainer.model), weights_text(trainer)]
        report = with_recommendation(self.text(evaluation, notes), evaluation, comparison, advice)
        quoting, without = self.quotations(predictions, folder, evaluation["headline"] is None)
        shown = report + (quoting if quotes_texts(trainer.args) else without)
        write_report(trainer, shown, evaluation, self.curve)
        self.draw(predictions.predicted, evaluation, folder)
        return report + quoting

    def _keep_linear(self, arguments: Any, comparison: Mapping[str, Any]) -> str | None:
        [best] = (each for each in self.baselines if each.name == comparison["baseline"])
        weights = best.weights_over(len(self.data.label_names))
        return keep_linear(arguments, comparison["verdict"] == "worse", best.name, weights, self.data)

    @abstractmethod
    def evaluation(self, predicted: np.ndarray) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Return the content of evaluation.json, and its entry with the comparison that decides."""

    @abstractmethod
    def calibration(self, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        """Return what evaluation.json says of the calibration."""

    @abstractmethod
    def text(self, evaluation: Mapping[str, Any], notes: list[str]) -> str:
        """Return the report without its first line and without texts. notes: on the model."""

    @abstractmethod
    def shown(self, answer: Any) -> str:
        """Return a prediction, or a label, as text."""

    def quotations(self, predictions: Predictions, folder: Path, has_learned: bool) -> tuple[str, str]:
        """Write the texts that the report points to. Return what it says of them with, and without, quotations."""
        return "", ""

    @abstractmethod
    def draw(self, predicted: np.ndarray, evaluation: Mapping[str, Any], folder: Path) -> None:
        """Plot the predictions."""


def weights_text(trainer: Trainer) -> str:
    """Return which step's weights are evaluated, if the run chose them on validation."""
    state = trainer.state
    if not trainer.args.load_best_model_at_end or not state.best_global_step:
        return ""
    step, steps = f"{state.best_global_step:,}", f"{state.global_step:,}"
    return f"The weights are those of step {step} of {steps}, the best on validation."


def baseline_row(result: BaselineResult, scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return what evaluation.json has on a baseline."""
    return {"name": result.name, **scores, "settings": result.settings, "seconds": round(result.seconds, 1)}


# One class for each text


class OneClassReport(ClassifierReport):
    """The report of a classifier of texts with one class each."""

    problem_type = ONE_CLASS
    curve = Curve("loss (nats per example)", "eval_accuracy", "accuracy (% of examples)")
    metrics: ClassificationMetrics

    def __init__(self, data: ReviewData, *arguments: Any, **options: Any) -> None:
        self.metrics = ClassificationMetrics(data.label_names)
        super().__init__(data, *arguments, **options)

    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        return run_baselines(train_texts, self.train_labels.tolist(), self.texts, seed, self.is_weighted)

    @property
    def numbered_classes(self) -> str:
        classes = ", ".join(f"{index} is {quoted(name)}" for index, name in enumerate(self.data.label_names[:10]))
        return f"; class {classes}"

    @property
    def best_baseline(self) -> BaselineResult:
        """The baseline that is best on held-out training texts: the evaluated texts do not choose it."""
        return max(self.baselines, key=lambda result: result.held_out_score)

    def evaluation(self, predicted: np.ndarray) -> tuple[dict[str, Any], Mapping[str, Any]]:
        names, labels = self.data.label_names, self.labels
        answers = names, self.train_labels, labels, predicted, {each.name: each.predictions for each in self.baselines}
        accuracy = by_accuracy(*answers)
        tells_more = len(np.unique(labels)) > 1 and macro_f1_decides(self.train_labels, self.is_weighted)
        macro_f1 = by_macro_f1(*answers) if tells_more else None
        only = names[predicted[0]] if has_one_answer(labels, predicted) else None
        decisive = macro_f1 or accuracy
        firsts = [np.flatnonzero(labels == label)[:EXAMPLES_OF_CLASS] for label in range(len(names))]
        evaluation = {
            "split": self.split,
            "texts": len(labels),
            "labels": names,
            "confusion_matrix": self.metrics.confusion_matrix(predicted, labels).tolist(),
            "only_answer": only,
            "headline": only_answer_headline(only) if only else decisive.headline(),
            "f1_name": self.metrics.f1_name,
            **self._scores(predicted),
            "f1_macro": self.metrics.compute(predicted, labels)["f1_macro"],
            "classes": class_scores(names, labels, predicted),
            "baselines": [baseline_row(each, self._scores(each.predictions)) for each in self.baselines],
            "mcnemar": accuracy.baseline.record,
            "macro_f1": macro_f1.baseline.record if macro_f1 else None,
            "examples": examples(self.texts, labels, predicted, np.concatenate(firsts), self.shown),
        }
        return evaluation, decisive.baseline.record

    def _scores(self, predicted: np.ndarray) -> dict[str, Any]:
        scores = self.metrics.compute(predicted, self.labels)
        interval = share_interval(int(np.sum(predicted == self.labels)), len(self.labels))
        return {"accuracy": scores["accuracy"], "accuracy_interval_95": interval, "f1": scores["f1"]}

    def shown(self, answer: Any) -> str:
        return self.data.label_names[answer]

    def calibration(self, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        return calibration_scores(calibration, logits, self.labels, self.split)

    def text(self, evaluation: Mapping[str, Any], notes: list[str]) -> str:
        return one_class_text(evaluation, notes)

    def quotations(self, predictions: Predictions, folder: Path, has_learned: bool) -> tuple[str, str]:
        best, names = self.best_baseline, self.data.label_names
        answers = self.labels, predictions.predicted, predictions.probabilities, best.predictions
        wrong = find_misclassified(names, self.texts, self.data.places_of(self.split), *answers)
        save_misclassified(wrong, folder)
        train = self.data.texts("train"), self.train_labels.tolist()
        words = class_words_text(best.weights_over(len(names)), names, *train, best.name)
        quoting, without = (misclassified_text(wrong, best.name, has_learned, quotes) for quotes in (True, False))
        return quoting + words, without

    def draw(self, predicted: np.ndarray, evaluation: Mapping[str, Any], folder: Path) -> None:
        matrix = np.array(evaluation["confusion_matrix"])
        confusion_matrix_png(matrix, self.data.label_names, folder / CONFUSION_MATRIX)


# Several classes, or a number, for each text


class ScoreReport(ClassifierReport):
    """The report of a model whose scores are `ScoreMetrics`."""

    metrics: ScoreMetrics
    picture: ClassVar[str | None] = None
    uncalibrated: ClassVar[str]  # why the probabilities are not calibrated

    @abstractmethod
    def best_constant(self) -> np.ndarray:
        """Return the best answer that is the same for every training text, (...)."""

    def classes(self, predicted: np.ndarray) -> dict[str, Any]:
        """Return the entries of evaluation.json on each class."""
        return {}

    def evaluation(self, predicted: np.ndarray) -> tuple[dict[str, Any], Mapping[str, Any]]:
        constant = np.broadcast_to(self.best_constant(), self.labels.shape)
        [baseline] = self.baselines
        predictions = {MODEL: predicted, baseline.name: baseline.predictions, CONSTANT: constant}
        found = with_intervals(self.metrics.scores, predictions, self.labels)
        name = of_every_text(excerpt(self.shown(constant[0])))
        compared = by_score(self.metrics.score, found, self.labels, constant, name)
        only = excerpt(self.shown(predicted[0])) if has_one_answer(self.labels, predicted) else None
        evaluation = {
            "problem_type": self.problem_type,
            "split": self.split,
            "texts": len(self.labels),
            "labels": self.data.label_names,
            "headline": only_answer_headline(only) if only else compared.headline(),
            "scores": found["models"][MODEL],
            "baselines": [baseline_row(baseline, {"scores": found["models"][baseline.name]})],
            "comparison": compared.baseline.record,
            "picture": self.picture,
            "examples": examples(self.texts, self.labels, predicted, range(len(self.texts))[:EXAMPLES], self.shown),
            **self.classes(predicted),
        }
        return evaluation, compared.baseline.record

    def calibration(self, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        return {"obstacle": self.uncalibrated}

    def text(self, evaluation: Mapping[str, Any], notes: list[str]) -> str:
        return paragraphs(scores_text(evaluation), *notes)


class ClassSetReport(ScoreReport):
    """The report of multi-label classification; a class is predicted if its probability is above 0.5."""

    problem_type = "multi_label_classification"
    metrics = CLASS_SETS
    curve = Curve("loss", "eval_f1_micro", "micro F1")
    uncalibrated = "one temperature divides the logits of a text with one class, and here each class has its own logit"

    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        return [one_versus_rest(train_texts, self.train_labels, self.texts, seed)]

    def best_constant(self) -> np.ndarray:
        """Return the most frequent classes, of which as many as give the best micro F1, 2 TP / (predicted + true)."""
        texts_of = self.train_labels.sum(0)
        counts = np.sort(texts_of)[::-1].cumsum()
        f1 = 2 * counts / (len(self.train_labels) * np.arange(1, len(counts) + 1) + counts[-1])
        chosen = np.argsort(-texts_of, kind="stable")[: f1.argmax() + 1]
        return np.isin(np.arange(len(counts)), chosen).astype(np.float64)

    def classes(self, predicted: np.ndarray) -> dict[str, Any]:
        return {"threshold": 0.5, "classes": class_scores(self.data.label_names, self.labels, predicted)}

    def draw(self, predicted: np.ndarray, evaluation: Mapping[str, Any], folder: Path) -> None:
        """Draw nothing: the table of the classes has all numbers."""

    def shown(self, answer: Any) -> str:
        return ", ".join(self.data.label_names[index] for index in np.flatnonzero(answer)) or "(none)"


class NumberReport(ScoreReport):
    """The report of regression."""

    problem_type = "regression"
    metrics = NUMBERS
    curve = Curve("loss", "eval_rmse", "RMSE", "{:.4f}", greater_is_better=False)
    picture = SCATTER
    uncalibrated = "a number has no probability"

    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        return [ridge(train_texts, self.train_labels, self.texts, seed)]

    def best_constant(self) -> np.ndarray:
        return np.asarray(self.train_labels.mean())

    def draw(self, predicted: np.ndarray, evaluation: Mapping[str, Any], folder: Path) -> None:
        predicted_against_true_png(self.labels, predicted, self.data.label_names[0], folder / self.picture)

    def shown(self, answer: Any) -> str:
        return f"{answer:.4g}"


REPORTS: dict[str, type[ClassifierReport]] = {
    report.problem_type: report for report in (OneClassReport, ClassSetReport, NumberReport)
}
