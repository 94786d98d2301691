# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Two sides measured in turns, A B A B, and what is said of them: medians, and ratios pair by pair."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark_settings import Settings
from benchmark_work import Work, matrix_products

Job = Callable[[int], object]


@dataclass(frozen=True)
class Side:
    """What is measured: job(i) does round i, which holds amounts[i] of the unit, real tokens mostly."""

    job: Job
    amounts: Sequence[float]


@dataclass(frozen=True)
class Comparison:
    """Ours beside the peer. agreement: how nearly they answered alike before anything was timed.

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
    seconds = in_turns(jobs, len(comparison.ours.amounts), settings.wait)
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


def in_turns(jobs: dict[str, Job], rounds: int, wait: Callable[[], None]) -> dict[str, list[float]]:
    """Seconds of each job in each round, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(-1, rounds):
        for name, job in jobs.items():
            wait()
            start = time.perf_counter()
            job(max(number, 0))
            wait()
            if number >= 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


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
