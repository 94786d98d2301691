# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What classifiers answer, of single texts and of pairs: labels with scores, numbers, and the words that mattered."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..data.text_pairs import TEXT_FIELDS, as_fields, check_single, from_fields, of_parts, pair_columns
from ..inference.answers import ALL, MULTI_LABEL, Choice, gives_numbers, names_of, ranked, to_scores
from ..inference.arguments import PredictArguments
from ..inference.batches import Job, uncounted
from ..inference.classification import explain
from ..inference.explanations import MOST_WORDS, has_more_words
from ..inference.linear_models import load_any
from ..utils.errors import DataError, panics_as_errors
from .answerer import MORE_THAN_ANY, Answer, Answerer, FileRow, response
from .page import CUT, Component, Later, Page, Space
from .requests import Option, Schema, array, one_or_several, record

LABELS = """{
        each["label"]: each["score"] for each in pipe(%s, truncation=True, top_k=None)
    }"""
PAIR = '{"text": text, "text_pair": text_pair}'
RATE = "rate"  # what a classifier of numbers does on a page
MOST_LABELS = 10  # that a page shows
MOST_WORDS_NAMED = 10  # of those that the model has not seen
WORDS = "Contribution of each word to the probability"
MORE_WORDS = f" Only the contributions of the first {MOST_WORDS} words are computed."


def first_of(words: Counter[str]) -> str:
    """Return the most frequent words, and whether there are more."""
    named = [word for word, _ in words.most_common(MOST_WORDS_NAMED)]
    return ", ".join(named if len(named) == len(words) else [*named, "..."])


@dataclass
class Classification(Answerer):
    """Labels with their probabilities, or numbers.

    pipe: a `Classifier`. explains: files get the contributions of words.
    unsure, long: the texts without a label, and those with more words than explained.
    """

    name: ClassVar[str] = "classify"
    summary: ClassVar[str] = (
        "Classify texts. The response to a text has the labels with their probabilities, most likely first."
    )
    explains: bool = False
    unsure: int = 0
    long: int = 0

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Classification":
        """Load a classifier, of pairs if the arguments name two columns; or the linear model of a folder."""
        of_these = PairClassification if arguments.has_pairs else cls
        return of_these(load_any(arguments), {"top_k": MORE_THAN_ANY}, explains=arguments.explain)

    @staticmethod
    def sample(pipe: Any, *texts: str) -> str:
        [answer] = pipe([as_fields(of_parts(texts))], truncation=True)
        return f"{answer['label']} {answer['score']:.3f}"

    @property
    def config(self) -> Any:
        return self.pipe.model.config

    @property
    def options(self) -> Mapping[str, Option]:
        top_k = Option("The number of labels of a text, most likely first.", 2, 1, self.limits["top_k"], words=(ALL,))
        options: dict[str, Option] = {"top_k": top_k}
        if not gives_numbers(self.config):
            told = 'The lowest probability of a label. The answer then has "labels": the labels that reach it.'
            options["threshold"] = Option(told, 0.8, 0, 1, is_whole=False)
        return options

    @property
    def answers(self) -> Schema:
        names = self.classes
        outputs = one_or_several(array(record({"label": {"enum": names}, "score": {"type": "number"}})))
        added = {"unseen": one_or_several(array({"type": "string"}))}
        if not gives_numbers(self.config):
            is_multi = self.config.problem_type == MULTI_LABEL
            added["labels"] = one_or_several(array({"enum": names}) if is_multi else {"enum": [*names, None]})
        return response(outputs, added)

    def encode(self, texts: Sequence[Any], options: Mapping[str, Any]) -> list[Job | None]:
        with panics_as_errors():
            return self.pipe.read([text if isinstance(text, str) else from_fields(text) for text in texts])

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        scores = to_scores(self.pipe.logits([job.features for job in jobs]), self.config)
        return [ranked(names_of(self.config), each) for each in scores]

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Return the labels of one text, or a list of those of each."""
        top_k = options.get("top_k", 1)
        best = [answer[: None if top_k == ALL else top_k] for answer in answers]
        return best if is_list else best[0]

    def added(
        self, jobs: Sequence[Job | None], answers: Sequence[Answer], options: Mapping[str, Any]
    ) -> dict[str, list[Any]]:
        """Return the words that the model has not seen, and the labels that predict would write."""
        found: dict[str, list[Any]] = {"unseen": [list(job.unseen) if job else [] for job in jobs]}
        if not gives_numbers(self.config):
            choice = Choice(threshold=options.get("threshold"))
            found["labels"] = [self._chosen(answer, choice) for answer in answers]
        return found

    def _chosen(self, answer: Answer, choice: Choice) -> Any:
        """Return the most likely label, None below the threshold; of a multi-label model, all that are kept."""
        if self.config.problem_type == MULTI_LABEL:
            return [each["label"] for each in answer if choice.keeps(each["score"])]
        return answer[0]["label"] if answer and answer[0]["score"] >= (choice.threshold or 0) else None

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
        optional = {
            "text": arguments.with_text,
            "text_pair": arguments.with_text and arguments.has_pairs,
            "words": arguments.explain,
            "top": arguments.top_k,
        }
        return ["label", "score", *(name for name, is_given in optional.items() if is_given)]

    @property
    def classes(self) -> list[str]:
        return names_of(self.config)

    def lines(self, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        classifier, texts = self.pipe, [text for _, text, _ in rows]
        words: Sequence[Any] = [None] * len(texts)
        answers = classifier.classify(texts, uncounted if self.explains else self.progress)
        if self.explains:
            words = explain(classifier, texts, self.progress)
            self.long += sum(map(has_more_words, texts))
        for (row, text, kept), (label, score, *top), each in zip(rows, answers, words):
            answer = {"label": label, "score": score, "words": each, "top": top[0] if top else None}
            self.unsure += label in (None, []) and score is not None
            yield {**answer, "text_pair": "", **as_fields(text), **kept, "row": row}

    @property
    def counts(self) -> dict[str, int]:
        classifier = self.pipe
        return {
            "texts without a label, as none reaches --threshold": self.unsure,
            f"texts of which only the first {MOST_WORDS} words are explained": self.long,
            "rows without text, which get no label or score": classifier.empty,
            f"texts truncated to {classifier.limit} tokens": classifier.cut,
            "texts of which at least half the tokens are unknown to the model": classifier.unknown,
            f"words that the model has not seen ({first_of(classifier.unseen)})": len(classifier.unseen),
        }


class PairClassification(Classification):
    fields: ClassVar[tuple[str, ...]] = TEXT_FIELDS


# On a page


class ClassifierPage(Page):
    """Texts or pairs of texts -> the probabilities of labels, with the contributions of words, or numbers."""

    outputs: Sequence[Component] = (("Label", {"label": "Answer", "num_top_classes": MOST_LABELS}),)
    space = Space("text-classification", LABELS % "text")

    def __init__(self, task: Any, arguments: PredictArguments) -> None:
        super().__init__(task, arguments)
        self.fields = pair_columns(arguments.model) or self.fields
        self.classifier, self.config = self.answerer.pipe, self.answerer.config
        self.is_multiple = self.config.problem_type == MULTI_LABEL
        labels = {**self.outputs[0][1], "show_heading": not self.is_multiple}
        self.outputs = ("Label", labels), ("Markdown", {})
        if gives_numbers(self.config):
            numbers = [("Number", {"label": name}) for name in names_of(self.config)]
            self.action, self.outputs = RATE, (*numbers, ("Markdown", {}))
        elif len(self.fields) == 1 and not self.is_multiple:  # the words contribute to one answer
            self.later = Later("words", self.words, ("HighlightedText", {"label": WORDS, "show_legend": True}))

    @classmethod
    def space_of(cls, task: Any, config: Any, has_pairs: bool) -> Space:
        space = super().space_of(task, config, has_pairs)
        if has_pairs:
            space = space._replace(answer=LABELS % PAIR, fields=TEXT_FIELDS)
        if gives_numbers(config):
            space = space._replace(output=("JSON", {"label": "Answer"}), options=', function_to_apply="none"')
        return space

    @property
    def parts(self) -> tuple[Any, Any]:
        return self.classifier.model, self.classifier.tokenizer

    def answer(self, *values: Any) -> list[Any]:
        """Return the scores, most likely first, or the numbers; and a note, such as about a truncated text."""
        choice = Choice(None if self.action == RATE else ALL)
        classifier = replace(self.classifier, choice=choice, cut=0, unseen=Counter())
        _, score, *top = classifier.classify([of_parts(values)], uncounted)[0]
        if score is None:
            raise DataError(f"{self.fields[0]}: has no tokens of the model; write something else")
        note = CUT.format(limit=classifier.limit) if classifier.cut else ""
        if classifier.unseen:
            note += f" The model has not seen: {first_of(classifier.unseen)}."
        if not top:
            return [*(score if isinstance(score, list) else [score]), note]
        scores = {each["label"]: each["score"] for each in top[0]}
        if self.later and has_more_words(values[0]):
            note += MORE_WORDS
        return [scores, note if self.is_multiple else f"Probability: {max(scores.values()):.4f}. {note}"]

    def words(self, text: str) -> list[tuple[str, float | None]]:
        """Return each word with its contribution, in the order of the text."""
        found = explain(self.classifier, [text], uncounted)[0] or []
        return [(each["word"], each["contribution"]) for each in found]
