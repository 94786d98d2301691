# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Typical wrong solutions of lesson 3: exercise, answer, a part of the hint."""

from typing import Any

import torch


def scores(q: Any, k: Any) -> Any:
    return q @ k.mT / q.size(-1) ** 0.5


def after_the_softmax(q: Any, k: Any, v: Any, visible: Any) -> Any:
    return scores(q, k).softmax(-1).masked_fill(~visible, 0.0) @ v


def too_small_a_number(q: Any, k: Any, v: Any, visible: Any) -> Any:
    return scores(q, k).masked_fill(~visible, -1.0).softmax(-1) @ v


def triangle(length: int) -> Any:
    rows, columns = torch.arange(length)[:, None], torch.arange(length)
    return columns <= rows


def clocks(length: int, size: int, step: int = 2, first: int = 0) -> Any:
    angles = (torch.arange(length) + first)[:, None] / 10_000 ** (step * torch.arange(size // 2) / size)
    table = torch.zeros(length, size)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


def sines_first(length: int, size: int) -> Any:
    return torch.cat((clocks(length, size)[:, 0::2], clocks(length, size)[:, 1::2]), dim=1)


def turned(x: Any, sign: int = 1, first: int = 0) -> Any:
    table = clocks(x.size(-2), x.size(-1), first=first)
    sin, cos = sign * table[:, 0::2], table[:, 1::2]
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def neighbours(x: Any) -> Any:
    table, turned = clocks(x.size(-2), x.size(-1)), torch.empty_like(x)
    sin, cos = table[:, 0::2], table[:, 1::2]
    turned[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    turned[..., 1::2] = x[..., 1::2] * cos + x[..., 0::2] * sin
    return turned


WRONG: list[tuple[str, Any, str]] = [
    ("split_heads", lambda x, heads: x.view(x.size(0), heads, x.size(1), -1), "the tokens are mixed"),
    ("split_heads", lambda x, heads: x.view(*x.shape[:2], heads, -1), "not exchanged"),
    ("split_heads", lambda x, heads: x.view(*x.shape[:2], -1, heads).permute(0, 3, 1, 2), "every H-th feature"),
    ("causal", lambda length: torch.triu(torch.ones(length, length)).bool(), "wrong triangle"),
    ("causal", lambda length: torch.tril(torch.ones(length, length)), "dtype=torch.bool"),
    ("causal", lambda length: torch.triu(torch.ones(length, length), 1).bool(), "wrong way round"),
    ("causal", lambda length: torch.arange(length)[:, None] > torch.arange(length), "see itself"),
    ("masked_attention", after_the_softmax, "rows do not sum to 1"),
    ("masked_attention", lambda q, k, v, visible: (scores(q, k) * visible).softmax(-1) @ v, "exp(0) is 1"),
    ("masked_attention", too_small_a_number, "the future leaks: position 0 changed when token 5 did"),
    ("masked_attention", lambda q, k, v, visible: scores(q, k).softmax(-1) @ v, "the future leaks: position 0"),
    ("masked_attention", lambda q, k, v, s: scores(q, k).masked_fill(~s, -torch.inf).softmax(-2) @ v, "wrong axis"),
    ("masked_attention", lambda q, k, v, s: scores(q, k).masked_fill(s, -torch.inf).softmax(-1) @ v, "wrong way round"),
    ("visible", lambda mask: mask.bool()[:, None, :, None] & triangle(mask.size(1)), "hidden as a key"),
    ("visible", lambda mask: mask.bool()[:, None, None] | triangle(mask.size(1)), "not `|`"),
    ("visible", lambda mask: mask.bool()[:, None] & triangle(mask.size(1)), "axis of the heads"),
    ("sinusoidal", sines_first, "they alternate"),
    ("sinusoidal", lambda length, size: clocks(length, size, step=1), "the 2 is missing"),
    ("sinusoidal", lambda length, size: clocks(length, size, first=1), "is 0, not 1"),
    ("rotate", neighbours, "pairs of neighbours"),
    ("rotate", lambda x: turned(x, sign=-1), "wrong way round"),
    ("rotate", lambda x: turned(x, first=1), "is not turned"),
]
