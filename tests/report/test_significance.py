# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Intervals cover what they say, those of resamples are SciPy's; a report says first which model to use."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from modeling_scratch.report.classification_report import scores_text
from modeling_scratch.report.metrics import CLASS_SETS, CLASSES, METRICS, NUMBERS, macro_f1_decides, metrics_for_hub
from modeling_scratch.report.significance import MODEL, compared, headline_of, strongest, verdict, with_intervals


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_intervals_have_a_width_and_contain_the_value(pairs: list[tuple[bool, bool]]) -> None:
    """Of every score of sets of classes. Equal answers have no difference, and one without an interval."""
    one, other = np.array(pairs).T
    sets = {name: np.stack([values, ~values], axis=-1).astype(float) for name, values in (("a", one), ("b", other))}
    truth = np.tile([1.0, 0.0], (len(one), 1))
    found = with_intervals(CLASS_SETS.scores, sets, truth)
    for each in found["models"].values():
        for score in each.values():
            low, high = score["interval_95"]
            assert 0 <= low < high <= 1 + 1e-12
    low, high = found["differences"]["b"]["exact_match"]["interval_95"]
    assert (low, high) == (0, 0) if (one == other).all() else -1 <= low <= one.mean() - other.mean() <= high <= 1
    accuracy = found["models"]["a"]["exact_match"]
    assert accuracy["interval_95"][0] <= accuracy["value"] == one.mean()


def test_right_answers_of_a_small_split_have_the_score_interval() -> None:
    labels = np.eye(40)[np.repeat(np.arange(40), 3)]
    found = with_intervals(CLASS_SETS.scores, {"one": labels}, labels)["models"]["one"]
    for name, right in (("f1_macro", 120), ("hamming_loss", 0)):
        expected = tuple(binomtest(right, 120).proportion_ci(0.95, method="wilson"))
        assert found[name]["interval_95"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("interval", "texts", "of_f1", "of_rmse"),
    [
        ([0.01, 0.02], 20, "better", "worse"),
        ([-0.02, -0.01], 100, "worse", "better"),
        ([0, 0.01], 100, *["no difference that these 100 texts can show"] * 2),
        ([1, 1], 6, *["no verdict: 6 texts are too few"] * 2),
    ],
)
def test_the_verdict_needs_an_interval_without_zero(interval: list, texts: int, of_f1: str, of_rmse: str) -> None:
    assert verdict({"interval_95": interval}, CLASS_SETS.score, texts) == of_f1
    assert verdict({"interval_95": interval}, NUMBERS.score, texts) == of_rmse


def test_intervals_are_those_of_scipy() -> None:
    random = np.random.default_rng(0)
    labels = random.normal(size=200)
    one, other = labels + random.normal(size=200), labels + 2 * random.normal(size=200)
    scores = with_intervals(NUMBERS.scores, {"one": one, "other": other}, labels)

    def difference(at: np.ndarray) -> float:
        return float(np.abs(one[at] - labels[at]).mean() - np.abs(other[at] - labels[at]).mean())

    expected = stats.bootstrap(
        (np.arange(200),), difference, vectorized=False, method="percentile", n_resamples=1_000, random_state=1
    ).confidence_interval
    found = scores["differences"]["other"]["mae"]
    assert found["value"] == pytest.approx(difference(np.arange(200)))
    assert found["interval_95"] == pytest.approx(list(expected), abs=0.05)
    assert list(scores["differences"]) == ["other"]


# What a report says first: which model to use, and why nobody should use a classifier.

ACCURACY, MACRO_F1 = CLASSES.scores
LABELS, RARE = np.array([0] * 40 + [1] * 60), np.array([0] * 900 + [1] * 100)
BASELINE = "NB-SVM"


def right_in(share: float, labels: np.ndarray = LABELS) -> np.ndarray:
    """Return predictions of which this share, spread over the texts, is right."""
    wrong = np.arange(len(labels)) % 100 >= round(100 * share)
    shuffled = np.random.default_rng(0).permutation(wrong)
    return np.where(shuffled, 1 - labels, labels)


HEADLINES: dict[str, tuple[np.ndarray, np.ndarray, Any, int, str | None]] = {
    "near the most frequent class": (
        LABELS, right_in(0.65), ACCURACY, 1,
        "not significantly better than the answer yes for every text: accuracy 65.00 % and 60.",
    ),
    "worse": (
        LABELS, right_in(0.2), ACCURACY, 1, "is worse than the answer yes for every text: accuracy 20.00 % and 60.00 %"
    ),
    "one answer": (LABELS, np.zeros_like(LABELS), ACCURACY, 1, "predicts no for every text: it has not learned"),
    "better": (LABELS, right_in(0.9), ACCURACY, 1, None),
    # Texts that cannot show that a model is better say nothing.
    "texts of one class": (ONES := np.ones(50, dtype=int), ONES, ACCURACY, 0, None),
    "too few": (FEW := np.array([0, 1] * 5), FEW, ACCURACY, 0, None),
    # Resamples without the rare class leave the interval at 0.
    "a rare class": (ALONE := np.array([0] * 200 + [1]), ALONE, MACRO_F1, 0, None),
    # A model that finds the rare class has the lower accuracy, where macro F1 decides.
    "rare, by accuracy": (RARE, right_in(0.84, RARE), ACCURACY, 0, "is worse than the answer no"),
    "rare, by macro F1": (RARE, right_in(0.84, RARE), MACRO_F1, 0, None),
    "rare, at random": (
        RARE, np.random.default_rng(0).permutation(RARE), MACRO_F1, 0, "is not significantly better than the answer no"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADLINES)
def test_a_model_that_nobody_should_use_is_named(name: str) -> None:
    labels, predicted, score, constant, told = HEADLINES[name]
    found = headline_of(score, labels, predicted, np.full_like(labels, constant), ["no", "yes"].__getitem__)
    assert told in (found or "") if told else found is None


@pytest.mark.parametrize(
    ("only_model", "only_baseline", "both", "use", "finding"),
    [
        (40, 10, 100, "Use the Transformer: it is significantly better than NB-SVM.", "): better."),
        (10, 40, 100, "Use NB-SVM: it is significantly better than", "): worse."),
        (12, 10, 100, "Use either model, as there is no difference that these 122 texts can show.", "can show."),
        (6, 0, 0, "Use either model, as there is no verdict: 6 texts are too few.", "): no verdict"),
    ],
)
def test_the_first_line_says_which_model_to_use(only_model, only_baseline, both, use: str, finding: str) -> None:
    labels = np.arange(both + only_model + only_baseline) % 2
    right = np.repeat([True, True, False], [both, only_model, only_baseline])
    of_baseline = np.repeat([True, False, True], [both, only_model, only_baseline])
    model, baseline = (np.where(correct, labels, 1 - labels) for correct in (right, of_baseline))
    scores = with_intervals(CLASSES.scores, {MODEL: model, BASELINE: baseline}, labels)["models"]
    about = {"problem_type": "single_label_classification", "headline": None, "texts": len(labels), "split": "test"}
    comparison = compared(ACCURACY, labels, model, {BASELINE: baseline})
    of_baselines = [{"name": BASELINE, "scores": scores[BASELINE]}]
    evaluation = {**about, "scores": scores[MODEL], "baselines": of_baselines, "comparison": comparison}
    report = scores_text(evaluation)
    assert report.startswith(f"**{use}")
    assert finding in report
    difference = 100 * (right.mean() - of_baseline.mean())
    assert f"The difference in accuracy from NB-SVM is {difference:+.2f} percentage points" in report
    assert metrics_for_hub(evaluation)[0].value == right.mean()


@pytest.mark.parametrize("problem_type", METRICS)
def test_the_strongest_baseline_is_compared_with(problem_type: str) -> None:
    """Of equal ones, the first."""
    truth = np.ones((20, 1)) if problem_type.startswith("multi") else np.ones(20, dtype=int)
    weak = truth.copy()
    weak[8:] = 0
    for order in (("weak", "strong", "other"), ("strong", "other", "weak")):
        baselines = {name: weak if name == "weak" else truth.copy() for name in order}
        assert strongest(METRICS[problem_type].score, truth, baselines) == "strong"


def test_macro_f1_decides_where_classes_are_imbalanced_or_weighted() -> None:
    assert macro_f1_decides([0] * 90 + [1] * 9, is_weighted=False)
    assert not macro_f1_decides([1] * 6 + [0] * 4, is_weighted=False)
    assert macro_f1_decides([1] * 6 + [0] * 4, is_weighted=True)
    finds, better = right_in(0.84, RARE), right_in(0.95, RARE)
    values = " and ".join(f"{f1_score(RARE, each, average='macro'):.2%}" for each in (finds, better))
    found = compared(MACRO_F1, RARE, finds, {BASELINE: better})
    assert found["verdict"] == "worse"
    assert found["evidence"] == f"macro F1 {values} (paired bootstrap)".replace("%", " %")
