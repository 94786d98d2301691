# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Two programs measured in turns, the machine's own rate of matrix products, and the memory that work takes."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

Job = Callable[[int], Any]


@dataclass(frozen=True)
class Comparison:
    """The same work done by the peer and by ours, in rounds: peer(i) and ours(i) do round i.

    tokens: real tokens of each round; flops: floating-point operations that each round needs, without padding, and of
    them what ours computes, both empty where nobody asks.
    """

    workload: str
    setting: str
    peer: Job
    ours: Job
    tokens: Sequence[int]
    flops: Sequence[float] = ()
    computed: Sequence[float] = ()
    shapes: Sequence[tuple[int, int]] = ()


def measure(comparison: Comparison) -> dict[str, Any]:
    """A row of the table: medians of seconds, and of the ratios round by round; who goes first alternates."""
    for job in (comparison.peer, comparison.ours):
        job(0)
    seconds: dict[str, list[float]] = {"peer": [], "ours": []}
    for number in range(len(comparison.tokens)):
        turns = [("peer", comparison.peer), ("ours", comparison.ours)]
        for name, job in turns if number % 2 else reversed(turns):
            start = time.perf_counter()
            job(number)
            seconds[name].append(time.perf_counter() - start)
    row: dict[str, Any] = {"workload": comparison.workload, "setting": comparison.setting}
    row |= {f"{name}_seconds": statistics.median(found) for name, found in seconds.items()}
    row["ratio"] = statistics.median(peer / ours for peer, ours in zip(*seconds.values()))
    row["tokens_per_second"] = sum(comparison.tokens) / sum(seconds["ours"])
    if comparison.flops:
        rate = product_rate(comparison.shapes, int(statistics.median(comparison.tokens)))
        row["product_gflops"] = rate / 1e9
        row["fraction"] = sum(comparison.flops) / sum(seconds["ours"]) / rate
        row["computed_fraction"] = sum(comparison.computed) / sum(seconds["ours"]) / rate
    return row


def product_rate(shapes: Sequence[tuple[int, int]], tokens: int) -> float:
    """Floating-point operations a second of plain matrix products: linear layers (in, out) and their gradients."""
    operations, seconds = 0.0, 0.0
    for size, features in shapes:
        states, weight = torch.randn(tokens, size), torch.randn(features, size)
        gradient = torch.randn(tokens, features)
        for left, right in ((states, weight.T), (gradient, weight), (gradient.T, states)):
            seconds += statistics.median(_seconds_of(torch.mm, left, right) for _ in range(6))
            operations += 2 * tokens * size * features
    return operations / seconds


def _seconds_of(function: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def peak_memory(function: Callable[..., float], *arguments: Any) -> float:
    """What a function returns in a fresh process: `growth` of the memory that its work takes."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def growth(prepare: Callable[[], Any], work: Callable[[], Any]) -> float:
    """MiB by which the memory of this process grows while it works, at its peak, above what it holds before (Linux)."""
    prepare()
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    work()
    return _resident("VmHWM") - before


def _resident(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024
