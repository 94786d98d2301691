# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The base class of every scratch model: what Transformers asks of it, and one vector per text.

Shapes: B batch, T length, N segments.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from transformers import GenerationMixin, PreTrainedModel

from .attention import Attention
from .configuration_scratch import ScratchConfig
from .heads import one_segment_a_row, pool, pooled_tokens
from .inputs import Inputs
from .positions import POSITION_BIASES
from .saving import SavedWithCode
from .stack import Block

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
    _no_split_modules = ["Block", "ParallelBlock"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    _can_record_outputs = {"hidden_states": Block, "attentions": Attention}

    is_causal = False  # whether tokens see those before them only
    # Generation hands the mask of padding on: the base model makes masks of it.
    create_masks_for_generate = staticmethod(lambda attention_mask, **_: attention_mask)
    # How a call runs; modeling_scratch.fast sets a faster way for the installed package.
    run_call: Callable = staticmethod(run)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run_call(super().__call__, *args, **kwargs)

    def post_init(self) -> None:
        """As PreTrainedModel's; the tensor-parallel plan keeps only the layers of this model."""
        super().post_init()
        names = {re.sub(r"\.\d+(?=\.|$)", ".*", name) for name, _ in self.named_modules()}
        if self.config.position_type in POSITION_BIASES:
            # The bias is that of all heads, so each process computes them all.
            names = {name for name in names if ".attention." not in name}
        self._tp_plan = {name: way for name, way in self._tp_plan.items() if name in names}

    def is_asked_for(self, name: str, kwargs: Mapping[str, Any]) -> bool:
        """Whether this call, or else the config, asks for hidden states or attention weights."""
        return bool(kwargs.get(name, getattr(self.config, name)))

    def pooled(
        self, pooling: str, inputs: Inputs, real: MaybeTensor, **kwargs: Any
    ) -> tuple[Tensor, Any]:
        """One vector per text, (B, hidden), or per segment, (N, hidden), and the base model's output.

        real (B, T): true at the tokens that count, None: all.
        """
        indices = pooled_tokens(inputs, real, pooling)
        outputs = self.model(inputs=inputs, token_indices=indices, return_dict=True, **kwargs)
        hidden_states, lengths = outputs.last_hidden_state, inputs.segment_lengths
        if lengths is not None and indices is not None:
            hidden_states = hidden_states.flatten(0, 1).index_select(0, indices)[:, None]
            real = lengths[:, None] > 0
        elif lengths is not None:
            longest = kwargs.get("max_length_q")
            hidden_states, real = one_segment_a_row(hidden_states, lengths, longest)
        return pool(hidden_states, real, pooling), outputs


class ScratchGenerationMixin(GenerationMixin):
    """Generation of text, which runs as run_generate says."""

    run_generate: Callable = staticmethod(run)

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        return self.run_generate(super().generate, *args, **kwargs)  # type: ignore[misc]
