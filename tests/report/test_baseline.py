# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The baselines learn what words and their sequences tell, from the training texts alone, and every time the same."""

import json
import re
from pathlib import Path

import numpy as np
import predict
import pytest
import serve
from shared import refused
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from modeling_scratch.report import baselines
from modeling_scratch.report.baselines import LARGE_CORPUS, one_versus_rest, ridge, run_baselines

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


ONE_TEXT = [f"{word} film {n}" for n in range(20) for word in ("good", "bad")], [1, 0] * 20
# Training texts and their labels, other texts and the labels that they have to get.
LEARNED = {
    "words of three classes": (*corpus(3, 200, seed=0), *corpus(3, 50, seed=1)),
    # Each word occurs equally often in both classes; only the pairs tell them apart.
    "pairs of words": (["not good very bad", "very good not bad"] * 20, [0, 1] * 20, ["not good very bad"], [0]),
    "words of one letter": (["I a 1", "I a 9"] * 10, [0, 1] * 10, ["9", "1"], [1, 0]),
    "the smallest corpus": (["good", "good", "bad", "bad"], [1, 1, 0, 0], ["bad", "good"], [0, 1]),
    "classes without texts": (["good", "bad", "odd"] * 4, [1, 3, 7] * 4, ["odd", "good"], [7, 1]),
    "a class of one text": ([*ONE_TEXT[0], "odd"], [*ONE_TEXT[1], 2], ["good film"], [1]),
}


@pytest.mark.parametrize(("train_texts", "train_labels", "texts", "labels"), LEARNED.values(), ids=LEARNED)
def test_they_learn(train_texts: list[str], train_labels: list[int], texts: list[str], labels: list[int]) -> None:
    """Classes keep their numbers. Texts without a known word have probabilities, too."""
    results = run_baselines(train_texts, train_labels, [*texts, "", "unheardof"])
    assert [result.name for result in results] == ["TF-IDF + logistic regression", "NB-SVM"]
    for result in results:
        assert result.predictions[: len(texts)].tolist() == labels
        assert result.classes.tolist() == sorted(set(train_labels))
        assert result.probabilities.shape == (len(texts) + 2, len(result.classes))
        assert result.probabilities.sum(axis=1) == pytest.approx(1)


def ngram_sets(text: str, longest: int = 3) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[start : start + n]) for n in range(1, longest + 1) for start in range(len(words) + 1 - n)}


@pytest.mark.parametrize("num_labels", [2, 3])
def test_nb_svm_is_that_of_its_definition(num_labels):
    """A logistic regression of features r where a text has the n-gram, else 0; one against the rest for three."""
    train_texts, train_labels = corpus(num_labels, 60, seed=0)
    train_texts = [f"{text} {text.split()[0]}" for text in train_texts]  # words that repeat count once
    labels = np.array(train_labels) ^ (np.arange(60) % 7 == 0)
    eval_texts = ["A dull film, film", "plot scene", "bright actor dull odd", ""]
    result = next(each for each in run_baselines(train_texts, labels.tolist(), eval_texts) if each.name == "NB-SVM")
    vocabulary = sorted(set().union(*map(ngram_sets, train_texts)))
    train, other = (
        np.array([[gram in ngram_sets(text) for gram in vocabulary] for text in texts], dtype=float)
        for texts in (train_texts, eval_texts)
    )
    classes, odds = np.unique(labels), []
    for label in classes[1:] if len(classes) == 2 else classes:
        p, q = (1 + train[rows].sum(axis=0) for rows in (labels == label, labels != label))
        ratio = np.log((p / p.sum()) / (q / q.sum()))
        regression = LogisticRegression(C=result.settings["C"], tol=1e-10, max_iter=10_000)
        odds.append(regression.fit(train * ratio, labels == label).predict_proba(other * ratio)[:, 1])
    columns = [1 - odds[0], *odds] if len(classes) == 2 else odds
    expected = np.column_stack(columns) / np.sum(columns, axis=0)[:, None]
    assert result.classes.tolist() == classes.tolist()
    assert result.probabilities == pytest.approx(expected, abs=1e-3)
    assert result.predictions.tolist() == classes[expected.argmax(axis=1)].tolist()


def test_evaluation_texts_change_nothing_but_their_own_prediction():
    """Nor do words that only they have become features; and a second run gives the same."""
    train_texts, train_labels = corpus(2, 200, seed=0)
    labels = [label ^ (index % 5 == 0) for index, label in enumerate(train_labels)]  # noise, so that C matters
    eval_texts = [*corpus(2, 30, seed=1)[0], "words unheard of"]
    runs = [run_baselines(train_texts, labels, texts) for texts in (eval_texts, eval_texts, eval_texts[:7])]
    for everything, again, few in zip(*runs):
        assert everything.settings == again.settings == few.settings
        held_out = {float(c): score for c, score in few.settings["held_out_score"].items()}
        assert few.settings["C"] == min(c for c, score in held_out.items() if score == max(held_out.values()))
        assert np.array_equal(few.predictions, everything.predictions[:7])
        assert np.array_equal(again.probabilities, everything.probabilities)


def test_of_more_texts_than_there_is_time_for_a_sample_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels = corpus(2, 198, seed=0)
    texts, labels = [*texts, "a rare film", "a rare plot"], [*labels, 2, 2]
    monkeypatch.setattr(baselines, "MOST_CHARACTERS", 1.5 * sum(map(len, texts)))  # of half, with three logits
    for result in run_baselines(texts, labels, texts):
        assert result.settings["texts"] == 100
        assert np.mean(result.predictions == labels) > 0.95
        assert result.classes is not None
        assert result.classes.tolist() == [0, 1, 2], "the rare class, too"


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b"], [1, 1], r"at least two classes, got only \[1\]"),
        (["a", "b", "c"], [0, 0, 4], "two classes with two training texts each"),
        (["", "?", "", "!"], [0, 1, 0, 1], "no word occurs in 1 training text"),
        ([f"word{n}" for n in range(LARGE_CORPUS)], [0, 1] * (LARGE_CORPUS // 2), "no word occurs in 2 training texts"),
    ],
)
def test_texts_that_nothing_can_be_learned_from_are_an_error(texts, labels, message):
    with pytest.raises(ValueError, match=message):
        run_baselines(texts, labels, ["a"])


def rare_class(size: int, seed: int) -> tuple[list[str], list[int]]:
    """Texts of which one in 20 has class 1. One word is more frequent in it, and none tells it for sure."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(size) % 20 == 0).astype(int)
    texts = [
        " ".join([*rng.choice(["film", "plot", "scene", "actor"], size=3), "odd" if rng.random() < share else "fine"])
        for share in np.where(labels, 0.7, 0.05)
    ]
    return texts, labels.tolist()


def test_macro_f1_chooses_c_where_accuracy_would_choose_never_to_predict_a_rare_class() -> None:
    texts, labels = rare_class(200, seed=0)
    for result in run_baselines(texts, labels, texts, by_macro_f1=True):
        assert result.settings["chosen_by"] == "macro F1"
        assert result.predictions.sum() > 0
    texts, labels = corpus(2, 60, seed=0)
    assert {result.settings["chosen_by"] for result in run_baselines(texts, labels, texts)} == {"accuracy"}


def test_weighted_classes_are_those_of_scikit_learn() -> None:
    """The model has the least loss of which each text has the weight of its class, on the features as they are."""
    texts, labels = rare_class(200, seed=0)
    plain, weighted = (run_baselines(texts, labels, texts, 0, weights, True)[0] for weights in (False, True))
    assert weighted.probabilities[:, 1].mean() > 2 * plain.probabilities[:, 1].mean()
    tf_idf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\b\w+\b").fit_transform(texts)
    exact = {"C": weighted.settings["C"], "tol": 1e-8, "max_iter": 10_000}
    reference = LogisticRegression(class_weight="balanced", **exact).fit(tf_idf, labels)
    np.testing.assert_allclose(weighted.probabilities, reference.predict_proba(tf_idf), atol=1e-3)


def test_models_of_sets_and_numbers_learn_words_and_choose_their_penalty_without_the_evaluated_texts() -> None:
    words = np.array(["plot", "cast", "song", "the"])
    labels = np.random.default_rng(0).integers(2, size=(120, 3))
    texts = [" ".join([*words[:3][row == 1], "the"]) for row in labels]
    found = one_versus_rest(texts, labels.astype(np.float32), ["plot the", "cast song the", "the"])
    assert found.predictions.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    assert str(found.settings["C"]) in found.settings["held_out_score"]
    values = labels @ np.array([10.0, -5.0, 0.0])
    found, again = (ridge(texts, values, ["plot the", "cast the", "song the", *more]) for more in ([], ["other"]))
    assert found.predictions[0] > found.predictions[2] > found.predictions[1]
    assert found.predictions.tolist() == again.predictions[:3].tolist()
    assert found.settings == again.settings


# Linear models that are saved with a run, which answer as those of scikit-learn that it was compared with

TEXTS = ["A dull film, film", "plot scene", "bright actor dull odd", "unheard of"]
ONE_CLASS = "single_label_classification"


def answers(model: Path, texts: list[str], extra: str = "") -> list[dict]:
    """What `modeling-scratch predict` gives."""
    source, output = model.with_suffix(".txt"), model.with_suffix(".jsonl")
    source.write_text("\n".join(texts), encoding="utf-8")
    predict.main(f"--model {model} --input {source} --output {output} --overwrite {extra}".split())
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("classes", [[0, 1], [0, 2], [0, 1, 2], [1, 3, 7]])
def test_the_saved_model_gives_the_probabilities_of_scikit_learn(classes: list[int], tmp_path: Path) -> None:
    """Also where the training texts lack some of the classes."""
    train_texts, drawn = corpus(len(classes), 60, seed=0)
    names = [f"class {number}" for number in range(max(classes) + 1)]
    for number, result in enumerate(run_baselines(train_texts, [classes[label] for label in drawn], TEXTS)):
        weights = result.weights.of_classes(result.classes, len(names))
        weights.save(tmp_path / str(number), result.name, ONE_CLASS, names, has_pairs=False)
        found = answers(tmp_path / str(number), [*TEXTS, " "], "--top_k all")
        listed = [{each["label"]: each["score"] for each in answer["top"] or ()} for answer in found]
        expected = np.zeros((len(TEXTS), len(names)))
        expected[:, result.classes] = result.probabilities
        scores = [[of_text[name] for name in names] for of_text in listed[:-1]]
        assert scores == pytest.approx(np.float32(expected), abs=2e-7), "predict writes the digits of float32"
        assert [answer["label"] for answer in found] == [*(names[label] for label in result.predictions), None]
    assert number == 1


def test_sets_of_classes_and_numbers(tmp_path: Path) -> None:
    """One of the classes is that of no text."""
    train_texts, drawn = corpus(3, 90, seed=0)
    sets = np.column_stack([np.equal(drawn, 0), np.equal(drawn, 1), np.zeros(90)])
    model, names = one_versus_rest(train_texts, sets, TEXTS), ["a", "b", "c"]
    model.weights.save(tmp_path / "sets", model.name, "multi_label_classification", names, has_pairs=False)
    found = [[name in answer["label"] for name in names] for answer in answers(tmp_path / "sets", TEXTS)]
    assert found == model.predictions.tolist()
    model = ridge(train_texts, np.array(drawn) * 1.5, TEXTS)
    model.weights.save(tmp_path / "numbers", model.name, "regression", ["stars"], has_pairs=False)
    found = answers(tmp_path / "numbers", TEXTS)
    assert [answer["score"] for answer in found] == pytest.approx(np.float32(model.predictions))


def test_unknown_words_are_counted_and_other_programs_refuse_the_model(
    tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    linear, result = tmp_path / "linear", run_baselines(*corpus(2, 60, seed=0), TEXTS)[0]
    result.weights.save(linear, result.name, ONE_CLASS, ["bad", "good"], has_pairs=False)
    [answer, _] = answers(linear, ["dull film", "nothing of that"])
    assert answer["label"] == "bad"
    assert "words that the model has not seen (nothing, of, that): 3" in capfd.readouterr().err
    for extra in ("--max_length 9", "--precision bfloat16", "--text_column a b"):
        with pytest.raises(SystemExit):
            answers(linear, TEXTS, extra)
    told = f"--model {linear}: a linear model, which only `modeling-scratch predict` reads"
    refused(capfd, serve.main, ["--model", linear], told)
    (linear / "weights.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(SystemExit):
        answers(linear, TEXTS)
    assert "damaged: restore it" in capfd.readouterr().err
