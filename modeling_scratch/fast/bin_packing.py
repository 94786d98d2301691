# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Bin packing: assign the texts of a packed batch to rows, and rows to attention calls.

Attention works on rows of equal width. Short texts share rows with little padding; long texts get their own rows, as
the cost of a row grows with the square of its width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

# The cost of an attention call and of a padding token, in units of one attention score.
CALL_COST = 8192
PADDING_COST = 400
# The upper ends of the spans of widths, in lengths of the longest text. At most one width per span is tried.
SPANS = 1.1, 1.2, 1.35, 1.5, 1.75, 2, 3


@dataclass
class Rows:
    """Rows of equal width, each with the indices of its texts in order."""

    width: int
    texts: list[list[int]]
    padding: int  # padding tokens

    @property
    def cost(self) -> int:
        return _cost(len(self.texts), self.width, self.padding)


def _cost(count: int, width: int, padding: int) -> int:
    """The cost of `count` rows that attend in one call."""
    return CALL_COST + count * width**2 + PADDING_COST * padding


def arrange(lengths: Sequence[int]) -> list[Rows]:
    """Arrange all non-empty texts: each text above some length in its own row, shorter ones in shared rows.

    The length is chosen for the least cost.
    """
    texts = sorted(filter(lengths.__getitem__, range(len(lengths))), key=lengths.__getitem__, reverse=True)
    alone: list[Rows] = []
    starts, spent = [0], [0]  # the number of texts in the first rows of one text each, and their cost
    while starts[-1] < len(texts):
        alone.append(_rows_of_their_own(texts[starts[-1] :], lengths))
        starts.append(starts[-1] + len(alone[-1].texts))
        spent.append(spent[-1] + alone[-1].cost)

    best, least = alone, spent[-1]
    bounds = [cost + _bound(texts[start:], lengths) for start, cost in zip(starts[:-1], spent)]
    for bound, count in sorted(zip(bounds, range(len(bounds)))):
        if bound >= least:
            break
        if shared := _share_rows(texts[starts[count] :], lengths, least - spent[count]):
            best, least = [*alone[:count], shared], spent[count] + shared.cost
    return best


def equal_rows(lengths: Sequence[int]) -> list[Rows]:
    """One row without padding for each non-empty text; rows of equal length attend in one call."""
    widths = sorted(set(filter(None, lengths)), reverse=True)
    texts = {width: [[text] for text, length in enumerate(lengths) if length == width] for width in widths}
    return [Rows(width, texts[width], 0) for width in widths]


def _bound(texts: Sequence[int], lengths: Sequence[int]) -> int:
    """A lower bound of the cost of shared rows for these texts, longest first: rows without padding."""
    return CALL_COST + lengths[texts[0]] * sum(lengths[text] for text in texts)


def _rows_of_their_own(texts: Sequence[int], lengths: Sequence[int]) -> Rows:
    """Take texts, longest first, into rows of one text each while their padding costs less than another call."""
    width, waste, padding = lengths[texts[0]], 0, 0
    found: list[list[int]] = []
    for text in texts:
        missing = width - lengths[text]
        waste += width**2 - lengths[text] ** 2 + PADDING_COST * missing
        if waste > CALL_COST:
            break
        found.append([text])
        padding += missing
    return Rows(width, found, padding)


def _share_rows(texts: Sequence[int], lengths: Sequence[int], least: int) -> Rows | None:
    """All texts, longest first, in rows of one width, at most three times the longest; None if none costs below least.

    In each span of widths, the width with the lowest bound is tried, the cheapest span first.
    """
    tokens, longest, best = sum(lengths[text] for text in texts), lengths[texts[0]], None
    widest = (least - CALL_COST) // tokens  # wider rows cost more than least by their scores alone
    edges = [longest - 1, *(min(int(longest * times), widest) for times in SPANS)]
    spans = (range(low + 1, high + 1) for low, high in pairwise(edges) if low < high)
    for cost, width in sorted(min((_least_cost(tokens, width), width) for width in span) for span in spans):
        if cost >= least:
            break
        if rows := _fill(texts, lengths, width, least):
            best, least = rows, rows.cost
    return best


def _least_cost(tokens: int, width: int, lost: int = 0) -> int:
    """A lower bound of the cost at this width, with `lost` padding tokens so far and no more to come."""
    count = -(-(tokens + lost) // width)
    return _cost(count, width, count * width - tokens)


def _fill(texts: Sequence[int], lengths: Sequence[int], width: int, least: int) -> Rows | None:
    """Start each row with the longest text left and add those that fill it best (Fleszar and Hindi 2002, MBS').

    Returns None as soon as the rows are certain to cost at least `least`.
    """
    stock: dict[int, list[int]] = {}  # the texts of each length, longest first
    for text in texts:
        stock.setdefault(lengths[text], []).append(text)
    tokens, lost = sum(lengths[text] for text in texts), 0
    rows: list[list[int]] = []
    while stock:
        longest = next(iter(stock))
        first = _take(stock, longest)
        others = _best_sum(stock, width - longest)
        rows.append([first, *(_take(stock, length) for length in others)])
        lost += width - longest - sum(others)
        if _least_cost(tokens, width, lost) >= least:
            return None
    return Rows(width, rows, lost)


def _take(stock: dict[int, list[int]], length: int) -> int:
    text = stock[length].pop()
    if not stock[length]:
        del stock[length]
    return text


def _best_sum(stock: dict[int, list[int]], room: int) -> list[int]:
    """Lengths of texts in stock whose sum is room, or the largest sum below it; long texts are preferred.

    Bit n of each number in `sums` is set if some of the lengths tried so far add up to n.
    """
    tried, sums = [], [1]
    for length in chain.from_iterable([length] * min(len(texts), room // length) for length, texts in stock.items()):
        tried.append(length)
        sums.append((sums[-1] | sums[-1] << length) & (2 << room) - 1)
        if sums[-1] >> room:
            break
    total, chosen = sums.pop().bit_length() - 1, []
    while tried:
        length = tried.pop()
        if not sums.pop() >> total & 1:  # this sum needs this length
            chosen.append(length)
            total -= length
    return chosen
