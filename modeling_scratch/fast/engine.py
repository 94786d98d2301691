# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""From inputs to last hidden states as the textbook's engine, in less time: it plans a batch before it computes.

Where nothing is to be gained, or somebody looks inside, it calls the textbook.

Shapes: B batch, T length; R rows and W width of a group of a packed batch; N tokens that are read.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import Cache
from transformers.masking_utils import (
    ALL_MASK_ATTENTION_FUNCTIONS,
    create_bidirectional_mask,
    create_causal_mask,
    packed_sequence_mask_function,
)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils import is_tracing

from ..attention import additive
from ..configuration_scratch import ScratchConfig
from ..embeddings import Inputs
from ..modeling_base import cross_attention_mask, eager_config, rotary_angles, self_attention_mask, textbook_engine
from .attention import eager_attention
from .hooks import has_hooks, is_looked_into, is_traced, recomputes
from .last_block import attend_from_selected, attend_once, last_block
from .packing import Packing, packing_from_lengths, packing_from_mask, same_segment
from .varlen import has_varlen_kernels, varlen_attention

MANY_TEXTS = 32  # from so many on, one token of each, plain products take less time than the fused kernel
OF_EVERY_LAYER = "output_attentions", "output_hidden_states"
LEAST_TOKENS = 48  # of a batch; fewer take less time than a plan for them


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
    """As textbook_engine: inputs (B, T) -> hidden states (B, T, hidden); what nobody reads may hold anything."""
    encoder: dict[str, Any] = {
        "encoder_hidden_states": encoder_hidden_states,
        "encoder_attention_mask": encoder_attention_mask,
    }
    textbook = partial(textbook_engine, model, inputs, past_key_values=past_key_values, **encoder, **kwargs)
    if _is_tiny(inputs) or any(model.is_asked_for(name, kwargs) for name in OF_EVERY_LAYER):
        return textbook()
    traced = any(is_tracing(each) for each in (inputs.input_ids, inputs.inputs_embeds, inputs.attention_mask))
    attention_fn = None if traced or not _attends_eagerly(model, inputs) else eager_attention
    if past_key_values is not None:
        return textbook(attention_fn=attention_fn)
    config = model.config if attention_fn is None else eager_config(model.config)
    lengths = inputs.segment_lengths()
    told = None if lengths is None else _varlen_arguments(model, config, lengths, traced, kwargs)
    if told is None and (traced or (lengths is None and inputs.shape.numel() < LEAST_TOKENS)):
        return textbook(attention_fn=attention_fn)
    seen = not traced and is_looked_into(model, except_for=model.embeddings.tokens)
    indices = None if seen or encoder_hidden_states is not None or recomputes(model.stack.layers) else token_indices
    if told is not None:
        return _run(model, inputs, told.pop("attention_fn"), None, None, indices, **kwargs | told)
    packing = None if seen else _pack(model, config, inputs, lengths, token_indices)
    if packing is not None:
        backend = ALL_ATTENTION_FUNCTIONS.get_interface(config._attn_implementation, eager_attention)
        attention_fn = packing.attention_fn(backend, cross_attends=encoder_hidden_states is not None)
        masks = None, cross_attention_mask(config, inputs, encoder_hidden_states, encoder_attention_mask)
    elif indices is not None:
        masks = self_attention_mask(config, inputs, model.is_causal), None
    else:
        return textbook(attention_fn=attention_fn)
    return _run(model, inputs, attention_fn, masks, packing, indices, encoder_hidden_states, **kwargs)


def _is_tiny(inputs: Inputs) -> bool:
    """Whether a batch is over before a plan for it would be made; a traced graph must not ask."""
    read = inputs.inputs_embeds if inputs.input_ids is None else inputs.input_ids
    if is_traced(read) or inputs.position_ids is not None or inputs.cu_seq_lens is not None:
        return False
    return inputs.shape.numel() < min(LEAST_TOKENS, MANY_TEXTS)


def _attends_eagerly(model: Any, inputs: Inputs) -> bool:
    """Whether the fused kernel is the slower one: on a CPU it has no dropout, nor a fast way for one token a text."""
    if model.config._attn_implementation != "sdpa" or inputs.device.type != "cpu":
        return False
    if model.training:
        return model.config.attention_dropout > 0
    return inputs.shape[1] == 1 and inputs.shape[0] >= MANY_TEXTS


def _varlen_arguments(
    model: Any, config: ScratchConfig, lengths: Tensor, traced: bool, kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """What kernels for texts of different length are told of a batch that arrived packed; None: others attend.

    A traced graph, and who will not wait for an accelerator, gives cu_seq_lens_q and max_length_q, as collators do.
    """
    if config.is_encoder_decoder:  # what the encoder read has lengths of its own
        return None
    is_given = kwargs.get("cu_seq_lens_q") is not None and kwargs.get("max_length_q") is not None
    by_flash = "flash" in config._attn_implementation
    if not by_flash:
        by_sdpa = config._attn_implementation == "sdpa" and (is_given or not traced)
        if not by_sdpa or not has_varlen_kernels(lengths.device, model.dtype, config.head_dim, traced):
            return None
    told = {name: kwargs[name] for name in ("cu_seq_lens_q", "max_length_q")} if is_given else varlen_arguments(lengths)
    others = {"cu_seq_lens_k": told["cu_seq_lens_q"], "max_length_k": told["max_length_q"]}
    return {**others, **told, "attention_fn": None if by_flash else varlen_attention}


def varlen_arguments(lengths: Tensor) -> dict[str, Any]:
    """What variable-length kernels (flash attention) are told of texts of these lengths, under Hugging Face's names."""
    return {"cu_seq_lens_q": F.pad(lengths.cumsum(0), (1, 0)).to(torch.int32), "max_length_q": int(lengths.max())}


def _pack(
    model: Any, config: ScratchConfig, inputs: Inputs, lengths: Tensor | None, indices: Tensor | None
) -> Packing | None:
    """The packed layout of a batch, or None where it stays as it came.

    It stays where nothing is padded and more than one token a text is read, with flash attention (its kernels pack by
    themselves), and where looking at the mask would make the host wait for an accelerator: there a collator hands over
    batches that are packed already.
    """
    backend, device = config._attn_implementation, inputs.device
    if "flash" in backend or (backend == "flex_attention" and device.type != "cpu"):
        return None  # flex_attention's kernels pass over what a mask hides, and are compiled for each new shape
    options: dict[str, Any] = {
        "make_mask": partial(_group_mask, config, model.is_causal, device),
        "shares": backend in ALL_MASK_ATTENTION_FUNCTIONS,  # else nobody makes its masks
        "weights": config.hidden_size * config.intermediate_size,
    }
    if lengths is not None:
        return packing_from_lengths(lengths, inputs.shape, **options)
    mask = _real_tokens(model, inputs, indices) if device.type == "cpu" else None
    if mask is None or not mask.any() or (mask.all() and not _reads_one_a_text(model, inputs, indices)):
        return None
    return packing_from_mask(mask, **options)


def _real_tokens(model: Any, inputs: Inputs, indices: Tensor | None) -> Tensor | None:
    """(B, T): 1 at the tokens that count; None where the mask says what sees what.

    Without a mask all do; in a decoder that is told which are read, those up to the last of these in each text.
    """
    if inputs.attention_mask is not None:
        return inputs.attention_mask if inputs.attention_mask.ndim == 2 else None
    if not model.is_causal or indices is None:
        return torch.ones(inputs.shape, dtype=torch.long)
    read = torch.zeros(inputs.shape, dtype=torch.long)
    read.view(-1)[indices] = 1
    return read.flip(-1).cumsum(-1).flip(-1).clamp(max=1)


def _reads_one_a_text(model: Any, inputs: Inputs, indices: Tensor | None) -> bool:
    """Whether one token of each text is read, where every token sees all of its text."""
    if indices is None or model.is_causal:
        return False
    segments = inputs.segment_ids()
    texts = indices // inputs.shape[1] if segments is None else segments.flatten()[indices]
    count = inputs.shape[0] if segments is None else int(segments[-1, -1]) + 1
    return torch.equal(texts, torch.arange(count, device=texts.device))


def _group_mask(
    config: ScratchConfig, is_causal: bool, device: torch.device, segments: Tensor | None, shape: Sequence[int]
) -> Any:
    """segments (R, W) of the texts in rows, None where each row is one text -> what the attention backend takes."""
    create = partial(create_causal_mask, past_key_values=None) if is_causal else create_bidirectional_mask
    backend, embeds = config._attn_implementation, torch.empty((*shape, 1), device=device, dtype=torch.float32)
    if segments is None:
        return create(config, embeds, None)
    if backend not in ("eager", "sdpa"):
        return create(config, embeds, None, and_mask_function=packed_sequence_mask_function(segments))
    seen = same_segment(segments, segments)  # what the library would make, in a tenth of its time
    seen = seen.tril() if is_causal else seen
    return seen if backend == "sdpa" else additive(seen, embeds.dtype)


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
    """Embeddings, blocks and final norm on this layout, and the way back to (B, T, hidden)."""
    mask, encoder_mask = masks or (None, None)
    position_ids, longest = inputs.positions(), kwargs.get("max_length_q", inputs.shape[1])
    read: tuple = inputs.input_ids, position_ids, inputs.token_type_ids, inputs.inputs_embeds
    if packing is not None:
        if inputs.input_ids is not None and has_hooks(model.embeddings.tokens):  # they see texts as they came (NEFTune)
            read = None, *read[1:3], model.embeddings.look_up(inputs.input_ids)
        read = tuple(map(packing.pack, read))
    hidden_states = model.embeddings(*read, longest=longest)
    options = {
        **kwargs, "rotary": rotary_angles(model.config, read[1], hidden_states.dtype), "position_ids": read[1],
        "attention_fn": attention_fn,
    }  # fmt: skip
    blocks = list(islice(model.stack.layers, num_layers))
    *first, last = blocks if indices is not None and blocks else [*blocks, None]
    for block in first:
        hidden_states = block(hidden_states, mask, encoder_hidden_states, encoder_mask, **options)
    if last is not None:
        slots = indices if packing is None else packing.find(indices)
        attend = partial(attend_from_selected, indices=slots, mask=mask, **options)
        if packing is not None and packing.texts == len(indices) and _reads_one_a_text(model, inputs, indices):
            attend = partial(attend_once, slots=slots, packing=packing, rotary=options["rotary"])
        hidden_states = model.stack.norm(last_block(last, hidden_states, slots, attend))
        return _put_back(hidden_states[0], indices, inputs.shape)
    hidden_states = model.stack.norm(hidden_states)
    return hidden_states if packing is None else packing.unpack(hidden_states)


def _put_back(states: Tensor, indices: Tensor, shape: Sequence[int]) -> Tensor:
    """(N, hidden) at rising indices of the flattened B * T, zeros elsewhere: (B, T, hidden).

    An index that comes twice (an empty segment has none of its own) counts once, backward as well. Without gradients,
    where one is read of each row, all of the row shows that one: a view, which takes no time.
    """
    is_view = len(indices) == shape[0] and not states.requires_grad and states.device.type == "cpu"
    if is_view and torch.equal(indices // shape[1], torch.arange(shape[0])):
        return states[:, None].expand(-1, shape[1], -1)
    first = (indices.diff(prepend=indices[:1] - 1) != 0)[:, None]  # F.pad would tie a graph to more than two texts
    full = states.new_zeros(shape[0] * shape[1], states.shape[-1])
    return full.index_add(0, indices, states * first).unflatten(0, tuple(shape))
