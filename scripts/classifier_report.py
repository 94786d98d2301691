# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a trained classifier is worth: its scores and how sure they are, beside a linear baseline on the same texts."""

from pathlib import Path
from typing import Any

import datasets
import numpy as np
from baseline import run_baseline
from card_text import excerpt
from classification_metrics import ClassificationMetrics, bootstrap_interval, comparison_table, mcnemar
from plots import confusion_matrix_png, learning_curve_png
from run_folder import write_json, write_text
from text_data import ReviewData
from text_files import DataError
from transformers import Trainer

REMEDY = "Few texts give few steps: --num_train_epochs 5 --learning_rate 2e-3 --ema_decay 0 makes more of them."
EXAMPLES = 2  # texts of each class that are answered right, and wrong


class Judge:
    """Scores predictions on the test split, or on validation where there is none, against the baseline's."""

    def __init__(self, data: ReviewData, seed: int, judges: bool = True) -> None:
        """judges: whether this process does; of several, one does."""
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
            raise DataError(f"the texts give no baseline: {error}") from error

    def report(self, trainer: Trainer, splits: datasets.DatasetDict) -> str:
        """The table to print; it, every score and the pictures are written to the folder of the run."""
        output = Path(trainer.args.output_dir or "")
        prediction = trainer.predict(splits[self.split], metric_key_prefix=self.prefix)
        trainer.save_metrics(self.prefix, prediction.metrics)
        if not trainer.is_world_process_zero():
            return ""
        predicted = np.asarray(prediction.predictions).argmax(-1)
        names = self.metrics.label_names
        matrix = self.metrics.confusion_matrix(predicted, self.labels)
        table = comparison_table(names, self.labels, predicted, self.baseline.predictions)
        table = f"\n{len(self.labels):,} texts of the {self.split} split\n\n{table}\n"
        evaluation = self._evaluation(predicted, matrix)
        if answer := evaluation["only_answer"]:
            table += f"\nThe Transformer answers {answer} to every text: it has learned nothing. {REMEDY}\n"
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
        """The label that every text gets, where there are others to be found."""
        is_one = len(set(predicted)) == 1 < len(set(self.labels))
        return self.metrics.label_names[predicted[0]] if is_one else None

    def _scores(self, predicted: np.ndarray) -> dict[str, Any]:
        scores = self.metrics.compute(predicted, self.labels)
        interval = bootstrap_interval(predicted == self.labels)
        return {"accuracy": scores["accuracy"], "accuracy_interval_95": interval, "f1": scores["f1"]}

    def _examples(self, predicted: np.ndarray) -> list[dict[str, str]]:
        """The first of the split: nobody has chosen them."""
        names, examples = self.metrics.label_names, []
        for label, name in enumerate(names):
            for is_right in (True, False):
                found = np.flatnonzero((self.labels == label) & ((predicted == label) == is_right))[:EXAMPLES]
                answers = [(names[predicted[place]], excerpt(self.texts[place])) for place in found]
                examples += [{"label": name, "answer": answer, "text": text} for answer, text in answers]
        return examples
