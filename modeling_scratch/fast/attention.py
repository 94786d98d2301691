# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Eager attention with fewer passes over memory, for dropout on a CPU and for single tokens of many texts.

Shapes: B batch, T query length, S key length, H heads, K key-value heads, D head size.
"""

from typing import Any

import torch
from torch import Tensor

from ..attention import additive
from .dropout import keep_mask, scale_of


def eager_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """softmax(Q K^T / sqrt(D) + mask) V without repeating keys; the values are scaled by 1 / (1 - p)."""
    rows = query.shape[1] // key.shape[1] * query.shape[2]  # queries of heads that share a key, in one product
    queries = (query * scaling).reshape(*key.shape[:2], rows, query.shape[-1])
    scores = queries @ key.contiguous().transpose(-2, -1)
    scores = scores.view(*query.shape[:-1], key.shape[2])  # (B, H, T, S)
    if position_bias is not None:
        scores = scores + position_bias
    if attention_mask is not None:
        scores = scores + additive(attention_mask, torch.float32)
    weights = scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
    if dropout and (mask := keep_mask(weights, dropout)) is not None:
        weights, value = weights * mask, value * scale_of(dropout)
    elif dropout:
        weights = torch.nn.functional.dropout(weights, dropout)
    output = weights.view(*key.shape[:2], rows, key.shape[2]) @ value
    return output.view_as(query).transpose(1, 2).contiguous(), None
