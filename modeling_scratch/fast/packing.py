# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The two layouts of a batch, padded (B, T) and packed (1, P), and the conversion between them.

    padded          packed: rows (R, W) that short texts share, one after another
    a a a a a a     a a a a a a
    b b . . . .     b b c c c d
    c c c . . .
    d . . . . .

Batches of reviews are mostly padding. In the packed layout, all layers work on almost full rows. Attention works on
the same rows group by group, restricted to each text. Real tokens get the values of the padded layout up to
rounding; padding gets zeros.

Shapes: B batch, T length, H heads, D head size; R rows and W width of one group; P packed tokens, those of all rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from .bin_packing import arrange, equal_rows
from .forwards import recurring


def same_segment(queries: Tensor, keys: Tensor) -> Tensor:
    """Segment ids (R, T) and (R, S) -> (R, 1, T, S), true where they are the same."""
    return (queries[:, :, None] == keys[:, None])[:, None]


def select(states: Tensor, indices: Tensor | None) -> Tensor:
    """The tokens at indices (N,) of the flattened B * T: (B, T, ...) -> (1, N, ...); None: all, as they are."""
    return states if indices is None else states.flatten(0, 1).index_select(0, indices)[None]


@dataclass
class Group:
    """Rows of one width that attend in one call: R rows of W tokens, each with one text or several."""

    segment_ids: Tensor  # (R, W): the text that each packed token belongs to; padding counts as one
    # Of each type of layer: the mask in the attention backend's format, or None, and the position_bias (R, H, W, W).
    masks: Mapping[str, tuple[Any, Tensor | None]]


@dataclass
class Packing:
    """A batch's packed layout: all rows of all groups in sequence, (1, P, ...), with P rounded up by `recurring`.

    indices (P,): the index of each packed token in the flattened (B * T,) input.
    real (tokens,): the packed indices of real tokens; None: all are real. The others are padding and repeat some token.
    """

    indices: Tensor
    shape: tuple[int, int]
    groups: list[Group]
    real: Tensor | None = None

    def pack(self, states: Tensor | None) -> Tensor | None:
        """(B, T, ...) or (1, T, ...) -> (1, P, ...); None stays None."""
        if states is None:
            return None
        return states.expand(*self.shape, *states.shape[2:]).flatten(0, 1).index_select(0, self.indices)[None]

    def unpack(self, states: Tensor) -> Tensor:
        """(1, P, hidden) -> (B, T, hidden), zeros where there was padding."""
        padded = states.new_zeros(self.shape[0] * self.shape[1], states.shape[-1])
        return padded.index_copy(0, self._tokens(), select(states, self.real)[0]).unflatten(0, self.shape)

    def packed_indices(self, indices: Tensor) -> Tensor:
        """Indices of real tokens in the flattened B * T -> their indices in the packed layout."""
        packed = self.indices.new_zeros(self.shape[0] * self.shape[1])
        real = torch.arange(len(self.indices), device=packed.device) if self.real is None else self.real
        packed[self._tokens()] = real
        return packed[indices]

    def _tokens(self) -> Tensor:
        """The index of each real token in the flattened (B * T,) input."""
        return self.indices if self.real is None else self.indices[self.real]

    def _split(self, states: Tensor) -> list[Tensor]:
        """(1, H, P, D) -> (R, H, W, D) of each group."""
        sizes = [group.segment_ids.numel() for group in self.groups]
        rest = states.shape[2] - sum(sizes)
        parts = states.split([*sizes, rest], dim=2) if rest or len(sizes) > 1 else [states]
        shapes = (group.segment_ids.shape for group in self.groups)
        return [part.squeeze(0).unflatten(1, shape).transpose(0, 1) for part, shape in zip(parts, shapes)]

    def attend(
        self, backend: Callable, crosses: bool, module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, None]:  # fmt: skip
        """Attention within each text: query, key, value (1, H, P, D) -> (1, P, H, D), by the backend for each group.

        crosses: what is not causal is cross-attention, to key and value (B, K, S, D) of an encoder.
        """
        if crosses and not module.is_causal:
            heads = query.shape[1], query.shape[-1]
            padded = self.unpack(query.transpose(1, 2).flatten(2)).unflatten(-1, heads)  # (B, T, H, D)
            output, _ = backend(module, padded.transpose(1, 2), key, value, mask, **kwargs)
            return self.pack(output), None
        outputs, kind = [], "full_attention" if module.sliding_window is None else "sliding_attention"
        for group, *parts in zip(self.groups, *map(self._split, (query, key, value))):
            mask, bias = group.masks[kind]
            output, _ = backend(module, *parts, mask, **{**kwargs, "position_bias": bias})  # (R, W, H, D)
            outputs.append(output.flatten(0, 1))
        if rest := query.shape[2] - sum(map(len, outputs)):
            outputs.append(outputs[0].new_zeros(rest, *outputs[0].shape[1:]))
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs))[None], None

    def attend_once(
        self, indices: Tensor, backend: Callable, module: Any, query: Tensor, key: Tensor, value: Tensor, **kwargs: Any
    ) -> Tensor:
        """Attention of one token per text, at packed indices (N,), to its text: query (1, H, N, D) -> (1, N, H, D).

        backend: eager attention. Each query stands in the row of its text's keys.
        """
        order, outputs, start = indices.argsort(), [], 0  # in packed order
        queries = query.squeeze(0).transpose(0, 1).index_select(0, order)
        for group, *parts in zip(self.groups, self._split(key), self._split(value)):
            places, tokens = indices[order] - start, group.segment_ids.numel()
            inside = (places >= 0) & (places < tokens)
            rows = places[inside] // group.segment_ids.shape[1]
            at = rows, torch.arange(len(rows)) - torch.searchsorted(rows, rows)
            shape = len(group.segment_ids), int(at[1].max()) + 1
            in_rows = queries.new_zeros(*shape, *queries.shape[1:]).index_put(at, queries[inside])
            texts = group.segment_ids.new_full(shape, -1).index_put(at, group.segment_ids.flatten()[places[inside]])
            mask = same_segment(texts, group.segment_ids)
            output, _ = backend(module, in_rows.transpose(1, 2), *parts, mask, **kwargs)  # (R, columns, H, D)
            outputs.append(output[at])
            start += tokens
        return torch.cat(outputs).index_select(0, order.argsort())[None]


def make_packing(
    tokens: Tensor, lengths: Tensor, shape: Sequence[int], make_masks: Callable, shares: bool = True, weights: int = 0
) -> Packing:
    """tokens: indices of the real tokens in the flattened batch, text by text; lengths (texts,): tokens per text.

    make_masks(segment_ids (R, W) or None, shape): see Group.masks. shares: whether texts share rows. weights: see
    recurring.
    """
    sizes = lengths.tolist()
    starts = [0, *accumulate(sizes)]
    groups: list[Group] = []
    pieces: list[tuple[int, int, bool]] = []  # start, number of tokens, and whether they are real
    for rows in arrange(sizes) if shares else equal_rows(sizes):
        first = len(pieces)
        for texts in rows.texts:
            pieces += [(starts[text], sizes[text], True) for text in texts]
            if room := rows.width - sum(sizes[text] for text in texts):
                pieces.append((0, room, False))
        own = torch.tensor([size for _, size, _ in pieces[first:]])
        segment_ids = torch.arange(len(own)).repeat_interleave(own).view(-1, rows.width).to(tokens.device)
        masks = make_masks(segment_ids if len(own) > len(rows.texts) else None, segment_ids.shape)
        groups.append(Group(segment_ids, masks))
    packed = sum(group.segment_ids.numel() for group in groups)
    if room := recurring(packed, weights, tokens.device) - packed:
        pieces.append((0, room, False))
    begins, counts, are_real = (torch.tensor(column) for column in zip(*pieces))  # on the CPU: no synchronisation
    offsets = begins - (counts.cumsum(0) - counts)  # from a packed index to that of its token
    order = torch.arange(int(counts.sum())) + offsets.repeat_interleave(counts)
    indices = tokens[order.clamp(max=len(tokens) - 1).to(tokens.device)]
    real = None if are_real.all() else are_real.repeat_interleave(counts).nonzero().flatten().to(tokens.device)
    return Packing(indices, (shape[0], shape[1]), groups, real)
