# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Static shapes: packed batches filled up to one of a few sizes, which CUDA graphs and compiled code meet again.

    tokens        a a a b c c . . . .      the filling, padding tokens, is a text of its own, or several
    cu_seq_lens   0 3 4 6 10 10 10         behind it are empty texts, up to a constant number of texts

Labels of the filling are -100: it has no loss and no gradient.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

MOST_SIZES = 6  # each has a graph of its own
MULTIPLE = 64  # of tokens: matrix products work on tiles of 64 and 128
DRAWN = 2000  # batches from which the sizes are chosen
IGNORED = -100  # as a label
FILLINGS = {"token_type_ids": 0}  # of what has a value a token; labels are IGNORED


@dataclass(frozen=True, order=True)
class Size:
    """The shape of a packed batch: tokens of its row, the number of texts, the length of the longest."""

    tokens: int
    texts: int
    longest: int

    def holds(self, tokens: int, texts: int, longest: int) -> bool:
        """Return whether a batch can be filled up to this size."""
        fillings = -(-(self.tokens - tokens) // self.longest)  # texts of padding
        return tokens <= self.tokens and longest <= self.longest and texts + fillings <= self.texts


def choose_sizes(lengths: Sequence[int], batch_size: int, count: int = 4, seed: int = 0) -> list[Size]:
    """Return the sizes with the least padding for random batches of batch_size texts of these lengths.

    Raises ValueError for more sizes than MOST_SIZES, or without a text.
    """
    if not 1 <= count <= MOST_SIZES:
        raise ValueError(f"count {count}: a training has 1 to {MOST_SIZES} sizes, as each takes a CUDA graph.")
    if not len(lengths):
        raise ValueError("lengths: there is no text from which sizes could be chosen.")
    random, longest = np.random.default_rng(seed), int(max(lengths))
    drawn = random.choice(np.asarray(lengths), (DRAWN, batch_size))
    rows, numbers = np.unique(-(-drawn.sum(1) // MULTIPLE), return_counts=True)
    sizes = [MULTIPLE * int(tiles) for tiles in _least_padding(rows, numbers, count)]
    return [Size(tokens, batch_size + -(-tokens // longest), longest) for tokens in sizes]


def _least_padding(rows: np.ndarray, numbers: np.ndarray, count: int) -> list[int]:
    """Return at most `count` of the rising lengths of rows; each row, of which there are numbers, takes the next one.

    Dynamic programming: least[n] is the length of all rows[:n] together, with the lengths chosen so far.
    """
    before = np.concatenate(([0], numbers.cumsum()))
    least = np.full(len(rows) + 1, np.inf)
    least[0] = 0
    splits = []  # by the number of lengths: where the rows of the longest one begin
    for _ in range(count):
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
    Its labels (texts,) or (1, tokens) are class numbers; losses of other labels have none to ignore: it stays, too.
    """
    bounds, tokens = batch["cu_seq_lens_q"], batch["input_ids"].shape[1]
    texts = len(bounds) - 1
    size = next((size for size in sorted(sizes) if size.holds(tokens, texts, int(batch["max_length_q"]))), None)
    labels = batch.get("labels")
    if size is None or (labels is not None and labels.is_floating_point()):
        return dict(batch)
    padding = size.tokens - tokens
    ends = (tokens + size.longest * torch.arange(1, size.texts - texts + 1)).clamp(max=size.tokens)
    positions = (torch.arange(padding) % size.longest)[None]
    filled: dict[str, Any] = {
        "input_ids": F.pad(batch["input_ids"], (0, padding), value=pad_token_id),
        "position_ids": torch.cat((batch["position_ids"], positions.to(batch["position_ids"])), 1),
        "cu_seq_lens_q": torch.cat((bounds, ends.to(bounds))),
        "max_length_q": size.longest,
    }
    filled |= {"cu_seq_lens_k": filled["cu_seq_lens_q"], "max_length_k": size.longest}
    for name in batch.keys() - filled.keys():
        value, room = batch[name], padding if batch[name].ndim == 2 else size.texts - texts
        filled[name] = F.pad(value, (0, room), value=FILLINGS.get(name, IGNORED))
    return {name: filled[name] for name in batch}


def activation_bytes(loss: Callable[[], Tensor], weights: Sequence[Tensor]) -> int:
    """Return the bytes that a forward pass keeps for the backward pass, weights excluded: what a graph needs most.

    Activations of packed texts grow with the tokens: those of a size are this number times its tokens / these tokens.
    """
    known = {weight.untyped_storage()._cdata for weight in weights}
    kept: dict[int, int] = {}

    def keep(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        if storage._cdata not in known:
            kept[storage._cdata] = storage.nbytes()
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        result = loss()  # whose graph holds what is kept: no address is used twice meanwhile
    del result
    return sum(kept.values())
