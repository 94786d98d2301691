# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Bin packing: assign the texts of a packed batch to rows, and rows to attention calls.

Attention works on rows of equal width. Short texts share rows with little padding; long texts get their own rows, as
the cost of a row grows with the square of its width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

# The cost of an attention call and of a padding token, in units of one attention score.
CALL_COST = 8192
PADDING_COST = 400
WIDEST = 3  # times the longest of the texts that share rows
MOST_TRIES = 12  # more find no better rows


@dataclass
class Rows:
    """Rows of equal width, each with the indices of its texts in order."""

    width: int
    texts: list[list[int]]
    padding: int  # padding tokens

    @property
    def cost(self) -> int:
        return CALL_COST + len(self.texts) * self.width**2 + PADDING_COST * self.padding


def arrange(lengths: Sequence[int]) -> list[Rows]:
    """Arrange all non-empty texts: the longest in rows of their own, the others in shared rows of one width.

    Of all numbers of long texts and all widths, those with the least cost; the most promising are tried first.
    """
    texts = sorted(filter(lengths.__getitem__, range(len(lengths))), key=lengths.__getitem__, reverse=True)
    alone = _rows_of_their_own(texts, lengths)
    starts = [0, *accumulate(len(rows.texts) for rows in alone)]  # where the texts behind these rows begin
    spent = [0, *accumulate(rows.cost for rows in alone)]
    best, least, choices = alone, spent[-1], []
    for count, start in enumerate(starts[:-1]):
        tokens, longest = sum(lengths[text] for text in texts[start:]), lengths[texts[start]]
        widths = {max(longest, -(-tokens // rows)) for rows in range(1, tokens // longest + 1)}
        fitting = (width for width in widths if width <= WIDEST * longest)
        choices += [(spent[count] + _least_cost(tokens, width), width, count) for width in fitting]
    for bound, width, count in sorted(choices)[:MOST_TRIES]:
        if bound >= least:
            break
        if shared := _fill(texts[starts[count] :], lengths, width, least - spent[count]):
            best, least = [*alone[:count], shared], spent[count] + shared.cost
    return best


def equal_rows(lengths: Sequence[int]) -> list[Rows]:
    """One row without padding for each non-empty text; rows of equal length attend in one call."""
    widths = sorted(set(filter(None, lengths)), reverse=True)
    texts = {width: [[text] for text, length in enumerate(lengths) if length == width] for width in widths}
    return [Rows(width, texts[width], 0) for width in widths]


def _rows_of_their_own(texts: Sequence[int], lengths: Sequence[int]) -> list[Rows]:
    """Rows of one text each, longest first; texts share a call while their padding costs less than another one."""
    found: list[Rows] = []
    waste = CALL_COST
    for text in texts:
        width, length = found[-1].width if found else 0, lengths[text]
        waste += width**2 - length**2 + PADDING_COST * (width - length)
        if not found or waste > CALL_COST:
            found.append(Rows(length, [], 0))
            width, waste = length, 0
        found[-1].texts.append([text])
        found[-1].padding += width - length
    return found


def _least_cost(tokens: int, width: int, lost: int = 0) -> int:
    """A lower bound of the cost at this width, with `lost` padding tokens so far and no more to come."""
    count = -(-(tokens + lost) // width)
    return CALL_COST + count * width**2 + PADDING_COST * (count * width - tokens)


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
