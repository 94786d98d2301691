# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The two layouts of a batch, padded (B, T) and packed (1, tokens), and the way between them.

A batch of reviews is mostly padding. What works token by token (embeddings, norms, projections, feed-forward) runs on
the packed layout, real tokens only; attention runs on groups of sequences of similar length, each padded to its own
longest. It is exact: no real token ever sees padding or another sequence, as in the padded layout.

Shapes: B batch, T length, H heads, D head size; n tokens, b sequences and t length of one group.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers.utils import is_tracing

# What starting one more group costs, counted in attention scores that could be computed in the same time.
GROUP_COST = 8192


def packed_lengths(
    shape: Sequence[int], attention_mask: Tensor | None, position_ids: Tensor | None, kwargs: dict[str, Any]
) -> Tensor | None:
    """Lengths (sequences,) of a batch (B, T) that arrives packed, adding up to B * T; None for an ordinary padded one.

    Packed batches come in Hugging Face's own form (DataCollatorWithFlattening): no attention_mask, and either
    cu_seq_lens_q or position_ids (B, T) that restart with each sequence.
    """
    if attention_mask is not None:
        return None
    if (boundaries := kwargs.get("cu_seq_lens_q")) is not None:
        if boundaries.device.type == "cpu" and not is_tracing(boundaries) and boundaries[-1] != shape[0] * shape[1]:
            raise ValueError(
                f"cu_seq_lens_q ends at {int(boundaries[-1])}, but the batch has {shape[0] * shape[1]} tokens: every "
                "token belongs to a sequence, those that fill up a row too."
            )
        return boundaries.diff()
    if position_ids is None or is_tracing(position_ids):  # a traced graph cannot branch on what the tensor holds
        return None
    position_ids = position_ids.expand(*shape)
    starts = torch.ones_like(position_ids, dtype=torch.bool)
    starts[:, 1:] = position_ids.diff(dim=-1) != 1
    if not starts[:, 1:].any():
        return None
    first_tokens = starts.flatten().nonzero().flatten()
    return torch.cat((first_tokens, first_tokens.new_tensor([starts.numel()]))).diff()


def positions_from_lengths(lengths: Tensor) -> Tensor:
    """[0, 1, 2, 0, 1, ...]: positions that restart with each sequence. (sequences,) -> (tokens,)."""
    starts = torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths)
    return torch.arange(len(starts), device=lengths.device) - starts


def document_ids(lengths: Tensor, shape: Sequence[int]) -> Tensor:
    """[0, 0, 0, 1, 1, ...]: the sequence that each token belongs to. (sequences,) -> (B, T)."""
    numbers = torch.arange(len(lengths), device=lengths.device)
    return torch.repeat_interleave(numbers, lengths, output_size=shape[0] * shape[1]).view(*shape)


def document_starts(lengths: Tensor, shape: Sequence[int]) -> Tensor:
    """True where a sequence of a packed batch starts. (sequences,) -> (B, T)."""
    return (positions_from_lengths(lengths) == 0).view(*shape)


def varlen_arguments(lengths: Tensor) -> dict[str, Any]:
    """What variable-length kernels (flash attention) want to know of a packed batch, under Hugging Face's names."""
    boundaries = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    longest = int(lengths.max())
    return {"cu_seq_lens_q": boundaries, "cu_seq_lens_k": boundaries, "max_length_q": longest, "max_length_k": longest}


def to_rows(hidden_states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """A packed batch as one row a sequence: (B, T, hidden) -> (sequences, longest, hidden) and its mask."""
    rows = pad_sequence(hidden_states.flatten(0, 1).split(lengths.tolist()), batch_first=True)
    return rows, torch.arange(rows.shape[1], device=rows.device) < lengths.to(rows.device)[:, None]


def select(states: Tensor, places: Tensor | None) -> Tensor:
    """The tokens at places of the flattened B * T: (B, T, ...) -> (1, N, ...); None: all, as they are.

    places: (N,), or (N, 1) to say that each text has one.
    """
    return states if places is None else states.flatten(0, 1).index_select(0, places.flatten())[None]


@dataclass
class Group:
    """b sequences of similar length that attend in one call: n tokens, padded to (b, t)."""

    lengths: list[int]
    slots: Tensor | None = None  # where each token stands in the flattened (b * t,); None: all are taken, in order
    mask: Any = None  # what the attention backend takes; None: every score counts

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.lengths), self.lengths[0]

    def pad(self, states: Tensor) -> Tensor:
        """(n, H, D) -> (b, H, t, D)."""
        if self.slots is not None:
            padded = states.new_zeros(self.shape[0] * self.shape[1], *states.shape[1:])
            states = padded.index_copy(0, self.slots, states)
        return states.unflatten(0, self.shape).transpose(1, 2)

    def unpad(self, states: Tensor) -> Tensor:
        """(b, t, H, D) -> (n, H, D)."""
        states = states.flatten(0, 1)
        return states if self.slots is None else states.index_select(0, self.slots)


@dataclass
class Packing:
    """A batch's packed layout: its sequences ordered by length, longest first, and cut into groups.

    indices (tokens,): where each packed token stands in the flattened (B * T,) input.
    """

    indices: Tensor
    shape: tuple[int, int]
    groups: list[Group]

    def pack(self, states: Tensor | None) -> Tensor | None:
        """(B, T, ...) or (1, T, ...) -> (1, tokens, ...); an absent input stays absent."""
        if states is None:
            return None
        return states.expand(*self.shape, *states.shape[2:]).flatten(0, 1).index_select(0, self.indices)[None]

    def unpack(self, states: Tensor) -> Tensor:
        """(1, tokens, hidden) -> (B, T, hidden), zeros where there was padding."""
        padded = states.new_zeros(self.shape[0] * self.shape[1], states.shape[-1])
        return padded.index_copy(0, self.indices, states[0]).unflatten(0, self.shape)

    def find(self, places: Tensor) -> Tensor:
        """Where tokens stand in the packed layout that stood at these places of the flattened B * T."""
        slots = self.indices.new_zeros(self.shape[0] * self.shape[1])
        slots[self.indices] = torch.arange(len(self.indices), device=slots.device)
        return slots[places]

    def has_one_in_each(self, places: Tensor | None) -> bool:
        """Whether they are one a text, and no text is empty."""
        if places is None or places.ndim != 2:
            return False
        return len(places) == sum(len(group.lengths) for group in self.groups)

    def _split(self, states: Tensor) -> Sequence[Tensor]:
        """(1, H, tokens, D) -> (n, H, D) of each group."""
        return states[0].transpose(0, 1).split([sum(group.lengths) for group in self.groups])

    def attend_from(
        self, places: Tensor, interface: Callable, module: torch.nn.Module, *states: Any, **kwargs: Any
    ) -> tuple[Tensor, None]:
        """Attention of one token a text, at places (N, 1), to all of it: query (1, H, N, D) -> (1, N, H, D)."""
        query, key, value, _ = states
        order = places.flatten().argsort()  # that of the packed texts
        queries = query[0].transpose(0, 1)[order].split([len(group.lengths) for group in self.groups])
        keys, values = map(self._split, (key, value))
        outputs = []
        for group, own, *parts in zip(self.groups, queries, keys, values):
            mask = None if group.mask is None else group.mask[:, :, :1]  # padding alone is masked, for all alike
            output, _ = interface(module, own[:, :, None], *map(group.pad, parts), mask, **kwargs)  # (b, 1, H, D)
            outputs.append(output.flatten(0, 1))
        return torch.cat(outputs)[order.argsort()][None], None

    def attend(
        self,
        interface: Callable,
        module: torch.nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        _: None,
        **kwargs: Any,
    ) -> tuple[Tensor, None]:
        """Attention within each sequence: query, key, value (1, H, tokens, D) -> (1, tokens, H, D)."""
        outputs = []
        for group, *parts in zip(self.groups, *map(self._split, (query, key, value))):
            output, _ = interface(module, *map(group.pad, parts), group.mask, **kwargs)
            outputs.append(group.unpad(output))
        return torch.cat(outputs)[None], None

    def attend_to_memory(
        self,
        interface: Callable,
        module: torch.nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        memory_mask: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, None]:
        """Attention of query (1, H, tokens, D) to key and value (B, K, S, D) -> (1, tokens, H, D)."""
        heads = query.shape[1], query.shape[-1]
        padded = self.unpack(query.transpose(1, 2).flatten(2)).unflatten(-1, heads)  # (B, T, H, D)
        output, _ = interface(module, padded.transpose(1, 2), key, value, memory_mask, **kwargs)
        return self.pack(output), None


def packing_from_mask(attention_mask: Tensor, make_mask: Callable) -> Packing:
    """The packed layout of a padded batch; attention_mask (B, T), its zeros anywhere. make_mask: see _make_group."""
    real = attention_mask.bool()
    return _make_packing(real.flatten().nonzero().flatten(), real.sum(-1), attention_mask.shape, make_mask)


def packing_from_lengths(lengths: Tensor, shape: Sequence[int], make_mask: Callable) -> Packing:
    """The same for a batch (B, T) that arrived packed: its sequences, ordered and grouped."""
    return _make_packing(torch.arange(shape[0] * shape[1], device=lengths.device), lengths, shape, make_mask)


def _make_packing(tokens: Tensor, lengths: Tensor, shape: Sequence[int], make_mask: Callable) -> Packing:
    """tokens: flat places of the real tokens, sequence after sequence, lengths (sequences,) of them each."""
    ordered, order = lengths.sort(descending=True, stable=True)
    starts = lengths.cumsum(0) - lengths
    shifts = torch.repeat_interleave(starts[order] - (ordered.cumsum(0) - ordered), ordered)
    indices = tokens[torch.arange(len(tokens), device=tokens.device) + shifts]
    groups = [_make_group(group, tokens.device, make_mask) for group in _group_lengths(ordered.tolist())]
    return Packing(indices, (shape[0], shape[1]), groups)


def _group_lengths(lengths: list[int]) -> list[list[int]]:
    """Cut descending lengths where padding on would waste more scores than a new group costs; empty ones drop out."""
    groups: list[list[int]] = []
    waste = 0
    for length in filter(None, lengths):
        if groups:
            longest = groups[-1][0]
            waste += longest * longest - length * length
        if not groups or waste > GROUP_COST:
            groups.append([])
            waste = 0
        groups[-1].append(length)
    return groups


def _make_group(lengths: list[int], device: torch.device, make_mask: Callable) -> Group:
    """make_mask(mask (b, t) or None, shape (b, t)) returns what the attention backend takes."""
    group = Group(lengths)
    if lengths[0] == lengths[-1]:
        group.mask = make_mask(None, group.shape)
        return group
    mask = torch.arange(lengths[0], device=device) < torch.tensor(lengths, device=device)[:, None]
    group.slots = mask.flatten().nonzero().flatten()
    group.mask = make_mask(mask, group.shape)
    return group
