# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which texts of a packed batch stand in one row, and which rows attend in one call.

Attention works on rows of equal width. Short texts share rows, which they fill nearly to the last place; long ones
stand in rows of their own, since what a row costs grows with the square of its width.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

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
    """Every text that is not empty, in one row: from some length on in rows of its own, the shorter ones in shared rows.

    That length is the one of least cost.
    """
    order = sorted(filter(lengths.__getitem__, range(len(lengths))), key=lengths.__getitem__, reverse=True)
    best: list[Rows] = []
    alone: list[Rows] = []
    spent, least = 0, float("inf")
    start = 0
    while start < len(order):
        shared = _share_rows(order[start:], lengths)
        if spent + shared.cost < least:
            best, least = [*alone, shared], spent + shared.cost
        alone.append(_rows_of_their_own(order[start:], lengths))
        spent += alone[-1].cost
        start += len(alone[-1].texts)
    return best if least <= spent else alone


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
    """All of them, longest first, in rows as wide as the longest, or a little wider where that saves a row."""
    tokens, width = sum(lengths[text] for text in texts), lengths[texts[0]]
    found = _fill(texts, lengths, width)
    choices = [Rows(width, found, len(found) * width - tokens)]
    if len(found) > 1 and (wider := -(-tokens // (len(found) - 1))) > width:
        found = _fill(texts, lengths, wider)
        choices.append(Rows(wider, found, len(found) * wider - tokens))
    return min(choices, key=lambda rows: rows.cost)


def _fill(texts: Sequence[int], lengths: Sequence[int], width: int) -> list[list[int]]:
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
    return rows
