# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The reports of classifiers: scores beside those of linear baselines on the same texts, written once.

There is one for each problem type: one class, several classes, or a number for each text.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from transformers import Trainer
from transformers.trainer_utils import PredictionOutput

from ..bridges.model_sources import LINEAR_MODEL, LINEAR_WEIGHTS
from ..data.labelled_texts import ReviewData
from ..run.layout import CONFUSION_MATRIX, LINEAR, SCATTER
from ..tasks.base import Curve, Report
from ..utils.markdown import excerpt
from .baselines import BaselineResult, one_versus_rest, ridge, run_baselines
from .calibration import Calibration, calibration_scores
from .classification_card import comparison_of, scores_text
from .metrics import (
    CLASS_SETS,
    NUMBER,
    NUMBERS,
    ONE_CLASS,
    SEVERAL,
    ClassificationMetrics,
    ScoreMetrics,
    class_scores,
    macro_f1_decides,
)
from .plots import confusion_matrix_png, predicted_against_true_png
from .predictions import Predictions
from .quoted_texts import (
    class_words_text,
    examples,
    find_misclassified,
    misclassified_table,
    misclassified_text,
    save_misclassified,
)
from .report_files import evaluated_split, model_notes
from .significance import share_interval, with_intervals
from .verdicts import MODEL, by_accuracy, by_macro_f1, by_score, has_one_answer, only_answer_headline

EXAMPLES_OF_CLASS, EXAMPLES = 2, 6  # quoted texts of each class; of reports without classes


class ClassifierReport(ABC):
    """Compares predictions with those of linear models on the test split, or on validation if there is none."""

    problem_type: ClassVar[str]
    curve: ClassVar[Curve]
    metrics: ClassificationMetrics | ScoreMetrics  # the compute_metrics of Trainer

    def __init__(self, data: ReviewData, seed: int, is_weighted: bool = False) -> None:
        """Train the baselines. is_weighted: whether training, and so they, weight the classes.

        Raises ValueError for texts that linear models cannot learn from.
        """
        self.data, self.split, self.is_weighted = data, evaluated_split(data.splits), is_weighted
        self.texts, self.labels = data.texts(self.split), data.labels(self.split)
        self.train_labels = data.labels("train")
        self.baselines = self.train_baselines(data.texts("train"), seed)

    @abstractmethod
    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        """Train the linear models, and let them predict the texts."""

    def report(
        self, trainer: Trainer, predicted: PredictionOutput, calibration: Calibration, stages: Sequence[Any] = ()
    ) -> Report:
        """Return the report, and write predictions, pictures and what it points to into the run's folder.

        predicted: the outputs of the trained model for the evaluated split. stages: the rows of `stage_table`.
        """
        folder, logits = Path(trainer.args.output_dir or ""), np.asarray(predicted.predictions)
        names, digest = self.data.label_names, self.data.digest(self.split)
        about = self.split, digest, names, self.texts, self.labels, logits, self.problem_type
        predictions = Predictions.of_logits(*about)
        predictions.save(folder)
        evaluation = {
            "problem_type": self.problem_type,
            "split": self.split,
            "texts": len(self.labels),
            "labels": names,
            **self.evaluation(predictions.predicted),
            "calibration": self.calibration(calibration, logits),
            "notes": [*model_notes(trainer), *self.notes],
            **({"stages": stages} if stages else {}),
        }
        evaluation["linear_model"] = self._keep_linear(trainer.args, evaluation)
        told, quotations = self.quotations(predictions, folder, evaluation["headline"] is None)
        self.draw(predictions.predicted, evaluation, folder)
        report = "\n\n".join(filter(None, (scores_text(evaluation, advises=True), told)))
        return Report(f"{report}\n", evaluation, "\n".join(f"{part}\n" for part in quotations), self.curve)

    def _keep_linear(self, arguments: Any, evaluation: dict[str, Any]) -> str | None:
        """Save the linear model if --save_linear_model asks for it, and return the sentence for the report."""
        comparison, run = comparison_of(evaluation), Path(arguments.output_dir)
        [best] = (each for each in self.baselines if each.name == comparison["baseline"])
        delete_linear(run)
        is_worse = comparison["verdict"] == "worse"
        if not (is_worse if arguments.save_linear_model is None else arguments.save_linear_model):
            return None
        weights, names = best.weights_over(len(self.data.label_names)), self.data.label_names
        weights.save(run / LINEAR, best.name, self.problem_type, names, self.data.has_pairs)
        advice = f"Use {best.name} instead" if is_worse else f"{best.name} is saved, too"
        return f"{advice}: the folder `{LINEAR}` of this run has it, for `modeling-scratch predict --model`."

    @property
    def notes(self) -> list[str]:
        """What is told of the baselines where they were fitted on a sample."""
        fitted, texts = self.baselines[0].settings["texts"], len(self.train_labels)
        return [f"The linear models were fitted on {fitted:,} of {texts:,} training texts."] * (fitted < texts)

    @abstractmethod
    def evaluation(self, predicted: np.ndarray) -> dict[str, Any]:
        """Return the scores, the comparison, the sentence on a useless model and examples, for evaluation.json."""

    @abstractmethod
    def calibration(self, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        """Return what evaluation.json says of the calibration."""

    @abstractmethod
    def shown(self, answer: Any) -> str:
        """Return a prediction, or a label, as text."""

    def quotations(self, predictions: Predictions, folder: Path, has_learned: bool) -> tuple[str, list[str]]:
        """Write the texts that the report points to. Return what it says of them, and what quotes them."""
        return "", []

    def draw(self, predicted: np.ndarray, evaluation: dict[str, Any], folder: Path) -> None:  # noqa: B027 (optional)
        """Plot the predictions, where a table does not have all numbers."""


def delete_linear(run: Path) -> None:
    """Delete the linear model in the folder of a run, which can be one of other texts. Other files in it stay."""
    folder = run / LINEAR
    for name in (LINEAR_MODEL, LINEAR_WEIGHTS):  # without the first, the folder is no model
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # none, or not empty
        folder.rmdir()


def baseline_row(result: BaselineResult, scores: dict[str, Any]) -> dict[str, Any]:
    """Return what evaluation.json has on a baseline."""
    return {"name": result.name, **scores, "settings": result.settings, "seconds": round(result.seconds, 1)}


class OneClassReport(ClassifierReport):
    """The report of a classifier of texts with one class each."""

    problem_type = ONE_CLASS
    curve = Curve("loss (nats per example)", "eval_accuracy", "accuracy (% of examples)")
    metrics: ClassificationMetrics

    def __init__(self, data: ReviewData, *arguments: Any, **options: Any) -> None:
        self.metrics = ClassificationMetrics(data.label_names)
        super().__init__(data, *arguments, **options)

    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        self.by_macro_f1 = macro_f1_decides(self.train_labels, self.is_weighted)
        given = train_texts, self.train_labels.tolist(), self.texts, seed
        return run_baselines(*given, self.is_weighted, self.by_macro_f1)

    @property
    def best_baseline(self) -> BaselineResult:
        """The baseline that is best on held-out training texts: the evaluated texts do not choose it."""
        return max(self.baselines, key=lambda result: result.held_out_score)

    def evaluation(self, predicted: np.ndarray) -> dict[str, Any]:
        names, labels = self.data.label_names, self.labels
        answers = names, self.train_labels, labels, predicted, {each.name: each.predictions for each in self.baselines}
        accuracy = by_accuracy(*answers)
        macro_f1 = by_macro_f1(*answers) if self.by_macro_f1 and len(np.unique(labels)) > 1 else None
        only = names[predicted[0]] if has_one_answer(labels, predicted) else None
        firsts = [np.flatnonzero(labels == label)[:EXAMPLES_OF_CLASS] for label in range(len(names))]
        return {
            "confusion_matrix": self.metrics.confusion_matrix(predicted, labels).tolist(),
            "only_answer": only,
            "headline": only_answer_headline(only) if only else (macro_f1 or accuracy).headline,
            "f1_name": self.metrics.f1_name,
            **self._scores(predicted),
            "f1_macro": self.metrics.compute(predicted, labels)["f1_macro"],
            "classes": class_scores(names, labels, predicted),
            "baselines": [baseline_row(each, self._scores(each.predictions)) for each in self.baselines],
            "mcnemar": accuracy.comparison,
            "macro_f1": macro_f1 and macro_f1.comparison,
            "examples": examples(self.texts, labels, predicted, np.concatenate(firsts), self.shown),
        }

    def _scores(self, predicted: np.ndarray) -> dict[str, Any]:
        scores = self.metrics.compute(predicted, self.labels)
        interval = share_interval(int(np.sum(predicted == self.labels)), len(self.labels))
        return {"accuracy": scores["accuracy"], "accuracy_interval_95": interval, "f1": scores["f1"]}

    def shown(self, answer: Any) -> str:
        return self.data.label_names[answer]

    def calibration(self, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        return calibration_scores(calibration, logits, self.labels, self.split)

    def quotations(self, predictions: Predictions, folder: Path, has_learned: bool) -> tuple[str, list[str]]:
        best, names = self.best_baseline, self.data.label_names
        answers = self.labels, predictions.predicted, predictions.probabilities, best.predictions
        wrong = find_misclassified(names, self.texts, self.data.places_of(self.split), *answers)
        save_misclassified(wrong, folder)
        quoting = misclassified_table(wrong, best.name), class_words_text(best, names)
        return misclassified_text(wrong, best.name, has_learned), [*filter(None, quoting)]

    def draw(self, predicted: np.ndarray, evaluation: dict[str, Any], folder: Path) -> None:
        matrix = np.array(evaluation["confusion_matrix"])
        confusion_matrix_png(matrix, self.data.label_names, folder / CONFUSION_MATRIX)


class ScoreReport(ClassifierReport):
    """The report of a model whose scores are `ScoreMetrics`: of several classes, or a number, for each text."""

    metrics: ScoreMetrics
    picture: ClassVar[str | None] = None
    uncalibrated: ClassVar[str]  # why the probabilities are not calibrated

    @abstractmethod
    def best_constant(self) -> np.ndarray:
        """Return the best answer that is the same for every training text, (...)."""

    def classes(self, predicted: np.ndarray) -> dict[str, Any]:
        """Return the entries of evaluation.json on each class."""
        return {}

    def evaluation(self, predicted: np.ndarray) -> dict[str, Any]:
        constant = np.broadcast_to(self.best_constant(), self.labels.shape)
        [baseline] = self.baselines
        answers = {MODEL: predicted, baseline.name: baseline.predictions}
        scores = with_intervals(self.metrics.scores, answers, self.labels)["models"]
        named = constant, excerpt(self.shown(constant[0]))
        outcome = by_score(self.metrics.score, self.labels, predicted, named, {baseline.name: baseline.predictions})
        only = excerpt(self.shown(predicted[0])) if has_one_answer(self.labels, predicted) else None
        return {
            "headline": only_answer_headline(only) if only else outcome.headline,
            "scores": scores[MODEL],
            "baselines": [baseline_row(baseline, {"scores": scores[baseline.name]})],
            "comparison": outcome.comparison,
            "picture": self.picture,
            "examples": examples(self.texts, self.labels, predicted, range(len(self.texts))[:EXAMPLES], self.shown),
            **self.classes(predicted),
        }

    def calibration(self, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        return {"obstacle": self.uncalibrated}


class ClassSetReport(ScoreReport):
    """The report of multi-label classification; a class is predicted if its probability is above 0.5."""

    problem_type = SEVERAL
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

    def shown(self, answer: Any) -> str:
        return ", ".join(self.data.label_names[index] for index in np.flatnonzero(answer)) or "(none)"


class NumberReport(ScoreReport):
    """The report of regression."""

    problem_type = NUMBER
    metrics = NUMBERS
    curve = Curve("loss", "eval_rmse", "RMSE", "{:.4f}", greater_is_better=False)
    picture = SCATTER
    uncalibrated = "a number has no probability"

    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        return [ridge(train_texts, self.train_labels, self.texts, seed)]

    def best_constant(self) -> np.ndarray:
        return np.asarray(self.train_labels.mean())

    def draw(self, predicted: np.ndarray, evaluation: dict[str, Any], folder: Path) -> None:
        predicted_against_true_png(self.labels, predicted, self.data.label_names[0], folder / self.picture)

    def shown(self, answer: Any) -> str:
        return f"{answer:.4g}"


REPORTS: dict[str, type[ClassifierReport]] = {
    report.problem_type: report for report in (OneClassReport, ClassSetReport, NumberReport)
}
