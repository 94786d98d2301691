# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One block, and the stack of them that is an encoder or a decoder.

Shapes: B batch, T length, S length of what the encoder read.
"""

from itertools import islice
from typing import Any

from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from .attention import Attention
from .configuration_scratch import ScratchConfig
from .layers import NORM_POSITIONS, NORMS, FeedForward


class Block(GradientCheckpointingLayer):
    """Attention, then feed-forward, each with its residual connection and norm (Vaswani et al. 2017, figure 1).

    The decoder of an encoder-decoder attends to the encoder's output between the two.
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
        self, hidden_states: Tensor, attention_mask: Any = None, encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Any = None, **kwargs: Any,
    ) -> Tensor:  # fmt: skip
        """(B, T, hidden), encoder_hidden_states (B, S, hidden) -> (B, T, hidden). kwargs: see Attention.forward."""
        residual = self.attention_residual
        update, _ = self.attention(residual.before(hidden_states), attention_mask, **kwargs)
        hidden_states = residual.after(hidden_states, update)

        if self.cross_attention is not None:
            residual = self.cross_attention_residual
            query = residual.before(hidden_states)
            update, _ = self.cross_attention(query, encoder_attention_mask, encoder_hidden_states, **kwargs)
            hidden_states = residual.after(hidden_states, update)

        residual = self.feed_forward_residual
        return residual.after(hidden_states, self.feed_forward(residual.before(hidden_states)))


class Stack(nn.Module):
    """N blocks and a final norm, which pre-norm needs: its residual stream leaves the last block unnormalised."""

    def __init__(
        self, config: ScratchConfig, num_layers: int, is_causal: bool = False, cross_attention: bool = False
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(config, i, is_causal, cross_attention) for i in range(num_layers))
        has_norm = config.norm_position != "post" if config.final_norm is None else config.final_norm
        self.norm = NORMS[config.norm_type](config.hidden_size, eps=config.norm_eps) if has_norm else nn.Identity()

    def forward(self, hidden_states: Tensor, *args: Any, num_layers: int | None = None, **kwargs: Any) -> Tensor:
        """(B, T, hidden) -> the same, through the first num_layers blocks, None: all. The rest: see Block.forward."""
        for layer in islice(self.layers, num_layers):
            hidden_states = layer(hidden_states, *args, **kwargs)
        return self.norm(hidden_states)
