# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What every scratch model shares: flags for Hugging Face's machinery, the layout of a batch, and saving with code.

Shapes: B batch, T length.
"""

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, EncoderDecoderCache, PreTrainedModel
from transformers.dynamic_module_utils import custom_object_save
from transformers.masking_utils import (
    create_bidirectional_mask,
    create_causal_mask,
    find_packed_sequence_indices,
    packed_sequence_mask_function,
)
from transformers.utils import is_tracing, logging

from .attention import Attention
from .configuration_scratch import ScratchConfig
from .packing import (
    Packing,
    document_ids,
    packed_lengths,
    packing_from_lengths,
    packing_from_mask,
    positions_from_lengths,
    varlen_arguments,
)
from .positions import positions_from_mask, rotary
from .stack import Block

logger = logging.get_logger(__name__)


def _file(cls: type) -> str:
    return cls.__module__.rpartition(".")[-1]


class ScratchPreTrainedModel(PreTrainedModel):
    """Base class. Weights are drawn by Hugging Face's own rules: normal(0, initializer_range), biases 0, norms 1."""

    config: ScratchConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["Block"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    _can_record_outputs = {"hidden_states": Block, "attentions": Attention}

    # Auto class: class of this family. All of them go into a saved folder, whichever head was saved.
    auto_classes: dict[str, str] = {}
    # Task: pipeline and Auto class, for tasks that transformers has no pipeline for. Their code goes along, too.
    pipelines: Mapping[str, tuple[type, str]] = {}
    # Whether tokens see those before them only.
    is_causal: bool = False
    # False, set on the base model, keeps padded batches padded, to measure what packing brings.
    packs_padded_batches: bool = True

    def save_pretrained(self, save_directory: str | PathLike, *args: Any, **kwargs: Any) -> None:
        """As PreTrainedModel's; the folder also holds the code, and loads with every Auto class of the family."""
        name = type(self).__name__.removeprefix("FSDP")  # fully sharded training makes a subclass of its own
        public = next((c for c in type(self).__mro__ if c.__name__ == name), type(self))
        if name in self.auto_classes.values():
            self.config.auto_map = {
                "AutoConfig": f"{_file(type(self.config))}.{type(self.config).__name__}",
                **{auto_class: f"{_file(public)}.{head}" for auto_class, head in self.auto_classes.items()},
            }
            self.config.custom_pipelines = self._custom_pipelines(name)
            Path(save_directory).mkdir(parents=True, exist_ok=True)
            custom_object_save(public, save_directory)
        super().save_pretrained(save_directory, *args, **kwargs)

    def _custom_pipelines(self, head: str) -> dict[str, Any]:
        """The pipelines that serve this head, and those a user has named; where no task is named, these are taken."""
        named = getattr(self.config, "custom_pipelines", None) or {}
        ours = {
            task: {"impl": f"{_file(pipeline)}.{pipeline.__name__}", "pt": [auto_class]}
            for task, (pipeline, auto_class) in self.pipelines.items()
            if self.auto_classes[auto_class] == head
        }
        return {task: entry for task, entry in named.items() if task not in self.pipelines} | ours

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
        """
        shape, device = inputs.shape[:2], inputs.device
        kwargs.setdefault("output_attentions", self.config.output_attentions)
        if cache is not None:
            mask = self._padded_mask(attention_mask, None, shape, device, kwargs, cache)
            if position_ids is None:
                position_ids = positions_from_mask(attention_mask, shape, device, cache.get_seq_length())
            return position_ids.expand(shape), mask, None
        lengths = packed_lengths(shape, attention_mask, position_ids, kwargs)
        packing = self._packing(attention_mask, lengths, shape, device, kwargs)
        mask = None
        if packing is None:
            sequences = self._sequence_ids(lengths, attention_mask, position_ids, shape)
            mask = self._padded_mask(attention_mask, sequences, shape, device, kwargs)
        if lengths is not None and self._attends_by_flash and "cu_seq_lens_q" not in kwargs:
            kwargs.update(varlen_arguments(lengths))
        if position_ids is not None:
            return position_ids.expand(shape), mask, packing
        if lengths is not None:
            return positions_from_lengths(lengths).view(shape), mask, packing
        return positions_from_mask(attention_mask, shape, device), mask, packing

    @property
    def _attends_by_flash(self) -> bool:
        return "flash" in self.config._attn_implementation

    def _packing(
        self,
        attention_mask: Tensor | None,
        lengths: Tensor | None,
        shape: Sequence[int],
        device: torch.device,
        kwargs: dict[str, Any],
    ) -> Packing | None:
        """The packed layout of this batch, or None where it stays as it came.

        It stays where nothing is padded, where graphs are traced, where hidden states or attention maps are asked for
        (they have the shape of the input), with flash attention (its kernels pack by themselves), and where looking at
        the mask would stall an accelerator: there a collator hands over batches that are packed already.
        """
        records = any(
            kwargs.get(name, getattr(self.config, name)) for name in ("output_attentions", "output_hidden_states")
        )
        if records or is_tracing(attention_mask) or self._attends_by_flash:
            return None
        if lengths is not None:
            return packing_from_lengths(lengths, shape, partial(self._group_mask, device))
        on_cpu = device.type == "cpu" and attention_mask is not None and attention_mask.ndim == 2
        if not on_cpu or not self.packs_padded_batches or attention_mask.all() or not attention_mask.any():
            return None
        return packing_from_mask(attention_mask, partial(self._group_mask, device))

    def _group_mask(self, device: torch.device, mask: Tensor | None, shape: Sequence[int]) -> Any:
        """mask (b, t), None where all tokens are real -> what the attention backend takes."""
        embeds = self._shape_only(shape, device)
        if self.is_causal:  # padding stands at the end of a group's rows, where no real token looks
            return create_causal_mask(self.config, embeds, None, None)
        return create_bidirectional_mask(self.config, embeds, mask)

    def _sequence_ids(
        self,
        lengths: Tensor | None,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        shape: Sequence[int],
    ) -> Tensor | None:
        """(B, T): which sequence of a batch that arrived packed each token belongs to; None where it did not."""
        if self._attends_by_flash:
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

    def _mask_config(self, kwargs: dict[str, Any]) -> ScratchConfig:
        """The config, with the backend that will attend: fused kernels never form the weights that may be asked for."""
        config = self.config
        if kwargs.get("output_attentions") and config._attn_implementation != "eager":
            if not is_tracing():
                logger.warning_once("output_attentions=True: eager attention, as fused kernels never form the weights.")
            config = copy.copy(config)
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
