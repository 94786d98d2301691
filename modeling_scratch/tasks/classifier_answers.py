# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What classifiers answer, of single texts and of pairs: labels with scores, numbers, and the words that mattered."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TextIO

from ..data.text_pairs import TEXT_FIELDS, as_fields, check_single, from_fields, of_parts, pair_columns
from ..inference.answers import ALL, MULTI_LABEL, Choice, gives_numbers, names_of, ranked, to_scores
from ..inference.arguments import PredictArguments
from ..inference.classification import explain, uncounted
from ..inference.explanations import MOST_WORDS, has_more_words
from ..inference.linear_models import load_any
from ..inference.rows import row_writer
from ..report.classification_card import classification
from ..tasks import CLASSIFY
from ..utils.errors import DataError, panics_as_errors
from .answerer import MORE_THAN_ANY, Answer, Answerer, Job, response
from .base import FileRow, Space, Task, Use
from .page import CUT, Later, Page
from .requests import Inputs, Option, Pairs, Schema, array, one_or_several, record

ONE_CLASS, SEVERAL, NUMBER = "single_label_classification", "multi_label_classification", "regression"
PURPOSES = {
    ONE_CLASS: "A text classifier with the labels {labels}.",
    SEVERAL: "A text classifier that gives each text any number of the labels {labels}.",
    NUMBER: "A regression model that predicts a number for each text: {labels}.",
}
PROBABILITIES = 'model(**tokenizer(text, truncation=True, return_tensors="pt")).logits.softmax(-1)'
ANSWERS = {
    SEVERAL: PROBABILITIES.replace("softmax(-1)", "sigmoid()"),
    NUMBER: PROBABILITIES.replace("softmax(-1)", "item()"),
}
ANSWERED = {
    ONE_CLASS: "It assigns one of its labels to every text, even if none applies.",
    NUMBER: "It predicts a number for every text, even if none applies, also outside the range of the labels.",
}
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

    pipe: a `Classifier`. has_pairs: the model reads pairs of texts. explains: files get the contributions of words.
    unsure, long: the texts without a label, and those with more words than explained.
    """

    name: ClassVar[str] = "classify"
    summary: ClassVar[str] = (
        "Classify texts. The response to a text has the labels with their probabilities, most likely first."
    )
    has_pairs: bool = False
    explains: bool = False
    unsure: int = 0
    long: int = 0

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
        names, added = names_of(self.config), {}
        outputs = one_or_several(array(record({"label": {"enum": names}, "score": {"type": "number"}})))
        if "threshold" in self.options:
            is_multi = self.config.problem_type == MULTI_LABEL
            added["labels"] = one_or_several(array({"enum": names}) if is_multi else {"enum": [*names, None]})
        added["unseen"] = one_or_several(array({"type": "string"}))
        return response(outputs, added)

    def inputs(self, max_texts: int, max_characters: int) -> Inputs:
        if not self.has_pairs:
            return super().inputs(max_texts, max_characters)
        told, examples = "A pair of texts, or a list of these.", ("Loved it.", "It was good.")
        return Pairs(max_texts, max_characters, TEXT_FIELDS, told, examples)

    @property
    def samples(self) -> list[Any]:
        return [dict(zip(TEXT_FIELDS, ("a", "b c")))] if self.has_pairs else super().samples

    def encode(self, texts: Sequence[Any], options: Mapping[str, Any]) -> list[Job | None]:
        with panics_as_errors():
            read = self.pipe.read([from_fields(text) if self.has_pairs else text for text in texts])
        return [each and Job(each.features, each.length, each.is_cut, unseen=each.unseen) for each in read]

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
        """Return the words that the model has not seen, and the labels that reach the threshold, if there is one."""
        found: dict[str, list[Any]] = {"unseen": [list(job.unseen) if job else [] for job in jobs]}
        if "threshold" in options:
            found["labels"] = [self._reaching(answer, options["threshold"]) for answer in answers]
        return found

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

    def _reaching(self, answer: Answer, threshold: float) -> Any:
        """Return the label if it reaches the threshold, else None; of a multi-label model, all that do."""
        labels = [each["label"] for each in answer if each["score"] >= threshold]
        if self.config.problem_type == MULTI_LABEL:
            return labels
        return labels[0] if labels else None


# On a page


class ClassifierPage(Page):
    """Texts or pairs of texts -> the probabilities of labels, with the contributions of words, or numbers."""

    def __init__(self, task: Task, answerer: Classification, fields: tuple[str, ...]) -> None:
        super().__init__(task, answerer)
        self.fields, self.classifier, self.config = fields, answerer.pipe, answerer.config
        self.is_multiple = self.config.problem_type == MULTI_LABEL
        [(name, labels)] = task.outputs
        self.outputs = (name, {**labels, "show_heading": not self.is_multiple}), ("Markdown", {})
        if gives_numbers(self.config):
            numbers = [("Number", {"label": name}) for name in names_of(self.config)]
            self.action, self.outputs = RATE, [*numbers, ("Markdown", {})]
        elif len(fields) == 1 and not self.is_multiple:  # the words contribute to one answer
            self.later = Later("words", self.words, ("HighlightedText", {"label": WORDS, "show_legend": True}))

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


class AnsweringClassifier(Task):
    """The half of classification that is no training: the card, and what a saved model answers."""

    name = CLASSIFY
    use = Use("text-classification", "text-classification", "AutoModelForSequenceClassification", PROBABILITIES)
    space = Space("text-classification", LABELS % "text")
    outputs = (("Label", {"label": "Answer", "num_top_classes": MOST_LABELS}),)
    results = staticmethod(classification)

    # Card

    def purpose_of(self, record: Mapping[str, Any]) -> str:
        return PURPOSES[record.get("problem_type") or ONE_CLASS]

    def use_of(self, record: Mapping[str, Any]) -> Use:
        return self.use._replace(answer=ANSWERS.get(record.get("problem_type") or ONE_CLASS, PROBABILITIES))

    def limits_of(self, record: Mapping[str, Any]) -> list[str]:
        """Of a model of several labels, which may give none, there is nothing to say."""
        problem_type = record.get("problem_type") or ONE_CLASS
        return [ANSWERED[problem_type]] if problem_type in ANSWERED else []

    # Use

    def space_of(self, config: Any, has_pairs: bool) -> Space:
        space = super().space_of(config, has_pairs)
        if has_pairs:
            space = space._replace(answer=LABELS % PAIR, fields=TEXT_FIELDS)
        if gives_numbers(config):
            space = space._replace(output=("JSON", {"label": "Answer"}), options=', function_to_apply="none"')
        return space

    def explained_as(self, config: Any) -> str:
        if gives_numbers(config):
            return "regression"
        return "multi-label" if config.problem_type == MULTI_LABEL or config.num_labels == 1 else "classification"

    def load(self, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> Classification:
        """Load a classifier, of pairs if the arguments name two columns; or the linear model of a folder."""
        limits, pairs = {"top_k": MORE_THAN_ANY}, arguments.has_pairs
        return Classification(load_any(arguments), limits, has_pairs=pairs, explains=arguments.explain)

    def page(self, arguments: PredictArguments) -> ClassifierPage:
        return ClassifierPage(self, self.load(arguments), pair_columns(arguments.model) or self.fields)

    def prepare(self, arguments: PredictArguments) -> None:
        arguments.name_columns()
        arguments.check_answer(["row", *self.columns(arguments)])
        if not arguments.has_pairs:
            check_single(arguments.model, "name the columns of both in a table: --text_column premise hypothesis")

    def columns(self, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        optional = {
            "text": arguments.with_text,
            "text_pair": arguments.with_text and arguments.has_pairs,
            "words": arguments.explain,
            "top": arguments.top_k,
        }
        return ["label", "score", *(name for name, is_given in optional.items() if is_given)]

    def writer(self, handle: TextIO, arguments: PredictArguments, answerer: Any) -> Callable[[dict[str, Any]], object]:
        return row_writer(handle, arguments, self.columns(arguments), names_of(answerer.config))

    def answer(self, answerer: Classification, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        classifier, texts = answerer.pipe, [text for _, text, _ in rows]
        words: Sequence[Any] = [None] * len(texts)
        answers = classifier.classify(texts, uncounted if answerer.explains else answerer.progress)
        if answerer.explains:
            words = explain(classifier, texts, answerer.progress)
            answerer.long += sum(map(has_more_words, texts))
        for (row, text, kept), (label, score, *top), each in zip(rows, answers, words):
            answer = {"label": label, "score": score, "words": each, "top": top[0] if top else None}
            answerer.unsure += label in (None, []) and score is not None
            yield {**answer, "text_pair": "", **as_fields(text), **kept, "row": row}
