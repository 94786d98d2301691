# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of labelled words, against counts of entities by hand."""

import random

import pytest

from modeling_scratch.report.tag_scores import score_labels, sentence_interval

LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def entities(labels: list[str]) -> set[tuple[int, int, str]]:
    """(start, end, type) of each maximal run B-X I-X ...; in the sequences here, no I- is without its beginning."""
    starts = [index for index, label in enumerate(labels) if label.startswith("B-")]
    found = set()
    for start in starts:
        end = start + 1
        while end < len(labels) and labels[end] == f"I-{labels[start][2:]}":
            end += 1
        found.add((start, end, labels[start][2:]))
    return found


def valid(generator: random.Random, length: int) -> list[str]:
    labels = ["O"]
    for _ in range(length):
        goes_on = [f"I-{labels[-1][2:]}"] if labels[-1] != "O" else []
        labels.append(generator.choice(["O", "B-PER", "B-LOC", *goes_on]))
    return labels[1:]


def test_entities_count_with_their_type_and_both_ends() -> None:
    generator = random.Random(0)
    gold = [valid(generator, generator.randint(1, 9)) for _ in range(40)]
    predicted = [labels if generator.random() < 0.5 else valid(generator, len(labels)) for labels in gold]
    sides = [
        {(row, *each) for row, labels in enumerate(side) for each in entities(labels)} for side in (gold, predicted)
    ]
    found = score_labels(gold, predicted, True)
    for scores, name in ((found, None), *((found["labels"][name], name) for name in ("PER", "LOC"))):
        given, answered = ({each for each in side if name in (None, each[3])} for side in sides)
        right = len(given & answered)
        assert scores["precision"] == pytest.approx(right / len(answered))
        assert scores["recall"] == pytest.approx(right / len(given))
        assert scores["f1"] == pytest.approx(2 * right / (len(given) + len(answered)))
    low, high = sentence_interval(gold, predicted, True)
    assert low < score_labels(gold, predicted, True)["f1"] < high


def test_classes_are_scored_by_accuracy_and_macro_average() -> None:
    gold, predicted = [["A", "A", "B"], ["C"]], [["A", "B", "B"], ["B"]]
    scores = score_labels(gold, predicted, False)
    assert scores["accuracy"] == 0.5
    f1 = {name: row["f1"] for name, row in scores["labels"].items()}
    assert f1 == pytest.approx({"A": 2 / 3, "B": 0.5, "C": 0})
    assert scores["f1"] == pytest.approx((2 / 3 + 0.5) / 3)
    low, high = sentence_interval(gold, gold, False)
    assert low < high == 1, "two sentences are few"


def test_sentences_without_entities_have_no_scores() -> None:
    assert score_labels([["O", "O"]], [["O", "O"]], True)["f1"] == 0
    assert score_labels([["O", "O"]], [["O", "B-PER"]], True)["precision"] == 0
