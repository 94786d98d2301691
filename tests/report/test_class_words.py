# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The words that speak for a class: what they add to its logit, on average over its texts, beside scikit-learn."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from modeling_scratch.report.baselines import run_baselines
from modeling_scratch.report.class_words import class_scores_of_ngrams, class_words_text

NAMES = ["bad", "fair", "good"]
OWN = {"bad": ["dull", "cold", "not good"], "fair": ["mild", "average"], "good": ["warm", "bright"]}
COMMON = ["film", "the", "plot", "a"]


@pytest.mark.parametrize("model", [0, 1], ids=["TF-IDF", "NB-SVM"])
@pytest.mark.parametrize("classes", [2, 3])
def test_own_words_come_first_with_what_they_add(model: int, classes: int) -> None:
    """A class without texts has no words."""
    generator, names = np.random.default_rng(0), NAMES[:classes]
    labels = np.arange(240) % classes
    texts = [" ".join([*generator.choice(COMMON, 3), generator.choice(OWN[names[label]])]) for label in labels]
    result = run_baselines(texts, labels, texts[:5])[model]
    weights = result.weights_over(classes + 1)
    counter = CountVectorizer(vocabulary=weights.ngrams, ngram_range=(1, 3), token_pattern=r"(?u)\b\w+\b")
    counts = counter.transform(texts)
    features = counts.sign()
    if weights.idf is not None:
        transformer = TfidfTransformer(sublinear_tf=True)
        transformer.idf_ = weights.idf
        features = transformer.transform(counts)
    found = class_scores_of_ngrams(weights, classes + 1, texts, labels.tolist())
    means = np.stack([np.asarray(features[labels == index].mean(0)).ravel() for index in range(classes)])
    assert found[:classes] == pytest.approx((weights.weight[:classes] - weights.weight.mean(0)) * means)
    shown = class_words_text(weights, [*names, "none"], texts, labels.tolist(), "linear")
    rows = [line.strip("| ").split(" | ") for line in shown.splitlines() if line.startswith("|")][2:]
    assert [name for name, _ in rows] == names
    assert all(set(OWN[name]) <= set(words.split(", ")) for name, words in rows)
