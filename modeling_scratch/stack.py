# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One block, and the stack of them that is an encoder or a decoder.

Shapes: B batch, T length; packed batches are (1, tokens, hidden).
"""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from .attention import Attention
from .configuration_scratch import ScratchConfig
from .layers import NORM_POSITIONS, NORMS, FeedForward
from .packing import select


class Block(GradientCheckpointingLayer):
    """Attention, then feed-forward, each with its residual connection and norm (Vaswani et al. 2017, figure 1).

    The decoder of an encoder-decoder attends to the encoder's output, the memory, between the two.
    """

    def __init__(
        self, config: ScratchConfig, layer_idx: int, is_causal: bool = False, cross_attention: bool = False
    ) -> None:
        super().__init__()
        residual = NORM_POSITIONS[config.norm_position]
        self.attention = Attention(config, layer_idx, is_causal)
        self.attention_residual = residual(config)
        self.cross_attention = Attention(config, layer_idx) if cross_attention else None
        self.cross_attention_residual = residual(config) if cross_attention else None
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = residual(config)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Any = None,
        memory: Tensor | None = None,
        memory_mask: Any = None,
        places: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """(B, T, hidden), memory (B, S, hidden) -> (B, T, hidden), or where places (N,) are given (1, N, hidden).

        places: indices of those of the B * T tokens that are read; the others are only attended to.
        kwargs reach the attention.
        """
        residual = self.attention_residual
        attended, _ = self.attention(residual.before(hidden_states), attention_mask, places=places, **kwargs)
        hidden_states = residual.after(select(hidden_states, places), attended)

        if self.cross_attention is not None:
            residual = self.cross_attention_residual
            attended, _ = self.cross_attention(residual.before(hidden_states), memory_mask, memory, **kwargs)
            hidden_states = residual.after(hidden_states, attended)

        residual = self.feed_forward_residual
        return residual.after(hidden_states, self.feed_forward(residual.before(hidden_states)))


class Stack(nn.Module):
    """N blocks, and the final norm that pre-norm needs (its residual stream leaves the last block unnormalised)."""

    def __init__(
        self, config: ScratchConfig, num_layers: int, is_causal: bool = False, cross_attention: bool = False
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(config, i, is_causal, cross_attention) for i in range(num_layers))
        final_norm = config.norm_position == "pre"
        self.norm = NORMS[config.norm_type](config.hidden_size, eps=config.norm_eps) if final_norm else nn.Identity()

    def forward(
        self,
        hidden_states: Tensor,
        *masks_and_memory: Any,
        num_layers: int | None = None,
        places: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """(B, T, hidden) -> the same. num_layers: only that many blocks, the first; places: of the last, see Block."""
        layers = list(self.layers)[:num_layers]
        for layer in layers:
            read = places if layer is layers[-1] else None
            hidden_states = layer(hidden_states, *masks_and_memory, places=read, **kwargs)
        return self.norm(hidden_states)
