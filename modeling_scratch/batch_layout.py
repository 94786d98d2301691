# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""How a batch is laid out: its positions, the mask of the attention backend, and whether it is packed.

Shapes: B batch, T length; R rows and W width of a group of a packed one.
"""

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Cache, EncoderDecoderCache
from transformers.masking_utils import (
    ALL_MASK_ATTENTION_FUNCTIONS,
    create_bidirectional_mask,
    create_causal_mask,
    find_packed_sequence_indices,
    packed_sequence_mask_function,
)
from transformers.utils import is_tracing, logging

from .attention import eager_attention
from .configuration_scratch import ScratchConfig
from .packed_input import document_ids, packed_lengths, positions_from_lengths, varlen_arguments
from .packing import Packing, as_scores, packing_from_lengths, packing_from_mask, same_text
from .positions import positions_from_mask, rotary
from .shortcuts import is_seen_inside, is_watched
from .varlen import has_varlen_kernels, varlen_attention

logger = logging.get_logger(__name__)

MANY_TEXTS = 32  # from so many on, one token of each, plain products take less time than the fused kernel


class BatchLayout:
    """What the base models do with a batch before the first block: a part of ScratchPreTrainedModel."""

    config: ScratchConfig
    training: bool
    embeddings: Any
    stack: nn.Module
    dtype: torch.dtype
    # Whether tokens see those before them only.
    is_causal: bool = False
    # False, set on the base model, keeps padded batches padded, to measure what packing brings.
    packs_padded_batches: bool = True

    def _lay_out(
        self,
        inputs: Tensor,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        kwargs: dict[str, Any],
        cache: Cache | None = None,
    ) -> tuple[Tensor, Any, Packing | None]:
        """Positions (B, T), the backend's mask, and the packing of a batch of inputs (B, T); kwargs: those of forward.

        One of mask and packing is None: packed sequences carry their masks with them. With a cache nothing is packed.
        kwargs["attend"] becomes what attends in place of the backend of the config; None: that one does. Where kernels
        are told the lengths, kwargs["longest"] is the longest of them.
        """
        shape, device = inputs.shape[:2], inputs.device
        kwargs["attend"] = eager_attention if self._attends_eagerly(inputs, kwargs) else None
        if cache is not None:
            mask = self._padded_mask(attention_mask, None, shape, device, kwargs, cache)
            if position_ids is None:
                position_ids = positions_from_mask(attention_mask, shape, device, cache.get_seq_length())
            return position_ids.expand(shape), mask, None
        lengths = packed_lengths(shape, attention_mask, position_ids, kwargs)
        told = self._tell_lengths(lengths, device, kwargs)
        packing = None if told else self._packing(attention_mask, lengths, shape, device, kwargs)
        if packing is not None and kwargs.get("places") is not None:
            kwargs["places"] = packing.find(kwargs["places"])
        mask = None
        if packing is None and not told:
            sequences = self._sequence_ids(lengths, attention_mask, position_ids, shape, kwargs)
            mask = self._padded_mask(attention_mask, sequences, shape, device, kwargs)
        if position_ids is not None:
            return position_ids.expand(shape), mask, packing
        if lengths is not None:
            return positions_from_lengths(lengths, shape[0] * shape[1]).view(shape), mask, packing
        return positions_from_mask(attention_mask, shape, device), mask, packing

    def _unpack(self, hidden_states: Tensor, packing: Packing | None, kwargs: Mapping[str, Any]) -> Tensor:
        """As the batch came, (B, T, hidden); where only some places are read, these as they are, (1, N, hidden)."""
        return hidden_states if packing is None or kwargs.get("places") is not None else packing.unpack(hidden_states)

    def _pack(self, packing: Packing, input_ids: Tensor | None, *others: Tensor | None) -> tuple[Any, ...]:
        """input_ids, position_ids, token_type_ids and inputs_embeds packed, as the embeddings read them.

        Hooks of the table of tokens (NEFTune's noise) see texts as they came.
        """
        if input_ids is not None and is_watched(self.embeddings.tokens):
            input_ids, others = None, (*others[:-1], self.embeddings.look_up(input_ids))
        return tuple(map(packing.pack, (input_ids, *others)))

    def _is_asked_for(self, name: str, kwargs: Mapping[str, Any]) -> bool:
        """Whether this call, or the config where it does not say, asks for hidden states or attention maps."""
        return bool(kwargs.get(name, getattr(self.config, name)))

    def _attends_by_flash(self, kwargs: Mapping[str, Any]) -> bool:
        return kwargs["attend"] is None and "flash" in self.config._attn_implementation

    def _tell_lengths(self, lengths: Tensor | None, device: torch.device, kwargs: dict[str, Any]) -> bool:
        """Whether kernels for texts of different length attend to a batch that arrived packed; they need no mask.

        What they are told is in kwargs then. A traced graph, and who will not wait for an accelerator, gives
        cu_seq_lens_q and max_length_q, as collators make them.
        """
        config = self.config
        if lengths is None or kwargs["attend"] is not None:
            return False
        if config.is_encoder_decoder:  # its memory has lengths of its own
            return False
        is_given = kwargs.get("cu_seq_lens_q") is not None and kwargs.get("max_length_q") is not None
        if not self._attends_by_flash(kwargs):
            by_sdpa = config._attn_implementation == "sdpa" and (is_given or not is_tracing(lengths))
            if not by_sdpa or not has_varlen_kernels(device, self.dtype, config.head_dim, is_tracing(lengths)):
                return False
            kwargs["attend"] = varlen_attention
        if not is_given:
            kwargs.update(varlen_arguments(lengths))
        kwargs.setdefault("cu_seq_lens_k", kwargs["cu_seq_lens_q"])
        kwargs.setdefault("max_length_k", kwargs["max_length_q"])
        kwargs["longest"] = kwargs["max_length_q"]
        return True

    def _packing(
        self,
        attention_mask: Tensor | None,
        lengths: Tensor | None,
        shape: Sequence[int],
        device: torch.device,
        kwargs: dict[str, Any],
    ) -> Packing | None:
        """The packed layout of this batch, or None where it stays as it came.

        It stays where nothing is padded and more than one token a text is read, where graphs are traced, where hidden
        states or attention maps are asked for or seen by hooks (they have the shape of the input), with flash attention
        (its kernels pack by themselves), and where looking at the mask would stall an accelerator: there a collator
        hands over batches that are packed already.
        """
        records = any(self._is_asked_for(name, kwargs) for name in ("output_attentions", "output_hidden_states"))
        places = kwargs.get("places")
        if records or is_tracing(attention_mask) or is_tracing(places) or self._attends_by_flash(kwargs):
            return None
        if self.config._attn_implementation == "flex_attention" and device.type != "cpu":
            return None  # its kernels pass over what a mask hides, and are compiled for each new shape
        config = self._mask_config(kwargs)
        shares = config._attn_implementation in ALL_MASK_ATTENTION_FUNCTIONS  # else nobody makes its masks
        make_mask = partial(self._group_mask, config, device)
        options = {"shares": shares, "weights": config.hidden_size * config.intermediate_size}
        if lengths is not None:
            return packing_from_lengths(lengths, shape, make_mask, **options)
        if device.type != "cpu" or not self.packs_padded_batches or is_seen_inside(self.stack):
            return None
        asks_once = not self.is_causal and places is not None and places.ndim == 2
        if attention_mask is None and asks_once:
            attention_mask = torch.ones(shape, dtype=torch.long)
        if attention_mask is None or attention_mask.ndim != 2 or not attention_mask.any():
            return None
        if attention_mask.all() and not asks_once:
            return None
        return packing_from_mask(attention_mask, make_mask, **options)

    def _group_mask(
        self, config: ScratchConfig, device: torch.device, numbers: Tensor | None, shape: Sequence[int]
    ) -> Any:
        """numbers (R, W) of the texts in rows, None where each row is one text -> what the attention backend takes."""
        create = partial(create_causal_mask, past_key_values=None) if self.is_causal else create_bidirectional_mask
        backend, embeds = config._attn_implementation, self._shape_only(shape, device)
        if numbers is None:
            return create(config, embeds, None)
        if backend not in ("eager", "sdpa"):
            return create(config, embeds, None, and_mask_function=packed_sequence_mask_function(numbers))
        seen = same_text(numbers, numbers)  # what the library would make, in a tenth of its time
        seen = seen.tril() if self.is_causal else seen
        return seen if backend == "sdpa" else as_scores(seen, embeds.dtype)

    def _sequence_ids(
        self,
        lengths: Tensor | None,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        shape: Sequence[int],
        kwargs: Mapping[str, Any],
    ) -> Tensor | None:
        """(B, T): which sequence of a batch that arrived packed each token belongs to; None where it did not."""
        if self._attends_by_flash(kwargs):
            return None  # its kernels are told the lengths
        if lengths is not None:
            return document_ids(lengths, shape)
        if attention_mask is None and position_ids is not None and is_tracing(position_ids):
            return find_packed_sequence_indices(position_ids.expand(shape))
        return None

    def _padded_mask(
        self,
        attention_mask: Tensor | None,
        sequences: Tensor | None,
        shape: Sequence[int],
        device: torch.device,
        kwargs: dict[str, Any],
        cache: Cache | None = None,
    ) -> Any:
        """The backend's mask of a batch that stays as it came: no token sees padding or another sequence."""
        config, embeds = self._mask_config(kwargs), self._shape_only(shape, device)
        same_sequence = None if sequences is None else packed_sequence_mask_function(sequences)
        if self.is_causal:
            cache = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
            return create_causal_mask(config, embeds, attention_mask, cache, and_mask_function=same_sequence)
        return create_bidirectional_mask(config, embeds, attention_mask, and_mask_function=same_sequence)

    def _attends_eagerly(self, inputs: Tensor, kwargs: dict[str, Any]) -> bool:
        """Whether the fused kernels cannot do it, or on a CPU slowly.

        They never form the weights, on a CPU never drop any, and take longer for one token of each of many texts.
        """
        implementation = self.config._attn_implementation
        if self._is_asked_for("output_attentions", kwargs):
            if implementation != "eager" and not is_tracing(inputs):
                logger.warning_once("output_attentions=True: eager attention, as fused kernels never form the weights.")
            return True
        if implementation != "sdpa" or inputs.device.type != "cpu" or is_tracing(inputs):
            return False
        if self.training:
            return self.config.attention_dropout > 0
        return inputs.shape[1] == 1 and len(inputs) >= MANY_TEXTS

    def _mask_config(self, kwargs: dict[str, Any]) -> ScratchConfig:
        """The config, with the backend that will attend."""
        if kwargs["attend"] is not eager_attention:
            return self.config
        config = copy.copy(self.config)
        config._attn_implementation = "eager"
        return config

    def _shape_only(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """Embeddings as masking_utils reads them: shape, dtype of a mask of scores, and device, nothing else."""
        return torch.empty((*shape, 1), dtype=torch.float32, device=device)

    def _rotary(self, position_ids: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor] | None:
        config = self.config
        if config.position_type != "rotary":
            return None
        return rotary(position_ids, config.head_dim, config.rope_parameters, config.max_position_embeddings, dtype)
