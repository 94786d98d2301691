# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The reports of classifiers: scores beside those of linear baselines on the same texts, written once.

A text has one class, several classes, or a number: `KINDS` says what differs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from transformers import Trainer
from transformers.trainer_utils import PredictionOutput

from ..bridges.model_sources import LINEAR_MODEL, LINEAR_WEIGHTS
from ..data.labelled_texts import ReviewData
from ..data.text_pairs import as_fields, shortened
from ..run.layout import CONFUSION_MATRIX, LINEAR
from ..tasks.base import Curve, Report
from ..tasks.card import LONGER_OR_PRETRAINED, MODEL, first_line, is_useful, shares_table
from ..utils.markdown import escaped, excerpt
from .baselines import BaselineResult, one_versus_rest, ridge, run_baselines
from .calibration import Calibration, calibration_scores, calibration_text, finite
from .metrics import METRICS, NUMBER, ONE_CLASS, SEVERAL, macro_f1_decides
from .plots import confusion_matrix_png
from .predictions import Predictions, as_names
from .quoted_texts import (
    class_words_text,
    find_misclassified,
    misclassified_table,
    misclassified_text,
    save_misclassified,
)
from .report_files import evaluated_split, model_notes, stages_table
from .significance import compared, headline_of, scores_table, with_intervals

EXAMPLES_OF_CLASS, EXAMPLES = 2, 6  # quoted texts of each class; of reports without classes
MACRO_F1 = "The classes are weighted or imbalanced, so macro F1 decides: it says more than accuracy."
NOT_CALIBRATED = "The model is not calibrated."  # of several classes


def most_frequent_classes(labels: np.ndarray) -> np.ndarray:
    """Return as many of the most frequent classes as give the best micro F1, 2 TP / (predicted + true)."""
    texts_of = labels.sum(0)
    counts = np.sort(texts_of)[::-1].cumsum()
    f1 = 2 * counts / (len(labels) * np.arange(1, len(counts) + 1) + counts[-1])
    chosen = np.argsort(-texts_of, kind="stable")[: f1.argmax() + 1]
    return np.isin(np.arange(len(counts)), chosen).astype(np.float64)


class Kind(NamedTuple):
    """What the reports of a problem type differ in."""

    curve: Curve
    baselines: Callable[..., Any]  # trains one or more
    constant: Callable[[np.ndarray], Any]  # the best answer that is the same for every training text
    shown: Callable[[Sequence[str], Any], str]  # an answer, of the names of the classes
    probabilities: Callable[[np.ndarray], np.ndarray] | None = None  # of logits (texts, classes)


KINDS = {
    ONE_CLASS: Kind(
        Curve("loss (nats per example)", "eval_accuracy", "accuracy (% of examples)"),
        run_baselines,
        lambda labels: np.bincount(labels).argmax(),
        lambda names, answer: names[answer],
        partial(softmax, axis=-1),
    ),
    SEVERAL: Kind(
        Curve("loss", "eval_f1_micro", "micro F1"),
        one_versus_rest,
        most_frequent_classes,
        lambda names, answer: ", ".join(names[index] for index in np.flatnonzero(answer).tolist()) or "(none)",
        expit,
    ),
    NUMBER: Kind(
        Curve("loss", "eval_rmse", "RMSE", is_share=False),
        ridge,
        np.mean,
        lambda _, answer: f"{answer:.4g}",
    ),
}

OF_CLASSES = {"precision": "precision", "recall": "recall", "f1": "F1", "support": "support"}


def scores_text(evaluation: Mapping[str, Any]) -> str:
    """Return the scores as Markdown: below a line that says which model to use, and without texts of the data."""
    scores, comparison = METRICS[evaluation["problem_type"]].scores, evaluation["comparison"]
    models = {MODEL: evaluation["scores"], **{row["name"]: row["scores"] for row in evaluation["baselines"]}}
    advice = None if is_useful(evaluation) else LONGER_OR_PRETRAINED
    decisive = next(each for each in scores if each.name == comparison["score"])
    value, low, high = map(decisive.shown_difference, (comparison["value"], *comparison["interval_95"]))
    unit = " percentage points" if decisive.is_share else ""
    parts = [
        " ".join(filter(None, [f"**{first_line(evaluation)}**", evaluation.get("linear_model"), advice])),
        f"{evaluation['texts']:,} texts of the {evaluation['split']} split",
        scores_table(scores, models),
        f"The difference in {decisive.heading} from {escaped(comparison['baseline'])} is {value}{unit}, with a 95 % "
        f"interval of {low} to {high} (paired bootstrap): {comparison['verdict']}.",
    ]
    if classes := evaluation.get("classes"):
        parts += ["Each class:", shares_table("class", {row["label"]: row for row in classes}, OF_CLASSES)]
    if calibration := evaluation.get("calibration"):
        parts.append(calibration_text(calibration))
    return "\n\n".join([*parts, *evaluation.get("notes", ())])


class ClassifierReport:
    """Compares predictions with those of linear models on the test split, or on validation if there is none."""

    def __init__(self, data: ReviewData, seed: int, is_weighted: bool = False) -> None:
        """Train the baselines. is_weighted: whether training, and so they, weight the classes.

        Raises ValueError for texts that linear models cannot learn from.
        """
        self.data, self.split, self.names = data, evaluated_split(data.splits), data.label_names
        self.texts, self.labels = data.texts(self.split), data.labels(self.split)
        self.train_labels = data.labels("train")
        self.metrics, self.kind = METRICS[data.problem_type], KINDS[data.problem_type]
        self.notes, options = [*filter(None, [self.metrics.rule])], {}
        if data.problem_type == ONE_CLASS:
            options = {"is_weighted": is_weighted, "by_macro_f1": macro_f1_decides(self.train_labels, is_weighted)}
            if options["by_macro_f1"]:
                self.metrics = replace(self.metrics, decisive="f1_macro")
                self.notes = [MACRO_F1]
        elif data.problem_type == SEVERAL:
            self.notes.append(NOT_CALIBRATED)
        found = self.kind.baselines(data.texts("train"), self.train_labels, self.texts, seed, **options)
        self.baselines: list[BaselineResult] = found if isinstance(found, list) else [found]
        fitted, texts = self.baselines[0].settings["texts"], len(self.train_labels)
        if fitted < texts:
            self.notes.insert(0, f"The linear models were fitted on {fitted:,} of {texts:,} training texts.")

    def shown(self, answer: Any) -> str:
        """Return a prediction, or a label, as text."""
        return self.kind.shown(self.names, answer)

    def report(
        self, trainer: Trainer, predicted: PredictionOutput, calibration: Calibration, stages: Sequence[Any] = ()
    ) -> Report:
        """Return the report, and write predictions, pictures and what it points to into the run's folder.

        predicted: the outputs of the trained model for the evaluated split. stages: `stage_of` each, if there are two.
        """
        folder, logits = Path(trainer.args.output_dir or ""), finite(predicted.predictions)
        answers, problem_type = self.metrics.answers(logits), self.data.problem_type
        probabilities = self.kind.probabilities(logits) if self.kind.probabilities else None
        given, found = (as_names(problem_type, self.names, values) for values in (self.labels, answers))
        about = problem_type, self.split, self.data.digest(self.split), self.names
        Predictions.of_lists(*about, self.texts, given, found).save(folder, probabilities)
        evaluation = self.evaluation(answers)
        if problem_type == ONE_CLASS:
            evaluation["calibration"] = calibration_scores(calibration, logits, self.labels, self.split)
        evaluation["notes"] = [*([stages_table(stages)] if stages else []), *model_notes(trainer), *self.notes]
        baseline = next(each for each in self.baselines if each.name == evaluation["comparison"]["baseline"])
        evaluation["linear_model"] = self._keep_linear(trainer.args, baseline, evaluation["comparison"]["verdict"])
        told, quoted = [scores_text(evaluation)], ""
        if problem_type == ONE_CLASS:
            wrong, quoted = self._wrong_answers(answers, probabilities, baseline, folder)
            told.append(misclassified_text(wrong, baseline.name, is_useful(evaluation)))
            confusion_matrix_png(np.array(evaluation["confusion_matrix"]), self.names, folder / CONFUSION_MATRIX)
        return Report("\n\n".join(filter(None, told)) + "\n", evaluation, quoted, self.kind.curve)

    def evaluation(self, predicted: np.ndarray) -> dict[str, Any]:
        """Return the scores, the comparison, the sentence on a useless model and examples, for evaluation.json."""
        score, labels = self.metrics.score, self.labels
        answers = {each.name: each.predictions for each in self.baselines}
        scores = with_intervals(self.metrics.scores, {MODEL: predicted, **answers}, labels)["models"]
        constant = np.broadcast_to(self.kind.constant(self.train_labels), labels.shape)
        return {
            "problem_type": self.data.problem_type,
            "split": self.split,
            "texts": len(labels),
            "labels": self.names,
            "headline": headline_of(score, labels, predicted, constant, lambda answer: excerpt(self.shown(answer))),
            "scores": scores[MODEL],
            "baselines": [
                {"name": each.name, "scores": scores[each.name], "settings": each.settings} for each in self.baselines
            ],
            "comparison": compared(score, labels, predicted, answers),
            **self._of_classes(predicted),
        }

    def _of_classes(self, predicted: np.ndarray) -> dict[str, Any]:
        """Return the entries of evaluation.json on each class, and examples."""
        classes: Any = range(len(self.names))
        rows, found = np.arange(min(EXAMPLES, len(self.texts))), dict[str, Any]()
        if self.data.problem_type != NUMBER:
            columns = precision_recall_fscore_support(self.labels, predicted, labels=classes, zero_division=0)
            of_classes = zip(self.names, *(column.tolist() for column in columns))
            found["classes"] = [dict(zip(("label", *OF_CLASSES), row)) for row in of_classes]
        if self.data.problem_type == ONE_CLASS:
            found |= self.metrics.compute(predicted, self.labels)
            found["confusion_matrix"] = confusion_matrix(self.labels, predicted, labels=classes).tolist()
            rows = np.concatenate([np.flatnonzero(self.labels == label)[:EXAMPLES_OF_CLASS] for label in classes])
        found["examples"] = [
            {**as_fields(shortened(self.texts[row])), "label": self.shown(label), "answer": self.shown(answer)}
            for row, label, answer in zip(rows.tolist(), self.labels[rows], predicted[rows])
        ]
        return found

    def _wrong_answers(
        self, predicted: np.ndarray, probabilities: Any, baseline: BaselineResult, folder: Path
    ) -> tuple[list[dict[str, Any]], str]:
        """Write the table of wrong answers, and return it and what is quoted of texts."""
        answers = self.labels, predicted, probabilities, baseline.predictions
        wrong = find_misclassified(self.names, self.texts, self.data.places_of(self.split), *answers)
        save_misclassified(wrong, folder)
        quoting = misclassified_table(wrong, baseline.name), class_words_text(baseline, self.names)
        return wrong, "\n".join(f"{part}\n" for part in quoting if part)

    def _keep_linear(self, arguments: Any, baseline: BaselineResult, verdict: str) -> str | None:
        """Save the linear model if --save_linear_model asks for it, and return the sentence for the report."""
        folder, is_worse = Path(arguments.output_dir, LINEAR), verdict == "worse"
        for name in (LINEAR_MODEL, LINEAR_WEIGHTS):  # of an earlier run; without the first, the folder is no model
            (folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # none, or with other files, which stay
            folder.rmdir()
        if not (is_worse if arguments.save_linear_model is None else arguments.save_linear_model):
            return None
        weights = baseline.weights
        if baseline.classes is not None:  # the training texts may lack some
            weights = weights.of_classes(baseline.classes, len(self.names))
        weights.save(folder, baseline.name, self.data.problem_type, self.names, self.data.has_pairs)
        advice = f"Use {baseline.name} instead" if is_worse else f"{baseline.name} is saved, too"
        return f"{advice}: the folder `{LINEAR}` of the run has it, for `modeling-scratch predict --model`."
