# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Static shapes: packed batches filled up to one of a few sizes, which CUDA graphs and compiled code meet again.

    tokens        a a a b c c . . . .      the padding is a text of its own, or several
    cu_seq_lens   0 3 4 6 10 10 10         behind it are empty texts, up to a constant number of texts

Labels of the padding are -100: it has no loss and no gradient.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

MOST_SIZES = 6  # each has a graph of its own
MULTIPLE = 64  # of tokens: matrix products work on tiles of 64 and 128
SAMPLED_BATCHES = 2000  # from which the sizes are chosen
LABELS = "labels", "shift_labels"  # padded with -100, which losses ignore
BOUNDS = "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k"


@dataclass(frozen=True, order=True)
class Size:
    """The shape of a packed batch: tokens of its row, the number of texts, the length of the longest."""

    tokens: int
    texts: int
    longest: int

    def holds(self, tokens: int, texts: int, longest: int) -> bool:
        """Return whether a batch can be filled up to this size."""
        of_padding = -(-(self.tokens - tokens) // self.longest)  # texts
        return tokens <= self.tokens and longest <= self.longest and texts + of_padding <= self.texts


def choose_sizes(lengths: Sequence[int], batch_size: int, count: int = 4, seed: int = 0) -> list[Size]:
    """Return the sizes with the least padding for random batches of batch_size texts of these lengths.

    Raises ValueError for more sizes than MOST_SIZES, empty batches, or without a text that has tokens.
    """
    if not 1 <= count <= MOST_SIZES:
        raise ValueError(f"count {count}: a training has 1 to {MOST_SIZES} sizes, as each takes a CUDA graph.")
    if batch_size < 1:
        raise ValueError(f"batch_size {batch_size}: has to be at least 1.")
    if not len(lengths) or max(lengths) < 1:
        raise ValueError("lengths: there is no text with tokens from which sizes could be chosen.")
    random, longest = np.random.default_rng(seed), int(max(lengths))
    drawn = random.choice(np.asarray(lengths), (SAMPLED_BATCHES, batch_size))
    rows, counts = np.unique(-(-drawn.sum(1) // MULTIPLE), return_counts=True)
    sizes = [MULTIPLE * int(tiles) for tiles in _least_padding(rows, counts, count)]
    return [Size(tokens, batch_size + -(-tokens // longest), longest) for tokens in sizes]


def _least_padding(rows: np.ndarray, counts: np.ndarray, most: int) -> list[int]:
    """Return at most `most` of the rising lengths of rows; counts: how many rows have each. A row takes the next one.

    Dynamic programming: least[n] is the length of all rows[:n] together, with the lengths chosen so far.
    """
    before = np.concatenate(([0], counts.cumsum()))
    least = np.full(len(rows) + 1, np.inf)
    least[0] = 0
    splits = []  # by the number of lengths: where the rows of the longest one begin
    for _ in range(most):
        filled = least + np.concatenate(([0], rows))[:, None] * (before[:, None] - before)  # (end, start)
        filled[np.triu_indices(len(least), 1)] = np.inf
        splits.append(filled.argmin(1))
        least = filled.min(1)
    chosen, end = [], len(rows)
    for starts in reversed(splits):
        if starts[end] < end:
            chosen.append(int(rows[end - 1]))
        end = int(starts[end])
    return chosen[::-1]


def fill(batch: Mapping[str, Any], sizes: Sequence[Size], pad_token_id: int) -> dict[str, Any]:
    """Fill a packed batch up to the smallest size that holds it; one that no size holds stays as it is.

    batch: as of FlatBatches or DataCollatorWithFlattening, with cu_seq_lens_q and max_length_q, one row (1, tokens).
    With labels that are no class numbers (texts,) or (1, tokens) it stays, too: their losses ignore none of them.
    """
    bounds, tokens = batch["cu_seq_lens_q"], batch["input_ids"].shape[1]
    texts = len(bounds) - 1
    size = next((size for size in sorted(sizes) if size.holds(tokens, texts, int(batch["max_length_q"]))), None)
    labels = batch.get("labels", bounds[1:])
    if size is None or labels.is_floating_point() or labels.shape not in ((texts,), (1, tokens)):
        return dict(batch)
    padding = size.tokens - tokens
    ends = (tokens + size.longest * torch.arange(1, size.texts - texts + 1)).clamp(max=size.tokens)
    filled: dict[str, Any] = {"cu_seq_lens_q": torch.cat((bounds, ends.to(bounds))), "max_length_q": size.longest}
    filled |= {"cu_seq_lens_k": filled["cu_seq_lens_q"], "max_length_k": size.longest}
    for name in batch.keys() - set(BOUNDS):
        value = batch[name]
        if name == "position_ids":
            positions = (torch.arange(padding) % size.longest)[None]
            filled[name] = torch.cat((value, positions.to(value)), 1)
        elif name in ("input_ids", "token_type_ids"):
            filled[name] = F.pad(value, (0, padding), value=pad_token_id if name == "input_ids" else 0)
        elif name in LABELS:
            filled[name] = F.pad(value, (0, padding if value.ndim == 2 else size.texts - texts), value=-100)
        elif not isinstance(value, Tensor) or value.ndim == 0:
            filled[name] = value  # such as num_items_in_batch
        else:
            raise ValueError(f"{name} {tuple(value.shape)}: a packed batch with it cannot be filled up.")
    return {name: filled[name] for name in batch}
