# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which texts of a packed batch stand in one row, and which rows attend in one call.

Attention works on rows of equal width. Short texts share rows, which they fill nearly to the last place; long ones
stand in rows of their own, since what a row costs grows with the square of its width.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

# In attention scores that could be computed in the same time: one more call, and a place that no token stands in.
CALL_COST = 8192
FILLER_COST = 256


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
    """All of them, longest first, in rows as wide as the longest, or in fewer and wider ones where these cost less."""
    tokens, width = sum(lengths[text] for text in texts), lengths[texts[0]]
    best = _fill(texts, lengths, width)
    most = len(best.texts)
    fewer = [count for count in (most - 1, most - 2, most // 2, most // 3) if count > 0]
    for count, spare in product(fewer, range(3)):
        wider = -(-tokens // count) + spare
        if wider > width and CALL_COST + count * wider**2 + FILLER_COST * (count * wider - tokens) < best.cost:
            best = min(best, _fill(texts, lengths, wider), key=lambda rows: rows.cost)
    return best


def _fill(texts: Sequence[int], lengths: Sequence[int], width: int) -> Rows:
    """Best fit: each text goes where the least room is left that it fits in, or else into a new row."""
    rows: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (places left, row), in this order
    for text in texts:
        at = bisect_left(rooms, (lengths[text], 0))
        room, row = rooms.pop(at) if at < len(rooms) else (width, len(rows))
        if row == len(rows):
            rows.append([])
        rows[row].append(text)
        if room > lengths[text]:
            insort(rooms, (room - lengths[text], row))
    return Rows(width, rows, sum(room for room, _ in rooms))
