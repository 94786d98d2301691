# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Batches that arrive packed, texts one after another in (B, T), in the forms that Hugging Face has for them.

Shapes: B batch, T length.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.utils import is_tracing


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
        # The same, without waiting for it; continuous batching, which brings a cache, fills up with what is no text's.
        if boundaries.device.type == "cuda" and not is_tracing(boundaries) and kwargs.get("cache") is None:
            torch._assert_async(boundaries[-1] == shape[0] * shape[1], "cu_seq_lens_q does not end with the batch")
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


def positions_from_lengths(lengths: Tensor, tokens: int | None = None) -> Tensor:
    """[0, 1, 2, 0, 1, ...]: positions that restart with each sequence. (sequences,) -> (tokens,).

    tokens: how many there are, for accelerators, which one would have to wait for to count them.
    """
    starts = torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths, output_size=tokens)
    return torch.arange(len(starts), device=lengths.device) - starts


def document_ids(lengths: Tensor, shape: Sequence[int]) -> Tensor:
    """[0, 0, 0, 1, 1, ...]: the sequence that each token belongs to. (sequences,) -> (B, T)."""
    numbers = torch.arange(len(lengths), device=lengths.device)
    return torch.repeat_interleave(numbers, lengths, output_size=shape[0] * shape[1]).view(*shape)


def document_starts(lengths: Tensor, shape: Sequence[int]) -> Tensor:
    """True where a sequence of a packed batch starts. (sequences,) -> (B, T)."""
    return (positions_from_lengths(lengths, shape[0] * shape[1]) == 0).view(*shape)


def varlen_arguments(lengths: Tensor) -> dict[str, Any]:
    """What variable-length kernels (flash attention) want to know of a packed batch, under Hugging Face's names."""
    boundaries = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    longest = int(lengths.max())
    return {"cu_seq_lens_q": boundaries, "cu_seq_lens_k": boundaries, "max_length_q": longest, "max_length_k": longest}


def to_rows(hidden_states: Tensor, lengths: Tensor, longest: int | None = None) -> tuple[Tensor, Tensor]:
    """A packed batch as one row a sequence: (B, T, hidden) -> (sequences, longest, hidden) and its mask.

    longest: how long the longest is, as an accelerator, which one would wait for, is told.
    """
    if longest is None or lengths.device.type == "cpu":
        longest = int(lengths.max())
    states, lengths = hidden_states.flatten(0, 1), lengths.to(hidden_states.device)[:, None]
    columns = torch.arange(longest, device=states.device)
    places, mask = lengths.cumsum(0) - lengths + columns, columns < lengths
    return states[places.clamp(max=len(states) - 1)].masked_fill(~mask[..., None], 0), mask
