# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What classifiers answer, of single texts and of pairs: labels with scores, or numbers. And what their cards say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ..data.text_pairs import TEXT_FIELDS, check_single, pair_columns
from ..inference.answers import Scored, chosen, gives_numbers, is_multi_label, names_of, ranked, to_scores
from ..inference.arguments import ALL, SCORE, PredictArguments
from ..inference.batches import Job
from ..inference.classifiers import load_classifier
from ..report.metrics import NUMBER, ONE_CLASS, SEVERAL, metrics_for_hub
from ..utils.errors import DataError
from .answerer import MORE_THAN_ANY, Answer, Answerer, FileRow, Option
from .card import Card, Metric, Use
from .page import Component, Page

RATE = "rate"  # what a classifier of numbers does on a page
MOST_LABELS = 10  # that a page shows


class Classification(Answerer):
    """Labels with their probabilities, or numbers. pipe: a `Classifier`."""

    summary: ClassVar[str] = (
        "Classify texts. The response to a text has the labels with their probabilities, most likely first."
    )
    takes, text_columns = ("top_k", "threshold"), 2
    answers = list[Scored]
    unsure = 0  # texts without a label

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Classification":
        """Load a classifier, of pairs if the arguments name two columns; or the linear model of a folder."""
        options = {"top_k": arguments.top_k, "threshold": arguments.threshold}
        of_these = PairClassification if arguments.has_pairs else cls
        pipe, limits = load_classifier(arguments), {"top_k": MORE_THAN_ANY}
        answerer = of_these(pipe, limits, options, batch_size=arguments.batch_size)
        if gives_numbers(answerer.config) and any(value is not None for value in options.values()):
            raise DataError("the model predicts numbers, without the probabilities that --top_k and --threshold need")
        return answerer

    @property
    def config(self) -> Any:
        return self.pipe.model.config

    @property
    def options(self) -> Mapping[str, Option]:
        top_k = Option("The number of labels of a text, most likely first.", 1, self.limits["top_k"], words=(ALL,))
        options: dict[str, Option] = {"top_k": top_k}
        if not gives_numbers(self.config):
            told = 'The lowest probability of a label. The answer then has "labels": the labels that reach it.'
            options["threshold"] = Option(told, 0, 1, float)
        return options

    def jobs_of(self, texts: Sequence[str], options: Mapping[str, Any]) -> list[Job | None]:
        return self.pipe.read(texts)

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        return to_scores(self.pipe.logits([job.features for job in jobs]), self.config)

    def fields_of(self, answer: Answer | None, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return label, score and the best classes, "top". Of all of them, each score has a field, too."""
        if answer is None:
            return dict.fromkeys(("label", "score", "top"))
        label, score = chosen(answer, self.config, options.get("threshold"))
        top_k = options.get("top_k") or 1
        top = ranked(answer) if top_k == ALL else ranked(answer)[: int(top_k)]
        every = {f"{SCORE}{each['label']}": each["score"] for each in top} if top_k == ALL else {}
        return {"label": label, "score": score, "top": top, **every}

    def output(self, answer: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        return answer["top"] or []

    @property
    def added(self) -> dict[str, tuple[str, Any]]:
        """The labels that predict writes."""
        kind = list[str] if is_multi_label(self.config) else str
        return {} if gives_numbers(self.config) else {"labels": ("label", kind | None)}

    # Rows of files

    @classmethod
    def name_columns(cls, arguments: PredictArguments) -> None:
        arguments.name_columns()
        if not arguments.has_pairs:
            check_single(arguments.model, "name the columns of both in a table: --text_column premise hypothesis")

    @classmethod
    def columns(cls, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        """Return the columns. All classes have one each in CSV, and in JSON one list."""
        top = ["top"] if arguments.top_k else []
        if answerer and (arguments.top_k, arguments.format) == (ALL, "csv"):
            top = [f"{SCORE}{name}" for name in names_of(answerer.config)]
        texts = TEXT_FIELDS[: 1 + arguments.has_pairs] if arguments.with_text else ()
        return ["label", "score", *texts, *top]

    def lines(self, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        for line in super().lines(rows):
            self.unsure += line["label"] in (None, []) and line["score"] is not None
            yield line

    @property
    def counts(self) -> dict[str, int]:
        return {
            "texts without a label, as none is likely enough (--threshold)": self.unsure,
            "rows without text, which get no label or score": self.empty,
            f"texts truncated to {self.pipe.limit} tokens": self.cut,
            **super().counts,
        }


class PairClassification(Classification):
    fields: ClassVar[tuple[str, ...]] = TEXT_FIELDS
    asks = "A pair of texts, or a list of these."


# On a page


class ClassifierPage(Page):
    """Texts or pairs of texts -> the probabilities of labels, or numbers."""

    asked = {"top_k": ALL}

    def __init__(self, task: Any, arguments: PredictArguments) -> None:
        super().__init__(task, arguments)
        self.fields, self.config = pair_columns(arguments.model) or self.fields, self.answerer.config
        self.has_one = not is_multi_label(self.config)
        labels = {"label": "Answer", "num_top_classes": MOST_LABELS, "show_heading": self.has_one}
        self.outputs: Sequence[Component] = (("Label", labels),)
        if gives_numbers(self.config):
            numbers = [("Number", {"label": name}) for name in names_of(self.config)]
            self.action, self.outputs, self.has_one = RATE, numbers, False

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        scores = {each["label"]: each["score"] for each in answer["top"]}
        return [scores[name] for name in names_of(self.config)] if self.action == RATE else [scores]

    def notes(self, answer: Any) -> list[str]:
        return [f"Probability: {answer['score']:.4f}."] if self.has_one else []


# On a card


USE = Use("text-classification", "text-classification", "AutoModelForSequenceClassification")


class ClassificationCard(Card):
    """The card of a model of one class per text, and those of other models by the problem type that a run records."""

    def of(self, record: Mapping[str, Any]) -> Card:
        return CARDS[record.get("problem_type") or ONE_CLASS]

    def metrics(self, evaluation: Mapping[str, Any]) -> list[Metric]:
        return metrics_for_hub(evaluation)


CARDS = {
    ONE_CLASS: ClassificationCard(
        "A text classifier with the labels {labels}.",
        USE,
        ["It assigns one of its labels to every text, even if none applies."],
    ),
    SEVERAL: ClassificationCard(
        "A text classifier that gives each text any number of the labels {labels}.",
        USE,
    ),
    NUMBER: ClassificationCard(
        "A regression model that predicts a number for each text: {labels}.",
        USE,
        ["It predicts a number for every text, even if none applies, also outside the range of the labels."],
    ),
}
CARD = CARDS[ONE_CLASS]
