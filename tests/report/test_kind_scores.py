# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of sets of classes and of numbers against scikit-learn and SciPy, their intervals, and the linear models."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics
from transformers import EvalPrediction

from modeling_scratch.report.judges import score_of, verdict
from modeling_scratch.report.kind_scores import CLASS_SET_SCORES, NUMBER_SCORES, KindMetrics, class_sets, numbers
from modeling_scratch.report.other_baselines import one_versus_rest, ridge
from modeling_scratch.utils.errors import DataError

OF_SETS, OF_NUMBERS = KindMetrics(CLASS_SET_SCORES, class_sets), KindMetrics(NUMBER_SCORES, numbers)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


def test_scores_of_sets_are_those_of_scikit_learn(random: np.random.Generator) -> None:
    labels, logits = (random.random((50, 4)) < 0.3).astype(np.float32), random.normal(size=(50, 4))
    labels[:, 3], logits[:, 3] = 0, -1  # a class that no text has, and that none is given
    found = OF_SETS(EvalPrediction(logits, labels))
    answers = logits > 0
    expected = {
        "f1_micro": metrics.f1_score(labels, answers, average="micro"),
        "f1_macro": metrics.f1_score(labels, answers, average="macro", zero_division=0),
        "exact_match": metrics.accuracy_score(labels, answers),
        "hamming_loss": metrics.hamming_loss(labels, answers),
    }
    assert found == pytest.approx(expected)
    assert OF_SETS(EvalPrediction(np.full((50, 4), -1.0), np.zeros((50, 4))))["f1_micro"] == 0


def test_scores_of_numbers_are_those_of_scikit_learn_and_scipy(random: np.random.Generator) -> None:
    labels, logits = random.integers(5, size=50).astype(float), random.normal(size=(50, 1))
    expected = {
        "mae": metrics.mean_absolute_error(labels, logits),
        "rmse": metrics.root_mean_squared_error(labels, logits),
        "pearson": stats.pearsonr(labels, logits[:, 0]).statistic,
        "spearman": stats.spearmanr(labels, logits[:, 0]).statistic,
    }
    assert OF_NUMBERS(EvalPrediction(logits, labels)) == pytest.approx(expected)
    constant = OF_NUMBERS(EvalPrediction(np.ones((50, 1)), labels))
    assert constant["pearson"] == constant["spearman"] == 0


def test_scores_of_counts_are_those_of_the_drawn_texts(random: np.random.Generator) -> None:
    """The last resample has one text only: equal numbers have no correlation."""
    draws = [*random.integers(30, size=(3, 30)), np.full(30, 4)]
    counts = np.array([np.bincount(draw, minlength=30) for draw in draws]).astype(float)
    sets = [(random.random((30, 4)) < share).astype(float) for share in (0.3, 0.4)]
    rounded = [random.normal(size=30).round(1) for _ in range(2)]
    for judge, (answers, labels) in ((OF_SETS, sets), (OF_NUMBERS, rounded)):
        expected = [judge.compute(answers[draw], labels[draw]) for draw in draws]
        if judge is OF_SETS:  # macro F1 leaves out the classes that a resample lacks
            for each, draw in zip(expected, draws):
                drawn = (answers[draw] + labels[draw]).any(0)
                f1 = metrics.f1_score(labels[draw][:, drawn], answers[draw][:, drawn], average=None, zero_division=0)
                each["f1_macro"] = f1.mean()
        for score in judge.scores:
            assert score.function(counts, answers, labels) == pytest.approx([each[score.name] for each in expected])


def test_a_diverged_model_has_no_scores() -> None:
    for judge in (OF_SETS, OF_NUMBERS):
        with pytest.raises(DataError, match="diverged"):
            judge(EvalPrediction(np.full((2, 1), np.nan), np.zeros((2, 1))))


def test_intervals_are_those_of_scipy(random: np.random.Generator) -> None:
    labels = random.normal(size=200)
    one, other = labels + random.normal(size=200), labels + 2 * random.normal(size=200)
    scores = OF_NUMBERS.with_intervals({"one": one, "other": other}, labels)

    def difference(at: np.ndarray) -> float:
        return float(np.abs(one[at] - labels[at]).mean() - np.abs(other[at] - labels[at]).mean())

    expected = stats.bootstrap(
        (np.arange(200),), difference, vectorized=False, method="percentile", n_resamples=1_000, random_state=1
    ).confidence_interval
    found = scores["differences"]["other"]["mae"]
    assert found["value"] == pytest.approx(difference(np.arange(200)))
    assert found["interval_95"] == pytest.approx(list(expected), abs=0.05)
    assert list(scores["differences"]) == ["other"]


@pytest.mark.parametrize(
    ("interval", "of_f1", "of_rmse"),
    [
        ([0.01, 0.02], "better", "worse"),
        ([-0.02, -0.01], "worse", "better"),
        ([-0.01, 0.01], "no significant difference", "no significant difference"),
    ],
)
def test_the_verdict_needs_an_interval_without_zero(interval: list[float], of_f1: str, of_rmse: str) -> None:
    assert verdict({"interval_95": interval}, score_of("multi_label_classification", "f1_micro")) == of_f1
    assert verdict({"interval_95": interval}, score_of("regression", "rmse")) == of_rmse


def test_linear_models_learn_words_and_choose_their_penalty_without_the_judged_texts() -> None:
    words = np.array(["plot", "cast", "song", "the"])
    labels = np.random.default_rng(0).integers(2, size=(120, 3))
    texts = [" ".join([*words[:3][row == 1], "the"]) for row in labels]
    found = one_versus_rest(texts, labels.astype(np.float32), ["plot the", "cast song the", "the"])
    assert found.predictions.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    assert str(found.settings["C"]) in found.settings["held_out_score"]
    values = labels @ np.array([10.0, -5.0, 0.0])
    found = ridge(texts, values, ["plot the", "cast the", "song the"])
    assert found.predictions[0] > found.predictions[2] > found.predictions[1]
    assert found.predictions.tolist() == ridge(texts, values, ["plot the", "cast the", "song the"]).predictions.tolist()


def test_a_class_of_one_text_and_texts_without_words() -> None:
    """The class may be missing where the penalty is chosen."""
    labels = np.zeros((30, 2), np.float32)
    labels[:, 0], labels[7, 1] = np.arange(30) % 2, 1
    texts = [f"{'good' if row % 2 else 'bad'} film {row}" for row in range(30)]
    assert one_versus_rest(texts, labels, ["good film"]).predictions.tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="no word"):
        ridge(["!"] * 30, labels[:, 0], ["?"])


def test_right_answers_have_a_macro_f1_of_1_in_each_resample_of_rare_classes() -> None:
    labels = np.eye(40)[np.repeat(np.arange(40), 3)]
    found = OF_SETS.with_intervals({"one": labels}, labels)["models"]["one"]["f1_macro"]
    assert (found["value"], found["interval_95"]) == (1, [1, 1])
