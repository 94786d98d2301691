# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores are those of scikit-learn, SciPy, SQuAD's script and sacreBLEU, or counted by hand."""

import warnings
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from transformers import EvalPrediction

from modeling_scratch.data.questions import Answer, Question
from modeling_scratch.report.answer_scores import WordOverlap, score_answers
from modeling_scratch.report.metrics import CLASS_SETS, CLASSES, NUMBERS
from modeling_scratch.report.tag_scores import score_labels, sentence_interval
from modeling_scratch.report.translation import score_table, score_translations
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.markdown import escaped


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


# Of few texts, a class is often never predicted, or never seen, and all of a side are equal.
SIZES = given(st.integers(1, 12), st.integers(2, 5), st.integers(0, 10**6))


@SIZES
def test_scores_of_classes_equal_those_of_scikit_learn(texts: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, labels = random.normal(size=(texts, classes)), random.integers(classes, size=texts)
    found, answers = CLASSES(EvalPrediction(logits, labels)), logits.argmax(-1)
    macro = metrics.f1_score(labels, answers, average="macro", zero_division=0)
    assert found == pytest.approx({"accuracy": metrics.accuracy_score(labels, answers), "f1_macro": macro})
    assert all(type(value) is float for value in found.values())


@SIZES
def test_scores_of_sets_are_those_of_scikit_learn(texts: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, labels = random.normal(size=(texts, classes)), (random.random((texts, classes)) < 0.3) * 1.0
    answers = logits > 0
    macro = metrics.f1_score(labels, answers, average="macro", zero_division=np.nan)
    expected = {
        "f1_micro": metrics.f1_score(labels, answers, average="micro", zero_division=0),
        "f1_macro": 0 if np.isnan(macro) else macro,  # without classes neither predicted nor given, as its rule says
        "exact_match": metrics.accuracy_score(labels, answers),
        "hamming_loss": metrics.hamming_loss(labels, answers),
    }
    assert CLASS_SETS(EvalPrediction(logits, labels)) == pytest.approx(expected)


@SIZES
def test_scores_of_numbers_are_those_of_scikit_learn_and_scipy(texts: int, different: int, seed: int) -> None:
    labels, answers = np.random.default_rng(seed).integers(different, size=(2, texts)).astype(float)
    are_equal = 1 in (len({*labels}), len({*answers}))  # SciPy: not a number
    expected = {
        "mae": metrics.mean_absolute_error(labels, answers),
        "rmse": metrics.root_mean_squared_error(labels, answers),
        "pearson": 0 if are_equal else stats.pearsonr(labels, answers).statistic,
        "spearman": 0 if are_equal else stats.spearmanr(labels, answers).statistic,
    }
    assert NUMBERS(EvalPrediction(answers[:, None], labels)) == pytest.approx(expected)


def test_scores_of_counts_are_those_of_the_drawn_texts(random: np.random.Generator) -> None:
    """The last resample has one text only: equal numbers have no correlation. Ranks are those in all texts."""
    draws = [*random.integers(30, size=(3, 30)), np.full(30, 4)]
    sets = [(random.random((30, 4)) < share).astype(float) for share in (0.3, 0.4)]
    rounded = [random.normal(size=30).round(1) for _ in range(2)]
    for each, (answers, labels) in ((CLASS_SETS, sets), (NUMBERS, rounded)):
        for draw in draws:
            counts, expected = np.bincount(draw, minlength=30), each.compute(answers[draw], labels[draw])
            for score in each.scores:
                found = score.of_means(counts @ score.parts(answers, labels) / 30)
                tolerance = 0.1 if score.name == "spearman" else 1e-6
                assert found == pytest.approx(expected[score.name], abs=tolerance)


@pytest.mark.parametrize("each", [CLASSES, CLASS_SETS, NUMBERS], ids=["classes", "sets", "numbers"])
def test_a_diverged_model_has_no_scores(each: Any) -> None:
    with pytest.raises(DataError, match="diverged"):
        each(EvalPrediction(np.full((2, 1), np.nan), np.zeros((2, 1))))


# Answers to questions

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


# Labels of words

ENTITIES = (
    [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "B-LOC", "I-LOC"], ["B-PER"]],
    # Right; too short at its end, right, of another type; none.
    [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "B-LOC", "O"], ["B-LOC"]],
)


def test_entities_count_with_their_type_and_both_ends() -> None:
    found = score_labels(*ENTITIES, True)
    assert found["accuracy"] == pytest.approx(7 / 9)
    for scores, right, answered, actual in (
        (found, 3, 5, 5),
        (found["labels"]["PER"], 1, 1, 2),
        (found["labels"]["LOC"], 2, 4, 3),
    ):
        assert scores["precision"] == pytest.approx(right / answered)
        assert scores["recall"] == pytest.approx(right / actual)
        assert scores["f1"] == pytest.approx(2 * right / (answered + actual))
    low, high = sentence_interval(*ENTITIES, True)
    assert low < found["f1"] < high
    assert score_labels([["O", "O"]], [["O", "O"]], True)["f1"] == 0
    assert score_labels([["O", "O"]], [["O", "B-PER"]], True)["precision"] == 0


def test_classes_are_scored_by_accuracy_and_macro_average() -> None:
    gold, predicted = [["A", "A", "B"], ["C"]], [["A", "B", "B"], ["B"]]
    scores = score_labels(gold, predicted, False)
    assert scores["accuracy"] == 0.5
    f1 = {name: row["f1"] for name, row in scores["labels"].items()}
    assert f1 == pytest.approx({"A": 2 / 3, "B": 0.5, "C": 0})
    assert scores["f1"] == pytest.approx((2 / 3 + 0.5) / 3)
    low, high = sentence_interval(gold, gold, False)
    assert low < high == 1, "two sentences are few"


# Translations

REFERENCES = ["Ein Mann mit einem roten Hut.", "Zwei Hunde spielen im Schnee.", "Eine Frau liest."]
TRANSLATIONS = ["Ein Mann mit einem roten Helm.", "Zwei hunde spielen im Schnee.", "Eine Frau schläft."]


def test_equals_sacrebleu_and_each_score_says_what_it_means() -> None:
    bleu, chrf, lower = scores = score_translations(TRANSLATIONS, REFERENCES)
    assert bleu.value == sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert chrf.value == sacrebleu.corpus_chrf(TRANSLATIONS, [REFERENCES]).score
    assert lower.value > bleu.value
    assert ("case:mixed" in bleu.signature, "case:lc" in lower.signature) == (True, True)
    table = score_table(scores, "test: 3 texts, beam 5")
    assert table.startswith("test: 3 texts, beam 5\n")
    assert all(escaped(score.signature) in table and f"{score.value:.2f}" in table for score in scores)
