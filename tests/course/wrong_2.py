# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Typical wrong solutions of lesson 2: exercise, answer, a part of the hint."""

import math
from typing import Any

import torch


def not_stable(scores: Any) -> Any:
    return torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True)


def over_queries(scores: Any) -> Any:
    exponentials = torch.exp(scores - scores.amax(-2, keepdim=True))
    return exponentials / exponentials.sum(-2, keepdim=True)


def over_everything(scores: Any) -> Any:
    exponentials = torch.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def attention(q: Any, k: Any, v: Any, scale: float | None = None, dim: int = -1) -> Any:
    scores = torch.einsum("...td,...sd->...ts", q, k) / (math.sqrt(q.size(-1)) if scale is None else scale)
    return torch.softmax(scores, dim) @ v


def by_width(q: Any, k: Any, v: Any) -> Any:
    return attention(q, k, v, math.sqrt(q.size(1) * q.size(3)))


def width_of_the_model(x: Any, q: Any, k: Any, v: Any) -> Any:
    return attention(x @ q, x @ k, x @ v, math.sqrt(x.size(-1)))


WRONG: list[tuple[str, Any, str]] = [
    ("by_hand", 9.82, "not scaled"),
    ("by_hand", 7.31, "scaled by d_k = 4"),
    ("by_hand", 0.88, "this is the weight"),
    ("by_hand", ..., "still stands there"),
    ("softmax", not_stable, "large scores give nan"),
    ("softmax", over_queries, "the rows do not sum to 1"),
    ("softmax", over_everything, "over all scores"),
    ("scores", lambda q, k: q @ k.mT, "sqrt(d_k) is missing"),
    ("scores", lambda q, k: q @ k.mT / q.shape[-1], "not by its square root"),
    ("scores", lambda q, k: k @ q.mT / math.sqrt(q.shape[-1]), "transposed"),
    ("scores", lambda q, k: q @ k / 2, "raises RuntimeError"),
    ("spread", 64, "variance"),
    ("spread", 1.0, "after the division"),
    ("spread", "eight", "a str"),
    ("attention", by_width, "scaled by d_model, not d_k"),
    ("attention", lambda q, k, v: attention(q, k, v, dim=-2), "the rows do not sum to 1"),
    ("attention", lambda q, k, v: attention(q, k, v, 1.0), "sqrt(d_k) is missing"),
    ("attention", lambda q, k, v: attention(q, k, k), "mean of the keys"),
    ("attention", lambda q, k, v: (attention(q, k, v), None), "a tuple"),
    ("self_attention", width_of_the_model, "scaled by d_model, not d_k"),
    ("self_attention", lambda x, q, k, v: attention(x @ q, x @ q, x @ v), "the same projection"),
    ("self_attention", lambda x, q, k, v: attention(x @ q, x @ k, x), "not projected"),
    ("self_attention", lambda x, q, k, v: attention(x @ q.T, x @ k.T, x @ v.T), "w (12, 4)"),
]
