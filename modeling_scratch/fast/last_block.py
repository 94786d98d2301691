# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The last block, computed only for the tokens that a head reads; the others are only keys and values.

Shapes: B batch, T length, N tokens that the head reads, H heads, K key-value heads, D head size.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from ..attention import Attention
from ..positions import rotate
from ..stack import Block
from .attention import eager_attention
from .hooks import is_plain_linear
from .packing import Packing, select


def last_block(
    block: Block, hidden_states: Tensor, indices: Tensor, attend: Callable[[Attention, Tensor], Tensor]
) -> Tensor:
    """Block.forward for the tokens at indices (N,) of the flattened B * T: (B, T, hidden) -> (1, N, hidden).

    attend(attention, states (B, T, hidden)) returns (1, N, hidden): attend_then_select or attend_once.
    """
    residual = block.attention_residual
    update = attend(block.attention, residual.before(hidden_states))
    hidden_states = residual.after(select(hidden_states, indices), update)
    residual = block.feed_forward_residual
    return residual.after(hidden_states, block.feed_forward(residual.before(hidden_states)))


def attend_then_select(
    attention: Attention, states: Tensor, indices: Tensor, mask: Any, attention_fn: Callable | None, **kwargs: Any
) -> Tensor:
    """Attention for all tokens, output projection for those at indices (N,): (B, T, hidden) -> (1, N, hidden)."""
    name = attention.config._attn_implementation
    backend = attention_fn or ALL_ATTENTION_FUNCTIONS.get_interface(name, eager_attention)

    def select_output(*args: Any, **options: Any) -> tuple[Tensor, Any]:
        output, weights = backend(*args, **options)
        return select(output, indices), weights

    return attention(states, mask, attention_fn=select_output, **kwargs)[0]


def attend_once(
    attention: Attention, states: Tensor, indices: Tensor, packing: Packing, rotary: tuple[Tensor, Tensor] | None
) -> Tensor:
    """Attention for one token per text, at packed indices (N,): (1, tokens, hidden) -> (1, N, hidden)."""
    by_head = -1, attention.head_dim
    query = attention.q_norm(attention.q_proj(select(states, indices)).unflatten(-1, by_head))  # (1, N, H, D)
    dropout = attention.config.attention_dropout if attention.training else 0.0
    options = {"dropout": dropout, "scaling": attention.scaling}
    attend: Callable = partial(packing.attend_once, indices, eager_attention, attention, **options)
    projections = attention.k_proj, attention.v_proj
    have_equal_biases = (projections[0].bias is None) == (projections[1].bias is None)
    is_linear = rotary is None and isinstance(attention.k_norm, nn.Identity)
    if is_linear and have_equal_biases and all(map(is_plain_linear, projections)):
        return attention.o_proj(_attend_to_states(attention, query, states, attend))
    if rotary is not None:
        query = rotate(query, *(select(part, indices) for part in rotary))
    key, value = (project(states).unflatten(-1, by_head) for project in projections)  # (1, tokens, K, D)
    key = attention.k_norm(key)
    key = key if rotary is None else rotate(key, *rotary)
    output = attend(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2))
    return attention.o_proj(output.flatten(-2))


def _attend_to_states(attention: Attention, query: Tensor, states: Tensor, attend: Callable) -> Tensor:
    """q . (W_K x) = (W_K^T q) . x, and sum_i a_i W_V x_i = W_V sum_i a_i x_i.

    So both projections apply to the few queries instead of all keys: all heads share the hidden states as their one key
    and one value. query (1, N, H, D) -> (1, N, H * D).
    """
    keys, values = (_weight_of_heads(attention, layer) for layer in (attention.k_proj, attention.v_proj))
    states = states if attention.k_proj.bias is None else F.pad(states, (0, 1), value=1.0)
    queries = query.squeeze(0).transpose(0, 1) @ keys  # (H, N, hidden + 1)
    mixed = attend(queries[None], states[:, None], states[:, None])  # (1, N, H, hidden + 1)
    answers = mixed.squeeze(0).transpose(0, 1) @ values.transpose(1, 2)  # (H, N, D)
    return answers.transpose(0, 1).flatten(1)[None]


def _weight_of_heads(attention: Attention, layer: nn.Linear) -> Tensor:
    """The weight of each head, its bias as one more column for a constant feature of 1: (H, D, hidden + 1)."""
    weight = layer.weight if layer.bias is None else torch.cat((layer.weight, layer.bias[:, None]), 1)
    weight = weight.unflatten(0, (-1, 1, attention.head_dim))  # (K, 1, D, hidden + 1)
    return weight.expand(-1, attention.num_key_value_groups, -1, -1).flatten(0, 1)
