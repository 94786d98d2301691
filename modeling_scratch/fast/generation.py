# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Faster generation: which way a call goes, and masks of a static cache. Shapes: B batch, T length."""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers.generation import GenerationConfig, GenerationMode
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled
from transformers.integrations.fsdp import is_fsdp_managed_module

from ..inputs import MASKS
from .beam_search import beam_search
from .captured_decoding import captured_decoding, decodes_captured
from .forwards import quick_head
from .hooks import in_place, is_compiled

DENSE = "eager", "sdpa"  # attention backends that take a mask of booleans


def fast_generate(generate: Callable, *args: Any, **kwargs: Any) -> Any:
    """GenerationMixin.generate of a model, with a faster beam search, captured steps, and a faster head."""
    model: Any = generate.__self__  # type: ignore[attr-defined]
    given = args[1] if len(args) > 1 else kwargs.get("generation_config")
    others = {name: value for name, value in kwargs.items() if name != "generation_config"}
    config, _ = model._prepare_generation_config(given, **others)
    if is_plain_call(model, config, args, kwargs):
        prompt = args[0] if args else kwargs.get("inputs", kwargs.get("input_ids"))
        if config.get_generation_mode() == GenerationMode.BEAM_SEARCH:
            kwargs["custom_generate"] = beam_search
        elif decodes_captured(model, config, prompt, kwargs):
            kwargs["custom_generate"] = captured_decoding
    # Compiled code would be compiled anew for each head that is put in place.
    is_static = config.cache_implementation or config.compile_config or is_compiled(model)
    with in_place([]) if is_static else quick_head(model.get_output_embeddings()):
        return generate(*args, **kwargs)


def masks_for_generate(
    config: Any, inputs_embeds: Tensor, attention_mask: Tensor | None, past_key_values: Any, **_: Any
) -> Any:
    """Return masks of one size for all tokens of a static cache, so that one compiled graph fits them all.

    attention_mask (B, past + T), which grows: outside of the graph, it becomes (B, 1, T, S), S the room of the cache; a
    dictionary of these by type of layer if there are two. For PreTrainedModel.create_masks_for_generate.
    """
    is_block_mask = config._attn_implementation == "flex_attention"  # which generate cannot take
    if attention_mask is None or config.is_encoder_decoder or is_block_mask:
        return attention_mask
    read = {"inputs_embeds": inputs_embeds, "attention_mask": attention_mask, "past_key_values": past_key_values}
    kinds = dict.fromkeys(config.attention_types(config.num_hidden_layers))
    if inputs_embeds.shape[1] == 1 and "sliding_attention" not in kinds and config._attn_implementation in DENSE:
        room = past_key_values.get_mask_sizes(1, 0)[0] - attention_mask.shape[1]
        return F.pad(attention_mask, (0, room))[:, None, None].bool()  # the last token sees all before it
    masks = {kind: MASKS[kind == "sliding_attention", True](config, **read) for kind in kinds}
    return masks if len(masks) > 1 else next(iter(masks.values()), attention_mask)


def is_plain_call(model: Any, config: GenerationConfig, args: tuple, kwargs: dict[str, Any]) -> bool:
    """Return whether our own ways may support this call: no extra outputs, no synchronised ranks."""
    others = "streamer", "assistant_model", "custom_generate", "past_key_values", "tokenizer"
    if len(args) > 2 or any(kwargs.get(name) is not None for name in others):
        return False
    if kwargs.get("synced_gpus") or is_deepspeed_zero3_enabled() or is_fsdp_managed_module(model):
        return False
    return not config.return_dict_in_generate and config.prefill_chunk_size is None
