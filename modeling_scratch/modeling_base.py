# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The base class of every scratch model: what Transformers asks of it, and one vector per text.

Shapes: B batch, T length, N segments.
"""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel

from .attention import Attention
from .configuration_scratch import ScratchConfig
from .heads import one_segment_a_row, pool, pooled_tokens
from .inputs import Inputs
from .saving import SavedWithCode
from .stack import Block

MaybeTensor = Tensor | None


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

    def post_init(self) -> None:
        """As PreTrainedModel's; the tensor-parallel plan keeps only the layers of this model."""
        super().post_init()
        modules = self.named_modules()
        names = {re.sub(r"\.\d+(?=\.|$)", ".*", name) for name, _ in modules}
        if any(name.endswith("position_bias") for name in names):
            # The bias is that of all heads, so each process computes them all.
            names = {name for name in names if ".attention." not in name}
        plan = self._tp_plan or {}
        self._tp_plan = {name: way for name, way in plan.items() if name in names}

    def is_asked_for(self, name: str, kwargs: Mapping[str, Any]) -> bool:
        """Whether this call, or else the config, asks for hidden states or attention weights."""
        return bool(kwargs.get(name, getattr(self.config, name)))

    def pooled(
        self, pooling: str, inputs: Inputs, mask: MaybeTensor, **kwargs: Any
    ) -> tuple[Tensor, Any]:
        """One vector per text, (B, hidden) or (N, hidden), and the base model's output.

        mask (B, T): 1 at the tokens that count, None: all do.
        """
        lengths = inputs.segment_lengths()
        indices = pooled_tokens(inputs.shape, mask, lengths, pooling, inputs.device)
        outputs = self.model(
            input_ids=inputs.input_ids,
            attention_mask=inputs.attention_mask,
            position_ids=inputs.position_ids,
            inputs_embeds=inputs.inputs_embeds,
            token_type_ids=inputs.token_type_ids,
            token_indices=indices,
            return_dict=True,
            **kwargs,
        )
        hidden_states = outputs.last_hidden_state
        if lengths is not None and indices is not None:
            read = hidden_states.flatten(0, 1).index_select(0, indices)  # (N, hidden)
            return pool(read[:, None], lengths[:, None] > 0, pooling), outputs
        if lengths is not None:
            longest = kwargs.get("max_length_q")
            hidden_states, mask = one_segment_a_row(hidden_states, lengths, longest)
        return pool(hidden_states, mask, pooling), outputs
