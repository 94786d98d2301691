# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""SQuAD's scores of answers, by hand, and the baselines."""

import pytest

from modeling_scratch.data.questions import Answer, Question
from modeling_scratch.report.answer_scores import WordOverlap, score_answers

CONTEXT = "Anna Berg was born in Porto in 1951. She has worked as a baker since 1980."


def asked(question: str, *answers: str, context: str = CONTEXT) -> Question:
    return Question(question, context, tuple(Answer(text, context.find(text)) for text in answers))


@pytest.mark.parametrize(
    ("gold", "found", "exact", "f1"),
    [
        (["the Porto"], "porto.", 1, 1),
        (["an old dog"], "dog", 0, 2 / 3),
        (["Porto", "Porto in 1951"], "Porto in 1952", 0, 2 / 3),
        ([], "", 1, 1),
        ([], "baker", 0, 0),
        ([], "the!", 1, 1),
        (["The", "baker"], "the", 0, 0),
        (["Straße  1"], "straße 1", 1, 1),
    ],
)
def test_scores_are_those_of_squad(gold: list[str], found: str, exact: float, f1: float) -> None:
    assert score_answers([gold], [found]).tolist() == [pytest.approx([exact, f1])]


def test_the_baseline_looks_in_the_sentence_with_the_words_of_the_question() -> None:
    others = [asked("?", "Graz", context=f"She has worked in Graz for {years} years as it was.") for years in range(9)]
    baseline = WordOverlap([asked("?", "baker"), *others])
    assert baseline.answer(asked("Since when has she worked as a baker?")) == "1980"
    assert baseline.answer(asked("When was Anna Berg born?")) in ("Porto", "1951")
    for context in ("...", "who?", "x"):
        assert baseline.answer(asked("who?", context=context)) in context
