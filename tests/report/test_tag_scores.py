# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of labelled words, counted by hand."""

import pytest

from modeling_scratch.report.tag_scores import score_labels, sentence_interval

ENTITIES = (
    [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "B-LOC", "I-LOC"], ["B-PER"]],
    # Right; too short at its end, right, of another type; none.
    [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "B-LOC", "O"], ["B-LOC"]],
)


def test_entities_count_with_their_type_and_both_ends() -> None:
    found = score_labels(*ENTITIES, True)
    assert found["accuracy"] == pytest.approx(7 / 9)
    for scores, right, answered, given in (
        (found, 3, 5, 5),
        (found["labels"]["PER"], 1, 1, 2),
        (found["labels"]["LOC"], 2, 4, 3),
    ):
        assert scores["precision"] == pytest.approx(right / answered)
        assert scores["recall"] == pytest.approx(right / given)
        assert scores["f1"] == pytest.approx(2 * right / (answered + given))
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
