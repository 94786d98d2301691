# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The reports of classifiers: scores beside those of linear baselines on the same texts, written once.

There is one for each problem type: one class, several classes, or a number for each text.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.metrics import confusion_matrix
from transformers import Trainer
from transformers.trainer_utils import PredictionOutput

from ..bridges.model_sources import LINEAR_MODEL, LINEAR_WEIGHTS
from ..data.labelled_texts import ReviewData
from ..run.layout import CONFUSION_MATRIX, LINEAR
from ..tasks.base import Curve, Report
from ..utils.markdown import excerpt
from .baselines import BaselineResult, one_versus_rest, ridge, run_baselines
from .calibration import Calibration, calibration_scores, finite
from .classification_card import is_useful, scores_text
from .metrics import METRICS, NUMBER, ONE_CLASS, SEVERAL, class_scores, macro_f1_decides
from .plots import confusion_matrix_png
from .predictions import Predictions, as_names
from .quoted_texts import (
    class_words_text,
    examples,
    find_misclassified,
    misclassified_table,
    misclassified_text,
    save_misclassified,
)
from .report_files import evaluated_split, model_notes
from .significance import with_intervals
from .verdicts import MODEL, compared, headline_of, strongest

PROBABILITIES = {ONE_CLASS: partial(softmax, axis=-1), SEVERAL: expit}  # of logits (texts, classes)
EXAMPLES_OF_CLASS, EXAMPLES = 2, 6  # quoted texts of each class; of reports without classes


class ClassifierReport(ABC):
    """Compares predictions with those of linear models on the test split, or on validation if there is none."""

    curve: ClassVar[Curve]

    def __init__(self, data: ReviewData, seed: int, is_weighted: bool = False) -> None:
        """Train the baselines. is_weighted: whether training, and so they, weight the classes.

        Raises ValueError for texts that linear models cannot learn from.
        """
        self.data, self.split, self.is_weighted = data, evaluated_split(data.splits), is_weighted
        self.texts, self.labels = data.texts(self.split), data.labels(self.split)
        self.train_labels = data.labels("train")
        self.metrics = METRICS[data.problem_type]
        self.baselines = self.train_baselines(data.texts("train"), seed)

    @abstractmethod
    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        """Train the linear models, and let them predict the texts."""

    @abstractmethod
    def best_constant(self) -> np.ndarray:
        """Return the best answer that is the same for every training text, (...)."""

    @abstractmethod
    def shown(self, answer: Any) -> str:
        """Return a prediction, or a label, as text."""

    def report(
        self, trainer: Trainer, predicted: PredictionOutput, calibration: Calibration, stages: Sequence[Any] = ()
    ) -> Report:
        """Return the report, and write predictions, pictures and what it points to into the run's folder.

        predicted: the outputs of the trained model for the evaluated split. stages: the rows of `stage_table`.
        """
        folder, logits = Path(trainer.args.output_dir or ""), finite(predicted.predictions)
        answers = self.metrics.answers(logits)
        kind, names, digest = self.data.problem_type, self.data.label_names, self.data.digest(self.split)
        probabilities = PROBABILITIES[kind](logits) if kind in PROBABILITIES else None
        given, found = (as_names(kind, names, values) for values in (self.labels, answers))
        Predictions.of_lists(kind, self.split, digest, names, self.texts, given, found).save(folder, probabilities)
        evaluation = self.evaluation(answers) | self.details(answers, calibration, logits)
        evaluation["notes"] = [*model_notes(trainer), *self.notes]
        if stages:
            evaluation["stages"] = stages
        evaluation["linear_model"] = self._keep_linear(trainer.args, evaluation["comparison"])
        told, quotations = self.further(answers, probabilities, folder, evaluation)
        report = "\n\n".join(filter(None, (scores_text(evaluation), told)))
        return Report(f"{report}\n", evaluation, "\n".join(f"{part}\n" for part in quotations), self.curve)

    def evaluation(self, predicted: np.ndarray) -> dict[str, Any]:
        """Return the scores, the comparison, the sentence on a useless model and examples, for evaluation.json."""
        score, labels = self.metrics.score, self.labels
        answers = {each.name: each.predictions for each in self.baselines}
        scores = with_intervals(self.metrics.scores, {MODEL: predicted, **answers}, labels)["models"]
        best = strongest(score, labels, answers)
        constant = np.broadcast_to(self.best_constant(), labels.shape)
        headline = headline_of(score, labels, predicted, constant, lambda answer: excerpt(self.shown(answer)))
        return {
            "problem_type": self.data.problem_type,
            "split": self.split,
            "texts": len(labels),
            "labels": self.data.label_names,
            "headline": headline,
            "scores": scores[MODEL],
            "baselines": [
                {"name": each.name, "scores": scores[each.name], "settings": each.settings}
                for each in self.baselines
            ],
            "comparison": compared(score, labels, predicted, answers[best], best),
            "examples": examples(self.texts, labels, predicted, self.quoted_rows(), self.shown),
        }  # fmt: skip

    def details(self, predicted: np.ndarray, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        """Return the entries of evaluation.json of the problem type."""
        return {}

    def quoted_rows(self) -> Iterable[int]:
        return range(len(self.texts))[:EXAMPLES]

    def _keep_linear(self, arguments: Any, comparison: Mapping[str, Any]) -> str | None:
        """Save the linear model if --save_linear_model asks for it, and return the sentence for the report."""
        run, best = Path(arguments.output_dir), self.best_baseline(comparison)
        delete_linear(run)
        is_worse = comparison["verdict"] == "worse"
        if not (is_worse if arguments.save_linear_model is None else arguments.save_linear_model):
            return None
        weights, names = best.weights_over(len(self.data.label_names)), self.data.label_names
        weights.save(run / LINEAR, best.name, self.data.problem_type, names, self.data.has_pairs)
        advice = f"Use {best.name} instead" if is_worse else f"{best.name} is saved, too"
        return f"{advice}: the folder `{LINEAR}` of the run has it, for `modeling-scratch predict --model`."

    def best_baseline(self, comparison: Mapping[str, Any]) -> BaselineResult:
        return next(each for each in self.baselines if each.name == comparison["baseline"])

    @property
    def notes(self) -> list[str]:
        """What is told of the baselines where they were fitted on a sample."""
        fitted, texts = self.baselines[0].settings["texts"], len(self.train_labels)
        return [f"The linear models were fitted on {fitted:,} of {texts:,} training texts."] * (fitted < texts)

    def further(
        self, predicted: np.ndarray, probabilities: Any, folder: Path, evaluation: Mapping[str, Any]
    ) -> tuple[str, list[str]]:
        """Write the texts and the picture that the report points to. Return what it says, and what quotes texts."""
        return "", []


def delete_linear(run: Path) -> None:
    """Delete the linear model in the folder of a run, which can be one of other texts. Other files in it stay."""
    folder = run / LINEAR
    for name in (LINEAR_MODEL, LINEAR_WEIGHTS):  # without the first, the folder is no model
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # none, or not empty
        folder.rmdir()


class OneClassReport(ClassifierReport):
    """The report of a classifier of texts with one class each."""

    curve = Curve("loss (nats per example)", "eval_accuracy", "accuracy (% of examples)")

    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        by_macro_f1 = macro_f1_decides(self.train_labels, self.is_weighted)
        if by_macro_f1:
            self.metrics = replace(self.metrics, decisive="f1_macro")
        return run_baselines(train_texts, self.train_labels.tolist(), self.texts, seed, self.is_weighted, by_macro_f1)

    def best_constant(self) -> np.ndarray:
        return np.asarray(np.bincount(self.train_labels).argmax())

    def details(self, predicted: np.ndarray, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        classes = range(len(self.data.label_names))
        return {
            **self.metrics.compute(predicted, self.labels),
            "confusion_matrix": confusion_matrix(self.labels, predicted, labels=classes).tolist(),
            "classes": class_scores(self.data.label_names, self.labels, predicted),
            "calibration": calibration_scores(calibration, logits, self.labels, self.split),
        }

    def quoted_rows(self) -> Iterable[int]:
        classes = range(len(self.data.label_names))
        return np.concatenate([np.flatnonzero(self.labels == label)[:EXAMPLES_OF_CLASS] for label in classes])

    @property
    def notes(self) -> list[str]:
        told = "The classes are weighted or imbalanced, so macro F1 decides: it says more than accuracy."
        return [*super().notes, *([told] if self.metrics.decisive == "f1_macro" else [])]

    def shown(self, answer: Any) -> str:
        return self.data.label_names[answer]

    def further(
        self, predicted: np.ndarray, probabilities: Any, folder: Path, evaluation: Mapping[str, Any]
    ) -> tuple[str, list[str]]:
        best, names = self.best_baseline(evaluation["comparison"]), self.data.label_names
        answers = self.labels, predicted, probabilities, best.predictions
        wrong = find_misclassified(names, self.texts, self.data.places_of(self.split), *answers)
        save_misclassified(wrong, folder)
        confusion_matrix_png(np.array(evaluation["confusion_matrix"]), names, folder / CONFUSION_MATRIX)
        quoting = misclassified_table(wrong, best.name), class_words_text(best, names)
        return misclassified_text(wrong, best.name, is_useful(evaluation)), [*filter(None, quoting)]


class ClassSetReport(ClassifierReport):
    """The report of multi-label classification; a class is predicted if its probability is above 0.5."""

    curve = Curve("loss", "eval_f1_micro", "micro F1")

    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        return [one_versus_rest(train_texts, self.train_labels, self.texts, seed)]

    def best_constant(self) -> np.ndarray:
        """Return the most frequent classes, of which as many as give the best micro F1, 2 TP / (predicted + true)."""
        texts_of = self.train_labels.sum(0)
        counts = np.sort(texts_of)[::-1].cumsum()
        f1 = 2 * counts / (len(self.train_labels) * np.arange(1, len(counts) + 1) + counts[-1])
        chosen = np.argsort(-texts_of, kind="stable")[: f1.argmax() + 1]
        return np.isin(np.arange(len(counts)), chosen).astype(np.float64)

    def details(self, predicted: np.ndarray, calibration: Calibration, logits: np.ndarray) -> dict[str, Any]:
        return {"threshold": 0.5, "classes": class_scores(self.data.label_names, self.labels, predicted)}

    @property
    def notes(self) -> list[str]:
        return [*super().notes, "A class is predicted if its probability is above 0.5. The model is not calibrated."]

    def shown(self, answer: Any) -> str:
        return ", ".join(self.data.label_names[index] for index in np.flatnonzero(answer)) or "(none)"


class NumberReport(ClassifierReport):
    """The report of regression."""

    curve = Curve("loss", "eval_rmse", "RMSE", "{:.4f}", greater_is_better=False)

    def train_baselines(self, train_texts: list[str], seed: int) -> list[BaselineResult]:
        return [ridge(train_texts, self.train_labels, self.texts, seed)]

    def best_constant(self) -> np.ndarray:
        return np.asarray(self.train_labels.mean())

    def shown(self, answer: Any) -> str:
        return f"{answer:.4g}"


REPORTS: dict[str, type[ClassifierReport]] = {
    ONE_CLASS: OneClassReport,
    SEVERAL: ClassSetReport,
    NUMBER: NumberReport,
}
