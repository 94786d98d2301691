# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""From inputs to what each attention backend takes: masks, biases, and the bounds of segments.

A query i of a text sees key j if all of these hold:

    j is a real token                     attention_mask (B, S)
    j <= i, in a decoder                  is_causal
    |i - j| is inside the window          layers of type sliding_attention
    i and j are of one segment            rows that hold several texts, see inputs.py

transformers.masking_utils makes of it what a backend takes, (B, 1, T, S):

    eager            float32, 0 where i sees j and the most negative number elsewhere
    sdpa             booleans; None where all is visible, or where causality is all: the kernel
                     reads module.is_causal
    flash_attention  attention_mask (B, S), or None and the bounds of segments
    flex_attention   a BlockMask

Shapes: B batch, T length, S keys, N segments, H heads.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionMaskInterface, Cache
from transformers.masking_utils import (
    create_bidirectional_mask,
    create_bidirectional_sliding_window_mask,
    create_causal_mask,
    create_sliding_window_causal_mask,
    packed_sequence_mask_function,
)

from .attention import eager_attention, self_attention_cache
from .configuration_scratch import ScratchConfig
from .inputs import Inputs, check_mask
from .positions import POSITION_BIASES, rotary
from .stack import LayerInputs

# (is the layer local?, is the stack causal?)
MASKS: dict[tuple[bool, bool], Callable[..., Any]] = {
    (False, False): create_bidirectional_mask,
    (False, True): create_causal_mask,
    (True, False): create_bidirectional_sliding_window_mask,
    (True, True): create_sliding_window_causal_mask,
}


def choose_attention(
    model: Any, attention_fn: Callable | None, kwargs: Mapping[str, Any]
) -> tuple[ScratchConfig, Callable | None]:
    """The config by which masks are made, and the attention function; None: the config's own.

    A function without a mask format of its own (transformers.AttentionMaskInterface) gets the
    masks of eager attention, causality included.
    """
    if attention_fn is None and model.is_asked_for("output_attentions", kwargs):
        attention_fn = eager_attention  # fused kernels never form the weights
    if attention_fn is not None:
        return eager_config(model.config), attention_fn
    check_bias(model.config, kwargs)
    if model.config._attn_implementation in AttentionMaskInterface():
        return model.config, None
    return eager_config(model.config), None


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
) -> dict[str, LayerInputs]:
    """The mask, the bias and the rotary angles of each type of layer. like: has the scores' dtype."""
    by_type = {}
    for layer_type in dict.fromkeys(model.stack.attention_types):
        mask = self_attention_mask(config, inputs, model.is_causal, cache, layer_type)
        bias = position_bias(model.stack, inputs.shape, like, cache, layer_type)
        angles = rotary_angles(config, position_ids, like.dtype, layer_type)
        by_type[layer_type] = LayerInputs(mask, bias, angles)
    return by_type


def rotary_angles(
    config: ScratchConfig,
    position_ids: Tensor,
    dtype: torch.dtype,
    layer_type: str = "full_attention",
) -> tuple[Tensor, Tensor] | None:
    """cos and sin of rotary positions in layers of this type; None for other positions."""
    if config.position_type != "rotary":
        return None
    rope = config.rope_parameters
    if layer_type == "sliding_attention" and config.local_rope_theta is not None:
        # Layers with a window have no use for scaling.
        rope = rope | {"rope_type": "default", "rope_theta": config.local_rope_theta}
    return rotary(position_ids, config.head_dim, rope, config.max_position_embeddings, dtype)


def position_bias(
    stack: Any,
    shape: Sequence[int],
    like: Tensor,
    cache: Cache | None = None,
    layer_type: str = "full_attention",
) -> Tensor | None:
    """What is added to the scores (B, H, T, S) where positions are a bias, a function of j - i.

    shape: (B, T). like: has the device and the dtype of the scores. Distances count columns, not
    real tokens.
    """
    if stack.position_bias is None:
        return None
    queries = keys = torch.arange(shape[1], device=like.device)
    if cache is not None:
        # A cache keeps the tokens of a window alone, or has room for more than came so far.
        cache, layer = self_attention_cache(cache), stack.attention_types.index(layer_type)
        count, first = cache.get_mask_sizes(shape[1], layer)
        queries = queries + cache.get_seq_length(layer)
        keys = torch.arange(count, device=like.device) + first
    bias = stack.position_bias(keys - queries[:, None]).to(like.dtype)  # (H, T, S)
    return bias.expand(shape[0], -1, -1, -1)


def segment_bounds(lengths: Tensor) -> dict[str, Any]:
    """The bounds of segments of these lengths (N,), as the arguments of variable-length kernels."""
    return kernel_arguments(F.pad(lengths.cumsum(0), (1, 0)), int(lengths.max()))


def kernel_arguments(ends: Tensor, longest: int) -> dict[str, Any]:
    """ends (N + 1,): where segments start, and the last one ends. longest: of their lengths."""
    ends = ends.to(torch.int32)
    return {
        "cu_seq_lens_q": ends,
        "cu_seq_lens_k": ends,
        "max_length_q": longest,
        "max_length_k": longest,
    }


def with_bounds(
    config: ScratchConfig, inputs: Inputs, kwargs: dict[str, Any]
) -> dict[str, Any]:
    """kwargs, with the bounds of segments where flash attention is to read them."""
    if "flash" not in config._attn_implementation or kwargs.get("max_length_k") is not None:
        return kwargs
    lengths = inputs.segment_lengths
    return kwargs if lengths is None else kwargs | segment_bounds(lengths)


def self_attention_mask(
    config: ScratchConfig,
    inputs: Inputs,
    is_causal: bool,
    cache: Cache | None = None,
    layer_type: str = "full_attention",
) -> Any:
    """What the backend takes so that tokens see their segment and window.

    They see no padding and, if causal, nothing later.
    """
    mask = inputs.attention_mask
    if isinstance(mask, dict):  # by type of layer, of generate_batch
        mask = mask[layer_type]
    check_mask_of_scores(config, mask)
    within_segment = None
    if cache is None and "flash" not in config._attn_implementation:
        segment_ids = inputs.segment_ids()  # (B, T); flash kernels read the bounds instead
        if segment_ids is not None:
            within_segment = packed_sequence_mask_function(segment_ids)
    return MASKS[layer_type == "sliding_attention", is_causal](
        config,
        shape_only(inputs),
        mask,
        past_key_values=self_attention_cache(cache),
        and_mask_function=within_segment,
    )


def cross_attention_mask(
    config: ScratchConfig,
    inputs: Inputs,
    encoder_hidden_states: Tensor | None,
    attention_mask: Tensor | None,
) -> Any:
    """What the backend takes so that no token sees padding of what the encoder read.

    attention_mask (B, S), encoder_hidden_states (B, S, hidden).
    """
    if encoder_hidden_states is None:
        return None
    check_mask(attention_mask, encoder_hidden_states, "attention_mask")
    check_mask_of_scores(config, attention_mask)
    return create_bidirectional_mask(
        config, shape_only(inputs), attention_mask, encoder_hidden_states
    )


def shape_only(inputs: Inputs) -> Tensor:
    """Embeddings as masking_utils reads them: shape, device, and the dtype of a mask of scores."""
    return torch.empty((*inputs.shape, 1), dtype=torch.float32, device=inputs.read.device)


# --- checks: each raises ValueError for what the backend would ignore or misread -----------------


def check_bias(config: ScratchConfig, kwargs: Mapping[str, Any]) -> None:
    position_type, backend = config.position_type, config._attn_implementation
    is_added = backend in ("eager", "sdpa", "flex_attention") and "cache" not in kwargs
    if position_type in POSITION_BIASES and not is_added:
        raise ValueError(
            f"position_type={position_type!r}: {backend} attention, or the cache of "
            "generate_batch, may ignore its biases."
        )


def check_mask_of_scores(config: ScratchConfig, mask: Any) -> None:
    """mask (B, 1, T, S): a tensor, or a BlockMask for flex_attention."""
    if len(getattr(mask, "shape", ())) != 4:
        return
    backend, is_dense = config._attn_implementation, isinstance(mask, Tensor)
    is_read = "flash" not in backend and is_dense != (backend == "flex_attention")
    if is_dense and mask.dtype != torch.bool:
        is_read &= mask.is_floating_point()
    if not is_read:
        raise ValueError(
            f"{backend} attention would ignore or misread this attention_mask "
            f"{tuple(mask.shape)}. Eager and sdpa take (texts, tokens), or (texts, 1, queries, "
            "keys) of booleans, or of floats that are added to the scores."
        )
