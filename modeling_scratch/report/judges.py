# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The evaluation of models that predict sets of classes or numbers, beside a linear model of the same texts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
from transformers import Trainer

from ..data.labelled_texts import ReviewData
from ..data.text_pairs import as_fields, shortened
from ..run.layout import PREDICTIONS
from ..utils.errors import DataError
from ..utils.markdown import escaped, excerpt, points, table
from .calibration import Calibration
from .classification_metrics import class_scores, class_table
from .judged_split import judged_split, predict_split
from .kind_scores import CLASS_SET_SCORES, NUMBER_SCORES, KindMetrics, Score, class_sets, numbers
from .other_baselines import Baseline, one_versus_rest, ridge
from .plots import class_f1_png, learning_curve_png, predicted_against_true_png
from .predictions import Predictions
from .report_files import blocks_text, write_report
from .saved_baseline import keep_linear, with_recommendation

EXAMPLES = 6
MODEL, CONSTANT = "Transformer", "the same answer for every text"


class KindJudge(ABC):
    """Compares predictions with those of a linear model on the test split, or on validation if there is none."""

    metrics: ClassVar[KindMetrics]
    judged_by: ClassVar[str]  # the score that the verdict is about
    picture: ClassVar[str]
    uncalibrated: ClassVar[str]  # why the probabilities are not calibrated

    def __init__(self, data: ReviewData, seed: int, judges: bool = True) -> None:
        """judges: whether this process evaluates; in a distributed run, only one does."""
        self.data = data
        self.split = judged_split(data.splits)
        self.texts, self.labels = data.texts(self.split), data.labels(self.split)
        if judges:
            train_labels = data.labels("train")
            self.constant = self.best_constant(train_labels)
            try:
                self.baseline = self.train_baseline(data.texts("train"), train_labels, seed)
            except ValueError as error:
                raise DataError(f"the baseline cannot be trained: {error}") from error

    @abstractmethod
    def train_baseline(self, texts: list[str], labels: np.ndarray, seed: int) -> Baseline:
        """Train a linear model, and let it predict the judged texts."""

    @abstractmethod
    def best_constant(self, labels: np.ndarray) -> np.ndarray:
        """Return the best answer that is the same for every text, of train labels (N, ...) -> (...)."""

    def more(self, predicted: np.ndarray) -> dict[str, Any]:
        """Return further entries of evaluation.json."""
        return {}

    @abstractmethod
    def draw(self, predicted: np.ndarray, evaluation: Mapping[str, Any], path: Path) -> None:
        """Plot the predictions."""

    @abstractmethod
    def shown(self, answer: Any) -> str:
        """Return a prediction, or a label, as text."""

    def evaluate(
        self,
        trainer: Trainer,
        splits: datasets.DatasetDict,
        calibration: Calibration,
        remedies: str = "",
    ) -> str:
        """Return the report. The report, the scores and plots are also written to the run's folder.

        calibration: not used, as models of these kinds have none. remedies: what the report says to try if the model is
        no use.
        """
        output = Path(trainer.args.output_dir or "")
        prediction = predict_split(trainer, splits[self.split], self.split)
        if not trainer.is_world_process_zero():
            return ""
        predicted = self.metrics.answers(np.asarray(prediction.predictions))
        evaluation = self.evaluation(predicted)
        is_worse = evaluation["comparison"]["verdict"] == "worse"
        linear = keep_linear(trainer.args, is_worse, self.baseline.name, self.baseline.weights, self.data)
        evaluation["linear_model"] = linear
        text = with_recommendation(f"\n{kind_text(evaluation)}\n", evaluation, evaluation["comparison"], remedies)
        text += f"\n{blocks}\n" if (blocks := blocks_text(trainer.model)) else ""
        self.predictions(predicted, np.asarray(prediction.predictions)).save(output / PREDICTIONS)
        write_report(trainer.args, text, evaluation)
        self.draw(predicted, evaluation, output / self.picture)
        by = score_of(self.data.problem_type, self.judged_by)
        learning_curve_png(trainer.state.log_history, output / "learning_curve.png", by)
        return text

    def predictions(self, predicted: np.ndarray, logits: np.ndarray) -> Predictions:
        data, split = self.data, self.split
        about = data.problem_type, split, data.digest(split), data.label_names
        return Predictions.of_kind(*about, self.texts, self.labels, predicted, logits)

    def evaluation(self, predicted: np.ndarray) -> dict[str, Any]:
        """Return the content of evaluation.json."""
        constant = np.broadcast_to(self.constant, self.labels.shape)
        predictions = {MODEL: predicted, self.baseline.name: self.baseline.predictions, CONSTANT: constant}
        scores = self.metrics.with_intervals(predictions, self.labels)
        rows = zip(self.texts[:EXAMPLES], self.labels, predicted)
        return {
            "problem_type": self.data.problem_type,
            "split": self.split,
            "texts": len(self.labels),
            "labels": self.data.label_names,
            "headline": self.headline(predicted, scores),
            "scores": scores["models"][MODEL],
            "baselines": [
                {
                    "name": self.baseline.name,
                    "scores": scores["models"][self.baseline.name],
                    "settings": self.baseline.settings,
                    "seconds": round(self.baseline.seconds, 1),
                }
            ],
            "comparison": self.comparison(scores["differences"][self.baseline.name]),
            "picture": self.picture,
            "calibration": {"obstacle": self.uncalibrated},
            "examples": [
                {**as_fields(shortened(text)), "label": self.shown(label), "answer": self.shown(answer)}
                for text, label, answer in rows
            ],
            **self.more(predicted),
        }

    def headline(self, predicted: np.ndarray, scores: Mapping[str, Any]) -> str | None:
        """Return what the report says first of a model that is no use, as `chance.headline` does for one class.

        scores: as `KindMetrics.with_intervals` gives them, with those of the rival and of the constant answer.
        """
        if len(np.unique(self.labels, axis=0)) == 1:
            return None  # no model can be better than that answer
        if len(np.unique(predicted, axis=0)) == 1:
            return f"The {MODEL} predicts {excerpt(self.shown(predicted[0]))} for every text: it has not learned."
        score = score_of(self.data.problem_type, self.judged_by)
        of_constant = f"the answer {excerpt(self.shown(self.constant))} for every text"
        for rival, name in {CONSTANT: of_constant, self.baseline.name: self.baseline.name}.items():
            found = verdict(scores["differences"][rival][self.judged_by], score)
            if found == "worse" or (found != "better" and rival == CONSTANT):
                values = (score.shown(scores["models"][each][self.judged_by]["value"]) for each in (MODEL, rival))
                relation = "is worse than" if found == "worse" else "is not significantly better than"
                return f"The {MODEL} {relation} {name}: {score.heading} {' and '.join(values)} (paired bootstrap)."
        return None

    def comparison(self, differences: Mapping[str, Any]) -> dict[str, Any]:
        difference = differences[self.judged_by]
        found = verdict(difference, score_of(self.data.problem_type, self.judged_by))
        return {"baseline": self.baseline.name, "score": self.judged_by, **difference, "verdict": found}


class ClassSetJudge(KindJudge):
    """The judge of multi-label classification; a class is predicted if its probability is above 0.5."""

    metrics = KindMetrics(CLASS_SET_SCORES, class_sets)
    judged_by = "f1_micro"
    picture = "f1_of_classes.png"
    uncalibrated = "one temperature divides the logits of a text with one class, and here each class has its own logit"

    def train_baseline(self, texts: list[str], labels: np.ndarray, seed: int) -> Baseline:
        return one_versus_rest(texts, labels, self.texts, seed)

    def best_constant(self, labels: np.ndarray) -> np.ndarray:
        """Return the most frequent classes, of which as many as give the best micro F1, 2 TP / (predicted + true)."""
        counts = np.sort(labels.sum(0))[::-1].cumsum()
        f1 = 2 * counts / (len(labels) * np.arange(1, len(counts) + 1) + counts[-1])
        chosen = np.argsort(-labels.sum(0), kind="stable")[: f1.argmax() + 1]
        return np.isin(np.arange(len(counts)), chosen).astype(np.float64)

    def more(self, predicted: np.ndarray) -> dict[str, Any]:
        return {"threshold": 0.5, "classes": class_scores(self.data.label_names, self.labels, predicted)}

    def draw(self, predicted: np.ndarray, evaluation: Mapping[str, Any], path: Path) -> None:
        class_f1_png(evaluation["classes"], path)

    def shown(self, answer: Any) -> str:
        return ", ".join(self.data.label_names[index] for index in np.flatnonzero(answer)) or "(none)"


class NumberJudge(KindJudge):
    """The judge of regression."""

    metrics = KindMetrics(NUMBER_SCORES, numbers)
    judged_by = "rmse"
    picture = "predicted_against_true.png"
    uncalibrated = "a number has no probability"

    def train_baseline(self, texts: list[str], labels: np.ndarray, seed: int) -> Baseline:
        return ridge(texts, labels, self.texts, seed)

    def best_constant(self, labels: np.ndarray) -> np.ndarray:
        return np.asarray(labels.mean())

    def draw(self, predicted: np.ndarray, evaluation: Mapping[str, Any], path: Path) -> None:
        predicted_against_true_png(self.labels, predicted, self.data.label_names[0], path)

    def shown(self, answer: Any) -> str:
        return f"{answer:.4g}"


KIND_JUDGES: dict[str, type[KindJudge]] = {"multi_label_classification": ClassSetJudge, "regression": NumberJudge}


def score_of(problem_type: str, name: str) -> Score:
    return next(score for score in KIND_JUDGES[problem_type].metrics.scores if score.name == name)


def verdict(difference: Mapping[str, Any], score: Score) -> str:
    """Return whether the model is better or worse: the interval of the difference from the baseline excludes 0."""
    low, high = difference["interval_95"]
    if low <= 0 <= high:
        return "no significant difference"
    return "better" if (low > 0) == score.greater_is_better else "worse"


def kind_text(evaluation: Mapping[str, Any], model: str = MODEL) -> str:
    """Return the report of evaluation.json as Markdown, for results.md and the model card."""
    models = {model: evaluation["scores"], **{row["name"]: row["scores"] for row in evaluation["baselines"]}}
    parts = [
        f"{evaluation['texts']:,} texts of the {evaluation['split']} split",
        scores_table(KIND_JUDGES[evaluation["problem_type"]].metrics.scores, models),
        _sentence(evaluation, model),
    ]
    if classes := evaluation.get("classes"):
        parts += ["Each class. It is predicted if its probability is above 0.5:", class_table(classes)]
    return "\n\n".join([*parts, f"The model is not calibrated: {evaluation['calibration']['obstacle']}."])


def scores_table(scores: Sequence[Score], models: Mapping[str, Mapping[str, Any]], head: str = "") -> str:
    """Return a Markdown table of the scores of each model, by its name, with their intervals."""
    rows = [[name, *(_with_interval(score, found[score.name]) for score in scores)] for name, found in models.items()]
    return table([head, *(f"{score.heading} (95 % interval)" for score in scores)], rows)


def _with_interval(score: Score, found: Mapping[str, Any]) -> str:
    low, high = map(score.shown, found["interval_95"])
    return f"{score.shown(found['value'])} ({low} to {high})"


def _sentence(evaluation: Mapping[str, Any], model: str) -> str:
    comparison = evaluation["comparison"]
    score, rival = score_of(evaluation["problem_type"], comparison["score"]), escaped(comparison["baseline"])
    finding = f"{model} is {comparison['verdict']} than {rival}"
    if comparison["verdict"] not in ("better", "worse"):
        finding = f"{model} and {rival} do not differ significantly on these texts"
    finding = finding[0].upper() + finding[1:]
    value, low, high = (shown_difference(score, number) for number in (comparison["value"], *comparison["interval_95"]))
    unit = " percentage points" if score.is_share else ""
    return (
        f"{finding}: the difference in {score.heading} is {value}{unit}, with a 95 % interval of {low} to {high} "
        "(paired bootstrap)."
    )


def shown_difference(score: Score, difference: float) -> str:
    """Return a difference of shares in percentage points, or one of other scores."""
    return points(difference) if score.is_share else f"{round(difference, 4) + 0.0:+.4f}"
