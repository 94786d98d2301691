# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whether to believe an attribution: take the words out in its order, and see how fast the probability falls.

The area under the curve is small where the words that were called important are (the deletion test, Petsiuk et al.
2018). Random orders show what any order would give.
"""

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import mean
from typing import Any

from ..data.text_pairs import of_parts, parts_of
from .answers import Target, explained_word, scores
from .subjects import Subject, starts

ORDERS = 10  # random ones
MOST_STEPS = 64  # of a curve


def deletion(subject: Subject, target: Target, attributions: Mapping[str, Sequence[float | None]]) -> dict[str, Any]:
    """Return the curve of each attribution and of random orders, and the areas under them, from 0 to 1.

    attributions: values of words, by method. The explained word, of a tagger or a masked LM, stays.
    """
    fixed = explained_word(subject, target)
    words = [word for word in range(len(subject.text.words)) if word != fixed]
    orders = {name: sorted(words, key=lambda word: -_or_lowest(values[word])) for name, values in attributions.items()}
    generator = random.Random(0)
    drawn = [generator.sample(words, len(words)) for _ in range(ORDERS)]
    curves = _curves(subject, target, [*orders.values(), *drawn])
    shares = [gone / max(len(words), 1) for gone in counts(len(words))]
    return summary(shares, dict(zip(orders, curves)), curves[len(orders) :])


def summary(
    shares: Sequence[float], curves: Mapping[str, Sequence[float]], drawn: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """Return curves of methods and the mean and range of random ones, with the areas under all.

    shares: of the words that are gone at each point.
    """
    areas, columns = [area(curve) for curve in drawn], list(zip(*drawn))
    return {
        "share": list(shares[: len(columns)]),
        "curves": dict(curves),
        "areas": {**{name: area(curve) for name, curve in curves.items()}, "random": mean(areas)},
        "random": [mean(column) for column in columns],
        "random_low": [min(column) for column in columns],
        "random_high": [max(column) for column in columns],
        "random_areas": areas,
        "orders": len(drawn),
    }


def _or_lowest(value: float | None) -> float:
    return float("-inf") if value is None else value


def _curves(subject: Subject, target: Target, orders: Sequence[Sequence[int]]) -> list[list[float]]:
    """The probability with more and more words of an order gone; without the last if nothing is left to read."""
    every = set(range(len(subject.text.words)))
    kept = [[tuple(sorted(every.difference(order[:gone]))) for gone in counts(len(order))] for order in orders]
    distinct = sorted({each for row in kept for each in row})
    values = scores(subject, target, [(only(subject, each), each) for each in distinct])
    found = {each: target.probability(value) for each, value in zip(distinct, values) if value is not None}
    return [[found[each] for each in row if each in found] for row in kept]


def counts(words: int, most: int = MOST_STEPS) -> list[int]:
    """Return how many words are gone at each point of a curve, from none to all: evenly spaced in a long text."""
    steps = min(words, most)
    return [round(step * words / max(steps, 1)) for step in range(steps + 1)]


def only(subject: Subject, kept: Sequence[int]) -> str:
    """Return the text or pair with these of its words, and the spaces behind them."""
    text, words = subject.text.text, subject.text.words
    if len(kept) == len(words):
        return text
    parts = []
    for part, (start, whole) in enumerate(zip(starts(text), parts_of(text))):
        own = [number for number, word in enumerate(words) if word.part == part]
        ends = dict(zip(own, [*(words[number].start for number in own[1:]), start + len(whole)]))
        parts.append("".join(text[words[number].start : ends[number]] for number in kept if number in ends).strip())
    return of_parts(parts)


def area(curve: Sequence[float]) -> float:
    """The trapezoidal area under a curve over shares from 0 to 1."""
    if len(curve) == 1:
        return curve[0]
    return mean((left + right) / 2 for left, right in pairwise(curve))
