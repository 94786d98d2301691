# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The evaluation of a classifier: scores with confidence intervals, and linear baselines on the same texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from scipy.special import softmax
from transformers import Trainer

from ..data.labelled_texts import ReviewData
from ..data.text_pairs import as_fields, shortened
from ..run.layout import PREDICTIONS
from ..utils.errors import DataError, quoted
from .baselines import BaselineResult, run_baselines
from .calibration import Calibration, calibration_scores, calibration_text
from .chance import headline, only_answer
from .class_words import CLASS_WORDS, class_words_text, find_class_words, save_class_words
from .classification_metrics import (
    ClassificationMetrics,
    averages_text,
    bootstrap_interval,
    class_scores,
    class_table,
    comparison_table,
    f1_averages,
    macro_f1_decides,
    mcnemar,
    strongest,
)
from .imbalance import MacroF1Comparison, macro_f1_text
from .judged_split import judged_split, predict_split
from .misclassified import MISCLASSIFIED, Misclassified
from .plots import confusion_matrix_png, learning_curve_png
from .predictions import Predictions
from .report_files import blocks_text, quotes_texts, write_report
from .saved_baseline import keep_linear, with_recommendation

EXAMPLES = 2  # correctly and wrongly classified texts per class


class Judge:
    """Compares predictions with the baselines on the test split, or on validation if there is none."""

    def __init__(
        self, data: ReviewData, seed: int, judges: bool = True, with_mean: bool = False, is_weighted: bool = False
    ) -> None:
        """judges: whether this process evaluates; in a distributed run, only one does.

        with_mean: also score `mean_predictions`. is_weighted: whether training, and so the baselines, weight the
        classes.
        """
        self.data, self.split = data, judged_split(data.splits)
        self.metrics = ClassificationMetrics(data.label_names)
        train, judged = data.splits["train"], data.splits[self.split]
        self.texts, self.labels = data.texts(self.split), np.asarray(judged["label"])
        self.train_labels, self.with_mean, self.is_weighted = list(train["label"]), with_mean, is_weighted
        if not judges:
            return
        try:
            self.baselines = run_baselines(data.texts("train"), self.train_labels, self.texts, seed, is_weighted)
        except ValueError as error:
            classes = ", ".join(f"{index} is {quoted(name)}" for index, name in enumerate(data.label_names[:10]))
            raise DataError(f"the baseline cannot be trained: {error}; class {classes}") from error

    def evaluate(
        self,
        trainer: Trainer,
        splits: datasets.DatasetDict,
        calibration: Calibration,
        remedies: str = "",
    ) -> str:
        """Return the table of results. Table, scores, predictions and plots are also written to the run's folder.

        remedies: what the report says to try if the model is near chance or worse than a baseline.
        """
        output = Path(trainer.args.output_dir or "")
        prediction = predict_split(trainer, splits[self.split], self.split)
        if not trainer.is_world_process_zero():
            return ""
        logits = np.asarray(prediction.predictions)
        predicted = logits.argmax(-1)
        names = self.metrics.label_names
        matrix = self.metrics.confusion_matrix(predicted, self.labels)
        others = mean_predictions(logits, self.best_baseline) if self.with_mean else {}
        table = comparison_table(names, self.labels, predicted, self._rivals(), others)
        evaluation = self._evaluation(predicted, matrix, others)
        evaluation["calibration"] = calibration_scores(calibration, logits, self.labels, self.split)
        evaluation["linear_model"] = self._keep_linear(trainer, evaluation)
        report = self._report(evaluation, table, [blocks_text(trainer.model), weights_text(trainer)], remedies)
        predictions = self._predictions(logits)
        predictions.save(output / PREDICTIONS)
        quoting, without = self._save_texts(predictions, output, has_learned=evaluation["headline"] is None)
        write_report(trainer.args, report + (quoting if quotes_texts(trainer.args) else without), evaluation)
        confusion_matrix_png(matrix, names, output / "confusion_matrix.png")
        learning_curve_png(trainer.state.log_history, output / "learning_curve.png")
        return report + quoting

    def _report(self, evaluation: Mapping[str, Any], table: str, notes: Sequence[str], remedies: str) -> str:
        """Return the report without what quotes texts. table: of the scores; notes: on the model."""
        about = f"{len(self.labels):,} texts of the {self.split} split"
        comparison = evaluation["macro_f1"] or evaluation["mcnemar"]
        first = with_recommendation(f"\n{about}\n\n{table}\n", evaluation, comparison, remedies)
        paragraphs = (
            *notes,
            evaluation["macro_f1"] and macro_f1_text(evaluation["macro_f1"]),
            f"{averages_text(evaluation)}\n\n{class_table(evaluation['classes'])}",
            calibration_text(evaluation["calibration"]),
        )
        return first + "".join(f"\n{each}\n" for each in paragraphs if each)

    def _save_texts(self, predictions: Predictions, output: Path, has_learned: bool) -> tuple[str, str]:
        """Write the wrong answers and the words of classes. Return what the report says of them, and without quotes."""
        misclassified = self._misclassified(predictions, has_learned)
        misclassified.save(output / MISCLASSIFIED)
        best, names = self.best_baseline, self.metrics.label_names
        weights = best.weights.of_classes(best.classes, len(names))
        words = find_class_words(weights, names, self.data.texts("train"), self.train_labels)
        save_class_words(words, output / CLASS_WORDS)
        return misclassified.report() + class_words_text(words, best.name), misclassified.report(quotes=False)

    def _keep_linear(self, trainer: Trainer, evaluation: Mapping[str, Any]) -> str | None:
        test = evaluation["macro_f1"] or evaluation["mcnemar"]
        [result] = (each for each in self.baselines if each.name == test["baseline"])
        weights = result.weights.of_classes(result.classes, len(self.metrics.label_names))
        return keep_linear(trainer.args, test["verdict"] == "worse", result.name, weights, self.data)

    def _predictions(self, logits: np.ndarray) -> Predictions:
        names, digest = self.metrics.label_names, self.data.digest(self.split)
        return Predictions.of_logits(self.split, digest, names, self.texts, self.labels, logits)

    def _misclassified(self, found: Predictions, has_learned: bool) -> Misclassified:
        answers = self.labels, found.predicted, found.probabilities
        rival = self.best_baseline
        about = self.metrics.label_names, self.texts, self.data.places_of(self.split)
        return Misclassified(*about, *answers, rival.name, rival.predictions, has_learned)

    def _evaluation(self, predicted: np.ndarray, matrix: np.ndarray, others: dict[str, np.ndarray]) -> dict[str, Any]:
        names, rivals = self.metrics.label_names, self._rivals()
        rival = strongest(self.labels, rivals)
        test = mcnemar(predicted == self.labels, rivals[rival] == self.labels)
        macro_f1 = self._macro_f1(predicted)
        return {
            "split": self.split,
            "texts": len(self.labels),
            "labels": names,
            "confusion_matrix": matrix.tolist(),
            "only_answer": only_answer(names, self.labels, predicted),
            "headline": headline(names, self.train_labels, self.labels, predicted, rivals, macro_f1),
            "f1_name": self.metrics.f1_name,
            **self._scores(predicted),
            **f1_averages(self.labels, predicted),
            "classes": class_scores(names, self.labels, predicted),
            "baselines": [
                {
                    "name": baseline.name,
                    **self._scores(baseline.predictions),
                    "settings": baseline.settings,
                    "seconds": round(baseline.seconds, 1),
                }
                for baseline in self.baselines
            ],
            "others": [{"name": name, **self._scores(predictions)} for name, predictions in others.items()],
            "mcnemar": {"baseline": rival, "p_value": test.p_value, "verdict": test.verdict},
            "macro_f1": macro_f1.comparison() if macro_f1 else None,
            "examples": self._examples(predicted),
        }

    def _macro_f1(self, predicted: np.ndarray) -> MacroF1Comparison | None:
        """Return the comparison by macro F1 where this tells more than accuracy."""
        if len(np.unique(self.labels)) == 1 or not macro_f1_decides(self.train_labels, self.is_weighted):
            return None
        return MacroF1Comparison(self.train_labels, self.labels, predicted, self._rivals())

    @property
    def best_baseline(self) -> BaselineResult:
        """The baseline that is best on held-out training texts: the judged texts do not choose it."""
        return max(self.baselines, key=lambda result: result.held_out_score)

    def _rivals(self) -> dict[str, np.ndarray]:
        return {baseline.name: baseline.predictions for baseline in self.baselines}

    def _scores(self, predicted: np.ndarray) -> dict[str, Any]:
        scores = self.metrics.compute(predicted, self.labels)
        interval = bootstrap_interval(predicted == self.labels)
        return {"accuracy": scores["accuracy"], "accuracy_interval_95": interval, "f1": scores["f1"]}

    def _examples(self, predicted: np.ndarray) -> list[dict[str, str]]:
        """Return the first examples of the split, without selection."""
        names, examples = self.metrics.label_names, []
        for label, name in enumerate(names):
            for is_right in (True, False):
                indices = np.flatnonzero((self.labels == label) & ((predicted == label) == is_right))[:EXAMPLES]
                answers = [(names[predicted[index]], as_fields(shortened(self.texts[index]))) for index in indices]
                examples += [{"label": name, "answer": answer, **fields} for answer, fields in answers]
        return examples


def weights_text(trainer: Trainer) -> str:
    """Return which step's weights are evaluated, if the run chose them on validation."""
    state = trainer.state
    if not trainer.args.load_best_model_at_end or not state.best_global_step:
        return ""
    step, steps = f"{state.best_global_step:,}", f"{state.global_step:,}"
    return f"The weights are those of step {step} of {steps}, the best on validation."


def mean_predictions(logits: np.ndarray, baseline: BaselineResult) -> dict[str, np.ndarray]:
    """Return the classes of the greatest mean of the probabilities of the model and of a baseline, under their names.

    The saved folder does not contain the baseline, so that the score is not one of the folder. The logits are those of
    the calibrated model.
    """
    probabilities = softmax(logits, axis=-1)
    probabilities[:, baseline.classes] += baseline.probabilities  # a half of both would not change the greatest
    return {f"mean of Transformer and {baseline.name}": probabilities.argmax(axis=-1)}
