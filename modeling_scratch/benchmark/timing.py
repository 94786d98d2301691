# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Timing of sides in turns: medians, pairwise ratios, and the operations of the architecture."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .settings import Settings, Shape

PASSES = 3  # one forward and two backward products

Side = tuple[Callable[[Any], object], Sequence[Sequence[Any]]]  # a step, and the batches of each round


def training_operations(shape: Shape, lengths: Sequence[int]) -> float:
    """Floating-point operations of a training step on texts of these lengths, as the literature counts them.

    Of linear layers and attention, for real tokens, without embeddings and the head: 2 a weight and token, 4 a feature
    and pair of tokens.
    """
    tokens, pairs = sum(lengths), sum(length * length for length in lengths)
    weights = 4 * shape.width**2 + 2 * shape.width * shape.inner  # of a block
    return PASSES * shape.layers * (2.0 * weights * tokens + 4.0 * shape.width * pairs)


def measure(
    settings: Settings,
    workload: str,
    setting: str,
    sides: Mapping[str, Side],
    tokens: Mapping[str, Sequence[int]],
    agreement: str,
) -> dict[str, Any]:
    """A row of the table, in tokens/s; the ratio is that of ours to the peer's, its range the middle half of all pairs.

    sides: "ours" and "peer". tokens: the real ones of each round. agreement: the difference of the outputs of both,
    which was checked before.
    """
    # An accelerator loads kernels and takes memory at the first batches of a size, which a training meets early.
    warm_up = 1 if settings.device == "cpu" else len(tokens["ours"])
    seconds = in_turns(sides, settings.wait, warm_up)
    rates = {name: np.divide(tokens[name], seconds[name]) for name in ("ours", "peer")}
    ratios = rates["ours"] / rates["peer"]
    return {
        "workload": workload,
        "setting": setting,
        **{name: round(float(np.median(found)), 1) for name, found in rates.items()},
        "ratio": round(float(np.median(ratios)), 3),
        "ratio_range": np.quantile(ratios, [0.25, 0.75]).round(3).tolist(),
        "agreement": agreement,
    }


def in_turns(sides: Mapping[str, Side], wait: Callable[[], None], warm_up: int = 0) -> dict[str, list[float]]:
    """Return the seconds of each side in each round, after the first `warm_up` rounds were done once."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    rounds = min(len(batches) for _, batches in sides.values())
    for number in (*range(warm_up), *range(rounds)):
        for name, (step, batches) in sides.items():
            wait()
            start = time.perf_counter()
            for batch in batches[number]:
                step(batch)
            wait()
            seconds[name].append(time.perf_counter() - start)
    return {name: taken[warm_up:] for name, taken in seconds.items()}
