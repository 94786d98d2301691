# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The base class of every scratch model: what Transformers asks of it."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from transformers import GenerationMixin, PreTrainedModel

from .configuration_scratch import ScratchConfig
from .saving import SavedWithCode

MaybeTensor = Tensor | None


def run(function: Callable, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


class ScratchPreTrainedModel(SavedWithCode, PreTrainedModel):
    """Base class.

    Weights are drawn by Hugging Face's own rules: normal(0, initializer_range), biases 0, norms 1.
    """

    config: ScratchConfig
    base_model_prefix = "model"
    _input_embed_layer = "tokens"  # of model.embeddings
    supports_gradient_checkpointing = True
    _skip_keys_device_placement = ["past_key_values"]
    _no_split_modules = ["Block", "ParallelBlock"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    is_causal = False  # whether tokens see those before them only
    # Generation hands the mask of padding on: the base model makes masks of it.
    create_masks_for_generate = staticmethod(lambda attention_mask, **_: attention_mask)
    # How a call runs; modeling_scratch.fast sets a faster way for the installed package.
    run_call: Callable = staticmethod(run)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run_call(super().__call__, *args, **kwargs)


class ScratchGenerationMixin(GenerationMixin):
    """Generation of text, which runs as run_generate says."""

    run_generate: Callable = staticmethod(run)

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        return self.run_generate(super().generate, *args, **kwargs)  # type: ignore[misc]
