# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which texts of a packed batch stand in one row, and which rows attend in one call.

Attention works on rows of equal width. Short texts share rows, which they fill nearly to the last place; long ones
stand in rows of their own, since what a row costs grows with the square of its width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

# In attention scores that could be computed in the same time: one more call, and a place without a token.
CALL_COST = 8192
FILLER_COST = 400
# Widths of shared rows, in lengths of the longest text: one of each span is tried.
SPANS = 1, 1.1, 1.2, 1.35, 1.5, 1.75, 2


@dataclass
class Rows:
    """Rows of one width, each with the numbers of the texts that stand in it, one after another."""

    width: int
    texts: list[list[int]]
    fillers: int  # places without a token

    @property
    def cost(self) -> int:
        return CALL_COST + len(self.texts) * self.width**2 + FILLER_COST * self.fillers


def arrange(lengths: Sequence[int]) -> list[Rows]:
    """Every text that is not empty: down to some length in rows of its own, the shorter ones in shared rows.

    That length is the one of least cost.
    """
    texts = sorted(filter(lengths.__getitem__, range(len(lengths))), key=lengths.__getitem__, reverse=True)
    alone: list[Rows] = []
    starts, spent = [0], [0]  # how many texts the first rows of their own hold, and what they cost
    while starts[-1] < len(texts):
        alone.append(_rows_of_their_own(texts[starts[-1] :], lengths))
        starts.append(starts[-1] + len(alone[-1].texts))
        spent.append(spent[-1] + alone[-1].cost)

    best, least = alone, spent[-1]
    bounds = [cost + _least_cost(texts[start:], lengths) for start, cost in zip(starts[:-1], spent)]
    for bound, count in sorted(zip(bounds, range(len(bounds)))):
        if bound >= least:
            break
        shared = _share_rows(texts[starts[count] :], lengths)
        if spent[count] + shared.cost < least:
            best, least = [*alone[:count], shared], spent[count] + shared.cost
    return best


def equal_rows(lengths: Sequence[int]) -> list[Rows]:
    """Every text that is not empty in a row of its own, which it fills: those of one length attend in one call."""
    widths = sorted(set(filter(None, lengths)), reverse=True)
    texts = {width: [[text] for text, length in enumerate(lengths) if length == width] for width in widths}
    return [Rows(width, texts[width], 0) for width in widths]


def _least_cost(texts: Sequence[int], lengths: Sequence[int]) -> int:
    """Of rows that these texts share, longest first, if no place were left over."""
    return CALL_COST + lengths[texts[0]] * sum(lengths[text] for text in texts)


def _rows_of_their_own(texts: Sequence[int], lengths: Sequence[int]) -> Rows:
    """The first of these texts, longest first, as long as what their rows waste costs less than another call."""
    width, waste, fillers = lengths[texts[0]], 0, 0
    found: list[list[int]] = []
    for text in texts:
        missing = width - lengths[text]
        waste += width**2 - lengths[text] ** 2 + FILLER_COST * missing
        if waste > CALL_COST:
            break
        found.append([text])
        fillers += missing
    return Rows(width, found, fillers)


def _share_rows(texts: Sequence[int], lengths: Sequence[int]) -> Rows:
    """All of them, longest first, in rows of the width that costs least, up to twice the longest text.

    Of each span of widths the one is tried that leaves least over if its rows can be filled, the cheapest first.
    """
    tokens = sum(lengths[text] for text in texts)
    edges = [round(lengths[texts[0]] * times) for times in SPANS]
    spans = (range(*span) for span in pairwise(edges) if span[0] < span[1])
    promising = sorted(min((_cost_if_filled(tokens, width), width) for width in span) for span in spans)
    best = _fill(texts, lengths, promising[0][1])
    for cost, width in promising[1:]:
        if cost >= best.cost:
            break
        best = min(best, _fill(texts, lengths, width), key=lambda rows: rows.cost)
    return best


def _cost_if_filled(tokens: int, width: int) -> int:
    """Of so few rows of this width that no fewer could hold the tokens."""
    count = -(-tokens // width)
    return CALL_COST + count * width**2 + FILLER_COST * (count * width - tokens)


def _fill(texts: Sequence[int], lengths: Sequence[int], width: int) -> Rows:
    """The longest text that is left starts a row, and those follow that fill it best (Gupta and Ho 1999)."""
    stock: dict[int, list[int]] = {}  # the texts of each length, longest first
    for text in texts:
        stock.setdefault(lengths[text], []).append(text)
    rows: list[list[int]] = []
    while stock:
        longest = next(iter(stock))
        rows.append([_take(stock, longest)])
        rows[-1] += [_take(stock, length) for length in _best_sum(stock, width - longest)]
    return Rows(width, rows, len(rows) * width - sum(lengths[text] for text in texts))


def _take(stock: dict[int, list[int]], length: int) -> int:
    text = stock[length].pop()
    if not stock[length]:
        del stock[length]
    return text


def _best_sum(stock: dict[int, list[int]], room: int) -> list[int]:
    """Lengths of texts in stock that add up to room, or to nearly that; of several ways that of the longest texts.

    Bit n of a number in `sums` says whether some of the lengths tried so far add up to n.
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
        if not sums.pop() >> total & 1:  # not to be had without this one
            chosen.append(length)
            total -= length
    return chosen
