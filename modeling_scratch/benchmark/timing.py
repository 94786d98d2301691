# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Timing of two sides in turns: medians, pairwise ratios, and the operations of the architecture."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .settings import Settings, Shape

PASSES = 3  # one forward and two backward products

Job = Callable[[int], object]


def training_operations(shape: Shape, lengths: Sequence[int]) -> float:
    """Floating-point operations of a training step on texts of these lengths, as the literature counts them.

    Of linear layers and attention, for real tokens, without embeddings and the head: 2 a weight and token, 4 a feature
    and pair of tokens.
    """
    tokens, pairs = sum(lengths), sum(length * length for length in lengths)
    weights = 4 * shape.width**2 + 2 * shape.width * shape.inner  # of a block
    return PASSES * shape.layers * (2.0 * weights * tokens + 4.0 * shape.width * pairs)


@dataclass(frozen=True)
class Side:
    """What is measured: job(i) does round i, which holds amounts[i] of the unit, real tokens mostly."""

    job: Job
    amounts: Sequence[float]


def measure(
    settings: Settings, workload: str, setting: str, ours: Side, peer: Side, agreement: str = ""
) -> dict[str, Any]:
    """A row of the table, in tokens/s; the ratio is that of ours to the peer's, its range the middle half of all pairs.

    agreement: the difference of the outputs of both, which was checked before.
    """
    # An accelerator loads kernels and takes memory at the first batches of a size, which a training meets early.
    warm_up = 1 if settings.device == "cpu" else len(ours.amounts)
    seconds = in_turns({"peer": peer.job, "ours": ours.job}, len(ours.amounts), settings.wait, warm_up)
    rates = {name: np.divide(side.amounts, seconds[name]) for name, side in (("ours", ours), ("peer", peer))}
    ratios = rates["ours"] / rates["peer"]
    return {
        "workload": workload,
        "setting": setting,
        "unit": "tokens/s",
        **{name: float(np.median(found)) for name, found in rates.items()},
        "ratio": float(np.median(ratios)),
        "ratio_range": np.quantile(ratios, [0.25, 0.75]).tolist(),
        "agreement": agreement,
        "ratios": ratios.tolist(),
        "seconds": seconds,
    }


def in_turns(
    jobs: Mapping[str, Job], rounds: int, wait: Callable[[], None], warm_up: int = 0
) -> dict[str, list[float]]:
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


def run_rounds(step: Callable[[Any], object], rounds: Sequence[Sequence[Any]]) -> Job:
    """The job that takes a step for each batch of a round."""

    def job(number: int) -> None:
        for batch in rounds[number]:
            step(batch)

    return job
