# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every text stands in one row, whole, and the rows cost no more than simpler ways to arrange them."""

import random
from collections.abc import Callable

import pytest

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


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("draw", "share"), [(phrases, 0.03), (sentences, 0.07)])
def test_short_texts_share_rows_that_they_nearly_fill(draw: Callable, share: float, seed: int) -> None:
    lengths = draw(seed)
    arrangement = arrange(lengths)
    assert sum(len(rows.texts) for rows in arrangement) < 0.6 * len(lengths)
    assert sum(rows.fillers for rows in arrangement) < share * sum(lengths)


def test_a_row_is_filled_with_what_adds_up_not_with_the_longest_that_fits() -> None:
    (rows,) = arrange([20, 11, 10, 9, 8, 2])
    assert (rows.width, rows.fillers) == (20, 0)
    assert [sorted(row) for row in rows.texts] == [[0], [1, 3], [2, 4, 5]]


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
