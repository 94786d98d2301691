# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Bin packing: assign the texts of a packed batch to rows, and rows to attention calls.

Attention works on rows of equal width. Short texts share rows with little padding; long texts get their own rows, as
the cost of a row grows with the square of its width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

# The cost of an attention call and of a padding token, in attention scores computed in the same time.
CALL_COST = 8192
PADDING_COST = 400
# Where spans of widths end, in lengths of the longest text: at most one width of each is tried for shared rows.
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
    """Of so many rows that attend in one call."""
    return CALL_COST + count * width**2 + PADDING_COST * padding


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
    bounds = [cost + _bound(texts[start:], lengths) for start, cost in zip(starts[:-1], spent)]
    for bound, count in sorted(zip(bounds, range(len(bounds)))):
        if bound >= least:
            break
        if shared := _share_rows(texts[starts[count] :], lengths, least - spent[count]):
            best, least = [*alone[:count], shared], spent[count] + shared.cost
    return best


def equal_rows(lengths: Sequence[int]) -> list[Rows]:
    """Every text that is not empty in a row of its own, which it fills: those of one length attend in one call."""
    widths = sorted(set(filter(None, lengths)), reverse=True)
    texts = {width: [[text] for text, length in enumerate(lengths) if length == width] for width in widths}
    return [Rows(width, texts[width], 0) for width in widths]


def _bound(texts: Sequence[int], lengths: Sequence[int]) -> int:
    """Of rows that these texts share, longest first, if no place were left over."""
    return CALL_COST + lengths[texts[0]] * sum(lengths[text] for text in texts)


def _rows_of_their_own(texts: Sequence[int], lengths: Sequence[int]) -> Rows:
    """The first of these texts, longest first, as long as what their rows waste costs less than another call."""
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
    """All of them, longest first, in rows of one width, up to three times the longest; None if nothing is below least.

    Of each span of widths the one is tried that would cost least if its rows could be filled, the cheapest first.
    """
    tokens, longest, best = sum(lengths[text] for text in texts), lengths[texts[0]], None
    widest = (least - CALL_COST) // tokens  # for the scores alone
    edges = [longest - 1, *(min(int(longest * times), widest) for times in SPANS)]
    spans = (range(low + 1, high + 1) for low, high in pairwise(edges) if low < high)
    for cost, width in sorted(min((_least_cost(tokens, width), width) for width in span) for span in spans):
        if cost >= least:
            break
        if rows := _fill(texts, lengths, width, least):
            best, least = rows, rows.cost
    return best


def _least_cost(tokens: int, width: int, lost: int = 0) -> int:
    """Of rows of this width, where some slots are lost and all others can be filled."""
    count = -(-(tokens + lost) // width)
    return _cost(count, width, count * width - tokens)


def _fill(texts: Sequence[int], lengths: Sequence[int], width: int, least: int) -> Rows | None:
    """The longest text that is left starts a row, and those follow that fill it best (Fleszar and Hindi 2002, MBS').

    None as soon as it is certain that the rows will not cost less than least.
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
    """Lengths of texts in stock that add up to room, or to as much of it as can be; short ones only if they have to.

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
