# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Texts in batches of similar length, and their answers in the order of the texts."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from ..fast.text_classification import batches_by_length
from ..utils.errors import DataError, DivergedError

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(eq=False)
class Job:
    """One text for the model. Jobs with equal `options` can share a batch.

    tokens: their number. truncated: whether it had more. unseen: the words that the model has not seen. answer: of a
    server; cancelling it cancels the job.
    """

    features: Any
    tokens: int = 1
    truncated: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    unseen: Sequence[str] = ()
    answer: Any = None


def check_finite(*logits: torch.Tensor) -> None:
    """Raise `DivergedError` for logits that are no numbers."""
    if not all(each.isfinite().all() for each in logits):
        raise DivergedError(
            "the model returns NaN or infinity: its weights are damaged, or its training diverged; train it again, "
            "with a lower --learning_rate"
        )


@contextmanager
def failing_on(what: str) -> Iterator[None]:
    """Turn the errors of a model into a `DataError` that says what it fails on."""
    try:
        yield
    except (RuntimeError, IndexError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"the model fails {what}: {textwrap.shorten(str(error), 240)}") from error


def uncounted(texts: int) -> None:
    """Show no progress."""


def in_batches(
    items: Sequence[Item | None],
    length: Callable[[Item], int],
    run: Callable[[list[Item]], Sequence[Answer]],
    batch_size: int,
    device: torch.device,
    progress: Callable[[int], object] = uncounted,
) -> list[Answer | None]:
    """Return what `run` answers to each item, and None for None, in their order.

    length: of an item, in tokens. `run` gets batches, the longest first. progress: called with the number of items
    that have been answered.
    """
    read = [(place, item) for place, item in enumerate(items) if item is not None]
    answers: list[Answer | None] = [None] * len(items)
    progress(len(items) - len(read))
    for batch in batches_by_length([length(item) for _, item in read], batch_size, device):
        for number, answer in zip(batch, run([read[number][1] for number in batch])):
            answers[read[number][0]] = answer
        progress(len(batch))
    return answers
