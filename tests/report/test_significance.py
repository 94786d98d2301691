# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Intervals cover what they say, those of resamples are SciPy's, and few texts give no verdict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest

from modeling_scratch.report.metrics import CLASS_SETS, NUMBERS
from modeling_scratch.report.significance import verdict, with_intervals


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
