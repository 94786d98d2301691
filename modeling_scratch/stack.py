# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One block, and the stack of them that is an encoder or a decoder.

Shapes: B batch, T length, S length of what the encoder read.
"""

from collections.abc import Mapping
from itertools import cycle, islice
from typing import Any, NamedTuple

from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from .attention import Attention
from .configuration_scratch import ScratchConfig
from .layers import NORM_POSITIONS, FeedForward, make_norm
from .positions import POSITION_BIASES


class Block(GradientCheckpointingLayer):
    """Attention, then feed-forward, each with its residual connection and norm (Vaswani et al. 2017, figure 1).

    The decoder of an encoder-decoder attends to the encoder's output between the two.
    """

    def __init__(
        self,
        config: ScratchConfig,
        layer_idx: int,
        is_causal: bool = False,
        cross_attention: bool = False,
    ) -> None:
        super().__init__()
        residual = NORM_POSITIONS[config.norm_position]
        self.attention = Attention(config, layer_idx, is_causal)
        self.attention_residual = residual(config)
        if layer_idx == 0 and not config.first_norm:
            self.attention_residual.norm = nn.Identity()
        self.cross_attention = Attention(config, layer_idx) if cross_attention else None
        self.cross_attention_residual = residual(config) if cross_attention else None
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = residual(config)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Any = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Any = None,
        position_bias: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """(B, T, hidden), encoder_hidden_states (B, S, hidden) -> (B, T, hidden).

        The rest, with rotary, past_key_values and attention_fn in kwargs: see Attention.forward.
        """
        residual = self.attention_residual
        query = residual.before(hidden_states)
        # The weights are dropped: Transformers records them, by a hook, if a call asks for them.
        update, _ = self.attention(query, attention_mask, position_bias=position_bias, **kwargs)
        hidden_states = residual.after(hidden_states, update)

        if self.cross_attention is not None:
            residual = self.cross_attention_residual
            query = residual.before(hidden_states)
            update, _ = self.cross_attention(
                query, encoder_attention_mask, encoder_hidden_states, **kwargs
            )
            hidden_states = residual.after(hidden_states, update)

        residual = self.feed_forward_residual
        return residual.after(hidden_states, self.feed_forward(residual.before(hidden_states)))


class ParallelBlock(Block):
    """x + attention(norm(x)) + f(norm(x)), one norm for both (GPT-J, Wang and Komatsuzaki 2021; Phi)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.feed_forward_residual = None

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Any = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Any = None,
        position_bias: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """(B, T, hidden) -> the same. Not in encoder-decoders: encoder_hidden_states are None."""
        normed = self.attention_residual.before(hidden_states)
        update, _ = self.attention(
            normed, attention_mask, position_bias=position_bias, **kwargs
        )
        return self.attention_residual.after(hidden_states, update + self.feed_forward(normed))


class LayerInputs(NamedTuple):
    """What layers of one type get beside hidden states."""

    attention_mask: Any = None  # see masks.py
    position_bias: Tensor | None = None  # (B, H, T, S)
    rotary: tuple[Tensor, Tensor] | None = None  # cos and sin, (B, T, 1, R)


UNMASKED = dict.fromkeys(("full_attention", "sliding_attention"), LayerInputs())
BLOCKS: dict[str, type[Block]] = {"sequential": Block, "parallel": ParallelBlock}


class Stack(nn.Module):
    """N blocks and a final norm, which pre-norm needs: its residual stream leaves the last block unnormalised."""

    def __init__(
        self,
        config: ScratchConfig,
        num_layers: int,
        is_causal: bool = False,
        cross_attention: bool = False,
    ) -> None:
        super().__init__()
        block, bias = BLOCKS[config.block_type], POSITION_BIASES.get(config.position_type)
        self.layers = nn.ModuleList(
            block(config, i, is_causal, cross_attention) for i in range(num_layers)
        )
        self.attention_types = config.attention_types(num_layers)
        self.position_bias = bias(config, is_causal) if bias else None
        has_norm = config.final_norm
        if has_norm is None:
            has_norm = config.norm_position != "post"
        self.norm = make_norm(config, config.hidden_size, has_norm)

    def forward(
        self,
        hidden_states: Tensor,
        by_type: Mapping[str, LayerInputs] = UNMASKED,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Any = None,
        num_layers: int | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """(B, T, hidden) -> the same, through the first num_layers blocks, None: all. The rest: see Block.forward.

        by_type: for "full_attention" and "sliding_attention".
        """
        types = cycle(self.attention_types)  # they recur where PEFT replicates layers
        for layer, attention_type in islice(zip(self.layers, types), num_layers):
            mask, bias, rotary = by_type[attention_type]
            hidden_states = layer(
                hidden_states,
                mask,
                encoder_hidden_states,
                encoder_attention_mask,
                bias,  # positional, so that reentrant checkpointing sees its gradient
                rotary=rotary,
                **kwargs,
            )
        return self.norm(hidden_states)
