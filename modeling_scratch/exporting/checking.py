# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compare a file in its runtime with the model in PyTorch: several sizes of batch, text and cache, with padding."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..fast import disabled
from ..utils.errors import DataError, one_line
from .graphs import Graph

Run = Callable[[dict[str, np.ndarray]], Sequence[np.ndarray]]


class Sizes(NamedTuple):
    """A batch to compare. padding: the side on which the last text is padded."""

    batch: int
    length: int
    past: int
    source: int
    padding: str | None = None

    def cut(self, limit: int | None) -> "Sizes":
        """Return the sizes of a batch that the model can read. limit: its longest text."""
        if limit is None:
            return self
        length = min(self.length, limit)
        return self._replace(length=length, past=min(self.past, limit - length), source=min(self.source, limit))

    def of_axes(self) -> dict[str, int]:
        """Return the size of each named axis of a graph."""
        total = self.past + self.length
        return {"batch": self.batch, "length": self.length, "past": self.past, "total": total, "source": self.source}


BATCHES = (
    Sizes(1, 1, 0, 1),
    Sizes(1, 7, 0, 5),
    Sizes(3, 9, 0, 8, "right"),
    Sizes(3, 9, 0, 11, "left"),
    Sizes(4, 1, 6, 3, "left"),
    Sizes(2, 4, 12, 7, "right"),
    Sizes(2, 50, 13, 60, "right"),
)


def largest_difference(graph: Graph, run: Run, tolerance: float, limit: int | None, window: int | None = None) -> float:
    """Return the largest difference from PyTorch, relative to the largest value of its output where that is above 1.

    limit: the longest text that the model reads. window: the tokens that a local layer sees; one batch has more.
    Raises `DataError` with the output and the batch for a difference above the tolerance, or a run that fails.
    """
    generator, largest = torch.Generator().manual_seed(0), 0.0
    for sizes in (each.cut(limit) for each in (*BATCHES, *_beyond(window, graph))):
        drawn = graph.draw(sizes.of_axes(), generator)
        inputs = [_padded(port.name, each, sizes) for port, each in zip(graph.inputs, drawn)]
        with torch.no_grad(), disabled():
            expected = graph.module(*inputs)
        for port, ours, theirs in zip(graph.outputs, expected, _outputs(graph, run, inputs, sizes), strict=True):
            difference = _difference(ours.numpy(), theirs)
            if not difference <= tolerance:
                raise DataError(
                    f"{graph.name}: {port.name} differs from PyTorch by {difference:.2g} (allowed: {tolerance:g}) with "
                    f"{_words(sizes)}: the export is rejected"
                )
            largest = max(largest, difference)
    return largest


def _beyond(window: int | None, graph: Graph) -> list[Sizes]:
    """Return a batch of more tokens than a window holds, in the cache of a graph that takes one."""
    if window is None:
        return []
    return [Sizes(1, 3, window + 2, 1)] if graph.has_cache else [Sizes(1, window + 5, 0, 1)]


def _padded(name: str, tensor: Tensor, sizes: Sizes) -> Tensor:
    """Return a mask in which a third of the last text is padding, and anything else as it is."""
    if not name.endswith("mask") or sizes.padding is None:
        return tensor
    size = tensor.shape[1]
    start = 0 if sizes.padding == "left" else size - size // 3
    tensor = tensor.clone()
    tensor[-1, start : start + size // 3] = 0
    return tensor


def _outputs(graph: Graph, run: Run, inputs: Sequence[Tensor], sizes: Sizes) -> Sequence[np.ndarray]:
    try:
        return run({port.name: tensor.numpy() for port, tensor in zip(graph.inputs, inputs)})
    except Exception as error:  # runtimes raise types of their own
        fault = one_line(error) or type(error).__name__
        raise DataError(f"{graph.name}: the runtime fails with {_words(sizes)}: {fault[:300]}") from error


def _difference(ours: np.ndarray, theirs: Any) -> float:
    """Return infinity for outputs of different shapes."""
    if ours.shape != np.shape(theirs):
        return float("inf")
    return float(np.abs(ours - theirs).max(initial=0) / max(np.abs(ours).max(initial=0), 1))


def _words(sizes: Sizes) -> str:
    padding = f", padded on the {sizes.padding}" if sizes.padding else ""
    return f"{sizes.batch} texts of {sizes.length} tokens after {sizes.past}{padding}"
