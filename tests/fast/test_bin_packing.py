# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every text stands in one row, whole, and the rows cost no more than simpler ways to arrange them."""

import random
from collections.abc import Callable
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modeling_scratch.fast.bin_packing import Rows, arrange, equal_rows

# Of few different lengths or of many, with empty ones among them.
LENGTHS = st.sampled_from([5, 40, 600]).flatmap(lambda longest: st.lists(st.integers(0, longest), max_size=60))


def phrases(seed: int) -> list[int]:
    """From one word to many, as in reviews cut into phrases."""
    draw = random.Random(seed)
    return [1 + round(draw.lognormvariate(2, 0.8)) for _ in range(64)]


def sentences(seed: int) -> list[int]:
    """Much alike, as in captions: few of them add up to any width."""
    draw = random.Random(seed)
    return [max(9, round(draw.gauss(15, 4))) for _ in range(64)]


@pytest.mark.parametrize("make", [arrange, equal_rows])
@settings(max_examples=60)
@given(LENGTHS)
def test_every_text_stands_whole_in_one_row(make: Callable[[list[int]], list[Rows]], lengths: list[int]) -> None:
    arrangement = make(lengths)
    standing = sorted(text for rows in arrangement for row in rows.texts for text in row)
    assert standing == [text for text, length in enumerate(lengths) if length]
    for rows in arrangement:
        filled = [sum(lengths[text] for text in row) for row in rows.texts]
        assert all(0 < tokens <= rows.width for tokens in filled)
        assert rows.padding == sum(rows.width - tokens for tokens in filled)


@pytest.mark.parametrize(("draw", "share"), [(phrases, 0.012), (sentences, 0.05)])
def test_short_texts_share_rows_that_they_nearly_fill(draw: Callable, share: float) -> None:
    drawn = [draw(seed) for seed in range(20)]
    found = [arrange(lengths) for lengths in drawn]
    assert all(sum(len(rows.texts) for rows in one) < 0.6 * 64 for one in found)
    assert mean(sum(rows.padding for rows in one) / sum(lengths) for one, lengths in zip(found, drawn)) < share
