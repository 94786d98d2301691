# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every text stands in one row, whole, and the rows cost no more than simpler ways to arrange them."""

import random
from collections.abc import Callable
from itertools import combinations
from statistics import mean

import pytest

from modeling_scratch import row_filling
from modeling_scratch.row_filling import CALL_COST, FILLER_COST, Rows, arrange


def random_lengths(seed: int) -> list[int]:
    draw = random.Random(seed)
    longest = draw.choice([5, 40, 600])
    return [draw.choice([0, 1, draw.randrange(longest)]) for _ in range(draw.randrange(60))]


def phrases(seed: int) -> list[int]:
    """From one word to many, as in reviews cut into phrases."""
    draw = random.Random(seed)
    return [1 + round(draw.lognormvariate(2, 0.8)) for _ in range(64)]


def sentences(seed: int) -> list[int]:
    """Much alike, as in captions: few of them add up to any width."""
    draw = random.Random(seed)
    return [max(9, round(draw.gauss(15, 4))) for _ in range(64)]


def cost(arrangement: list[Rows]) -> int:
    return sum(rows.cost for rows in arrangement)


def rows_of_their_own(lengths: list[int]) -> list[Rows]:
    """Padded to the longest, each text in a row."""
    texts = [[text] for text, length in enumerate(lengths) if length]
    longest = max(lengths)
    return [Rows(longest, texts, longest * len(texts) - sum(lengths))]


def a_call_for_each(lengths: list[int]) -> list[Rows]:
    return [Rows(length, [[text]], 0) for text, length in enumerate(lengths) if length]


@pytest.mark.parametrize("seed", range(60))
def test_every_text_stands_whole_in_one_row(seed: int) -> None:
    lengths = random_lengths(seed)
    arrangement = arrange(lengths)
    standing = sorted(text for rows in arrangement for row in rows.texts for text in row)
    assert standing == [text for text, length in enumerate(lengths) if length]
    for rows in arrangement:
        filled = [sum(lengths[text] for text in row) for row in rows.texts]
        assert all(0 < tokens <= rows.width for tokens in filled)
        assert rows.fillers == sum(rows.width - tokens for tokens in filled)


@pytest.mark.parametrize("seed", range(60))
def test_no_simpler_way_costs_less(seed: int) -> None:
    lengths = [*random_lengths(seed), 3]
    assert cost(arrange(lengths)) <= min(cost(rows_of_their_own(lengths)), cost(a_call_for_each(lengths)))


@pytest.mark.parametrize(("draw", "share"), [(phrases, 0.012), (sentences, 0.05)])
def test_short_texts_share_rows_that_they_nearly_fill(draw: Callable, share: float) -> None:
    drawn = [draw(seed) for seed in range(20)]
    found = [arrange(lengths) for lengths in drawn]
    assert all(sum(len(rows.texts) for rows in one) < 0.6 * 64 for one in found)
    assert mean(sum(rows.fillers for rows in one) / sum(lengths) for one, lengths in zip(found, drawn)) < share


def test_a_row_is_filled_with_what_adds_up_not_with_the_longest_that_fits() -> None:
    (rows,) = arrange([20, 11, 8, 7, 6, 5, 3])
    assert (rows.width, rows.fillers) == (20, 0)
    assert [sorted(row) for row in rows.texts] == [[0], [1, 4, 6], [2, 3, 5]]


def test_rows_hold_several_of_the_longest_where_those_fill_them() -> None:
    (rows,) = arrange([3, 2] * 33)
    assert (rows.width, rows.fillers) in {(5, 0), (6, 3)}


@pytest.mark.parametrize("seed", range(100))
def test_the_best_sum_is_found(seed: int) -> None:
    draw = random.Random(seed)
    lengths = sorted((draw.randrange(1, 25) for _ in range(draw.randrange(9))), reverse=True)
    stock: dict[int, list[int]] = {}
    for length in lengths:
        stock.setdefault(length, []).append(0)
    room = draw.randrange(60)
    found = row_filling._best_sum(stock, room)
    sums = (sum(some) for count in range(len(lengths) + 1) for some in combinations(lengths, count))
    assert sum(found) == max(one for one in sums if one <= room)
    assert all(found.count(length) <= len(stock[length]) for length in found)


@pytest.mark.parametrize(("middle", "deviation"), [(60, 20), (23, 9), (15, 4)])
def test_few_rows_are_filled_in_vain(middle: int, deviation: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, sums, count = random.Random(0), row_filling._best_sum, 0

    def counted(*arguments: object) -> list[int]:
        nonlocal count
        count += 1
        return sums(*arguments)

    monkeypatch.setattr(row_filling, "_best_sum", counted)
    lengths = [max(1, round(draw.gauss(middle, deviation))) for _ in range(256)]
    found = arrange(lengths)
    assert count < 12 * sum(len(rows.texts) for rows in found)


def test_long_texts_stand_alone_unless_they_are_nearly_as_long() -> None:
    lengths = [500, 300, 302, 90, 10, 80, 20]
    long, alike, short = arrange(lengths)
    assert (long.width, long.texts) == (500, [[0]])
    assert (alike.width, alike.texts, alike.fillers) == (302, [[2], [1]], 2)
    assert sorted(map(sorted, short.texts)) == [[3, 4], [5, 6]]
    assert (short.width, short.fillers) == (100, 0)


def test_equal_lengths_and_nothing() -> None:
    assert arrange([]) == arrange([0, 0]) == []
    assert arrange([7, 0, 7]) == [Rows(7, [[0], [2]], 0)]
    assert arrange([7, 0, 7])[0].cost == CALL_COST + 2 * 49
    assert Rows(7, [[0]], 3).cost == CALL_COST + 49 + 3 * FILLER_COST
