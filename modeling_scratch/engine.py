# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The engine: from a base model's inputs to its last hidden states, and the masks that the attention backends take.

Shapes: B batch, T length, S length of what the encoder read, N tokens that a head reads.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionMaskInterface, Cache, EncoderDecoderCache
from transformers.masking_utils import (
    create_bidirectional_mask,
    create_bidirectional_sliding_window_mask,
    create_causal_mask,
    create_sliding_window_causal_mask,
    packed_sequence_mask_function,
)
from transformers.utils import is_tracing, logging

from .attention import eager_attention
from .configuration_scratch import ScratchConfig
from .embeddings import Inputs, check_mask
from .positions import POSITION_BIASES, rotary

logger = logging.get_logger(__name__)
MASKS: dict[tuple[bool, bool], Callable[..., Any]] = {  # (is the layer local?, is the stack causal?)
    (False, False): create_bidirectional_mask,
    (False, True): create_causal_mask,
    (True, False): create_bidirectional_sliding_window_mask,
    (True, True): create_sliding_window_causal_mask,
}
SCORE_OPTIONS = {"position_bias", "s_aux", "sliding_window", "softcap"}  # which some backends take, others ignore


def textbook_engine(
    model: Any, inputs: Inputs, *, token_indices: Tensor | None = None, past_key_values: Cache | None = None,
    encoder_hidden_states: Tensor | None = None, encoder_attention_mask: Tensor | None = None,
    attention_fn: Callable | None = None, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """Embeddings, then blocks that attend: inputs (B, T) -> hidden states (B, T, hidden).

    token_indices (N,): which of the B * T hidden states are read. All are computed here; another engine may leave out
    the others. attention_fn: in place of the backend that the config names, with masks as eager attention takes them.
    """
    options = SCORE_OPTIONS if model.stack.position_bias is None else SCORE_OPTIONS | {"cache"}  # of generate_batch
    if given := options.intersection(kwargs):
        raise ValueError(f"{', '.join(sorted(given))}: not for this model; a 4-D attention_mask takes biases.")
    if attention_fn is None and model.is_asked_for("output_attentions", kwargs):
        attention_fn = eager_attention
        if model.config._attn_implementation != "eager" and not is_tracing(inputs.input_ids):
            logger.warning_once("output_attentions=True: eager attention, as fused kernels never form the weights.")
    config = model.config if attention_fn is None else eager_config(model.config)
    past = 0 if past_key_values is None else past_key_values.get_seq_length()
    position_ids = inputs.positions(past)
    if "flash" in config._attn_implementation and past_key_values is None and encoder_hidden_states is None:
        kwargs = segment_bounds(inputs.segment_lengths(), **kwargs)
    encoder_mask = cross_attention_mask(config, inputs, encoder_hidden_states, encoder_attention_mask)

    read = inputs.input_ids, position_ids, inputs.token_type_ids, inputs.inputs_embeds
    hidden_states = model.embeddings(*read, longest=past + inputs.shape[1])
    by_type = {}
    for kind in dict.fromkeys(model.stack.attention_types):
        mask = self_attention_mask(config, inputs, model.is_causal, past_key_values, kind)
        bias = position_bias(model.stack, inputs.shape, hidden_states, past_key_values, kind)
        by_type[kind] = mask, bias, rotary_angles(config, position_ids, hidden_states.dtype, kind)
    return model.stack(
        hidden_states, by_type, encoder_hidden_states, encoder_mask, past_key_values=past_key_values,
        attention_fn=attention_fn, **kwargs,
    )  # fmt: skip


def eager_config(config: ScratchConfig) -> ScratchConfig:
    """The same config for whoever makes masks, with eager attention as its backend."""
    config = copy.copy(config)
    config._attn_implementation = "eager"
    return config


def rotary_angles(
    config: ScratchConfig, position_ids: Tensor, dtype: torch.dtype, kind: str = "full_attention"
) -> tuple[Tensor, Tensor] | None:
    """cos and sin of rotary positions in layers of this type; None for other positions."""
    if config.position_type != "rotary":
        return None
    rope = config.rope_parameters
    if kind == "sliding_attention" and config.local_rope_theta is not None:
        rope = rope | {"rope_type": "default", "rope_theta": config.local_rope_theta}  # without scaling
    return rotary(position_ids, config.head_dim, rope, config.max_position_embeddings, dtype)


def position_bias(
    stack: Any, shape: Sequence[int], like: Tensor, cache: Cache | None = None, kind: str = "full_attention"
) -> Tensor | None:
    """What a layer adds to its scores (B, H, T, S) where positions are a bias, a function of the distances j - i.

    shape: (B, T). like: has the device and the dtype of the scores. Distances count columns, not real tokens.
    """
    if stack.position_bias is None:
        return None
    queries = keys = torch.arange(shape[1], device=like.device)
    if cache is not None:  # which keeps the tokens of a window alone, or has room for more than came so far
        cache, layer = self_attention_cache(cache), stack.attention_types.index(kind)
        count, first = cache.get_mask_sizes(shape[1], layer)
        queries, keys = queries + cache.get_seq_length(layer), torch.arange(count, device=like.device) + first
    return stack.position_bias(keys - queries[:, None]).to(like.dtype).expand(shape[0], -1, -1, -1)


def self_attention_cache(cache: Any) -> Any:
    """The cache of the tokens themselves; in an encoder-decoder there is one of what it attends to beside it."""
    return cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache


def segment_bounds(
    lengths: Tensor | None, cu_seq_lens_q: Tensor | None = None, max_length_q: int | None = None, **kwargs: Any
) -> dict[str, Any]:
    """kwargs, with the bounds of segments of these lengths (N,) as variable-length kernels take them."""
    if lengths is None:
        return kwargs
    ends = (F.pad(lengths.cumsum(0), (1, 0)) if cu_seq_lens_q is None else cu_seq_lens_q).to(torch.int32)
    longest = int(lengths.max()) if max_length_q is None else max_length_q
    return {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": longest, "max_length_k": longest} | kwargs


def self_attention_mask(
    config: ScratchConfig, inputs: Inputs, is_causal: bool, cache: Cache | None = None, kind: str = "full_attention"
) -> Any:
    """What the backend takes so that tokens see their segment and window, no padding and, if causal, nothing later."""
    reads_mask = cache is None and "flash" not in config._attn_implementation  # whose kernels read segment_bounds
    segments = inputs.segment_ids() if reads_mask else None
    same_segment = None if segments is None else packed_sequence_mask_function(segments)
    mask = inputs.attention_mask[kind] if isinstance(inputs.attention_mask, dict) else inputs.attention_mask
    check_backend(config, mask)
    create_mask = MASKS[kind == "sliding_attention", is_causal]
    of_cache = {"past_key_values": self_attention_cache(cache)} if is_causal else {}
    return create_mask(config, shape_only(inputs), mask, **of_cache, and_mask_function=same_segment)


def cross_attention_mask(
    config: ScratchConfig, inputs: Inputs, encoder_hidden_states: Tensor | None, attention_mask: Tensor | None
) -> Any:
    """What the backend takes so that no token sees padding of what the encoder read, attention_mask (B, S)."""
    if encoder_hidden_states is None:
        return None
    check_mask(attention_mask, encoder_hidden_states, "attention_mask", "what the encoder read")
    check_backend(config, attention_mask)
    return create_bidirectional_mask(config, shape_only(inputs), attention_mask, encoder_hidden_states)


def check_backend(config: ScratchConfig, mask: Any) -> None:
    """Raises ValueError for a mask that the backend would ignore or misread."""
    backend, is_dense = config._attn_implementation, isinstance(mask, Tensor)
    if config.position_type in POSITION_BIASES and backend not in ("eager", "sdpa", "flex_attention"):
        raise ValueError(f"{backend} attention may ignore the biases of position_type={config.position_type!r}.")
    if len(getattr(mask, "shape", ())) == 4:
        is_read = "flash" not in backend and is_dense != (backend == "flex_attention")
        is_read &= not is_dense or mask.dtype == torch.bool or mask.is_floating_point()
    else:
        is_read = mask is None or is_tracing(mask) or backend in AttentionMaskInterface() or bool(mask.all())
    if not is_read:
        raise ValueError(
            f"{backend} attention would ignore or misread this attention_mask {tuple(mask.shape)}. Eager and sdpa take "
            "(texts, tokens), or (texts, 1, queries, keys) of booleans, or of floats that are added to the scores."
        )


def shape_only(inputs: Inputs) -> Tensor:
    """Embeddings as masking_utils reads them: shape, device, and the dtype of a mask of scores, nothing else."""
    return torch.empty((*inputs.shape, 1), dtype=torch.float32, device=inputs.device)
