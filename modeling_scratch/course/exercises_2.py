# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks of lesson 2: attention by hand.

Shapes: B texts, H heads, T queries, S keys, D features of a head, which is d_k in the lesson.
"""

import math
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from ..attention import eager_attention
from .comparing import Check, random

UNGROUPED: Any = SimpleNamespace(num_key_value_groups=1)  # all that the book's function reads of its layer
ROWS = "the rows do not sum to 1: softmax over the wrong axis? Each row, the weights of one query, is dim=-1."


def attention(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None = None) -> Tensor:
    """The book's, whose output is (B, T, H, D), with heads before tokens as in its arguments."""
    scaling = query.shape[-1] ** -0.5
    return eager_attention(UNGROUPED, query, key, value, visible, scaling)[0].transpose(1, 2)


def products(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1)


def scaled(query: Tensor, key: Tensor) -> Tensor:
    return products(query, key) / math.sqrt(query.shape[-1])


def heads(queries: int = 5, keys: int = 5) -> tuple[Tensor, ...]:
    """query, key and value: 2 texts, 3 heads, so that d_model is 12 and d_k is 4."""
    return random(2, 3, queries, 4), random(2, 3, keys, 4, seed=1), random(2, 3, keys, 4, seed=2)


def weighted(scores: Tensor, value: Tensor) -> Tensor:
    return scores.softmax(-1) @ value


def rows_of(softmax: Any) -> str | None:
    """Whether the weights of each row sum to 1, whichever axis the sum runs over."""
    sums = softmax(random(2, 3, 3)).sum(-1)
    return None if torch.allclose(sums, torch.ones(())) else ROWS


def not_stable(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def first_of_two(score: float) -> float:
    """The weight of a key, beside another with the score 0."""
    return math.exp(score) / (math.exp(score) + 1)


def self_attention(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Tensor:
    parts = (x @ w_query, x @ w_key, x @ w_value)
    return attention(*(part[:, None] for part in parts))[:, 0]  # one head


CHECKS = {
    "by_hand": Check(10 * first_of_two(2), None, {
        "the scores are not scaled: divide 4 and 0 by sqrt(d_k) = 2.": 10 * first_of_two(4),
        "scaled by d_k = 4: divide by its square root.": 10 * first_of_two(1),
        "this is the value of the best key alone; the other one has a weight, too.": 10,
        "this is the plain mean: the first key has the larger weight.": 5,
        "this is the weight of the first key; the output is the weighted mean of the values.": first_of_two(2),
    }, "A better match has the larger weight, and the output is a mean of the values.", tolerance=5e-3),
    "softmax": Check(lambda scores: scores.softmax(-1),
        lambda: [(random(4, 4),), (random(2, 3, 3),), (torch.tensor([[0.0, 1000.0], [-1000.0, 0.0]]),)], {
        "one maximum for all rows: small rows become 0 / 0. Take amax(-1, keepdim=True).":
            lambda s: not_stable(s - s.max()),
        "large scores give nan, as exp(1000) is infinite: subtract the maximum of each row first.": not_stable,
        "the row is not divided by its sum.": lambda s: (s - s.amax(-1, keepdim=True)).exp(),
        "these are the scores as shares; take exp() first.": lambda s: s / s.sum(-1, keepdim=True),
    }, "Each row is positive and sums to 1, whatever the scores are.", otherwise=rows_of),
    "scores": Check(scaled, lambda: [heads()[:2], (random(5, 9), random(5, 9, seed=1))], {
        "the division by sqrt(d_k) is missing.": products,
        "divided by d_k, not by its square root.": lambda q, k: products(q, k) / q.shape[-1],
        "divided by sqrt(T); d_k is the last axis of query.": lambda q, k: products(q, k) / math.sqrt(q.shape[-2]),
        "transposed: a row belongs to a query, a column to a key.": lambda q, k: scaled(q, k).transpose(-2, -1),
        "the softmax comes later.": lambda q, k: scaled(q, k).softmax(-1),
    }, "There is one number for each pair of a query and a key."),
    "attention": Check(attention, lambda: [heads(), heads(5, 7), heads(7, 5)], {
        "scaled by d_model, not d_k: d_k is the last axis of query, the size of one head.":
            lambda q, k, v: weighted(products(q, k) / math.sqrt(q.shape[1] * q.shape[-1]), v),
        "the division by sqrt(d_k) is missing.": lambda q, k, v: weighted(products(q, k), v),
        "divided by d_k, not by its square root.": lambda q, k, v: weighted(products(q, k) / q.shape[-1], v),
        ROWS: lambda q, k, v: scaled(q, k).softmax(-2) @ v,
        "softmax over the heads; the axis of the keys is dim=-1.": lambda q, k, v: scaled(q, k).softmax(1) @ v,
        "the softmax is missing: scores are no weights.": lambda q, k, v: scaled(q, k) @ v,
        "it is the mean of the keys: the weights multiply the values.": lambda q, k, v: weighted(scaled(q, k), k),
    }, "It is eager_attention of modeling_scratch/attention.py, for any number of texts and heads."),
    "self_attention": Check(self_attention,
        lambda: [(random(2, 5, 12), *(random(12, 4, seed=seed) for seed in (1, 2, 3)))], {
        "query and key have the same projection; each has its own.": lambda x, q, k, v: self_attention(x, q, q, v),
        "key and value have the same projection; each has its own.": lambda x, q, k, v: self_attention(x, q, k, k),
        "the values are not projected: they are x W_V.": lambda x, q, k, v: weighted(scaled(x @ q, x @ k), x),
        "query and key are exchanged.": lambda x, q, k, v: self_attention(x, k, q, v),
        "scaled by d_model, not d_k: 12 features are projected to 4.":
            lambda x, q, k, v: weighted(products(x @ q, x @ k) / math.sqrt(x.shape[-1]), x @ v),
    }, "Query, key and value are three views of the same tokens."),
}  # fmt: skip
