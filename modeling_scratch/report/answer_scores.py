# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of answers to questions, SQuAD's exact match and F1, and the answers of baselines."""

import math
import re
import string
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..data.questions import Question
from .metrics import ScoreMetrics
from .significance import Score, with_intervals

WORD = re.compile(r"\w+")
SENTENCE = re.compile(r"[^.!?]+[.!?]*|.", re.DOTALL)
ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
OVERLAP, SILENCE = "word overlap", "no answer to any question"


# Scores, as the official script of SQuAD 2.0 computes them (Rajpurkar et al. 2018). No installed library has them:
# those of `evaluate` are downloaded.


def normalised(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation and articles."""
    return ARTICLES.sub(" ", text.lower().translate(WITHOUT_PUNCTUATION)).split()


def scores_of(given: list[str], found: list[str]) -> tuple[float, float]:
    """Return whether the words are equal, and F1 of the bags of words, 2 |common| / (|given| + |found|)."""
    exact_match, words = float(given == found), len(given) + len(found)
    if not given or not found:
        return exact_match, exact_match
    return exact_match, 2 * (Counter(given) & Counter(found)).total() / words


def score_answers(right: Sequence[Sequence[str]], found: Sequence[str]) -> np.ndarray:
    """Return exact match and F1 of each answer, (questions, 2): the best over the right ones.

    "" is the answer to a question that has none.
    """
    gold = [[*filter(None, map(normalised, texts))] or [[]] for texts in right]
    answers = map(normalised, found)
    return np.array([np.max([scores_of(each, answer) for each in texts], 0) for texts, answer in zip(gold, answers)])


ANSWER_METRICS = ScoreMetrics(
    (
        Score("exact_match", "exact match", lambda values, _: values[:, [0]]),
        Score("f1", "F1", lambda values, _: values[:, [1]]),
    ),
    "f1",
)


def mean_scores(values: np.ndarray) -> dict[str, float]:
    return ANSWER_METRICS.compute(values, values)


def summarise(values: np.ndarray) -> dict[str, Any]:
    """Return the mean scores (questions, 2) -> 2, and their 95 % percentile-bootstrap intervals over questions."""
    found = with_intervals(ANSWER_METRICS.scores, {"": values}, values)["models"][""]
    return {**mean_scores(values), "intervals_95": {name: each["interval_95"] for name, each in found.items()}}


# Baselines


class WordOverlap:
    """The rare words near those of the question, in the sentence that shares most with it.

    The sentence has the largest sum of idf(w) over the words w of the question. In it, the answer has as many words as
    the median answer of train, none of them w, and the largest product of its mean idf and the sum of idf(w) / distance
    (after the sliding window with distances of Richardson et al. 2013).
    """

    def __init__(self, train: Sequence[Question]) -> None:
        contexts = [{*words_of(text)} for text in {question.context for question in train}]
        counts = Counter(chain.from_iterable(contexts))
        self.idf: dict[str, float] = defaultdict(lambda: math.log(1 + len(contexts)))  # of words that no context has
        self.idf |= {word: math.log((1 + len(contexts)) / (1 + count)) for word, count in counts.items()}
        self.length = max(1, round(np.median([len(words_of(one.answers[0].text)) for one in train if one.answers])))

    def answer(self, question: Question) -> str:
        asked, sentences = {*words_of(question.question)}, SENTENCE.findall(question.context)
        best = max(sentences, key=lambda one: sum(self.idf[word] for word in sorted(asked & {*words_of(one)})))
        words, spans = words_of(best), [found.span() for found in WORD.finditer(best)]
        length = max(1, min(self.length, len(words)))
        places = [place for place, word in enumerate(words) if word in asked]

        def nearness(first: int) -> float:
            rare = sum(self.idf[word] for word in words[first : first + length]) / length
            distances = [max(first - place, place - (first + length - 1)) for place in places]
            return rare * sum(self.idf[words[place]] / distance for place, distance in zip(places, distances))

        firsts = range(len(words) - length + 1)
        free = [first for first in firsts if not asked & {*words[first : first + length]}]
        if not free:
            return ""
        first = max(free, key=nearness)
        return best[spans[first][0] : spans[first + length - 1][1]]


def words_of(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def baseline_answers(train: Sequence[Question], questions: Sequence[Question]) -> dict[str, list[str]]:
    """Return the answers of each baseline by its name."""
    overlap = WordOverlap(train)
    answers = {OVERLAP: [overlap.answer(question) for question in questions]}
    if any(not question.answers for question in (*train, *questions)):
        answers[SILENCE] = [""] * len(questions)
    return answers
