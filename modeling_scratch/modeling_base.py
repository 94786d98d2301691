# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What every scratch model shares: from its inputs to its last hidden states, and a folder that loads anywhere.

Shapes: B batch, T length, S length of what the encoder read, N tokens that a head reads.
"""

import copy
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import Cache, EncoderDecoderCache, PreTrainedModel
from transformers.dynamic_module_utils import custom_object_save, get_relative_import_files
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask, packed_sequence_mask_function
from transformers.utils import is_tracing, logging

from .attention import Attention, eager_attention
from .configuration_scratch import ScratchConfig
from .embeddings import Inputs, check_mask
from .heads import one_segment_a_row, pool, pooled_tokens
from .positions import rotary
from .stack import Block

logger = logging.get_logger(__name__)

MaybeTensor = Tensor | None


def textbook_engine(
    model: Any,
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

    token_indices (N,): which of the B * T hidden states are read. All are computed here; another engine may leave out
    the others. attention_fn: in place of the backend that the config names, with masks as eager attention takes them.
    """
    if attention_fn is None and model.is_asked_for("output_attentions", kwargs):
        attention_fn = eager_attention
        if model.config._attn_implementation != "eager" and not is_tracing(inputs.input_ids):
            logger.warning_once("output_attentions=True: eager attention, as fused kernels never form the weights.")
    config = model.config if attention_fn is None else eager_config(model.config)
    past = 0 if past_key_values is None else past_key_values.get_seq_length()
    position_ids = inputs.positions(past)
    if "flash" in config._attn_implementation and past_key_values is None and encoder_hidden_states is None:
        kwargs = segment_bounds(inputs.segment_lengths(), **kwargs)
    mask = self_attention_mask(config, inputs, model.is_causal, past_key_values)
    encoder_mask = cross_attention_mask(config, inputs, encoder_hidden_states, encoder_attention_mask)

    read = inputs.input_ids, position_ids, inputs.token_type_ids, inputs.inputs_embeds
    hidden_states = model.embeddings(*read, longest=past + inputs.shape[1])
    return model.stack(
        hidden_states, mask, encoder_hidden_states, encoder_mask, past_key_values=past_key_values,
        rotary=rotary_angles(config, position_ids, hidden_states.dtype), attention_fn=attention_fn, **kwargs,
    )  # fmt: skip


def eager_config(config: ScratchConfig) -> ScratchConfig:
    """The same config for whoever makes masks, with eager attention as its backend."""
    config = copy.copy(config)
    config._attn_implementation = "eager"
    return config


def rotary_angles(config: ScratchConfig, position_ids: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor] | None:
    """Their cosines and sines, by which queries and keys turn where positions are rotary."""
    if config.position_type != "rotary":
        return None
    return rotary(position_ids, config.head_dim, config.rope_parameters, config.max_position_embeddings, dtype)


def segment_bounds(
    lengths: MaybeTensor, cu_seq_lens_q: MaybeTensor = None, max_length_q: int | None = None, **kwargs: Any
) -> dict[str, Any]:
    """kwargs, with the bounds of segments of these lengths (N,) as variable-length kernels take them."""
    if lengths is None:
        return kwargs
    ends = (F.pad(lengths.cumsum(0), (1, 0)) if cu_seq_lens_q is None else cu_seq_lens_q).to(torch.int32)
    longest = int(lengths.max()) if max_length_q is None else max_length_q
    return {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": longest, "max_length_k": longest} | kwargs


def self_attention_mask(config: ScratchConfig, inputs: Inputs, is_causal: bool, cache: Cache | None = None) -> Any:
    """What the backend takes so that no token sees padding, another segment, or, where causal, what comes after it."""
    reads_mask = cache is None and "flash" not in config._attn_implementation  # whose kernels read segment_bounds
    segments = inputs.segment_ids() if reads_mask else None
    same_segment = None if segments is None else packed_sequence_mask_function(segments)
    arguments = config, shape_only(inputs), inputs.attention_mask
    if is_causal:
        cache = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
        return create_causal_mask(*arguments, cache, and_mask_function=same_segment)
    return create_bidirectional_mask(*arguments, and_mask_function=same_segment)


def cross_attention_mask(
    config: ScratchConfig, inputs: Inputs, encoder_hidden_states: Tensor | None, attention_mask: Tensor | None
) -> Any:
    """What the backend takes so that no token sees padding of what the encoder read, attention_mask (B, S)."""
    if encoder_hidden_states is None:
        return None
    check_mask(attention_mask, encoder_hidden_states, "attention_mask", "what the encoder read")
    return create_bidirectional_mask(config, shape_only(inputs), attention_mask, encoder_hidden_states)


def shape_only(inputs: Inputs) -> Tensor:
    """Embeddings as masking_utils reads them: shape, device, and the dtype of a mask of scores, nothing else."""
    return torch.empty((*inputs.shape, 1), dtype=torch.float32, device=inputs.device)


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

    # What lies between a base model's inputs and its last hidden states; modeling_scratch.fast has another.
    engine: Callable[..., Tensor] = textbook_engine
    is_causal = False  # whether tokens see those before them only
    # Task: pipeline and Auto class, for tasks that transformers has no pipeline for. Their code goes along, too.
    pipelines: Mapping[str, tuple[type, str]] = {}

    def post_init(self) -> None:
        """As PreTrainedModel's; the plan of tensor parallelism keeps only the layers that this model has."""
        super().post_init()
        names = {re.sub(r"\.\d+(?=\.|$)", ".*", name) for name, _ in self.named_modules()}
        self._tp_plan = {name: way for name, way in (self._tp_plan or {}).items() if name in names}

    def is_asked_for(self, name: str, kwargs: Mapping[str, Any]) -> bool:
        """Whether this call, or the config where it does not say, asks for hidden states or attention weights."""
        return bool(kwargs.get(name, getattr(self.config, name)))

    def pooled(self, pooling: str, inputs: Inputs, mask: MaybeTensor, **kwargs: Any) -> tuple[Tensor, Any]:
        """One vector per text, (B, hidden) or one a segment (N, hidden), and what the base model gave for the inputs.

        mask (B, T): 1 at the tokens that count, None: all do.
        """
        lengths = inputs.segment_lengths()
        indices = pooled_tokens(inputs.shape, mask, lengths, pooling, inputs.device)
        outputs = self.model(
            input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, position_ids=inputs.position_ids,
            inputs_embeds=inputs.inputs_embeds, token_type_ids=inputs.token_type_ids,
            token_indices=indices, return_dict=True, **kwargs,
        )  # fmt: skip
        hidden_states = outputs.last_hidden_state
        if lengths is not None and indices is not None:
            hidden_states, mask = hidden_states.flatten(0, 1)[indices, None], lengths[:, None] > 0
        elif lengths is not None:
            hidden_states, mask = one_segment_a_row(hidden_states, lengths, kwargs.get("max_length_q"))
        return pool(hidden_states, mask, pooling), outputs

    @classmethod
    def is_remote_code(cls) -> bool:
        return False  # wherever it was loaded from: save_pretrained brings the code along by itself

    def save_pretrained(self, save_directory: Any, is_main_process: bool = True, *args: Any, **kwargs: Any) -> None:
        """As PreTrainedModel's; the folder also holds the code, and loads with every Auto class of the family."""
        is_adapter = getattr(self, "_hf_peft_config_loaded", False)  # its base, which it names, has the code
        if is_main_process and not is_adapter:
            self.config.auto_map = {"AutoConfig": _reference(type(self.config)), **self.config.auto_classes}
            self.config.custom_pipelines = self._custom_pipelines()
            Path(save_directory).mkdir(parents=True, exist_ok=True)
            for cls in self._shipped():
                custom_object_save(cls, save_directory)
        super().save_pretrained(save_directory, is_main_process, *args, **kwargs)

    def _shipped(self) -> list[type]:
        """A class of each file of the family; what these files import goes along."""
        files = dict(reference.split(".") for reference in self.config.auto_classes.values())
        return [getattr(import_module(f".{file}", __package__), name) for file, name in files.items()]

    def _get_files_timestamps(self, working_dir: Any) -> dict[str, float]:
        """As PreTrainedModel's, which pushes what is newer; the code, saved before it looks, always goes along."""
        files = [sys.modules[cls.__module__].__file__ for cls in self._shipped()]
        code = {Path(path).name for file in files for path in (file, *get_relative_import_files(file))}
        times = super()._get_files_timestamps(working_dir)
        return {name: time for name, time in times.items() if name not in code}

    def _custom_pipelines(self) -> dict[str, Any]:
        """The pipelines that serve this head, and those a user has named; where no task is named, these are taken."""
        names = {cls.__name__ for cls in type(self).__mro__}
        of_others = {auto for auto, path in self.config.auto_classes.items() if path.partition(".")[2] not in names}
        named = getattr(self.config, "custom_pipelines", None) or {}
        kept = {task: entry for task, entry in named.items() if not of_others.issuperset(entry.get("pt") or [""])}
        ours = {task: {"impl": _reference(cls), "pt": [auto]} for task, (cls, auto) in self.pipelines.items()}
        return kept | ours


def _reference(cls: type) -> str:
    """ "file.Class", as configs name code."""
    return f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"
