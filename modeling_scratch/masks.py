# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""From inputs to what each attention backend takes: masks, biases, and the bounds of segments.

Shapes: B batch, T length, S length of what the encoder read, N segments, H heads.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
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
from .inputs import Inputs, check_mask
from .positions import POSITION_BIASES, rotary

logger = logging.get_logger(__name__)

SCORE_OPTIONS = {  # which some backends take, others ignore
    "position_bias",
    "s_aux",
    "sliding_window",
    "softcap",
}
# (is the layer local?, is the stack causal?)
MASKS: dict[tuple[bool, bool], Callable[..., Any]] = {
    (False, False): create_bidirectional_mask,
    (False, True): create_causal_mask,
    (True, False): create_bidirectional_sliding_window_mask,
    (True, True): create_sliding_window_causal_mask,
}


def check_options(model: Any, kwargs: Mapping[str, Any]) -> None:
    """Raises ValueError for arguments of others' attention functions that change the scores."""
    options = SCORE_OPTIONS
    if model.stack.position_bias is not None:
        options = SCORE_OPTIONS | {"cache"}  # of generate_batch
    if given := options.intersection(kwargs):
        names = ", ".join(sorted(given))
        raise ValueError(f"{names}: not for this model; a 4-D attention_mask takes biases.")


def choose_attention(
    model: Any, inputs: Inputs, attention_fn: Callable | None, kwargs: Mapping[str, Any]
) -> tuple[ScratchConfig, Callable | None]:
    """The config by which masks are made, and the attention function; None: the config's own."""
    if attention_fn is None and model.is_asked_for("output_attentions", kwargs):
        attention_fn = eager_attention
        is_fused = model.config._attn_implementation != "eager"
        if is_fused and not is_tracing(inputs.input_ids):
            logger.warning_once(
                "output_attentions=True: eager attention, as fused kernels never form the weights."
            )
    if attention_fn is None:
        return model.config, None
    return eager_config(model.config), attention_fn


def eager_config(config: ScratchConfig) -> ScratchConfig:
    """The same config for whoever makes masks, with eager attention as its backend."""
    config = copy.copy(config)
    config._attn_implementation = "eager"
    return config


def for_each_type(
    model: Any,
    config: ScratchConfig,
    inputs: Inputs,
    position_ids: Tensor,
    like: Tensor,
    cache: Cache | None,
) -> dict[str, tuple]:
    """The mask, the bias and the rotary angles of each type of layer. like: of the scores' dtype."""
    by_type = {}
    for kind in dict.fromkeys(model.stack.attention_types):
        mask = self_attention_mask(config, inputs, model.is_causal, cache, kind)
        bias = position_bias(model.stack, inputs.shape, like, cache, kind)
        by_type[kind] = mask, bias, rotary_angles(config, position_ids, like.dtype, kind)
    return by_type


def rotary_angles(
    config: ScratchConfig,
    position_ids: Tensor,
    dtype: torch.dtype,
    kind: str = "full_attention",
) -> tuple[Tensor, Tensor] | None:
    """cos and sin of rotary positions in layers of this type; None for other positions."""
    if config.position_type != "rotary":
        return None
    rope = config.rope_parameters
    if kind == "sliding_attention" and config.local_rope_theta is not None:
        # Layers with a window have no use for scaling.
        rope = rope | {"rope_type": "default", "rope_theta": config.local_rope_theta}
    return rotary(position_ids, config.head_dim, rope, config.max_position_embeddings, dtype)


def position_bias(
    stack: Any,
    shape: Sequence[int],
    like: Tensor,
    cache: Cache | None = None,
    kind: str = "full_attention",
) -> Tensor | None:
    """What a layer adds to its scores (B, H, T, S) where positions are a bias, a function of the distances j - i.

    shape: (B, T). like: has the device and the dtype of the scores. Distances count columns, not real tokens.
    """
    if stack.position_bias is None:
        return None
    queries = keys = torch.arange(shape[1], device=like.device)
    if cache is not None:
        # A cache keeps the tokens of a window alone, or has room for more than came so far.
        cache, layer = self_attention_cache(cache), stack.attention_types.index(kind)
        count, first = cache.get_mask_sizes(shape[1], layer)
        queries = queries + cache.get_seq_length(layer)
        keys = torch.arange(count, device=like.device) + first
    bias = stack.position_bias(keys - queries[:, None]).to(like.dtype)  # (H, T, S)
    return bias.expand(shape[0], -1, -1, -1)


def self_attention_cache(cache: Any) -> Any:
    """The cache of the tokens themselves; in an encoder-decoder there is one of what it attends to beside it."""
    return cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache


def with_bounds(
    config: ScratchConfig, inputs: Inputs, kwargs: dict[str, Any]
) -> dict[str, Any]:
    """kwargs, with the bounds of segments where flash attention is to read them."""
    if "flash" not in config._attn_implementation:
        return kwargs
    return segment_bounds(inputs.segment_lengths(), **kwargs)


def segment_bounds(
    lengths: Tensor | None,
    cu_seq_lens_q: Tensor | None = None,
    max_length_q: int | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """kwargs, with the bounds of segments of these lengths (N,) as variable-length kernels take them."""
    if lengths is None:
        return kwargs
    ends = (F.pad(lengths.cumsum(0), (1, 0)) if cu_seq_lens_q is None else cu_seq_lens_q).to(
        torch.int32
    )
    longest = int(lengths.max()) if max_length_q is None else max_length_q
    return {
        "cu_seq_lens_q": ends,
        "cu_seq_lens_k": ends,
        "max_length_q": longest,
        "max_length_k": longest,
    } | kwargs


def self_attention_mask(
    config: ScratchConfig,
    inputs: Inputs,
    is_causal: bool,
    cache: Cache | None = None,
    kind: str = "full_attention",
) -> Any:
    """What the backend takes so that tokens see their segment and window.

    They see no padding and, if causal, nothing later.
    """
    mask = inputs.attention_mask
    if isinstance(mask, dict):  # by type of layer, of generate_batch
        mask = mask[kind]
    check_backend(config, mask)
    masked: dict[str, Any] = {}
    if is_causal:
        masked["past_key_values"] = self_attention_cache(cache)
    # Flash kernels read the bounds of segments in place of a mask.
    segments = None
    if cache is None and "flash" not in config._attn_implementation:
        segments = inputs.segment_ids()  # (B, T)
    if segments is not None:
        same_segment = packed_sequence_mask_function(segments)
        masked["and_mask_function"] = same_segment
    return MASKS[kind == "sliding_attention", is_causal](
        config, shape_only(inputs), mask, **masked
    )


def cross_attention_mask(
    config: ScratchConfig,
    inputs: Inputs,
    encoder_hidden_states: Tensor | None,
    attention_mask: Tensor | None,
) -> Any:
    """What the backend takes so that no token sees padding of what the encoder read, attention_mask (B, S)."""
    if encoder_hidden_states is None:
        return None
    check_mask(attention_mask, encoder_hidden_states, "attention_mask", "what the encoder read")
    check_backend(config, attention_mask)
    return create_bidirectional_mask(
        config, shape_only(inputs), attention_mask, encoder_hidden_states
    )


def check_backend(config: ScratchConfig, mask: Any) -> None:
    """Raises ValueError for a mask that the backend would ignore or misread."""
    backend, is_dense = config._attn_implementation, isinstance(mask, Tensor)
    if config.position_type in POSITION_BIASES and backend not in (
        "eager",
        "sdpa",
        "flex_attention",
    ):
        raise ValueError(
            f"{backend} attention may ignore the biases of position_type={config.position_type!r}."
        )
    if len(getattr(mask, "shape", ())) == 4:
        is_read = "flash" not in backend and is_dense != (backend == "flex_attention")
        is_read &= not is_dense or mask.dtype == torch.bool or mask.is_floating_point()
    else:
        is_read = (
            mask is None
            or is_tracing(mask)
            or backend in AttentionMaskInterface()
            or bool(mask.all())
        )
    if not is_read:
        raise ValueError(
            f"{backend} attention would ignore or misread this attention_mask {tuple(mask.shape)}. Eager and sdpa take "
            "(texts, tokens), or (texts, 1, queries, keys) of booleans, or of floats that are added to the scores."
        )


def shape_only(inputs: Inputs) -> Tensor:
    """Embeddings as masking_utils reads them: shape, device, and the dtype of a mask of scores, nothing else."""
    return torch.empty((*inputs.shape, 1), dtype=torch.float32, device=inputs.device)
