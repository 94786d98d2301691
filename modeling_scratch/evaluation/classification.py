# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The evaluation of a classifier: scores with confidence intervals, and a linear baseline on the same texts."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import sklearn
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits
from transformers import Trainer

from ..data.labelled_texts import ReviewData
from ..utils.errors import DataError
from ..utils.files import write_json, write_text
from ..utils.markdown import excerpt
from .calibration import Calibration, calibration_scores, calibration_text
from .classification_metrics import ClassificationMetrics, bootstrap_interval, comparison_table, mcnemar
from .plots import confusion_matrix_png, learning_curve_png

C_GRID = (0.3, 1.0, 3.0, 10.0, 30.0)  # 1 / strength of the L2 penalty
HELD_OUT_SHARE = 0.1
WORD = r"\b\w+\b"  # includes one-letter words ("I", "a", "7 of 10"), unlike scikit-learn's default
LARGE_CORPUS = 1_000  # texts; larger corpora drop terms that occur in one text only (most terms on IMDb)


@dataclass(frozen=True)
class BaselineResult:
    """Predicted classes (examples,), the selected settings, and the wall time in seconds."""

    predictions: np.ndarray
    settings: dict[str, Any]
    seconds: float


def run_baseline(
    train_texts: Sequence[str], train_labels: Sequence[int], eval_texts: Sequence[str], seed: int = 0
) -> BaselineResult:
    """tf-idf = (1 + log tf) · idf, L2-normalised, of 1- and 2-grams; then argmax of a multinomial logistic regression.

    C is selected on a stratified tenth of the training texts, then the model is refitted on all of them. The evaluation
    texts are not used for either. Deterministic for a seed. The settings are JSON-serialisable.

    Raises ValueError if texts and labels differ in number, a class has fewer than two texts, or no text has a word.
    Source: Wang and Manning 2012, whose bigram features make linear models strong on sentiment.
    """
    start = time.perf_counter()
    labels = _checked_labels(train_texts, train_labels)
    min_df = 2 if len(train_texts) >= LARGE_CORPUS else 1
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=min_df, token_pattern=WORD)
    features = vectorizer.fit_transform(train_texts)
    held_out_accuracy = _accuracy_of_each_c(features, labels, seed)
    best_c = max(C_GRID, key=held_out_accuracy.__getitem__)  # ties: the first, most regularised
    predictions = _fit(features, labels, best_c).predict(vectorizer.transform(eval_texts))
    settings = {
        "model": "TF-IDF (1-2 grams, sublinear) + logistic regression (lbfgs)",
        "C": best_c,
        "held_out_accuracy": {str(c): accuracy for c, accuracy in held_out_accuracy.items()},
        "held_out_share": HELD_OUT_SHARE,
        "min_df": min_df,
        "features": features.shape[1],
        "seed": seed,
        "scikit_learn": sklearn.__version__,
    }
    return BaselineResult(predictions, settings, time.perf_counter() - start)


def _checked_labels(texts: Sequence[str], labels: Sequence[int]) -> np.ndarray:
    if len(texts) != len(labels):
        raise ValueError(f"the baseline got {len(texts)} training texts and {len(labels)} labels")
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"the baseline needs training texts of at least two classes, got only {classes.tolist()}")
    if counts.min() < 2:
        rare = classes[counts.argmin()]
        raise ValueError(
            f"class {rare} has a single training text; the baseline needs two, one to fit and one to hold out"
        )
    if not any(re.search(WORD, text) for text in texts):
        raise ValueError("no training text has a word: the baseline has nothing to learn from")
    return np.asarray(labels)


def _accuracy_of_each_c(features: csr_matrix, labels: np.ndarray, seed: int) -> dict[float, float]:
    """Return the held-out accuracy of each C, for ranking only: the vocabulary includes the held-out texts, and
    phrases of one sentence on both sides (SST-2) inflate it."""
    num_classes = len(np.unique(labels))
    held_out = max(int(HELD_OUT_SHARE * len(labels)), num_classes)  # at least one text of each class
    fit_x, check_x, fit_y, check_y = train_test_split(
        features, labels, test_size=held_out, stratify=labels, random_state=seed
    )
    return {c: float(_fit(fit_x, fit_y, c).score(check_x, check_y)) for c in C_GRID}


def _fit(features: csr_matrix, labels: np.ndarray, c: float) -> LogisticRegression:
    # Sparse products are single-threaded, and contending BLAS threads are 15 times slower on two busy cores. A single
    # thread also makes the result independent of the number of cores.
    with threadpool_limits(limits=1):
        return LogisticRegression(C=c, solver="lbfgs", max_iter=1_000).fit(features, labels)


REMEDY = "Few texts mean few steps: try --num_train_epochs 5 --learning_rate 2e-3 --ema_decay 0."
EXAMPLES = 2  # correctly and wrongly classified texts per class


class Judge:
    """Compares predictions with the baseline on the test split, or on validation if there is none."""

    def __init__(self, data: ReviewData, seed: int, judges: bool = True) -> None:
        """judges: whether this process evaluates; in a distributed run, only one does."""
        self.split = "test" if "test" in data.splits else "validation"
        self.prefix = "test" if self.split == "test" else "eval"
        self.metrics = ClassificationMetrics(data.label_names)
        train, judged = data.splits["train"], data.splits[self.split]
        self.texts, self.labels = list(judged["text"]), np.asarray(judged["label"])
        if not judges:
            return
        try:
            self.baseline = run_baseline(list(train["text"]), list(train["label"]), self.texts, seed)
        except ValueError as error:
            classes = ", ".join(f"{index} is {name!a}" for index, name in enumerate(data.label_names[:10]))
            raise DataError(f"the baseline cannot be trained: {error}; class {classes}") from error

    def evaluate(self, trainer: Trainer, splits: datasets.DatasetDict, calibration: Calibration) -> str:
        """Return the table of results. Table, scores and plots are also written to the run's folder."""
        output = Path(trainer.args.output_dir or "")
        prediction = trainer.predict(splits[self.split], metric_key_prefix=self.prefix)
        trainer.save_metrics(self.prefix, prediction.metrics)
        if not trainer.is_world_process_zero():
            return ""
        logits = np.asarray(prediction.predictions)
        predicted = logits.argmax(-1)
        names = self.metrics.label_names
        matrix = self.metrics.confusion_matrix(predicted, self.labels)
        table = comparison_table(names, self.labels, predicted, self.baseline.predictions)
        table = f"\n{len(self.labels):,} texts of the {self.split} split\n\n{table}\n"
        evaluation = self._evaluation(predicted, matrix)
        evaluation["calibration"] = calibration_scores(calibration, logits, self.labels, self.split)
        if answer := evaluation["only_answer"]:
            table += f"\nThe Transformer predicts {answer} for every text: it has not learned. {REMEDY}\n"
        table += f"\n{calibration_text(evaluation['calibration'])}\n"
        write_text(output / "results.md", table)
        write_json(output / "evaluation.json", evaluation)
        confusion_matrix_png(matrix, names, output / "confusion_matrix.png")
        learning_curve_png(trainer.state.log_history, output / "learning_curve.png")
        return table

    def _evaluation(self, predicted: np.ndarray, matrix: np.ndarray) -> dict[str, Any]:
        correct, baseline_correct = predicted == self.labels, self.baseline.predictions == self.labels
        test = mcnemar(correct, baseline_correct)
        return {
            "split": self.split,
            "texts": len(self.labels),
            "labels": self.metrics.label_names,
            "confusion_matrix": matrix.tolist(),
            "only_answer": self._only_answer(predicted),
            "f1_name": self.metrics.f1_name,
            **self._scores(predicted),
            "baseline": {
                **self._scores(self.baseline.predictions),
                "settings": self.baseline.settings,
                "seconds": round(self.baseline.seconds, 1),
            },
            "mcnemar": {"p_value": test.p_value, "verdict": test.verdict},
            "examples": self._examples(predicted),
        }

    def _only_answer(self, predicted: np.ndarray) -> str | None:
        """Return the label if all predictions are equal but the true labels are not."""
        is_one = len(set(predicted)) == 1 < len(set(self.labels))
        return self.metrics.label_names[predicted[0]] if is_one else None

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
                answers = [(names[predicted[index]], excerpt(self.texts[index])) for index in indices]
                examples += [{"label": name, "answer": answer, "text": text} for answer, text in answers]
        return examples
