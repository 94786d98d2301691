# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a report says first: which model to use, and why nobody should use a classifier."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from modeling_scratch.report.classification_report import scores_text
from modeling_scratch.report.metrics import CLASSES, METRICS, macro_f1_decides, metrics_for_hub
from modeling_scratch.report.significance import MODEL, compared, headline_of, strongest, with_intervals

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
