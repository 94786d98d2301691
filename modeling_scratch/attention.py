# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scaled dot-product attention, and the layer around it: self or cross, grouped-query, cached.

Shapes: B batch, T query length, S key length, H heads, K key-value heads, D head size.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Cache, EncoderDecoderCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .configuration_scratch import ScratchConfig
from .layers import make_norm
from .positions import rotate


def eager_attention(
    module: "Attention",
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T / sqrt(D) + bias + mask) V (Vaswani et al. 2017, 3.2.1), the softmax in float32.

    query (B, H, T, D), key and value (B, K, S, D), attention_mask (B, 1, T, S), position_bias (B, H, T, S)
    -> (B, T, H, D), and the weights (B, H, T, S) before dropout. dropout: a probability, 0 outside of training.
    kwargs: what other backends take. Windows of layers are in the mask already.
    """
    groups = module.num_key_value_groups
    key = key.repeat_interleave(groups, dim=1)  # (B, K, S, D) -> (B, H, S, D)
    value = value.repeat_interleave(groups, dim=1)
    scores = query @ key.transpose(-2, -1) * scaling  # (B, H, T, S)
    if position_bias is not None:
        scores = scores + position_bias
    if attention_mask is not None:
        # In float16, a score plus the most negative number is -inf, and a row of these NaN.
        scores = scores + additive(attention_mask, torch.float32)
    weights = scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
    output = nn.functional.dropout(weights, dropout) @ value  # (B, H, T, D)
    return output.transpose(1, 2).contiguous(), weights


def additive(attention_mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask of scores as it is; a boolean one, true where a key is visible, as 0 and the most negative number."""
    if attention_mask.dtype != torch.bool:
        return attention_mask
    return torch.zeros_like(attention_mask, dtype=dtype).masked_fill_(
        ~attention_mask, torch.finfo(dtype).min
    )


def self_attention_cache(cache: Any) -> Any:
    """The cache of the tokens themselves; an encoder-decoder has one of the encoder's beside it."""
    return cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache


class Attention(nn.Module):
    """Concat(head_1, ..., head_H) W_O with head_i = Attention(Q W_i, K W_i, V W_i) (Vaswani et al. 2017, 3.2.2).

    With fewer key-value heads than heads, neighbours share one (grouped-query attention, Ainslie et al. 2023). Queries
    and keys may be normalised (QK-norm, Henry et al. 2020; Qwen3).
    """

    def __init__(
        self,
        config: ScratchConfig,
        layer_idx: int,
        is_causal: bool = False,
        is_cross: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        # Fused backends read it; eager attention takes it from the mask.
        self.is_causal = is_causal
        self.head_dim = config.head_dim
        self.q_norm = make_norm(config, config.head_dim, config.query_key_norm)
        self.k_norm = make_norm(config, config.head_dim, config.query_key_norm)
        self.sliding_window = None
        is_local = config.attention_types(layer_idx + 1)[layer_idx] == "sliding_attention"
        if is_local and not is_cross:
            # Flash kernels count the token itself; the window of a bidirectional layer does not.
            self.sliding_window = config.sliding_window + (0 if is_causal else 1)
        self.scaling = config.head_dim**-0.5
        self.num_key_value_groups = config.num_attention_heads // config.num_key_value_heads
        query_size = config.num_attention_heads * config.head_dim
        key_size = config.num_key_value_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, query_size, bias=config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, key_size, bias=config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, key_size, bias=config.attention_bias)
        self.o_proj = nn.Linear(query_size, config.hidden_size, bias=config.attention_bias)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Any = None,
        encoder_hidden_states: Tensor | None = None,
        position_bias: Tensor | None = None,
        rotary: tuple[Tensor, Tensor] | None = None,
        past_key_values: Cache | None = None,
        attention_fn: Callable | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """(B, T, hidden) -> the same, and the weights (B, H, T, S), or None where the backend is a fused one.

        Attends to hidden_states and the cached tokens before them, or to encoder_hidden_states (B, S, hidden) if given,
        without positions: those of two sequences are not comparable. position_bias (B, H, T, S) is added to the scores.
        attention_fn: in place of the backend that the config names.
        """
        query = self._heads(self.q_proj(hidden_states), self.q_norm, rotary)  # (B, H, T, D)
        is_cross = encoder_hidden_states is not None
        source = encoder_hidden_states if is_cross else hidden_states
        key, value = self._key_value(source, is_cross, rotary, past_key_values)
        if attention_fn is None:  # the one that model.set_attn_implementation chose
            attention_fn = ALL_ATTENTION_FUNCTIONS.get_interface(
                self.config._attn_implementation, eager_attention
            )
        output, weights = attention_fn(
            self,
            query,
            key,
            value,
            attention_mask,
            **kwargs,
            position_bias=position_bias,
            scaling=self.scaling,
            sliding_window=self.sliding_window,
            dropout=self.config.attention_dropout if self.training else 0.0,
        )
        return self.o_proj(output.flatten(-2)), weights  # (B, T, H, D) -> (B, T, hidden)

    def _heads(
        self,
        features: Tensor,
        norm: nn.Module,
        rotary: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """(B, T, H * D) -> (B, H, T, D), normalised, and rotated by its position where positions are rotary.

        Of keys, (B, S, K * D) -> (B, K, S, D).
        """
        heads = norm(features.unflatten(-1, (-1, self.head_dim)))  # (B, T, H, D)
        if rotary is not None:
            heads = rotate(heads, *rotary)
        return heads.transpose(1, 2)

    def _key_value(
        self,
        source: Tensor,
        is_cross: bool,
        rotary: tuple[Tensor, Tensor] | None,
        cache: Any,
    ) -> tuple[Tensor, Tensor]:
        """Keys and values (B, K, S, D): of all tokens so far, cached ones first; or of the encoder.

        The encoder's output does not change, so its keys and values are computed once.
        """
        # is_updated: {layer: whether the cache has the keys of the encoder}.
        if is_cross and cache is not None and cache.is_updated.get(self.layer_idx):
            layer = cache.cross_attention_cache.layers[self.layer_idx]
            return layer.keys, layer.values
        key = self._heads(self.k_proj(source), self.k_norm, rotary)
        # Values have no norm and no position: (B, S, K * D) -> (B, K, S, D).
        value = self.v_proj(source).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
        if cache is None:
            return key, value
        if is_cross:
            cache.is_updated[self.layer_idx] = True
            return cache.cross_attention_cache.update(key, value, self.layer_idx)
        # Appends, and returns all tokens so far.
        return self_attention_cache(cache).update(key, value, self.layer_idx)
