# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What classifiers answer, of single texts and of pairs: labels with scores, numbers, and the words that mattered.

And what their cards say.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from typing_extensions import TypedDict

from ..data.text_pairs import TEXT_FIELDS, as_fields, check_single, from_fields, pair_columns
from ..inference.answers import ALL, PLAIN, Choice, gives_numbers, is_multi_label, names_of, ranked
from ..inference.arguments import PredictArguments
from ..inference.batches import Job
from ..inference.linear_models import load_any
from ..report.classification_card import metrics_for_hub
from ..report.metrics import NUMBER, ONE_CLASS, SEVERAL
from ..utils.errors import first_few, panics_as_errors
from .answerer import MORE_THAN_ANY, Answer, Answerer, FileRow, Option
from .card import Card, Metric, Use
from .page import MOST_WORDS_NAMED, Component, Page

RATE = "rate"  # what a classifier of numbers does on a page
MOST_LABELS = 10  # that a page shows


def first_of(words: Counter[str]) -> str:
    """Return the most frequent words, and whether there are more."""
    return first_few([word for word, _ in words.most_common()], MOST_WORDS_NAMED)


class Label(TypedDict):
    label: str
    score: float


@dataclass
class Classification(Answerer):
    """Labels with their probabilities, or numbers. pipe: a `Classifier`."""

    name: ClassVar[str] = "classify"
    summary: ClassVar[str] = (
        "Classify texts. The response to a text has the labels with their probabilities, most likely first."
    )
    answers = list[Label]
    choice: Choice = PLAIN  # what answers to rows of files have
    unsure: int = 0  # texts without a label
    unseen: Counter[str] = field(default_factory=Counter)  # texts with each word that the model has not seen

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Classification":
        """Load a classifier, of pairs if the arguments name two columns; or the linear model of a folder."""
        of_these = PairClassification if arguments.has_pairs else cls
        return of_these(load_any(arguments), {"top_k": MORE_THAN_ANY}, {}, arguments.choice)

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

    def encode(self, texts: Sequence[Any], options: Mapping[str, Any]) -> list[Job | None]:
        with panics_as_errors():
            return self.pipe.read([text if isinstance(text, str) else from_fields(text) for text in texts])

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        return list(map(ranked, self.pipe.scores(jobs)))

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Return the labels of one text, or a list of those of each."""
        top_k = options.get("top_k", 1)
        best = [answer[: None if top_k == ALL else top_k] for answer in answers]
        return best if is_list else best[0]

    @property
    def added_answers(self) -> dict[str, Any]:
        kinds: dict[str, Any] = {"unseen": list[str]}
        if not gives_numbers(self.config):
            kinds["labels"] = list[str] if is_multi_label(self.config) else str | None
        return kinds

    def added(
        self, jobs: Sequence[Job | None], answers: Sequence[Answer], options: Mapping[str, Any]
    ) -> dict[str, list[Any]]:
        """Return the words that the model has not seen, and the labels that predict would write."""
        found: dict[str, list[Any]] = {"unseen": [list(job.unseen) if job else [] for job in jobs]}
        if not gives_numbers(self.config):
            choice = Choice(threshold=options.get("threshold"))
            none: Any = [] if is_multi_label(self.config) else None
            found["labels"] = [choice.answer(each, self.config)[0] if each else none for each in answers]
        return found

    # Rows of files

    @classmethod
    def refused(cls, arguments: PredictArguments) -> dict[str, Any]:
        return {}

    @classmethod
    def name_columns(cls, arguments: PredictArguments) -> None:
        arguments.name_columns()
        if not arguments.has_pairs:
            check_single(arguments.model, "name the columns of both in a table: --text_column premise hypothesis")

    @classmethod
    def columns(cls, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        texts = TEXT_FIELDS[: 1 + arguments.has_pairs] if arguments.with_text else ()
        return ["label", "score", *texts, *(["top"] if arguments.top_k else [])]

    @property
    def classes(self) -> list[str]:
        return names_of(self.config)

    def lines(self, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        jobs = self.encode([text for _, text, _ in rows], {})
        self.count(jobs)
        for (row, text, kept), answer in zip(rows, self.pipe.answer(jobs, self._chosen, self.progress)):
            self.unsure += answer is not None and answer["label"] in (None, [])
            answer = answer or dict.fromkeys(("label", "score", "top"))
            yield {**answer, "text_pair": "", **as_fields(text), **kept, "row": row}

    def _chosen(self, batch: list[Job]) -> list[dict[str, Any]]:
        """Return what the answers to a batch have: the scores of all classes of all texts would take much memory."""
        chosen = []
        for scores in self.pipe.scores(batch):
            label, score = self.choice.answer(scores, self.config)
            chosen.append({"label": label, "score": score, "top": ranked(scores)[: self.choice.listed(len(scores))]})
        return chosen

    def count(self, jobs: Sequence[Job | None]) -> None:
        super().count(jobs)
        self.unseen.update(word for job in jobs if job for word in job.unseen)

    @property
    def counts(self) -> dict[str, int]:
        return {
            "texts without a label, as none reaches --threshold": self.unsure,
            "rows without text, which get no label or score": self.empty,
            f"texts truncated to {self.pipe.limit} tokens": self.cut,
            f"words that the model has not seen ({first_of(self.unseen)})": len(self.unseen),
        }


class PairClassification(Classification):
    fields: ClassVar[tuple[str, ...]] = TEXT_FIELDS
    asks = "A pair of texts, or a list of these."


# On a page


class ClassifierPage(Page):
    """Texts or pairs of texts -> the probabilities of labels, or numbers."""

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
        scores = {each["label"]: each["score"] for each in answer}
        return [scores[name] for name in names_of(self.config)] if self.action == RATE else [scores]

    def notes(self, answer: Any) -> list[str]:
        return [f"Probability: {answer[0]['score']:.4f}."] if self.has_one else []


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
