# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Timing of two sides in turns: medians, pairwise ratios, and the fraction of the matrix-multiplication rate."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..fast.onednn import has_faster_library
from ..fast.onednn import onednn_linear as by_onednn
from .settings import Settings, Shape

PASSES = 3  # one forward and two backward products


@dataclass(frozen=True)
class Work:
    """Floating-point operations of linear layers and attention, for real tokens only, without embeddings."""

    needed: float  # of the architecture, as counted in the literature: all layers for all tokens
    computed: float  # of our model, whose last block computes only the tokens that are read


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


Job = Callable[[int], object]


@dataclass(frozen=True)
class Side:
    """What is measured: job(i) does round i, which holds amounts[i] of the unit, real tokens mostly."""

    job: Job
    amounts: Sequence[float]


@dataclass(frozen=True)
class Comparison:
    """Our side and the peer. agreement: the difference of their outputs, checked before timing.

    unit: "tokens/s" or "s"; of a rate, more is better, of seconds less. work: of each round of ours, where it is known.
    """

    workload: str
    setting: str
    ours: Side
    peer: Side
    agreement: str = ""
    unit: str = "tokens/s"
    work: Sequence[Work] = ()


def measure(comparison: Comparison, settings: Settings) -> dict[str, Any]:
    """A row of the table; the ratio is that of ours to the peer's, its range the middle half of all pairs."""
    jobs: dict[str, Job] = {"peer": comparison.peer.job, "ours": comparison.ours.job}
    products: dict[str, Job] = {}
    if comparison.work:
        products, operations = matrix_products(settings, round(statistics.median(comparison.ours.amounts)))
        jobs |= products
    rounds = len(comparison.ours.amounts)
    # An accelerator loads kernels and takes memory at the first batches of a size, which a training meets early.
    warm_up = 1 if settings.device == "cpu" else rounds
    seconds = in_turns(jobs, rounds, settings.wait, warm_up)
    sides = {"peer": comparison.peer, "ours": comparison.ours}
    values = {name: _values(side, seconds[name], comparison.unit) for name, side in sides.items()}
    ratios = [ours / peer for ours, peer in zip(values["ours"], values["peer"])]
    row: dict[str, Any] = {"workload": comparison.workload, "setting": comparison.setting, "unit": comparison.unit}
    row |= {name: statistics.median(found) for name, found in values.items()}
    row |= {"ratio": statistics.median(ratios), "ratio_range": _middle_half(ratios)}
    for name in products:
        rates = [operations / found for found in seconds[name]]
        row |= _fractions(name, comparison.work, seconds["ours"], rates)
    if products and settings.peak_tflops:
        row["mfu"] = row["gflops"] / (settings.peak_tflops * 1e3)
    return row | {"agreement": comparison.agreement, "ratios": ratios, "seconds": seconds}


def in_turns(jobs: dict[str, Job], rounds: int, wait: Callable[[], None], warm_up: int = 1) -> dict[str, list[float]]:
    """Return the seconds of each job in each round, after the first `warm_up` rounds were done once."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in (*range(warm_up), *range(rounds)):
        for name, job in jobs.items():
            wait()
            start = time.perf_counter()
            job(number)
            wait()
            seconds[name].append(time.perf_counter() - start)
    return {name: taken[warm_up:] for name, taken in seconds.items()}


def _values(side: Side, seconds: Sequence[float], unit: str) -> list[float]:
    return [amount / taken if unit.endswith("/s") else taken / amount for amount, taken in zip(side.amounts, seconds)]


def _middle_half(numbers: Sequence[float]) -> list[float]:
    if len(numbers) < 2:
        return [*numbers, *numbers]
    first, _, third = statistics.quantiles(numbers, method="inclusive")
    return [first, third]


def _fractions(
    products: str, work: Sequence[Work], seconds: Sequence[float], rates: Sequence[float]
) -> dict[str, float]:
    """Of the rate of these matrix products in the same round."""
    needed = [one.needed / taken for one, taken in zip(work, seconds)]
    computed = [one.computed / taken for one, taken in zip(work, seconds)]
    return {
        "gflops": statistics.median(needed) / 1e9,
        f"{products}_gflops": statistics.median(rates) / 1e9,
        f"of_{products}": statistics.median(done / rate for done, rate in zip(needed, rates)),
        f"computed_of_{products}": statistics.median(done / rate for done, rate in zip(computed, rates)),
    }
