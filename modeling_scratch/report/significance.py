# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""How sure a score or a difference is: intervals and verdicts.

Whether a classifier is better than the best constant answer, and than the strongest linear baseline, has one rule for
all problem types: the paired-bootstrap interval of the difference in the score that decides. Shapes: N examples, K
means that a score is computed from, R resamples.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest

from ..tasks.card import MODEL
from ..utils.markdown import percent, points, table

SIGNIFICANCE_LEVEL = 0.05
RESAMPLES = 1_000
FEW_EXAMPLES = 20  # there is no verdict on fewer
LARGEST_BLOCK = 2**22  # counts of resamples in memory at once
ROUNDING = 1e-12  # relative: equal numbers differ no more


class Score(NamedTuple):
    """A score that depends on means over examples, so that the scores of all resamples are one product of matrices.

    parts: (predictions, references) -> what each example adds to the means, (N, K). of_means: (..., K) -> (...); by
    default the score is the first mean.
    """

    name: str
    heading: str
    parts: Callable[[Any, Any], np.ndarray]
    of_means: Callable[[np.ndarray], np.ndarray] = lambda means: means[..., 0]
    is_share: bool = True  # from 0 to 1
    greater_is_better: bool = True

    def shown(self, value: float) -> str:
        return percent(value) if self.is_share else f"{value:.4f}"

    def shown_difference(self, difference: float) -> str:
        """Return a difference of shares in percentage points, or one of other scores."""
        return points(difference) if self.is_share else f"{round(difference, 4) + 0.0:+.4f}"

    def with_interval(self, found: Mapping[str, Any], is_difference: bool = False) -> str:
        """Return a value and its 95 % interval: "81.20 % (79.00 % to 83.10 %)"."""
        shown = self.shown_difference if is_difference else self.shown
        value, low, high = map(shown, (found["value"], *found["interval_95"]))
        return f"{value} ({low} to {high})"


def scores_table(scores: Sequence[Score], models: Mapping[str, Mapping[str, Any]], head: str = "") -> str:
    """Return a Markdown table of the scores of each model, by its name, with their intervals."""
    rows = [[name, *(score.with_interval(found[score.name]) for score in scores)] for name, found in models.items()]
    return table([head, *(f"{score.heading} (95 % interval)" for score in scores)], rows)


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return part / whole, and 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole) > 0)


# Intervals


def percentile_interval(resampled: ArrayLike) -> np.ndarray:
    """Return the bounds of the 95 % interval of the percentile bootstrap, (resamples, ...) -> (2, ...)."""
    return np.quantile(np.asarray(resampled), [0.025, 0.975], axis=0)


def _interval(score: Score, value: float, drawn: np.ndarray, examples: int) -> list[float]:
    """Return the percentile interval of a score; of a share that no resample changes, the one of Wilson 1927."""
    low, high = percentile_interval(drawn).tolist()
    if low == high and score.is_share:
        wilson = binomtest(round(value * examples), examples).proportion_ci(method="wilson")
        low, high = float(wilson.low), float(wilson.high)
    return [low, high]


def with_intervals(
    scores: Sequence[Score], predictions: Mapping[str, Any], references: Any
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the value of each score of each model, and its 95 % percentile-bootstrap interval.

    "differences" are those from the first model to each other: all models are scored on the same resamples (Efron and
    Tibshirani 1993, chapter 13).
    """
    examples = len(references)
    parts = [[score.parts(each, references) for score in scores] for each in predictions.values()]
    values = [[float(score.of_means(part.mean(0))) for score, part in zip(scores, each)] for each in parts]
    blocks = [
        [[score.of_means(counts @ part / examples) for score, part in zip(scores, of_model)] for of_model in parts]
        for counts in resamples(examples, seed=0)
    ]
    drawn = np.concatenate(blocks, axis=-1)  # (models, scores, R)
    models: dict[str, dict[str, Any]] = {name: {} for name in predictions}
    differences: dict[str, dict[str, Any]] = {name: {} for name in [*predictions][1:]}
    for at, score in enumerate(scores):
        for model, (name, found) in enumerate(models.items()):
            value = values[model][at]
            found[score.name] = {"value": value, "interval_95": _interval(score, value, drawn[model, at], examples)}
            if model:
                interval = percentile_interval(drawn[0, at] - drawn[model, at]).tolist()
                differences[name][score.name] = {"value": values[0][at] - value, "interval_95": interval}
    return {"models": models, "differences": differences}


def resamples(examples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield how often each example is in resamples, drawn with replacement, (R, N) in blocks that fit in memory."""
    random, size = np.random.default_rng(seed), max(1, LARGEST_BLOCK // examples)
    for start in range(0, RESAMPLES, size):
        draws = (random.integers(examples, size=examples) for _ in range(start, min(start + size, RESAMPLES)))
        yield np.array([np.bincount(draw, minlength=examples) for draw in draws], dtype=np.float64)


# Verdicts


def verdict(difference: Mapping[str, Any], score: Score, examples: int) -> str:
    """Return whether the model is better or worse: the interval of the difference from the baseline excludes 0."""
    if examples < FEW_EXAMPLES:
        return f"no verdict: {examples} texts are too few"
    low, high = difference["interval_95"]
    if low <= 0 <= high:
        return f"no difference that these {examples:,} texts can show"
    return "better" if (low > 0) == score.greater_is_better else "worse"


def headline_of(
    score: Score, labels: np.ndarray, predicted: np.ndarray, constant: np.ndarray, shown: Callable[[Any], str]
) -> str | None:
    """Return the sentence on a model that nobody should use, as it answers like the best constant answer; or None.

    Too few texts, of which even the true labels are not significantly better than the constant answer, say nothing.
    labels, predicted, constant: (texts, ...).
    """
    if len(np.unique(predicted, axis=0)) == 1 < len(np.unique(labels, axis=0)):
        return f"The {MODEL} predicts {shown(predicted[0])} for every text: it has not learned."
    found, of_truth = (
        compared(score, labels, answers, {f"the answer {shown(constant[0])} for every text": constant})
        for answers in (predicted, labels)
    )
    word = found["verdict"]
    if word == "better" or (word != "worse" and of_truth["verdict"] != "better"):
        return None
    relation = "is worse than" if word == "worse" else "is not significantly better than"
    return f"The {MODEL} {relation} {found['baseline']}: {found['evidence']}."


def strongest(score: Score, labels: np.ndarray, baselines: Mapping[str, np.ndarray]) -> str:
    """Return the name of the baseline with the best score; of equal ones, the first.

    The verdict compares the model with this one. The choice on the evaluated texts favours the baselines: a model that
    is better than the strongest is better than each, and no table shows a baseline that has beaten it unmentioned. A
    choice on held-out training texts could name a weaker one, as phrases of one sentence are on both sides in SST-2.
    """

    def value(name: str) -> float:
        found = float(score.of_means(score.parts(baselines[name], labels).mean(0)))
        return found if score.greater_is_better else -found

    return max(baselines, key=value)


def compared(score: Score, labels: np.ndarray, answers: np.ndarray, baselines: Mapping[str, Any]) -> dict[str, Any]:
    """Compare answers with those of the strongest baseline.

    Return the entry of evaluation.json: baseline, verdict, score, evidence, and the difference with its interval.
    """
    name = strongest(score, labels, baselines)
    found = with_intervals((score,), {MODEL: answers, name: baselines[name]}, labels)
    values = " and ".join(score.shown(each[score.name]["value"]) for each in found["models"].values())
    difference = found["differences"][name][score.name]
    about = {"baseline": name, "verdict": verdict(difference, score, len(labels)), "score": score.name}
    return {**about, "evidence": f"{score.heading} {values} (paired bootstrap)", **difference}


def verdict_of(
    score: Score, values: np.ndarray, others: Mapping[str, np.ndarray], answers: Sequence[str]
) -> dict[str, Any]:
    """Return what evaluation.json says of a model beside the strongest baseline: a headline, and the comparison.

    score: the `Score` that decides. values, and others by the name of a baseline: what it counts of each text (N, ...).
    answers: of the model. One that always gives the same, and not the right one, has learned nothing.
    """
    is_right = score.of_means(score.parts(values, values).mean(0)) == 1
    is_constant = len(set(answers)) == 1 < len(answers) and not is_right
    same = f"answers {answers[0]!r}" if answers[0] else "gives no answer"
    headline = f"The {MODEL} {same} to everything: it has not learned." if is_constant else None
    baselines = {f"the baseline ({name})": each for name, each in others.items()}
    return {"headline": headline, "comparison": compared(score, values, values, baselines)}
