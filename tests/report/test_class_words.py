# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The words that speak for a class: what they add to its logit, on average over its texts, beside scikit-learn."""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from modeling_scratch.report.baselines import run_baselines
from modeling_scratch.report.class_words import MOST, class_words_text, find_class_words, save_class_words

NAMES = ["bad", "fair", "good"]
OWN = {"bad": ["dull", "cold", "not good"], "fair": ["mild", "average"], "good": ["warm", "bright"]}
COMMON = ["film", "the", "plot", "a"]


def texts_of(classes: int, number: int = 240) -> tuple[list[str], list[int]]:
    generator = np.random.default_rng(0)
    labels = [row % classes for row in range(number)]
    texts = [" ".join([*generator.choice(COMMON, 3), generator.choice(OWN[NAMES[label]])]) for label in labels]
    return texts, labels


@pytest.mark.parametrize("model", [0, 1], ids=["TF-IDF", "NB-SVM"])
@pytest.mark.parametrize("classes", [2, 3])
def test_own_words_come_first_with_what_they_add(model: int, classes: int, tmp_path: Path) -> None:
    texts, labels = texts_of(classes)
    result = run_baselines(texts, labels, texts[:5])[model]
    weights, names = result.weights.of_classes(result.classes, classes), NAMES[:classes]
    found = find_class_words(weights, names, texts, labels)
    counter = CountVectorizer(vocabulary=weights.ngrams, ngram_range=(1, 3), token_pattern=r"(?u)\b\w+\b")
    counts = counter.transform(texts)
    features = counts.sign()
    if weights.idf is not None:
        features = TfidfTransformer(sublinear_tf=True).fit(counts)
        features.idf_ = weights.idf
        features = features.transform(counts)
    for index, of_class in enumerate(found):
        own = {word for phrase in OWN[names[index]] for word in phrase.split()} | set(OWN[names[index]])
        first = {word.words for word in of_class[:3]}
        assert all(set(words.split()) & {part for each in own for part in each.split()} for words in first)
        assert set(OWN[names[index]]) <= {word.words for word in of_class[:8]}
        assert len(of_class) <= MOST
        inside = np.array(labels) == index
        for word in of_class[:5]:
            at = list(weights.ngrams).index(word.words)
            mean = features[inside, at].mean()
            expected = (weights.weight[index, at] - weights.weight[:, at].mean()) * mean
            assert word.contribution == pytest.approx(expected)
            assert word.in_class == pytest.approx((counts[inside, at] > 0).mean())
            assert word.in_others == pytest.approx((counts[~inside, at] > 0).mean())
        assert [word.contribution for word in of_class] == sorted((w.contribution for w in of_class), reverse=True)
    save_class_words(found, tmp_path / "words.csv")
    with (tmp_path / "words.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["class"], row["words"]) for row in rows] == [(w.label, w.words) for each in found for w in each]
    shown = class_words_text(found, result.name)
    assert [line.split(" | ")[0].strip("| ") for line in shown.splitlines() if line.startswith("|")][2:] == names


def test_a_class_without_texts_has_no_words() -> None:
    texts, labels = texts_of(2)
    result = run_baselines(texts, labels, texts[:5])[0]
    found = find_class_words(result.weights.of_classes(result.classes, 3), NAMES, texts, labels)
    assert found[2] == []
    assert "| good |" not in class_words_text(found, "linear")
