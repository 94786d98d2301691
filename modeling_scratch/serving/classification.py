# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Serve classifiers and regressions, of single texts and of pairs: labels with scores, and the words that mattered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from transformers import pipeline

from ..data.columns import is_missing
from ..data.text_pairs import TEXT_FIELDS, pair_columns
from ..inference.answers import ALL, MULTI_LABEL, gives_numbers, has_one_score, names_of
from ..inference.arguments import PredictArguments
from ..inference.classification import load_classifier
from ..inference.explanations import MOST_WORDS, contributions, with_and_without
from ..tasks.answerer import MORE_THAN_ANY, Answer, Job, OneTextAnswerer, response
from ..tasks.requests import AnyOption, Flag, Inputs, Option, Pairs, Schema, array, one_or_several, record


@dataclass
class Classification(OneTextAnswerer):
    """Labels with their probabilities, or numbers. has_pairs: the model reads pairs of texts."""

    name: ClassVar[str] = "classify"
    summary: ClassVar[str] = (
        "Classify texts. The response to a text has the labels with their probabilities, most likely first."
    )
    has_pairs: bool = False

    @property
    def config(self) -> Any:
        return self.pipe.model.config

    @property
    def options(self) -> Mapping[str, AnyOption]:
        top_k = Option("The number of labels of a text, most likely first.", 2, 1, self.limits["top_k"], words=(ALL,))
        options: dict[str, AnyOption] = {"top_k": top_k}
        if not gives_numbers(self.config):
            told = 'The lowest probability of a label. The answer then has "labels": the labels that reach it.'
            options["threshold"] = Option(told, 0.8, 0, 1, is_whole=False)
        if not self.has_pairs and has_one_score(self.config):
            told = f'Whether to add "words": what each of the first {MOST_WORDS} words contributes to the first score.'
            options["explain"] = Flag(told)
        return options

    @property
    def answers(self) -> Schema:
        names, added = names_of(self.config), {}
        outputs = one_or_several(array(record({"label": {"enum": names}, "score": {"type": "number"}})))
        if "threshold" in self.options:
            is_multi = self.config.problem_type == MULTI_LABEL
            added["labels"] = one_or_several(array({"enum": names}) if is_multi else {"enum": [*names, None]})
        if "explain" in self.options:
            value = {"anyOf": [{"type": "number"}, {"enum": [None]}]}
            words = array(record({"word": {"type": "string"}, "contribution": value}))
            added["words"] = one_or_several({"anyOf": [words, {"enum": [None]}]})
        return response(outputs, added)

    def inputs(self, max_texts: int, max_characters: int) -> Inputs:
        if not self.has_pairs:
            return super().inputs(max_texts, max_characters)
        told, examples = "A pair of texts, or a list of these.", ("Loved it.", "It was good.")
        return Pairs(max_texts, max_characters, TEXT_FIELDS, told, examples)

    @property
    def samples(self) -> list[Any]:
        return [dict(zip(TEXT_FIELDS, ("a", "b c")))] if self.has_pairs else super().samples

    def variants(self, text: Any, options: Mapping[str, Any]) -> Iterable[Any]:
        return with_and_without(text) if options.get("explain") else [text]

    def is_empty(self, text: Any) -> bool:
        """Return whether the text, or one of a pair, has no visible character."""
        return any(map(is_missing, text.values() if self.has_pairs else [text]))

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        return [self.pipe.postprocess(each, top_k=None, _legacy=False) for each in self.outputs(jobs)]

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Return the labels of one text, or a list of those of each."""
        top_k = options.get("top_k", 1)
        best = [answer[: None if top_k == ALL else top_k] for answer in answers]
        return best if is_list else best[0]

    def added(
        self, texts: Sequence[Any], answers: Sequence[Sequence[Answer]], options: Mapping[str, Any]
    ) -> dict[str, list[Any]]:
        """Return the labels that reach the threshold, and the words with their contributions, as they are asked for."""
        found: dict[str, list[Any]] = {}
        if "threshold" in options:
            found["labels"] = [self._reaching(answer, options["threshold"]) for answer, *_ in answers]
        if options.get("explain"):
            found["words"] = [contributions(text, _scores(each)) for text, each in zip(texts, answers)]
        return found

    def _reaching(self, answer: Answer, threshold: float) -> Any:
        """Return the label if it reaches the threshold, else None; of a multi-label model, all that do."""
        labels = [each["label"] for each in answer if each["score"] >= threshold]
        if self.config.problem_type == MULTI_LABEL:
            return labels
        return labels[0] if labels else None


def _scores(answers: Sequence[Answer]) -> list[float | None]:
    """Return the score in each answer of the label that is first in the first one; None for empty answers."""
    label = answers[0][0]["label"] if answers[0] else None
    return [next((each["score"] for each in answer if each["label"] == label), None) for answer in answers]


def load_classification(name: str, device: str | None, trust_remote_code: bool) -> Classification:
    arguments = PredictArguments(model=name, device=device, trust_remote_code=trust_remote_code)
    has_pairs = bool(pair_columns(name))
    arguments.text_column = list(TEXT_FIELDS) if has_pairs else None  # there is no table to have them
    classifier = load_classifier(arguments)
    model = classifier.model
    pipe = pipeline("text-classification", model=model, tokenizer=classifier.tokenizer, device=model.device)
    return Classification(pipe, {"top_k": MORE_THAN_ANY}, has_pairs=has_pairs)
