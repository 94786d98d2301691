# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The report of a classifier: scores beside those of linear baselines on the same texts, written once."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from transformers import Trainer
from transformers.trainer_utils import PredictionOutput

from ..data.labelled_texts import ReviewData
from ..tasks.base import Curve
from ..utils.errors import DataError
from .baselines import BaselineResult
from .calibration import Calibration
from .classification_card import comparison_of, scores_text
from .metrics import ClassificationMetrics, ScoreMetrics
from .predictions import Predictions
from .report_files import evaluated_split, model_notes, quotes_texts, write_report
from .saved_baseline import keep_linear


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

    def write(
        self, trainer: Trainer, predicted: PredictionOutput, calibration: Calibration, advice: str = "", **tables: Any
    ) -> str:
        """Return the report. Report, scores, predictions and plots are also written to the run's folder.

        predicted: the outputs of the trained model for the evaluated split. advice: what to try if the model is near a
        constant answer or worse than a baseline. tables: "split_scores" and "stages" of run_tables.
        """
        if not trainer.is_world_process_zero():
            return ""
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
            "notes": model_notes(trainer),
            "advice": advice,
            **tables,
        }
        evaluation["linear_model"] = self._keep_linear(trainer.args, evaluation)
        told, quotations = self.quotations(predictions, folder, evaluation["headline"] is None)
        report = "\n\n".join(filter(None, (scores_text(evaluation), told)))
        quoting = "\n\n".join([report, *quotations])
        write_report(trainer, f"{quoting if quotes_texts(trainer.args) else report}\n", evaluation, self.curve)
        self.draw(predictions.predicted, evaluation, folder)
        return quoting

    def _keep_linear(self, arguments: Any, evaluation: dict[str, Any]) -> str | None:
        comparison = comparison_of(evaluation)
        [best] = (each for each in self.baselines if each.name == comparison["baseline"])
        weights = best.weights_over(len(self.data.label_names))
        return keep_linear(arguments, comparison["verdict"] == "worse", best.name, weights, self.data)

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

    @abstractmethod
    def draw(self, predicted: np.ndarray, evaluation: dict[str, Any], folder: Path) -> None:
        """Plot the predictions."""


def baseline_row(result: BaselineResult, scores: dict[str, Any]) -> dict[str, Any]:
    """Return what evaluation.json has on a baseline."""
    return {"name": result.name, **scores, "settings": result.settings, "seconds": round(result.seconds, 1)}
