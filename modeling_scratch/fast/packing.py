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

from ..attention import additive
from .bin_packing import Rows, arrange, equal_rows
from .onednn import recurring


def positions_from_lengths(lengths: Tensor) -> Tensor:
    """[0, 1, 2, 0, 1, ...]: positions that restart with each text. (N,) -> (tokens,)."""
    starts = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    return torch.arange(len(starts), device=lengths.device) - starts


def same_segment(queries: Tensor, keys: Tensor) -> Tensor:
    """Segment ids (R, T) and (R, S) -> (R, 1, T, S), true where they are the same."""
    return (queries[:, :, None] == keys[:, None])[:, None]


def select(states: Tensor, indices: Tensor | None) -> Tensor:
    """The tokens at indices (N,) of the flattened B * T: (B, T, ...) -> (1, N, ...); None: all, as they are."""
    return states if indices is None else states.flatten(0, 1).index_select(0, indices)[None]


@dataclass
class Group:
    """Rows of one width that attend in one call: R rows of W tokens, each with one text or several."""

    shape: tuple[int, int]
    counts: list[int]  # texts in each row
    segment_ids: Tensor  # (R, W): the text that each packed token belongs to; padding counts as one
    # Of each type of layer: the mask in the attention backend's format, or None, and the position_bias (R, H, W, W).
    masks: Mapping[str, tuple[Any, Tensor | None]]

    @property
    def tokens(self) -> int:
        return self.shape[0] * self.shape[1]

    def query_grid(self) -> tuple[Tensor, Tensor, Tensor]:
        """The layout of one query per text, in the row of its text: the query's index in each column, (R, columns).

        Columns beyond the texts of a row repeat some query. Also returns the indices of the real columns, (texts,)
        into the flattened R * columns, and the mask (R, 1, columns, W) in float32, with finite masked scores.
        """
        counts, columns = torch.tensor(self.counts)[:, None], torch.arange(max(self.counts))
        queries = (counts.cumsum(0) - counts + columns).clamp(max=sum(self.counts) - 1)
        real = (columns < counts).flatten().nonzero().flatten()
        queries, real, columns = (each.to(self.segment_ids.device) for each in (queries, real, columns))
        allowed = same_segment(self.segment_ids[:, :1] + columns, self.segment_ids)
        return queries, real, additive(allowed, torch.float32)


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

    @property
    def texts(self) -> int:
        """The number of non-empty texts."""
        return sum(sum(group.counts) for group in self.groups)

    def _split(self, states: Tensor) -> list[Tensor]:
        """(1, H, P, D) -> (R, H, W, D) of each group."""
        sizes = [group.tokens for group in self.groups]
        rest = states.shape[2] - sum(sizes)
        parts = states.split([*sizes, rest], dim=2) if rest or len(sizes) > 1 else [states]
        return [part.squeeze(0).unflatten(1, group.shape).transpose(0, 1) for part, group in zip(parts, self.groups)]

    def attention_fn(self, backend: Callable, cross_attends: bool = False) -> Callable:
        """The attention_fn of layers: the backend, called once per group; cross_attends: with cross-attention, too."""

        def attend(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **kwargs: Any) -> Any:
            to_encoder = cross_attends and not module.is_causal
            attend_to = self._attend_to_encoder if to_encoder else self._attend
            return attend_to(backend, module, query, key, value, mask, **kwargs), None

        return attend

    def _attend(
        self, backend: Callable, module: Any, query: Tensor, key: Tensor, value: Tensor, _: None, **kwargs: Any
    ) -> Tensor:
        """Attention within each text: query, key, value (1, H, P, D) -> (1, P, H, D)."""
        outputs, kind = [], "full_attention" if module.sliding_window is None else "sliding_attention"
        for group, *parts in zip(self.groups, *map(self._split, (query, key, value))):
            mask, bias = group.masks[kind]
            output, _ = backend(module, *parts, mask, **{**kwargs, "position_bias": bias})  # (R, W, H, D)
            outputs.append(output.flatten(0, 1))
        if rest := query.shape[2] - sum(group.tokens for group in self.groups):
            outputs.append(outputs[0].new_zeros(rest, *outputs[0].shape[1:]))
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs))[None]

    def _attend_to_encoder(
        self, backend: Callable, module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **kwargs: Any
    ) -> Tensor:
        """Attention of query (1, H, P, D) to key and value (B, K, S, D) -> (1, P, H, D)."""
        heads = query.shape[1], query.shape[-1]
        padded = self.unpack(query.transpose(1, 2).flatten(2)).unflatten(-1, heads)  # (B, T, H, D)
        output, _ = backend(module, padded.transpose(1, 2), key, value, mask, **kwargs)
        return self.pack(output)

    def attend_once(
        self, indices: Tensor, backend: Callable, module: Any, query: Tensor, key: Tensor, value: Tensor, **kwargs: Any
    ) -> Tensor:
        """Attention of one token per text, at packed indices (N,), to its text: query (1, H, N, D) -> (1, N, H, D).

        backend: eager attention. Each query stands in the row of its text's keys.
        """
        order = indices.argsort()  # texts in packed order
        queries = query.squeeze(0).transpose(0, 1).index_select(0, order)
        texts = [sum(group.counts) for group in self.groups]
        outputs = []
        for group, own, *parts in zip(self.groups, queries.split(texts), self._split(key), self._split(value)):
            grid, real, mask = group.query_grid()
            in_rows = own.index_select(0, grid.flatten()).unflatten(0, grid.shape).transpose(1, 2)
            output, _ = backend(module, in_rows, *parts, mask, **kwargs)  # (R, columns, H, D)
            outputs.append(output.flatten(0, 1).index_select(0, real))
        return torch.cat(outputs).index_select(0, order.argsort())[None]


def packing_from_mask(attention_mask: Tensor, make_masks: Callable, **options: Any) -> Packing:
    """The packed layout of a padded batch; attention_mask (B, T) with zeros anywhere. For options see _make_packing."""
    real = attention_mask.bool()
    tokens = real.flatten().nonzero().flatten()
    return _make_packing(tokens, real.sum(-1), attention_mask.shape, make_masks, **options)


def packing_from_lengths(lengths: Tensor, shape: Sequence[int], make_masks: Callable, **options: Any) -> Packing:
    """The layout of a batch (B, T) that arrived packed."""
    tokens = torch.arange(shape[0] * shape[1], device=lengths.device)
    return _make_packing(tokens, lengths, shape, make_masks, **options)


def _make_packing(
    tokens: Tensor, lengths: Tensor, shape: Sequence[int], make_masks: Callable, shares: bool = True, weights: int = 0
) -> Packing:
    """tokens: indices of the real tokens in the flattened batch, text by text; lengths (texts,): tokens per text.

    make_masks(segment_ids (R, W) or None, shape): see Group.masks. shares: whether texts share rows. weights: see
    recurring.
    """
    sizes_of_texts = lengths.tolist()
    starts = [0, *accumulate(sizes_of_texts)]
    groups: list[Group] = []
    pieces: list[tuple[int, int, bool]] = []  # start, number of tokens, and whether they are real
    for rows in arrange(sizes_of_texts) if shares else equal_rows(sizes_of_texts):
        count = len(pieces)
        for texts in rows.texts:
            pieces += [(starts[text], sizes_of_texts[text], True) for text in texts]
            if room := rows.width - sum(sizes_of_texts[text] for text in texts):
                pieces.append((0, room, False))
        groups.append(_make_group(rows, [size for _, size, _ in pieces[count:]], tokens.device, make_masks))
    packed = sum(group.tokens for group in groups)
    if room := recurring(packed, weights, tokens.device) - packed:
        pieces.append((0, room, False))
    first, sizes, counts = (torch.tensor(column) for column in zip(*pieces))  # on the CPU: no synchronisation
    order = (torch.repeat_interleave(first, sizes) + positions_from_lengths(sizes)).clamp(max=len(tokens) - 1)
    indices = tokens[order.to(tokens.device)]
    real = None if counts.all() else torch.repeat_interleave(counts, sizes).nonzero().flatten().to(tokens.device)
    return Packing(indices, (shape[0], shape[1]), groups, real)


def _make_group(rows: Rows, sizes: list[int], device: torch.device, make_masks: Callable) -> Group:
    """sizes: the lengths of all texts and padding in the rows."""
    shape = len(rows.texts), rows.width
    segment_ids = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)).view(*shape).to(device)
    masks = make_masks(segment_ids if len(sizes) > len(rows.texts) else None, shape)
    return Group(shape, [len(texts) for texts in rows.texts], segment_ids, masks)
