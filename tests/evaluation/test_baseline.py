# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The baseline learns what words and word pairs tell, from the training texts alone, and every time the same."""

import numpy as np
import pytest

from modeling_scratch.evaluation.classification import C_GRID, LARGE_CORPUS, run_baseline

WORDS = [["awful", "dull", "bleak"], ["fine", "bright", "warm"], ["odd", "weird", "strange"]]


def corpus(num_labels: int, size: int, seed: int) -> tuple[list[str], list[int]]:
    """Texts of words any class may have, and one that tells the class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(num_labels, size=size)
    texts = [
        " ".join([*rng.choice(["film", "plot", "scene", "actor"], size=4), rng.choice(WORDS[label])])
        for label in labels
    ]
    return texts, labels.tolist()


@pytest.mark.parametrize("num_labels", [2, 3])
def test_it_learns_words(num_labels):
    train_texts, train_labels = corpus(num_labels, 200, seed=0)
    eval_texts, eval_labels = corpus(num_labels, 50, seed=1)
    assert run_baseline(train_texts, train_labels, eval_texts).predictions.tolist() == eval_labels


def test_it_learns_word_pairs_and_words_of_one_letter():
    """Each word occurs equally often in both classes; only the pairs tell them apart."""
    texts = ["not good very bad", "very good not bad"]
    assert run_baseline(texts * 20, [0, 1] * 20, texts).predictions.tolist() == [0, 1]
    assert run_baseline(["I a 1", "I a 9"] * 10, [0, 1] * 10, ["9", "1"]).predictions.tolist() == [1, 0]


def test_the_smallest_corpus_is_enough():
    result = run_baseline(["good", "good", "bad", "bad"], [1, 1, 0, 0], ["bad", "good", "", "unheardof"])
    assert result.predictions[:2].tolist() == [0, 1]
    assert len(result.predictions) == 4


def test_evaluation_texts_change_nothing_but_their_own_prediction():
    """Nor do words that only they have become features; and a second run gives the same."""
    train_texts, train_labels = corpus(2, 200, seed=0)
    labels = [label ^ (index % 5 == 0) for index, label in enumerate(train_labels)]  # noise, so that C matters
    eval_texts = [*corpus(2, 30, seed=1)[0], "words unheard of"]
    everything, again = (run_baseline(train_texts, labels, eval_texts) for _ in range(2))
    few = run_baseline(train_texts, labels, eval_texts[:7])
    assert everything.settings == again.settings == few.settings
    held_out = {float(c): accuracy for c, accuracy in few.settings["held_out_accuracy"].items()}
    assert few.settings["C"] == min(c for c in C_GRID if held_out[c] == max(held_out.values()))
    assert np.array_equal(few.predictions, everything.predictions[:7])
    assert np.array_equal(again.predictions, everything.predictions)


def test_terms_of_a_single_text_are_dropped_from_a_large_corpus_only():
    texts, labels = corpus(2, LARGE_CORPUS - 1, seed=0)
    texts[0] += " unheardof"
    small = run_baseline(texts, labels, ["film"])
    large = run_baseline([*texts, "film"], [*labels, 0], ["film"])
    assert (small.settings["min_df"], large.settings["min_df"]) == (1, 2)
    assert large.settings["features"] < small.settings["features"]


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b"], [0], "2 training texts and 1 labels"),
        (["a", "b"], [1, 1], r"at least two classes, got only \[1\]"),
        (["a", "b", "c"], [0, 0, 4], "class 4 has a single training text"),
        (["", "?", "", "!"], [0, 1, 0, 1], "no training text has a word"),
    ],
)
def test_texts_that_nothing_can_be_learned_from_are_an_error(texts, labels, message):
    with pytest.raises(ValueError, match=message):
        run_baseline(texts, labels, ["a"])
