# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report quotes: wrong answers, the surest first, also in a table, and the words that speak for a class."""

import csv
from pathlib import Path

import numpy as np
import pytest

from modeling_scratch.data.text_pairs import of_parts
from modeling_scratch.report.baselines import run_baselines
from modeling_scratch.report.quoted_texts import (
    SHOWN,
    class_words_text,
    find_misclassified,
    misclassified_table,
    misclassified_text,
    save_misclassified,
)
from modeling_scratch.run.layout import MISCLASSIFIED
from modeling_scratch.utils.markdown import escaped

NAMES = ["bad", "good"]
CLASSES = ["bad", "fair", "good"]
OWN = {"bad": ["dull", "isn't", "not good"], "fair": ["mild", "average"], "good": ["warm", "bright"]}
COMMON = ["film", "the", "plot", "a"]


def wrong_answers(texts: list[str], labels: np.ndarray, sure: np.ndarray, linear: np.ndarray) -> list[dict]:
    """Of a model that answers "good" with these probabilities."""
    probabilities = np.stack([1 - sure, sure], axis=-1)
    places = [f"a|b.csv, row {2 * row}" for row in range(len(texts))]
    return find_misclassified(NAMES, texts, places, labels, probabilities.argmax(-1), probabilities, linear)


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_surest_wrong_answers_are_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = [f'a "film", | {number}\nof two lines' for number in range(100)]
    labels, linear = rng.integers(2, size=(2, 100))
    sure = rng.random(100)
    found = wrong_answers(texts, labels, sure, linear)
    save_misclassified(found, tmp_path)
    lines = lines_of(tmp_path / MISCLASSIFIED)
    wrong, order = np.flatnonzero((sure > 0.5) != labels), [int(line["row"]) - 1 for line in lines]
    assert order == sorted(wrong, key=lambda row: -max(sure[row], 1 - sure[row]))
    for row, line in zip(order, lines):
        assert (line["text"], line["where"]) == (texts[row], f"a|b.csv, row {2 * row}")
        assert (line["label"], line["linear_answer"]) == (NAMES[labels[row]], NAMES[linear[row]])
        assert float(line["probability"]) == pytest.approx(max(sure[row], 1 - sure[row]), rel=1e-3)
    report, quoted = misclassified_text(found, "NB-SVM"), misclassified_table(found, "NB-SVM")
    shown = [line.split(" | ")[0] for line in quoted.splitlines() if line.startswith("| ")][2:]
    assert shown == [f"| {escaped(line['where'])}" for line in lines][:SHOWN]
    doubtful = sum(line["answer"] == line["linear_answer"] for line in lines)
    assert f"Texts to which both models give the same answer, but not the label: {doubtful}." in report
    assert "Check these labels" not in misclassified_text(found, "NB-SVM", has_learned=False)


def test_pairs_have_two_columns_and_no_wrong_answer_says_nothing(tmp_path: Path) -> None:
    pairs = [of_parts(["ten people left", "the theatre was full"]), of_parts(["it is long", "it is short"])]
    one, sure = np.array([0, 1]), np.array([0.9, 0.8])
    save_misclassified(wrong := wrong_answers(pairs, one, sure, linear=one), tmp_path)
    (line,) = lines_of(tmp_path / MISCLASSIFIED)
    assert (line["text"], line["text_pair"]) == ("ten people left", "the theatre was full")
    assert "both models" not in misclassified_text(wrong, "NB-SVM")
    save_misclassified(right := wrong_answers(pairs, np.array([1, 1]), sure, linear=one), tmp_path)
    assert misclassified_text(right, "NB-SVM") == misclassified_table(right, "NB-SVM") == ""
    assert not (tmp_path / MISCLASSIFIED).exists()


@pytest.mark.parametrize(("model", "classes"), [(0, 3), (1, 2)], ids=["TF-IDF", "NB-SVM"])
def test_own_words_come_first_with_what_they_add(model: int, classes: int) -> None:
    """A class without texts has no words."""
    generator, names = np.random.default_rng(0), CLASSES[:classes]
    labels = np.arange(240) % classes
    texts = [" ".join([*generator.choice(COMMON, 3), generator.choice(OWN[names[label]])]) for label in labels]
    result = run_baselines(texts, labels, texts[:5])[model]
    shown = class_words_text(result, [*names, "none"])
    rows = [line.strip("| ").split(" | ") for line in shown.splitlines() if line.startswith("|")][2:]
    assert [name for name, _ in rows] == names
    assert all(set(OWN[name]) <= set(words.split(", ")) for name, words in rows)
