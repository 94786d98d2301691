# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The base models: an encoder and a decoder, two uses of one stack.

Shapes: B batch, T length, S length of what the encoder read, E embedding size, N texts or tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import Cache, DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
    BaseModelOutputWithPooling,
)
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from .attention import Attention
from .configuration_scratch import (
    ScratchConfig,
    ScratchDecoderConfig,
    ScratchEncoderConfig,
    ScratchSeq2SeqConfig,
)
from .embeddings import Embeddings
from .heads import Pooler, pooled_tokens
from .inputs import Inputs
from .masks import choose_attention, cross_attention_mask, for_each_type, with_bounds
from .modeling_base import MaybeTensor, ScratchPreTrainedModel
from .stack import Block, Stack


class StackModel:
    """Embeddings, masks, stack: what an encoder and a decoder have in common."""

    config: Any
    embeddings: Embeddings
    stack: Stack

    def textbook_engine(
        self,
        inputs: Inputs,
        *,
        token_indices: Tensor | None = None,
        past_key_values: Cache | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        attention_fn: Callable | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """Embeddings, then blocks that attend: inputs (B, T) -> hidden states (B, T, hidden).

        token_indices (N,): which of the B * T hidden states are read. All are computed here;
        another engine may leave out the others. attention_fn: in place of the backend that the
        config names, with masks as eager attention takes them.
        """
        config, attention_fn = choose_attention(self, attention_fn, kwargs)
        if past_key_values is None and encoder_hidden_states is None:
            kwargs = with_bounds(config, inputs, kwargs)
        position_ids = inputs.positions()  # (B, T)
        hidden_states = self.embeddings(
            inputs.input_ids,
            position_ids,
            inputs.token_type_ids,
            inputs.inputs_embeds,
            longest=inputs.past + inputs.shape[1],
        )
        by_type = for_each_type(
            self, config, inputs, position_ids, hidden_states, past_key_values
        )
        encoder_mask = cross_attention_mask(
            config, inputs, encoder_hidden_states, encoder_attention_mask
        )
        return self.stack(
            hidden_states,
            by_type,
            encoder_hidden_states,
            encoder_mask,
            past_key_values=past_key_values,
            attention_fn=attention_fn,
            **kwargs,
        )

    # What lies between inputs and last hidden states; modeling_scratch.fast sets another.
    engine: Callable[..., Tensor] = textbook_engine


class ScratchEncoderPreTrainedModel(ScratchPreTrainedModel):
    config: ScratchEncoderConfig


class ScratchEncoderModel(StackModel, ScratchEncoderPreTrainedModel):
    """Embeddings and a bidirectional stack (Vaswani et al. 2017, 3.1; Devlin et al. 2019)."""

    def __init__(self, config: ScratchConfig, add_pooling_layer: bool = True) -> None:
        super().__init__(config)
        self.embeddings = Embeddings(config, config.vocab_size)
        self.stack = Stack(config, config.num_hidden_layers)
        has_pooler = add_pooling_layer and getattr(config, "pooler", False)
        self.pooler = Pooler(config) if has_pooler else None
        self.post_init()

    @capture_outputs
    def forward(
        self,
        input_ids: MaybeTensor = None,
        attention_mask: MaybeTensor = None,
        token_type_ids: MaybeTensor = None,
        position_ids: MaybeTensor = None,
        inputs_embeds: MaybeTensor = None,
        inputs: Inputs | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput | BaseModelOutputWithPooling:
        """input_ids (B, T) or inputs_embeds (B, T, E), attention_mask (B, T) with 1 at real tokens
        -> (B, T, hidden).

        Without position_ids, positions count real tokens, so that padding on either side changes
        nothing. inputs: all of these, as heads hand them on. token_indices (N,), rising: which of
        the B * T hidden states are read; the values of others are undefined.
        """
        if inputs is None:
            texts = input_ids, inputs_embeds, attention_mask, position_ids, token_type_ids
            inputs = Inputs(*texts, kwargs.get("cu_seq_lens_q"))
        if self.pooler is None:
            return BaseModelOutput(self.engine(inputs, **kwargs))
        hidden_states = self.engine(inputs, **{**kwargs, "token_indices": None})
        first = pooled_tokens(inputs, inputs.real_tokens(), "first")
        pooled = self.pooler(hidden_states.flatten(0, 1)[first])  # (B, hidden)
        return BaseModelOutputWithPooling(hidden_states, pooled)


@dataclass
class DecoderStates(OutputRecorder):
    num_hidden_layers_key: str = "decoder_layers"  # a field of later versions than 5.17


class ScratchDecoderPreTrainedModel(ScratchPreTrainedModel):
    config: ScratchDecoderConfig
    is_causal = True
    _skip_keys_device_placement = ["past_key_values"]
    _can_record_outputs = {
        "hidden_states": DecoderStates(Block),
        "attentions": OutputRecorder(Attention, index=1, layer_name="attention"),
        "cross_attentions": OutputRecorder(Attention, index=1, layer_name="cross_attention"),
    }


class ScratchDecoderModel(StackModel, ScratchDecoderPreTrainedModel):
    """Embeddings and a causal stack (Radford et al. 2018).

    In an encoder-decoder it also attends to the encoder.
    """

    def __init__(self, config: ScratchDecoderConfig | ScratchSeq2SeqConfig) -> None:
        super().__init__(config)
        attends_to_encoder = config.is_encoder_decoder
        self.prefix = "decoder_" if attends_to_encoder else ""  # of the arguments' names
        self.embeddings = Embeddings(config, config.decoder_vocab_size)
        self.stack = Stack(
            config, config.decoder_layers, is_causal=True, cross_attention=attends_to_encoder
        )
        self.post_init()

    @capture_outputs
    def forward(
        self,
        input_ids: MaybeTensor = None,
        attention_mask: MaybeTensor = None,
        position_ids: MaybeTensor = None,
        past_key_values: Cache | None = None,
        inputs_embeds: MaybeTensor = None,
        encoder_hidden_states: MaybeTensor = None,
        encoder_attention_mask: MaybeTensor = None,
        token_type_ids: MaybeTensor = None,
        use_cache: bool | None = None,
        inputs: Inputs | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """input_ids (B, T) or inputs_embeds (B, T, E), after the tokens of past_key_values
        -> (B, T, hidden).

        attention_mask (B, past + T) with 1 at real tokens; without position_ids, positions count
        these. encoder_hidden_states (B, S, hidden): an encoder's output, with its
        encoder_attention_mask (B, S). use_cache None: as the config says, in evaluation.
        inputs: all that are of these tokens, as heads hand them on. token_indices (N,), rising:
        which of the B * T hidden states are read; the values of others are undefined.
        """
        if (encoder_hidden_states is None) == self.config.is_encoder_decoder:
            raise ValueError(
                "encoder_hidden_states go to the decoder of an encoder-decoder, and to no other."
            )
        if inputs is None:
            past = 0 if past_key_values is None else past_key_values.get_seq_length()
            texts = input_ids, inputs_embeds, attention_mask, position_ids, token_type_ids
            inputs = Inputs(*texts, kwargs.get("cu_seq_lens_q"), past, self.prefix)
        cache = self._cache(past_key_values, inputs, use_cache)
        hidden_states = self.engine(
            inputs,
            past_key_values=cache,
            encoder_hidden_states=encoder_hidden_states,
            encoder_attention_mask=encoder_attention_mask,
            num_layers=self.config.decoder_layers,  # fewer with assistant_early_exit
            **kwargs,
        )
        return BaseModelOutputWithPastAndCrossAttentions(hidden_states, cache)

    def _cache(
        self, cache: Cache | None, inputs: Inputs, use_cache: bool | None
    ) -> Cache | None:
        """The cache that was given, or a new one; with a second one beside it, of the encoder."""
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training
        # A row of segments has no one end, behind which cached tokens could go on.
        if use_cache and cache is None and inputs.segment_ids() is None:
            cache = DynamicCache(config=self.config)
        is_single = not isinstance(cache, EncoderDecoderCache)
        if cache is not None and is_single and self.config.is_encoder_decoder:
            return EncoderDecoderCache(cache, DynamicCache(config=self.config))
        return cache
