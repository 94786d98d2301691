# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scaled dot-product attention, and the layer around it: self or cross, grouped-query, cached, padded or packed.

Shapes: B batch, T query length, S key length, H heads, K key-value heads, D head size.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Cache, EncoderDecoderCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .configuration_scratch import ScratchConfig
from .dropout import drop
from .packing import Packing, as_scores, select
from .positions import rotate
from .products import linear
from .shortcuts import is_plain_linear


def eager_attention(
    module: "Attention",
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T / sqrt(D)) V (Vaswani et al. 2017, 3.2.1), the softmax in float32.

    query (B, H, T, D), key and value (B, K, S, D), attention_mask (B, 1, T, S): added to the scores, or true where a
    key is seen.
    Returns (B, T, H, D) and the weights (B, H, T, S), before dropout. This is the readable form, and the one that
    returns its weights. On a CPU it is also the fast one with dropout (no fused kernel has that there) and for one
    token of many texts.
    """
    together = query.shape[1] // key.shape[1] * query.shape[2]  # heads that share keys ask like tokens of one head
    asking = (query * scaling).reshape(*key.shape[:2], together, query.shape[-1])
    scores = asking @ key.contiguous().transpose(-2, -1)
    scores = scores.view(*query.shape[:-1], key.shape[2])  # (B, H, T, S)
    if attention_mask is not None:
        is_bool = attention_mask.dtype == torch.bool
        scores = scores + (as_scores(attention_mask, scores.dtype) if is_bool else attention_mask)
    weights = scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
    kept = weights
    if dropout:
        kept, scale = drop(weights, dropout)
        value = value * scale
    output = kept.view(*key.shape[:2], together, key.shape[2]) @ value
    return output.view_as(query).transpose(1, 2).contiguous(), weights


class Attention(nn.Module):
    """Concat(head_1, ..., head_H) W_O with head_i = Attention(Q W_i, K W_i, V W_i) (Vaswani et al. 2017, 3.2.2).

    With fewer key-value heads than heads, neighbours share one (grouped-query attention, Ainslie et al. 2023).
    """

    def __init__(self, config: ScratchConfig, layer_idx: int, is_causal: bool = False) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.is_causal = is_causal
        self.head_dim = config.head_dim
        self.scaling = config.head_dim**-0.5
        self.num_key_value_groups = config.num_attention_heads // config.num_key_value_heads
        query_size, key_size = (n * config.head_dim for n in (config.num_attention_heads, config.num_key_value_heads))
        self.q_proj = nn.Linear(config.hidden_size, query_size, bias=config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, key_size, bias=config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, key_size, bias=config.attention_bias)
        self.o_proj = nn.Linear(query_size, config.hidden_size, bias=config.attention_bias)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Any = None,
        memory: Tensor | None = None,
        rotary: tuple[Tensor, Tensor] | None = None,
        packing: Packing | None = None,
        past_key_values: Any = None,
        places: Tensor | None = None,
        attend: Callable | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """(B, T, hidden) -> the same and the weights (B, H, T, S), or None where the backend is a fused one.

        Attends to hidden_states and what past_key_values holds of those before, or to memory (B, S, hidden) if given.
        places: indices (N,) of the tokens whose outputs are read, which gives (1, N, hidden); (N, 1) where there is one
        a text, which is less work; None: all. attend: in place of the backend that the config names.
        """
        if packing is not None and not self.is_causal and packing.has_one_in_each(places):
            return self._ask_once(hidden_states, packing, places, rotary), None
        query = linear(self.q_proj, hidden_states).unflatten(-1, (-1, self.head_dim))  # (B, T, H, D)
        if memory is None:
            query = query if rotary is None else rotate(query, *rotary)
            key, value = self._own_keys(hidden_states, rotary, past_key_values)
        else:
            key, value = self._memory_keys(memory, past_key_values)

        if attend is None:
            attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention)
        if packing is not None:
            attend = partial(packing.attend if memory is None else packing.attend_to_memory, attend)
        dropout = self.config.attention_dropout if self.training else 0.0
        states = query.transpose(1, 2), key, value
        output, weights = attend(self, *states, attention_mask, dropout=dropout, scaling=self.scaling, **kwargs)
        return linear(self.o_proj, select(output.flatten(-2), places)), weights

    def _ask_once(self, hidden_states: Tensor, packing: Packing, places: Tensor, rotary: Any) -> Tensor:
        """One token asks in each text, that at slots places (N, 1): (1, slots, hidden) -> (1, N, hidden)."""
        query = linear(self.q_proj, select(hidden_states, places)).unflatten(-1, (-1, self.head_dim))  # (1, N, H, D)
        dropout = self.config.attention_dropout if self.training else 0.0
        attend = partial(packing.attend_from, places, eager_attention, self, dropout=dropout, scaling=self.scaling)
        same = (self.k_proj.bias is None) == (self.v_proj.bias is None)
        if rotary is None and same and is_plain_linear(self.k_proj) and is_plain_linear(self.v_proj):
            return linear(self.o_proj, self._ask_states(query, hidden_states, attend))
        if rotary is not None:
            query = rotate(query, *(select(part, places) for part in rotary))
        output = attend(query.transpose(1, 2), *self._own_keys(hidden_states, rotary, None))
        return linear(self.o_proj, output.flatten(-2))

    def _ask_states(self, query: Tensor, hidden_states: Tensor, attend: Callable) -> Tensor:
        """q . (W_K x) = (W_K^T q) . x, and the sum of all a W_V x is W_V times the sum of all a x.

        So the two projections work for the few tokens that ask, not for all that are asked, whose states are the one
        key and the one value that all heads share. query (1, N, H, D) -> (1, N, H * D).
        """
        keys, values = map(self._matrices, (self.k_proj, self.v_proj))  # (H, D, hidden + 1)
        states = hidden_states if self.k_proj.bias is None else F.pad(hidden_states, (0, 1), value=1.0)
        asking = query.squeeze(0).transpose(0, 1) @ keys  # (H, N, hidden + 1)
        mixed = attend(asking[None], states[:, None], states[:, None])  # (1, N, H, hidden + 1)
        answers = mixed.squeeze(0).transpose(0, 1) @ values.transpose(1, 2)  # (H, N, D)
        return answers.transpose(0, 1).flatten(1)[None]

    def _matrices(self, layer: nn.Linear) -> Tensor:
        """Its weight for each head, the bias as one more column, of a feature that is always 1: (H, D, hidden + 1)."""
        weight = layer.weight if layer.bias is None else torch.cat((layer.weight, layer.bias[:, None]), 1)
        weight = weight.unflatten(0, (-1, 1, self.head_dim))  # (K, 1, D, hidden + 1)
        return weight.expand(-1, self.num_key_value_groups, -1, -1).flatten(0, 1)

    def _own_keys(
        self, hidden_states: Tensor, rotary: tuple[Tensor, Tensor] | None, cache: Cache | None
    ) -> tuple[Tensor, Tensor]:
        """Keys and values (B, K, S, D) of the tokens so far: the cached ones, then those of hidden_states."""
        key, value = self._project(hidden_states)  # (B, T, K, D)
        if rotary is not None:
            key = rotate(key, *rotary)
        key, value = key.transpose(1, 2), value.transpose(1, 2)
        if cache is None:
            return key, value
        cache = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
        return cache.update(key, value, self.layer_idx)

    def _memory_keys(self, memory: Tensor, cache: Any) -> tuple[Tensor, Tensor]:
        """Keys and values (B, K, S, D) of the memory, which stays the same: computed once, then cached."""
        if cache is not None and cache.is_updated.get(self.layer_idx):
            layer = cache.cross_attention_cache.layers[self.layer_idx]
            return layer.keys, layer.values
        key, value = (states.transpose(1, 2) for states in self._project(memory))
        if cache is not None:
            key, value = cache.cross_attention_cache.update(key, value, self.layer_idx)
            cache.is_updated[self.layer_idx] = True
        return key, value

    def _project(self, states: Tensor) -> tuple[Tensor, Tensor]:
        heads = (-1, self.head_dim)
        return linear(self.k_proj, states).unflatten(-1, heads), linear(self.v_proj, states).unflatten(-1, heads)
