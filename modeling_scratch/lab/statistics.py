# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Differences between variants, paired by their seeds, with t intervals and a correction for their number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from scipy.stats import ttest_1samp

CONFIDENCE = 0.95
ROUNDING = 1e-9  # differences of scores that are no further apart are equal
Scores = Mapping[int, float]  # of each seed


@dataclass(frozen=True)
class Difference:
    """Mean of the differences d to the first value, seed by seed: mean(d) ± t(n - 1) sd(d) / sqrt(n).

    low, high, p and adjusted_p are None with one seed, low and high also if all d are equal: a score of few texts has
    few values, and equal ones show no spread. p: of the paired t test, or of the signs of equal d; adjusted_p: after
    Holm's correction.
    """

    differences: Sequence[float]
    mean: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted_p: float | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def paired_difference(scores: Scores, first: Scores) -> Difference:
    """Return the difference of a value from the first value of its factor, over the seeds of both."""
    differences = [scores[seed] - first[seed] for seed in sorted(scores.keys() & first.keys())]
    mean = fmean(differences)
    if len(differences) < 2:
        return Difference(differences, mean)
    if max(differences) - min(differences) < ROUNDING:
        return Difference(differences, mean, p=1.0 if abs(mean) < ROUNDING else 2.0 ** (1 - len(differences)))
    found = ttest_1samp(differences, 0)
    low, high = found.confidence_interval(CONFIDENCE)
    return Difference(differences, mean, float(low), float(high), float(found.pvalue))


def adjusted(found: Sequence[Difference]) -> list[Difference]:
    """Return the differences with p values after Holm's correction (1979) for all of them."""
    order = sorted((number for number, each in enumerate(found) if each.p is not None), key=lambda n: found[n].p)
    result, largest = list(found), 0.0
    for rank, number in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * (found[number].p or 0.0)))
        result[number] = replace(found[number], adjusted_p=largest)
    return result


def spread(scores: Scores) -> tuple[float, float | None]:
    """Return mean and standard deviation over seeds; None for one seed."""
    values = list(scores.values())
    return fmean(values), stdev(values) if len(values) > 1 else None
