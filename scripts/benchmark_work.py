# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""How much there is to compute, and how fast the machine multiplies matrices of the same shapes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from benchmark_settings import Settings, Shape

from modeling_scratch.fast.onednn import has_faster_library
from modeling_scratch.fast.onednn import onednn_linear as by_onednn

PASSES = 3  # a product forward is two backward, one for each of its factors


@dataclass(frozen=True)
class Work:
    """Floating-point operations of the linear layers and of attention, real tokens only, nothing for embeddings."""

    needed: float  # by the architecture, as the literature counts: each layer works for each token
    computed: float  # by ours, whose last block works for the tokens alone that are read


def training_work(shape: Shape, lengths: Sequence[int], texts_read: bool = False) -> Work:
    """Of a training step on texts of these lengths: 2 operations a weight and token, 4 a feature and pair of tokens.

    texts_read: the head reads one token a text. The weights of the last block work for these alone then, and each of
    their heads compares it with the whole state of every token of its text.
    """
    tokens, pairs = sum(lengths), sum(length * length for length in lengths)
    weights = 2 * sum(size * features for size, features in linear_shapes(shape))
    block = weights * tokens + 4 * shape.width * pairs
    last = weights * len(lengths) + 4 * shape.width * shape.heads * tokens if texts_read else block
    return Work(PASSES * shape.layers * block, PASSES * ((shape.layers - 1) * block + last))


def linear_shapes(shape: Shape) -> list[tuple[int, int]]:
    """(in, out) of the linear layers of a block: query, key, value, output, and the feed-forward layer."""
    width, inner = shape.width, shape.inner
    return [(width, width)] * 4 + [(width, inner), (inner, width)]


def matrix_products(settings: Settings, tokens: int) -> tuple[dict[str, Callable[[int], object]], float]:
    """Jobs that do the products of one block, forward and backward, and nothing else; and their operations.

    "products" by torch.mm; "onednn" by oneDNN, from factors in rows, where our models take it too.
    """
    options = {"device": settings.device, "dtype": getattr(torch, settings.dtype)}
    factors = []
    for size, features in linear_shapes(settings.shape):
        states, gradient = torch.randn(tokens, size, **options), torch.randn(tokens, features, **options)
        weight = torch.randn(features, size, **options)
        pairs = (states, weight.T), (gradient, weight), (gradient.T, states)
        factors += [(left, right, left @ right) for left, right in pairs]

    def multiply(_: int) -> None:
        for left, right, result in factors:
            torch.mm(left, right, out=result)

    jobs: dict[str, Callable[[int], object]] = {"products": multiply}
    if has_faster_library() and settings.device == "cpu" and settings.dtype == "float32":
        in_rows = [(left.contiguous(), right.T.contiguous()) for left, right, _ in factors]
        jobs["onednn"] = lambda _: [by_onednn(left, right) for left, right in in_rows]
    return jobs, sum(2.0 * left.shape[0] * left.shape[1] * right.shape[1] for left, right, _ in factors)
