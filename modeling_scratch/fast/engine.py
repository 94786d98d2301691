# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The fast engine: from inputs to last hidden states, with a packed layout planned per batch.

It falls back to the textbook engine when packing gains nothing, and when anything in the model is hooked, patched or
wrapped.

Shapes: B batch, T length; R rows and W width of a group in a packed batch; N tokens that a head reads.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from transformers import Cache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, packed_sequence_mask_function
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils import is_tracing

from ..attention import additive
from ..configuration_scratch import ScratchConfig
from ..inputs import (
    MASKS,
    Inputs,
    cross_attention_mask,
    eager_config,
    is_padding_mask,
    segment_bounds,
    self_attention_mask,
)
from ..positions import rotary_cos_sin
from ..stack import StackModel, score_bias
from .attention import attend_once, attend_then_select, eager_attention, has_varlen_kernel, last_block, varlen_attention
from .hooks import has_foreign_hooks, has_hooks, has_to_be_called, is_traced, recomputes
from .packing import Packing, make_packing, same_segment

MANY_TEXTS = 32  # from this many texts of one token each, plain matrix products are faster than the fused kernel
# Arguments of attention functions that change the scores.
FOR_THE_TEXTBOOK = {"attention_fn", "cache", "position_bias", "s_aux", "sliding_window", "softcap"}
OF_EVERY_LAYER = "output_attentions", "output_hidden_states"
LEAST_TOKENS = 48  # planning takes longer than a smaller batch


def fast_engine(
    model: Any,
    inputs: Inputs,
    *,
    token_indices: Tensor | None = None,
    past_key_values: Cache | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    **kwargs: Any,
) -> Tensor:
    """As textbook_engine: inputs (B, T) -> hidden states (B, T, hidden); the values of unread tokens are undefined."""
    encoder: Any = {"encoder_hidden_states": encoder_hidden_states, "encoder_attention_mask": encoder_attention_mask}
    textbook = partial(StackModel.textbook_engine, model, inputs, past_key_values=past_key_values, **encoder, **kwargs)
    if _is_for_the_textbook(model, inputs, kwargs):
        return textbook()
    traced = any(is_tracing(each) for each in (inputs.input_ids, inputs.inputs_embeds, inputs.attention_mask))
    eagerly = not traced and _attends_eagerly(model, inputs)
    if (past_key_values is not None and not eagerly) or (not traced and has_foreign_hooks(model)):
        return textbook()
    attention_fn = eager_attention if eagerly else None
    if past_key_values is not None:
        return textbook(attention_fn=attention_fn)
    config = model.config if attention_fn is None else eager_config(model.config)
    lengths = inputs.segment_lengths
    varlen = None if lengths is None else _varlen_arguments(model, config, inputs, lengths, traced, kwargs)
    if varlen is None and (traced or (lengths is None and inputs.shape.numel() < LEAST_TOKENS)):
        return textbook(attention_fn=attention_fn)
    can_select = encoder_hidden_states is None and _has_plain_scores(model)  # tokens of the last block
    indices = None if not can_select or any(map(has_to_be_called, model.stack.layers)) else token_indices
    if varlen is not None:
        return _run(model, inputs, varlen.pop("attention_fn"), None, None, indices, **kwargs | varlen)
    packing = _pack(model, config, inputs, lengths, token_indices)
    if packing is not None:
        backend = ALL_ATTENTION_FUNCTIONS.get_interface(config._attn_implementation, eager_attention)
        attention_fn = partial(packing.attend, backend, encoder_hidden_states is not None)
        masks = None, cross_attention_mask(config, inputs, encoder_hidden_states, encoder_attention_mask)
    elif indices is not None:
        masks = self_attention_mask(config, inputs, model.is_causal), None
    else:
        return textbook(attention_fn=attention_fn)
    return _run(model, inputs, attention_fn, masks, packing, indices, encoder_hidden_states, **kwargs)


def _is_for_the_textbook(model: Any, inputs: Inputs, kwargs: Mapping[str, Any]) -> bool:
    """Return whether a call asks for what the textbook engine alone has, or is over before it could be planned."""
    is_every_layer = any(kwargs.get(name, getattr(model.config, name)) for name in OF_EVERY_LAYER)
    if is_every_layer or not FOR_THE_TEXTBOOK.isdisjoint(kwargs):
        return True
    bias = model.stack.position_bias  # whose gradient would go around the arguments of blocks that are recomputed
    if bias is not None and any(True for _ in bias.parameters()) and recomputes(model.stack.layers):
        return True
    if is_traced(inputs.read) or inputs.position_ids is not None or inputs.cu_seq_lens is not None:
        return False  # traced graphs must not depend on sizes
    return inputs.shape.numel() < min(LEAST_TOKENS, MANY_TEXTS)


def _has_plain_scores(model: Any) -> bool:
    """Return whether scores are products of queries and keys alone, and every layer attends to the whole text."""
    return model.stack.position_bias is None and "sliding_attention" not in model.stack.attention_types


def _attends_eagerly(model: Any, inputs: Inputs) -> bool:
    """Whether eager attention is faster: on a CPU, the fused kernel lacks dropout and is slow for single queries."""
    if model.config._attn_implementation != "sdpa" or inputs.read.device.type != "cpu":
        return False
    if model.training:
        return model.config.attention_dropout > 0
    return inputs.shape[1] == 1 and inputs.shape[0] >= MANY_TEXTS


def _varlen_arguments(
    model: Any, config: ScratchConfig, inputs: Inputs, lengths: Tensor, traced: bool, kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Arguments of the variable-length kernels for a batch that arrived packed; None: these kernels do not apply.

    With cu_seq_lens_q and max_length_q, as collators return them, there is no host-device synchronisation, and traced
    graphs work, too.
    """
    if config.is_encoder_decoder or not _has_plain_scores(model):  # the encoder's texts have different lengths
        return None
    bounds, longest = kwargs.get("cu_seq_lens_q"), kwargs.get("max_length_q")
    is_given, by_flash = bounds is not None and longest is not None, "flash" in config._attn_implementation
    by_sdpa = config._attn_implementation == "sdpa" and (is_given or not traced)
    if not by_flash and not (by_sdpa and has_varlen_kernel(lengths.device, model.dtype, config.head_dim, traced)):
        return None
    if is_given:
        bounds = bounds.to(torch.int32)
        arguments = {f"cu_seq_lens_{side}": bounds for side in "qk"} | {f"max_length_{side}": longest for side in "qk"}
    else:
        arguments = segment_bounds(lengths)
    if lengths.device.type == "cuda" and not traced:  # there is no public check without synchronisation
        torch._assert_async(arguments["cu_seq_lens_q"][-1] == inputs.shape.numel())
    return {**arguments, "attention_fn": None if by_flash else varlen_attention}


def _pack(
    model: Any, config: ScratchConfig, inputs: Inputs, lengths: Tensor | None, indices: Tensor | None
) -> Packing | None:
    """The packed layout of a batch; None if it has no padding and the head reads more than one token per text.

    None on accelerators, too, where reading the mask would synchronise host and device: collators pack in advance.
    """
    backend, device = config._attn_implementation, inputs.read.device
    if "flash" in backend or (backend == "flex_attention" and device.type != "cpu"):
        return None  # their kernels skip padding by themselves; flex_attention compiles one for each new shape
    has_masks = backend in ALL_MASK_ATTENTION_FUNCTIONS
    if not has_masks and (model.is_causal or "sliding_attention" in model.stack.attention_types):
        return None  # a backend of the user's, which would see the future or beyond its window
    make_masks = partial(_group_masks, model, config, device)
    options: dict[str, Any] = {"shares": has_masks, "weights": config.hidden_size * config.intermediate_size}
    if lengths is not None:
        tokens = torch.arange(inputs.shape.numel(), device=lengths.device)
        return make_packing(tokens, lengths, inputs.shape, make_masks, **options)
    mask = _real_tokens(model, inputs, indices) if device.type == "cpu" else None
    if mask is None or not mask.any() or (mask.all() and not _reads_one_a_text(model, inputs, indices)):
        return None
    if indices is not None and not mask.flatten()[indices].all():
        return None  # padding tokens are read, too
    if getattr(model, "pooler", None) is not None and model.config.counted_tokens != "real" and not mask[:, 0].all():
        return None  # the pooler reads the first column
    real = mask.bool()
    runs = (torch.nn.functional.pad(real, (1, 0)).long().diff(dim=-1) > 0).sum(-1)  # of real tokens, of each text
    if not _has_plain_scores(model) and runs.max() > 1:
        return None  # packed tokens would be nearer to each other
    return make_packing(real.flatten().nonzero().flatten(), real.sum(-1), mask.shape, make_masks, **options)


def _real_tokens(model: Any, inputs: Inputs, indices: Tensor | None) -> Tensor | None:
    """(B, T): 1 at real tokens; None if the mask is one of queries and keys, or a text has no tokens.

    Without a mask, all tokens are real. A causal model with token_indices needs only those up to the last one read.
    """
    mask = inputs.attention_mask
    if mask is not None:  # a decoder would attend to all padding of a text without tokens
        return mask if is_padding_mask(mask) and mask.any(-1).all() else None
    if not model.is_causal or indices is None:
        return torch.ones(inputs.shape, dtype=torch.long)
    read = torch.zeros(inputs.shape, dtype=torch.long)
    read.view(-1)[indices] = 1
    return read.flip(-1).cumsum(-1).flip(-1).clamp(max=1)


def _reads_one_a_text(model: Any, inputs: Inputs, indices: Tensor | None) -> bool:
    """Whether the head reads exactly one token per text of a bidirectional model; on a CPU, which may look."""
    if indices is None or model.is_causal or indices.device.type != "cpu":
        return False
    segments = inputs.segment_ids
    texts = indices // inputs.shape[1] if segments is None else segments.flatten()[indices]
    count = inputs.shape[0] if segments is None else int(segments[-1, -1]) + 1
    return torch.equal(texts, torch.arange(count, device=texts.device))


def _group_masks(
    model: Any, config: ScratchConfig, device: torch.device, segments: Tensor | None, shape: Sequence[int]
) -> dict[str, tuple[Any, Tensor | None]]:
    """The mask and the bias (R, H, W, W) of each type of layer; segment_ids (R, W), None if each row is one text."""
    bias = score_bias(model.stack, shape, model.embeddings.tokens.weight)  # texts are contiguous: distances of a row
    embeds = torch.empty((*shape, 1), device=device, dtype=torch.float32)
    kinds = dict.fromkeys(model.stack.attention_types)
    return {kind: (_group_mask(config, model.is_causal, embeds, segments, kind), bias) for kind in kinds}


def _group_mask(config: ScratchConfig, is_causal: bool, embeds: Tensor, segments: Tensor | None, kind: str) -> Any:
    """The mask (R, 1, W, W) in the attention backend's format; None where each row is one text that sees it all."""
    has_window, backend = kind == "sliding_attention", config._attn_implementation
    if segments is None or backend not in ("eager", "sdpa"):
        options: dict[str, Any] = {"past_key_values": None} if is_causal else {}
        if segments is not None:
            options["and_mask_function"] = packed_sequence_mask_function(segments)
        return MASKS[has_window, is_causal](config, embeds, None, **options)
    allowed = same_segment(segments, segments)  # the library's mask, in a tenth of its time
    allowed = allowed.tril() if is_causal else allowed
    if has_window:
        window = config.sliding_window
        allowed = allowed.triu(1 - window) if is_causal else allowed.triu(-window).tril(window)
    return allowed if backend == "sdpa" else additive(allowed, embeds.dtype)


def _run(
    model: Any,
    inputs: Inputs,
    attention_fn: Callable | None,
    masks: tuple[Any, Any] | None,
    packing: Packing | None,
    indices: Tensor | None,
    encoder_hidden_states: Tensor | None = None,
    num_layers: int | None = None,
    **kwargs: Any,
) -> Tensor:
    """Embeddings, blocks and final norm in this layout; returns (B, T, hidden)."""
    mask, encoder_mask = masks or (None, None)
    read: tuple = inputs.input_ids, inputs.positions(model.config), inputs.token_type_ids, inputs.inputs_embeds
    if packing is not None:
        if inputs.input_ids is not None and has_hooks(model.embeddings.tokens):  # NEFTune draws noise for each text
            read = None, *read[1:3], model.embeddings.tokens(inputs.input_ids)
        read = tuple(map(packing.pack, read))
    hidden_states = model.embeddings(*read)
    kinds = dict.fromkeys(model.stack.attention_types)
    rotary = {kind: rotary_cos_sin(model.config, read[1], hidden_states.dtype, kind) for kind in kinds}
    options = {**kwargs, "attention_fn": attention_fn}
    blocks = list(islice(model.stack.layers, num_layers))
    if indices is None or not blocks:
        encoder = encoder_hidden_states, encoder_mask
        by_type = {kind: (mask, None, angles) for kind, angles in rotary.items()}
        hidden_states = model.stack(hidden_states, by_type, *encoder, num_layers=num_layers, **options)
        return hidden_states if packing is None else packing.unpack(hidden_states)
    options["rotary"] = rotary["full_attention"]
    for block in blocks[:-1]:
        hidden_states = block(hidden_states, mask, **options)
    indices_here = indices if packing is None else packing.packed_indices(indices)
    attend = partial(attend_then_select, indices=indices_here, mask=mask, **options)
    is_known = model.config._attn_implementation in ("eager", "sdpa", "flex_attention")  # eager attention stands in
    if packing is not None and is_known and _reads_one_a_text(model, inputs, indices):
        attend = partial(attend_once, indices=indices_here, packing=packing, rotary=options["rotary"])
    compute = partial(last_block, blocks[-1])
    if recomputes(blocks[-1:]):
        compute = partial(blocks[-1]._gradient_checkpointing_func, compute)
    hidden_states = model.stack.norm(compute(hidden_states, indices_here, attend))
    return _put_back(hidden_states[0], indices, inputs.shape)


def _put_back(states: Tensor, indices: Tensor, shape: Sequence[int]) -> Tensor:
    """Scatter (N, hidden) to rising indices of the flattened B * T, zeros elsewhere: (B, T, hidden).

    A repeated index (that of an empty segment) counts once, in the backward pass as well. Without gradients and with
    one index per row, the result is a view that repeats the one vector of each row.
    """
    is_view = states.device.type == "cpu" and not states.requires_grad and len(indices) == shape[0]
    if is_view and torch.equal(indices // shape[1], torch.arange(shape[0])):
        return states[:, None].expand(-1, shape[1], -1)
    first = (indices.diff(prepend=indices[:1] - 1) != 0)[:, None]  # F.pad would tie a graph to more than two texts
    full = states.new_zeros(shape[0] * shape[1], states.shape[-1])
    return full.index_add(0, indices, states * first).unflatten(0, tuple(shape))
