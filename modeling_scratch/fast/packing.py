# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The two layouts of a batch, padded (B, T) and packed (1, slots), and the way between them.

    padded          packed: rows (R, W) that short texts share, one after another
    a a a a a a     a a a a a a
    b b . . . .     b b c c c d
    c c c . . .
    d . . . . .

A batch of reviews is mostly padding. Packed, all layers work on rows that tokens fill, but for a place here and there;
attention sees the same rows, of one width in each call, and no token sees another text. Results are those of the
padded layout, exactly.

Shapes: B batch, T length, H heads, D head size; R rows and W width of one group; slots are the places of all rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from ..attention import additive
from ..positions import positions_from_lengths
from .bin_packing import Rows, arrange, equal_rows
from .onednn import recurring


def same_segment(queries: Tensor, keys: Tensor) -> Tensor:
    """Segment ids (R, T) and (R, S) -> (R, 1, T, S), true where they are the same."""
    return (queries[:, :, None] == keys[:, None])[:, None]


def select(states: Tensor, indices: Tensor | None) -> Tensor:
    """The tokens at indices (N,) of the flattened B * T: (B, T, ...) -> (1, N, ...); None: all, as they are."""
    return states if indices is None else states.flatten(0, 1).index_select(0, indices)[None]


@dataclass
class Group:
    """Rows of one width that attend in one call: R rows of W slots, in each of them one text or several."""

    shape: tuple[int, int]
    counts: list[int]  # of texts in each row
    segment_ids: Tensor  # (R, W): the text of the packed layout that a slot belongs to; padding counts as one
    mask: Any = None  # what the attention backend takes; None: every score counts

    @property
    def slots(self) -> int:
        return self.shape[0] * self.shape[1]

    def line_up(self) -> tuple[Tensor, Tensor, Tensor]:
        """One token a text, in rows as their texts: which of them stands in each column, (R, columns).

        Columns beyond the texts of a row repeat another's token. Also the indices of the others, (texts,) of the
        flattened R * columns, and their mask (R, 1, columns, W) in float32, where all that is masked stays finite.
        """
        counts, columns = torch.tensor(self.counts)[:, None], torch.arange(max(self.counts))
        standing = (counts.cumsum(0) - counts + columns).clamp(max=sum(self.counts) - 1)
        kept = (columns < counts).flatten().nonzero().flatten()
        standing, kept, columns = (each.to(self.segment_ids.device) for each in (standing, kept, columns))
        seen = same_segment(self.segment_ids[:, :1] + columns, self.segment_ids)
        return standing, kept, additive(seen, torch.float32)


@dataclass
class Packing:
    """A batch's packed layout: all rows of all groups one after another, (1, slots, ...), made `recurring` at its end.

    indices (slots,): where in the flattened (B * T,) input the token of each slot stands.
    real (tokens,): the slots that count; None: all. The others repeat some token, and nobody reads them.
    """

    indices: Tensor
    shape: tuple[int, int]
    groups: list[Group]
    real: Tensor | None = None

    def pack(self, states: Tensor | None) -> Tensor | None:
        """(B, T, ...) or (1, T, ...) -> (1, slots, ...); an absent input stays absent."""
        if states is None:
            return None
        return states.expand(*self.shape, *states.shape[2:]).flatten(0, 1).index_select(0, self.indices)[None]

    def unpack(self, states: Tensor) -> Tensor:
        """(1, slots, hidden) -> (B, T, hidden), zeros where there was padding."""
        padded = states.new_zeros(self.shape[0] * self.shape[1], states.shape[-1])
        return padded.index_copy(0, self._tokens(), select(states, self.real)[0]).unflatten(0, self.shape)

    def find(self, indices: Tensor) -> Tensor:
        """The slots of the tokens that stood at these indices of the flattened B * T."""
        slots = self.indices.new_zeros(self.shape[0] * self.shape[1])
        slots[self._tokens()] = torch.arange(len(self.indices), device=slots.device) if self.real is None else self.real
        return slots[indices]

    def _tokens(self) -> Tensor:
        """Where each token stood in the flattened (B * T,) input."""
        return self.indices if self.real is None else self.indices[self.real]

    @property
    def texts(self) -> int:
        """How many there are, the empty ones not counted."""
        return sum(sum(group.counts) for group in self.groups)

    def _split(self, states: Tensor) -> list[Tensor]:
        """(1, H, slots, D) -> (R, H, W, D) of each group."""
        sizes = [group.slots for group in self.groups]
        rest = states.shape[2] - sum(sizes)
        parts = states.split([*sizes, rest], dim=2) if rest or len(sizes) > 1 else [states]
        return [part.squeeze(0).unflatten(1, group.shape).transpose(0, 1) for part, group in zip(parts, self.groups)]

    def attention_fn(self, backend: Callable, cross_attends: bool = False) -> Callable:
        """What layers attend by: backend, group by group; in a decoder that cross_attends also to the encoder."""

        def attend(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **kwargs: Any) -> Any:
            to_encoder = cross_attends and not module.is_causal
            attend_to = self._attend_to_encoder if to_encoder else self._attend
            return attend_to(backend, module, query, key, value, mask, **kwargs), None

        return attend

    def _attend(
        self, backend: Callable, module: Any, query: Tensor, key: Tensor, value: Tensor, _: None, **kwargs: Any
    ) -> Tensor:
        """Attention within each text: query, key, value (1, H, slots, D) -> (1, slots, H, D)."""
        outputs = []
        for group, *parts in zip(self.groups, *map(self._split, (query, key, value))):
            output, _ = backend(module, *parts, group.mask, **kwargs)  # (R, W, H, D)
            outputs.append(output.flatten(0, 1))
        if rest := query.shape[2] - sum(group.slots for group in self.groups):
            outputs.append(outputs[0].new_zeros(rest, *outputs[0].shape[1:]))
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs))[None]

    def _attend_to_encoder(
        self, backend: Callable, module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **kwargs: Any
    ) -> Tensor:
        """Attention of query (1, H, slots, D) to key and value (B, K, S, D) -> (1, slots, H, D)."""
        heads = query.shape[1], query.shape[-1]
        padded = self.unpack(query.transpose(1, 2).flatten(2)).unflatten(-1, heads)  # (B, T, H, D)
        output, _ = backend(module, padded.transpose(1, 2), key, value, mask, **kwargs)
        return self.pack(output)

    def attend_once(
        self, slots: Tensor, backend: Callable, module: Any, query: Tensor, key: Tensor, value: Tensor, **kwargs: Any
    ) -> Tensor:
        """Attention of one token a text, at slots (N,), to all of it: query (1, H, N, D) -> (1, N, H, D).

        backend: eager attention. The queries are laid out in rows, as the keys of their texts.
        """
        order = slots.argsort()  # that of the packed texts
        queries = query.squeeze(0).transpose(0, 1).index_select(0, order)
        texts = [sum(group.counts) for group in self.groups]
        outputs = []
        for group, own, *parts in zip(self.groups, queries.split(texts), self._split(key), self._split(value)):
            rows, kept, mask = group.line_up()
            lined_up = own.index_select(0, rows.flatten()).unflatten(0, rows.shape).transpose(1, 2)
            output, _ = backend(module, lined_up, *parts, mask, **kwargs)  # (R, columns, H, D)
            outputs.append(output.flatten(0, 1).index_select(0, kept))
        return torch.cat(outputs).index_select(0, order.argsort())[None]


def packing_from_mask(attention_mask: Tensor, make_mask: Callable, **options: Any) -> Packing:
    """The packed layout of a padded batch; attention_mask (B, T), its zeros anywhere. The rest: see _make_packing."""
    real = attention_mask.bool()
    tokens = real.flatten().nonzero().flatten()
    return _make_packing(tokens, real.sum(-1), attention_mask.shape, make_mask, **options)


def packing_from_lengths(lengths: Tensor, shape: Sequence[int], make_mask: Callable, **options: Any) -> Packing:
    """The same for a batch (B, T) that arrived packed."""
    tokens = torch.arange(shape[0] * shape[1], device=lengths.device)
    return _make_packing(tokens, lengths, shape, make_mask, **options)


def _make_packing(
    tokens: Tensor, lengths: Tensor, shape: Sequence[int], make_mask: Callable, shares: bool = True, weights: int = 0
) -> Packing:
    """tokens: indices of the real tokens in the flattened batch, text after text; lengths (texts,) of them each.

    make_mask(segment_ids (R, W) or None, shape): what the backend takes. shares: whether texts may stand in one row.
    weights: see recurring.
    """
    found = lengths.tolist()
    starts = [0, *accumulate(found)]
    groups: list[Group] = []
    pieces: list[tuple[int, int, bool]] = []  # the first of some tokens, how many they are, and whether they count
    for rows in arrange(found) if shares else equal_rows(found):
        count = len(pieces)
        for texts in rows.texts:
            pieces += [(starts[text], found[text], True) for text in texts]
            if room := rows.width - sum(found[text] for text in texts):
                pieces.append((0, room, False))
        groups.append(_make_group(rows, [size for _, size, _ in pieces[count:]], tokens.device, make_mask))
    slots = sum(group.slots for group in groups)
    if room := recurring(slots, weights, tokens.device) - slots:
        pieces.append((0, room, False))
    first, sizes, counts = (torch.tensor(column) for column in zip(*pieces))  # on the CPU: no device is waited for
    order = (torch.repeat_interleave(first, sizes) + positions_from_lengths(sizes, (1, int(sizes.sum())))[0]).clamp(
        max=len(tokens) - 1
    )
    indices = tokens[order.to(tokens.device)]
    real = None if counts.all() else torch.repeat_interleave(counts, sizes).nonzero().flatten().to(tokens.device)
    return Packing(indices, (shape[0], shape[1]), groups, real)


def _make_group(rows: Rows, sizes: list[int], device: torch.device, make_mask: Callable) -> Group:
    """sizes: of all that stands in the rows."""
    shape = len(rows.texts), rows.width
    segment_ids = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)).view(*shape).to(device)
    mask = make_mask(segment_ids if len(sizes) > len(rows.texts) else None, shape)
    return Group(shape, [len(texts) for texts in rows.texts], segment_ids, mask)
