# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classification metrics, confidence intervals and a significance test, without network access.

metrics = ClassificationMetrics(["negative", "positive"])
Trainer(..., compute_metrics=metrics)
print(comparison_table(["negative", "positive"], references, predictions, {"NB-SVM": baseline_predictions}))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import datasets
import evaluate
import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support
from transformers import EvalPrediction

from ..data.labels import is_imbalanced
from ..utils.errors import DivergedError
from ..utils.markdown import percent, table

SIGNIFICANCE_LEVEL = 0.05
MATRIX = "confusion_matrix"


class ClassificationScores(evaluate.Metric):
    """Accuracy, precision, recall, F1, macro F1 and the confusion matrix of class indices 0 .. num_labels - 1.

    An `evaluate` metric, built directly: `ClassificationScores(num_labels=2)`. Examples stay in memory, so that
    concurrent processes share no cache file. In distributed training, Trainer passes the gathered predictions to every
    process, and each computes the whole metric.
    """

    def __init__(self, num_labels: int) -> None:
        if num_labels < 2:
            raise ValueError(f"classification metrics need at least 2 labels, got num_labels={num_labels}")
        self.num_labels = num_labels
        super().__init__(keep_in_memory=True)

    def _info(self) -> evaluate.MetricInfo:
        class_index = datasets.Value("int64")
        return evaluate.MetricInfo(
            description=type(self).__doc__,
            citation="",
            inputs_description="predictions, references: class indices, one per example",
            features=datasets.Features({"predictions": class_index, "references": class_index}),
            format="numpy",
        )

    def _compute(self, predictions: np.ndarray, references: np.ndarray) -> dict[str, Any]:
        classes = class_scores(range(self.num_labels), references, predictions)
        occurring = [row for row in classes if row["support"]]
        counted = classes[1:] if self.num_labels == 2 else occurring  # of two classes, the last one
        return {
            "accuracy": float((predictions == references).mean()),
            **{name: mean(row[name] for row in counted) for name in ("f1", "precision", "recall")},
            "f1_macro": mean(row["f1"] for row in occurring),
            MATRIX: confusion_matrix(references, predictions, labels=range(self.num_labels)),
        }


class ClassificationMetrics:
    """Accuracy, F1, precision, recall, macro F1 and the confusion matrix.

    Of two classes, the last is the positive one ("negative", "positive"). With more classes, F1, precision and recall
    are macro averages. An instance is a valid `compute_metrics` for Trainer.
    """

    def __init__(self, label_names: Sequence[str]) -> None:
        self.label_names = list(label_names)
        self._scores = ClassificationScores(len(self.label_names))

    @property
    def f1_name(self) -> str:
        """The heading of "f1": "F1 (positive)" or "macro F1"."""
        return f"F1 ({self.label_names[-1]})" if len(self.label_names) == 2 else "macro F1"

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """Score Trainer's predictions: logits (examples, num_labels) or class indices (examples,).

        Raises ValueError if logits are NaN, as argmax would treat a diverged model's NaN as a prediction.
        """
        predictions = np.asarray(prediction.predictions)
        if predictions.ndim == 2:
            self._check_logits(predictions)
            predictions = predictions.argmax(axis=-1)
        return self.compute(predictions, prediction.label_ids)

    def compute(self, predictions: ArrayLike, references: ArrayLike) -> dict[str, float]:
        """Return accuracy, f1, precision, recall and f1_macro, each from 0 to 1, of class indices (examples,)."""
        scores = self._scores.compute(**self._checked(predictions, references))
        return {name: value for name, value in scores.items() if name != MATRIX}

    def confusion_matrix(self, predictions: ArrayLike, references: ArrayLike) -> np.ndarray:
        """Return counts (num_labels, num_labels), indexed by true class and predicted class."""
        return self._scores.compute(**self._checked(predictions, references))[MATRIX]

    def _checked(self, predictions: ArrayLike, references: ArrayLike) -> dict[str, np.ndarray]:
        inputs = {"predictions": np.asarray(predictions), "references": np.asarray(references)}
        for name, values in inputs.items():
            self._check_class_indices(name, values)
        if len(inputs["predictions"]) != len(inputs["references"]):
            raise ValueError(f"{len(inputs['predictions'])} predictions for {len(inputs['references'])} references")
        return inputs

    def _check_class_indices(self, name: str, values: np.ndarray) -> None:
        # `evaluate` would truncate 1.7 to 1, and scikit-learn would treat a label of -1 as a further class.
        if values.ndim != 1 or len(values) == 0 or not np.issubdtype(values.dtype, np.integer):
            shape = f"got {values.dtype} of shape {values.shape}"
            raise ValueError(f"{name} must be one class index (an integer) for each of at least one example, {shape}")
        outside = np.flatnonzero((values < 0) | (values >= len(self.label_names)))
        if len(outside):
            raise ValueError(
                f"{name}[{outside[0]}] is {values[outside[0]]}, but the {len(self.label_names)} classes are numbered "
                f"0 to {len(self.label_names) - 1}: is this split unlabelled, or the list of label names incomplete?"
            )

    def _check_logits(self, logits: np.ndarray) -> None:
        if logits.shape[1] != len(self.label_names):
            raise ValueError(f"the model gives {logits.shape[1]} logits for {len(self.label_names)} labels")
        check_converged(logits)


def check_converged(logits: np.ndarray) -> None:
    """Raise `DivergedError` if a logit (examples, num_labels) is NaN."""
    diverged = int(np.isnan(logits).any(axis=1).sum())
    if diverged:
        raise DivergedError(
            f"the logits of {diverged} of {len(logits)} examples are NaN: training has diverged. "
            "Lower the learning rate, lengthen the warm-up or clip gradients."
        )


def class_scores(label_names: Sequence[Any], references: ArrayLike, predictions: ArrayLike) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and support (texts that have it) of each class.

    References and predictions are class indices (examples,), or (examples, classes) of 0 and 1. Undefined scores are 0.
    """
    columns = precision_recall_fscore_support(
        references, predictions, labels=range(len(label_names)), average=None, zero_division=0
    )
    return [
        {"label": name, "precision": float(p), "recall": float(r), "f1": float(f), "support": int(n)}
        for name, p, r, f, n in zip(label_names, *columns)
    ]


def f1_averages(references: ArrayLike, predictions: ArrayLike) -> dict[str, float]:
    """Return micro F1, which is the accuracy where each text has one class, and macro F1 over classes that occur."""
    options: dict[str, Any] = {"zero_division": 0}
    return {
        "f1_micro": float(f1_score(references, predictions, average="micro", **options)),
        "f1_macro": float(f1_score(references, predictions, average="macro", labels=np.unique(references), **options)),
    }


def macro_f1_decides(train_labels: Sequence[int] | np.ndarray, is_weighted: bool) -> bool:
    """Return whether macro F1 tells more than accuracy: training weights the classes, or they are imbalanced."""
    return is_weighted or is_imbalanced(train_labels)


def averages_text(evaluation: Mapping[str, Any]) -> str:
    return f"Micro F1: {percent(evaluation['f1_micro'])}. Macro F1: {percent(evaluation['f1_macro'])}. Each class:"


def class_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the scores of each class as Markdown."""
    cells = [
        [row["label"], *(percent(row[name]) for name in ("precision", "recall", "f1")), f"{row['support']:,}"]
        for row in rows
    ]
    return table(["class", "precision", "recall", "F1", "support"], cells)


def bootstrap_interval(
    correct: np.ndarray, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile-bootstrap interval of accuracy = mean(correct).

    Of n outcomes drawn with replacement, the number of correct ones follows Binomial(n, accuracy) exactly, so that
    memory does not grow with n (Efron and Tibshirani 1993, chapter 13). If all or none are correct, resamples do not
    vary and the score interval is returned (Wilson 1927).

    `correct` (examples,) is True for correct predictions; `level` is the nominal coverage.
    """
    _check_outcomes(correct=correct)
    right = int(correct.sum())
    if right in (0, len(correct)):
        interval = binomtest(right, len(correct)).proportion_ci(level, method="wilson")
        return float(interval.low), float(interval.high)
    accuracies = np.random.default_rng(seed).binomial(len(correct), np.mean(correct), size=resamples) / len(correct)
    low, high = percentile_interval(accuracies, level)
    return float(low), float(high)


def paired_bootstrap_interval(
    correct: np.ndarray, other_correct: np.ndarray, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile-bootstrap interval of mean(correct) - mean(other_correct), for the same examples.

    Of n pairs drawn with replacement, the numbers that only one or the other gets right follow a multinomial
    distribution exactly. If all pairs are equal, resamples do not vary: the difference is then between minus and plus
    the upper end of the score interval of the share of unequal pairs (Wilson 1927).

    Both arguments are (examples,), True where correct, in the same order; `level` is the nominal coverage.
    """
    result = mcnemar(correct, other_correct)
    examples = len(correct)
    if not (discordant := result.only_model_correct + result.only_baseline_correct):
        most = float(binomtest(0, examples).proportion_ci(level, method="wilson").high)
        return -most, most
    numbers = [result.only_model_correct, result.only_baseline_correct, examples - discordant]
    drawn = np.random.default_rng(seed).multinomial(examples, np.array(numbers) / examples, size=resamples)
    low, high = percentile_interval((drawn[:, 0] - drawn[:, 1]) / examples, level)
    return float(low), float(high)


def percentile_interval(resampled: ArrayLike, level: float = 0.95) -> np.ndarray:
    """Return the lower and the upper bound of the percentile bootstrap, (resamples, ...) -> (2, ...)."""
    tail = (1 - level) / 2
    return np.quantile(np.asarray(resampled), [tail, 1 - tail], axis=0)


@dataclass(frozen=True)
class McNemarResult:
    """McNemar's exact test: discordant pairs, and the probability of so uneven a split under equal accuracy."""

    only_model_correct: int
    only_baseline_correct: int
    p_value: float

    @property
    def verdict(self) -> str:
        """The comparison with the baseline at the 5 % level, in words."""
        if self.p_value >= SIGNIFICANCE_LEVEL:
            return f"no significant difference (p = {self.p_value:.3g})"
        return "better" if self.only_model_correct > self.only_baseline_correct else "worse"


def mcnemar(model_correct: np.ndarray, baseline_correct: np.ndarray) -> McNemarResult:
    """p = P(a Binomial(b + c, 1/2) is at least as uneven as b : c), two-sided; b, c = examples only one gets right.

    Both arguments are (examples,), True where correct, for the same examples in the same order.
    Source: McNemar 1947; the exact form needs no large-sample approximation (Dietterich 1998).
    """
    _check_outcomes(model_correct=model_correct, baseline_correct=baseline_correct)
    if len(model_correct) != len(baseline_correct):
        raise ValueError(f"outcomes of {len(model_correct)} and of {len(baseline_correct)} examples cannot be paired")
    only_model = int(np.sum(model_correct & ~baseline_correct))
    only_baseline = int(np.sum(baseline_correct & ~model_correct))
    discordant = only_model + only_baseline
    p_value = float(binomtest(only_model, discordant).pvalue) if discordant else 1.0
    return McNemarResult(only_model, only_baseline, p_value)


def shown_verdict(p_value: float, direction: str, texts: int) -> str:
    """Return "better" or "worse", the direction, if the test is significant."""
    return direction if p_value < SIGNIFICANCE_LEVEL else f"no difference that these {texts:,} texts can show"


def _check_outcomes(**outcomes: np.ndarray) -> None:
    for name, correct in outcomes.items():
        if correct.dtype != bool or correct.ndim != 1 or len(correct) == 0:
            shape = f"got {correct.dtype} of shape {correct.shape}"
            raise ValueError(f"{name} must be one bool for each of at least one example, {shape}")


def strongest(references: ArrayLike, baseline_predictions: Mapping[str, ArrayLike]) -> str:
    """Return the name of the baseline with the most correct predictions; of equal ones, the first.

    The verdict compares the model with this one. The choice on the judged texts favours the baselines: a model that is
    better than the strongest is better than each, and no table shows a baseline that has beaten it unmentioned. A
    choice on held-out training texts could name a weaker one, as phrases of one sentence are on both sides in SST-2.
    """
    return max(
        baseline_predictions, key=lambda name: np.mean(np.asarray(baseline_predictions[name]) == np.asarray(references))
    )


def comparison_table(
    label_names: Sequence[str],
    references: ArrayLike,
    model_predictions: ArrayLike,
    baseline_predictions: Mapping[str, ArrayLike],
    other_predictions: Mapping[str, ArrayLike] | None = None,
    model_name: str = "Transformer",
) -> str:
    """Return a Markdown table of accuracy, 95 % interval and F1 of all models, and a sentence on significance.

    References and predictions are class indices (examples,) of the same examples in the same order. The sentence
    compares the model with the `strongest` baseline. The others only have a row, the last ones.
    """
    metrics = ClassificationMetrics(label_names)
    lines = [f"| | accuracy | 95 % interval | {metrics.f1_name} |", "| --- | ---: | :---: | ---: |"]
    correct = {}
    rows = {model_name: model_predictions, **baseline_predictions, **(other_predictions or {})}
    for name, predictions in rows.items():
        scores = metrics.compute(predictions, references)
        correct[name] = np.asarray(predictions) == np.asarray(references)
        low, high = bootstrap_interval(correct[name])
        shown = percent(scores["accuracy"]), f"{percent(low)} to {percent(high)}", percent(scores["f1"])
        lines.append(f"| {' | '.join((name, *shown))} |")
    rival = strongest(references, baseline_predictions)
    test = mcnemar(correct[model_name], correct[rival])
    lines += ["", _sentence(test, model_name, rival, len(correct[model_name]))]
    return "\n".join(lines)


def _sentence(test: McNemarResult, model_name: str, baseline_name: str, examples: int) -> str:
    if test.p_value >= SIGNIFICANCE_LEVEL:
        finding = f"{model_name} and {baseline_name} do not differ significantly on these texts"
    else:
        finding = f"{model_name} is {test.verdict} than {baseline_name}"
    verb = "is" if test.only_model_correct == 1 else "are"
    return (
        f"{finding}: of {examples} examples, {test.only_model_correct} {verb} correct only with the former and "
        f"{test.only_baseline_correct} only with the latter (McNemar's exact test, p = {test.p_value:.3g})."
    )
