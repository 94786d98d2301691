# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One block, the stack of them, and the base models: an encoder and a decoder, two uses of one stack.

Shapes: B batch, T length, S length of what the encoder read, E embedding size, M tokens that are read.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionMaskInterface, Cache, DynamicCache, EncoderDecoderCache
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import (
    BaseModelOutputWithPastAndCrossAttentions,
    BaseModelOutputWithPooling,
)
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from .attention import Attention, eager_attention, self_attention_cache
from .configuration_scratch import (
    ScratchConfig,
    ScratchDecoderConfig,
    ScratchEncoderConfig,
    ScratchSeq2SeqConfig,
)
from .embeddings import Embeddings
from .heads import Pooler, one_text_a_row, pooled_tokens, select_tokens
from .inputs import (
    Inputs,
    cross_attention_mask,
    eager_config,
    segment_bounds,
    self_attention_mask,
)
from .layers import NORM_POSITIONS, FeedForward, make_norm
from .modeling_base import ScratchPreTrainedModel
from .positions import POSITION_BIASES, rotary_cos_sin


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
        self.cross_attention = (
            Attention(config, layer_idx, is_cross=True) if cross_attention else None
        )
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
        rotary: tuple[Tensor, Tensor] | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """(B, T, hidden), encoder_hidden_states (B, S, hidden) -> (B, T, hidden).

        The rest, with past_key_values and attention_fn in kwargs: see Attention.forward.
        """
        query = self.attention_residual.before(hidden_states)
        # The weights are dropped: Transformers records them, by a hook, if a call asks for them.
        update, _ = self.attention(
            query, attention_mask, position_bias=position_bias, rotary=rotary, **kwargs
        )
        hidden_states = self.attention_residual.after(hidden_states, update)

        if self.cross_attention is not None:
            query = self.cross_attention_residual.before(hidden_states)
            update, _ = self.cross_attention(
                query, encoder_attention_mask, encoder_hidden_states, **kwargs
            )
            hidden_states = self.cross_attention_residual.after(hidden_states, update)

        update = self.feed_forward(self.feed_forward_residual.before(hidden_states))
        return self.feed_forward_residual.after(hidden_states, update)


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
        rotary: tuple[Tensor, Tensor] | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """(B, T, hidden) -> the same. Not in encoder-decoders: encoder_hidden_states are None."""
        normed = self.attention_residual.before(hidden_states)
        update, _ = self.attention(
            normed, attention_mask, position_bias=position_bias, rotary=rotary, **kwargs
        )
        return self.attention_residual.after(hidden_states, update + self.feed_forward(normed))


BLOCKS: dict[str, type[Block]] = {"sequential": Block, "parallel": ParallelBlock}


class Stack(nn.Module):
    """The blocks and a final norm, which pre-norm needs: its residual stream leaves the last block unnormalised."""

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
        # post_init collects these names from all modules: they stay float32 where other weights are
        # loaded in float16 or, if strict, in bfloat16.
        self._keep_in_fp32_modules = {"down_proj"} if config.float16_guards else None
        self._keep_in_fp32_modules_strict = (
            {"norm", "output_norm", "q_norm", "k_norm"} if config.float32_norms else None
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
        by_type: Mapping[str, tuple],
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Any = None,
        num_layers: int | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """(B, T, hidden) -> the same, through the first num_layers blocks, None: all. The rest: see Block.forward.

        by_type: for "full_attention" and "sliding_attention", the mask as the backend takes it, the
        position_bias (B, H, T, S), and cos and sin of rotary positions, (B, T, 1, R).
        """
        for i, layer in enumerate(islice(self.layers, num_layers)):
            # PEFT may replicate layers; the types recur then.
            mask, bias, rotary = by_type[self.attention_types[i % len(self.attention_types)]]
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


# --- what a stack reads beside hidden states -------------------------------------------------------


def choose_attention(
    config: ScratchConfig, attention_fn: Callable | None, kwargs: Mapping[str, Any]
) -> tuple[ScratchConfig, Callable | None]:
    """(config, function): the config to make masks by, and what computes attention; None: what the config names.

    A function whose mask format Transformers does not know (AttentionMaskInterface) gets the masks of
    eager attention, causality included.
    """
    # 1. A function of the caller, or recorded weights: the masks of eager attention.
    if attention_fn is None and kwargs.get("output_attentions", config.output_attentions):
        attention_fn = eager_attention  # fused kernels never form the weights
    if attention_fn is not None:
        return eager_config(config), attention_fn
    # 2. Biases of positions: these backends add them; "cache" is the argument of generate_batch.
    backend, position_type = config._attn_implementation, config.position_type
    takes_bias = backend in ("eager", "sdpa", "flex_attention") and "cache" not in kwargs
    if position_type in POSITION_BIASES and not takes_bias:
        raise ValueError(
            f"position_type={position_type!r}: {backend} attention, or the cache of "
            "generate_batch, may ignore its biases."
        )
    # 3. A backend with a mask format of its own, or the masks of eager attention.
    return config if backend in AttentionMaskInterface() else eager_config(config), None


def score_bias(
    stack: Any,
    shape: Sequence[int],
    hidden_states: Tensor,
    cache: Cache | None = None,
    layer_type: str = "full_attention",
) -> Tensor | None:
    """What is added to the scores (B, H, T, S) where positions are a bias, a function of j - i.

    shape: (B, T). hidden_states have the device and the dtype of the scores. Distances count
    columns, not real tokens.
    """
    if stack.position_bias is None:
        return None
    # Columns of the queries (T,) and of the keys (S,).
    queries = keys = torch.arange(shape[1], device=hidden_states.device)
    if cache is not None:
        # A cache keeps the tokens of a window alone, or has room for more than came so far.
        cache, layer = self_attention_cache(cache), stack.attention_types.index(layer_type)
        key_count, first_key = cache.get_mask_sizes(shape[1], layer)  # first_key: its column
        queries = queries + cache.get_seq_length(layer)
        keys = torch.arange(key_count, device=hidden_states.device) + first_key
    bias = stack.position_bias(keys - queries[:, None]).to(hidden_states.dtype)  # (H, T, S)
    return bias.expand(shape[0], -1, -1, -1)


# --- base models -----------------------------------------------------------------------------------


class StackModel:
    """Embeddings, masks, stack: what an encoder and a decoder have in common."""

    config: Any
    is_causal: bool
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

        token_indices (M,): which of the B * T hidden states are read. All are computed here;
        another engine may leave out the others. attention_fn: in place of the backend that the
        config names, with masks as eager attention takes them. kwargs: see Stack.forward.
        """
        config, attention_fn = choose_attention(self.config, attention_fn, kwargs)
        is_packed = inputs.segment_lengths is not None and past_key_values is None
        # An encoder's texts, which cross-attention reads, have other bounds.
        reads_bounds = "flash" in config._attn_implementation and encoder_hidden_states is None
        if is_packed and reads_bounds and kwargs.get("max_length_k") is None:
            kwargs |= segment_bounds(inputs.segment_lengths)
        position_ids = inputs.positions(config)  # (B, T)
        hidden_states = self.embeddings(
            inputs.input_ids,
            position_ids,
            inputs.token_type_ids,
            inputs.inputs_embeds,
        )
        by_type = {
            kind: (
                self_attention_mask(config, inputs, self.is_causal, past_key_values, kind),
                score_bias(self.stack, inputs.shape, hidden_states, past_key_values, kind),
                rotary_cos_sin(config, position_ids, hidden_states.dtype, kind),
            )
            for kind in dict.fromkeys(self.stack.attention_types)
        }
        return self.stack(
            hidden_states,
            by_type,
            encoder_hidden_states,
            cross_attention_mask(config, inputs, encoder_hidden_states, encoder_attention_mask),
            past_key_values=past_key_values,
            attention_fn=attention_fn,
            **kwargs,
        )

    # What lies between inputs and last hidden states; modeling_scratch.fast sets another.
    engine: Callable[..., Tensor] = textbook_engine


class ScratchEncoderPreTrainedModel(ScratchPreTrainedModel):
    config: ScratchEncoderConfig
    _can_record_outputs = {"hidden_states": Block, "attentions": Attention}


class ScratchEncoderModel(StackModel, ScratchEncoderPreTrainedModel):
    """Embeddings and a bidirectional stack (Vaswani et al. 2017, 3.1; Devlin et al. 2019)."""

    def __init__(self, config: ScratchConfig, add_pooling_layer: bool = True) -> None:
        super().__init__(config)
        self.embeddings = Embeddings(config, config.vocab_size)
        self.stack = Stack(config, config.num_hidden_layers)
        has_pooler = add_pooling_layer and getattr(config, "pooler", False)
        self.pooler = Pooler(config) if has_pooler else None
        self.post_init()

    @capture_outputs  # adds the recorded hidden_states and attentions, and takes return_dict
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs: Inputs | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """input_ids (B, T) or inputs_embeds (B, T, E), attention_mask (B, T) with 1 at real tokens
        -> (B, T, hidden).

        Without position_ids, positions count real tokens, so that padding on either side changes
        nothing. past_key_values: a prefix that all tokens see (prefix tuning, Li and Liang 2021),
        which attention_mask covers. inputs: all of these, as heads hand them on. token_indices
        (M,), rising: which of the B * T hidden states are read; the values of others are undefined.
        """
        if inputs is None:
            inputs = Inputs(
                input_ids=input_ids,
                inputs_embeds=inputs_embeds,
                attention_mask=attention_mask,
                position_ids=position_ids,
                token_type_ids=token_type_ids,
                cu_seq_lens=kwargs.get("cu_seq_lens_q"),
                past_key_values=past_key_values,
            )
        if self.pooler is not None:
            kwargs["token_indices"] = None  # the pooler reads one more token of each text
        hidden_states = self.engine(inputs, past_key_values=past_key_values, **kwargs)
        if self.pooler is None:
            return BaseModelOutputWithPooling(hidden_states)
        longest = kwargs.get("max_length_q")
        first = pooled_tokens(*one_text_a_row(self.config, inputs, "first", longest), "first")
        pooled = self.pooler(select_tokens(hidden_states, first))  # (B, hidden)
        return BaseModelOutputWithPooling(hidden_states, pooled)


class ScratchDecoderPreTrainedModel(ScratchPreTrainedModel):
    config: ScratchDecoderConfig
    is_causal = True
    _can_record_outputs = {
        "hidden_states": Block,
        "attentions": OutputRecorder(Attention, index=1, layer_name="attention"),
        "cross_attentions": OutputRecorder(Attention, index=1, layer_name="cross_attention"),
    }


class ScratchDecoderModel(StackModel, ScratchDecoderPreTrainedModel):
    """Embeddings and a causal stack (Radford et al. 2018).

    In an encoder-decoder it also attends to the encoder.
    """

    def __init__(self, config: ScratchDecoderConfig | ScratchSeq2SeqConfig) -> None:
        super().__init__(config)
        self.embeddings = Embeddings(config, config.decoder_vocab_size)
        self.stack = Stack(
            config,
            config.decoder_layers,
            is_causal=True,
            cross_attention=config.is_encoder_decoder,
        )
        self.post_init()

    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        use_cache: bool | None = None,
        inputs: Inputs | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """input_ids (B, T) or inputs_embeds (B, T, E), after the tokens of past_key_values
        -> (B, T, hidden).

        attention_mask (B, past + T) with 1 at real tokens; without position_ids, positions count
        these. encoder_hidden_states (B, S, hidden): an encoder's output, with its
        encoder_attention_mask (B, S). use_cache None: as the config says, in evaluation.
        inputs: all that are of these tokens, as heads hand them on. token_indices (M,), rising:
        which of the B * T hidden states are read; the values of others are undefined.
        """
        if (encoder_hidden_states is None) == self.config.is_encoder_decoder:
            raise ValueError(
                "encoder_hidden_states go to the decoder of an encoder-decoder, and to no other."
            )
        if inputs is None:
            inputs = Inputs(
                input_ids=input_ids,
                inputs_embeds=inputs_embeds,
                attention_mask=attention_mask,
                position_ids=position_ids,
                token_type_ids=token_type_ids,
                cu_seq_lens=kwargs.get("cu_seq_lens_q"),
                past_key_values=past_key_values,
                prefix="decoder_" if self.config.is_encoder_decoder else "",
            )
        cache = self._cache(past_key_values, inputs, use_cache)
        hidden_states = self.engine(
            inputs,
            past_key_values=cache,
            encoder_hidden_states=encoder_hidden_states,
            encoder_attention_mask=encoder_attention_mask,
            # Read at each call: generate(assistant_early_exit=n) lowers it while it drafts.
            num_layers=self.config.decoder_layers,
            **kwargs,
        )
        return BaseModelOutputWithPastAndCrossAttentions(hidden_states, cache)

    def _cache(
        self, cache: Cache | None, inputs: Inputs, use_cache: bool | None
    ) -> Cache | None:
        """The cache that was given, or a new one; with a second one beside it, of the encoder."""
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training
        # A row of several segments has no single end at which cached tokens could continue.
        if use_cache and cache is None and inputs.segment_ids is None:
            cache = DynamicCache(config=self.config)
        if cache is None or not self.config.is_encoder_decoder:
            return cache
        if not isinstance(cache, EncoderDecoderCache):
            cache = EncoderDecoderCache(cache, DynamicCache())
        if any(cache.cross_attention_cache.is_sliding):  # a window is of the tokens themselves
            cache.cross_attention_cache = DynamicCache()
        return cache
