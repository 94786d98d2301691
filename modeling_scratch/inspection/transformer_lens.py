# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scratch models for TransformerLens 4: its bridge finds this adapter by the entry points in setup.cfg.

Hook points have TransformerLens's names: embed, blocks.0.ln1, blocks.0.attn.hook_pattern, blocks.0.mlp, ln_final,
unembed; encoder-decoders have encoder_blocks and decoder_blocks. Weights stay as they are: no norm is folded.

Shapes: B batch, T query length, S key length, H heads, D head size.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_lens.model_bridge.architecture_adapter import ArchitectureAdapter
from transformer_lens.model_bridge.generalized_components import (
    AttentionBridge,
    BlockBridge,
    EmbeddingBridge,
    LinearBridge,
    NormalizationBridge,
    ParallelBlockBridge,
    UnembeddingBridge,
)

from ..attention import additive
from ..inputs import Inputs
from ..layers import ACTIVATIONS

Components = dict[str, Any]
PROJECTIONS = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj"}
TABLES = {"pos_embed": "positions", "token_type_embed": "token_types"}
# Heads by the layer that gives their answers; their other layers are named after it.
HEADS = "lm_head.decoder", "lm_head", "classifier.out_proj", "classifier", "qa_outputs", "score"


class Attention(AttentionBridge):
    """The layer's attention with hooks on scores and pattern, whose edits the model computes with."""

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        kwargs["attention_fn"] = self._attend
        output, weights = self.original_component(self.hook_in(hidden_states), *args, **kwargs)
        return self.hook_out(output), weights

    def _attend(
        self, module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, scaling: float,
        dropout: float = 0.0, position_bias: Tensor | None = None, **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """As eager_attention; the scores (B, H, T, S) are hooked after masking."""
        if module.config.position_type == "rotary" and not self.is_cross_attention:
            query, key = self.hook_rot_q(query), self.hook_rot_k(key)
        key, value = (states.repeat_interleave(module.num_key_value_groups, dim=1) for states in (key, value))
        scores = query @ key.transpose(-2, -1) * scaling
        if position_bias is not None:
            scores = scores + position_bias
        if attention_mask is not None:
            scores = scores + additive(attention_mask, torch.float32)
        weights = self.hook_attn_scores(scores).softmax(dim=-1, dtype=torch.float32).to(query.dtype)
        weights = self.hook_pattern(weights)
        output = F.dropout(weights, dropout) @ value
        return output.transpose(1, 2).contiguous(), weights


class Tokens(EmbeddingBridge):
    """The token embeddings. The method tells TransformerLens that the model counts positions, at padding, too."""

    def __init__(self, name: str, model_config: Any) -> None:
        super().__init__(name=name)
        self.model_config = model_config

    def create_position_ids_from_input_ids(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        return Inputs(input_ids, attention_mask=attention_mask).positions(self.model_config)


class ScratchArchitectureAdapter(ArchitectureAdapter):
    """What TransformerLens calls the parts of an encoder, a decoder or an encoder-decoder, with any head."""

    supports_fold_ln = False
    supports_center_writing_weights = False

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        self.weight_processing_conversions: Components = {}

    def prepare_model(self, hf_model: Any) -> None:
        """Name the parts of this model, and set eager attention, the only one with scores."""
        hf_model.set_attn_implementation("eager")
        self._describe(hf_model.config)
        prefix = "model." if hasattr(hf_model, "model") else ""
        sides = ("encoder", "decoder") if hf_model.config.is_encoder_decoder else ("",)
        components: Components = {}
        for side in sides:
            path = f"{prefix}{side}." if side else prefix
            stack = self._stack(hf_model.get_submodule(path.rstrip(".")), path)
            components |= {f"{side}_{name}" if side else name: part for name, part in stack.items()}
        if sides[0]:
            components["embed"] = components.pop("encoder_embed")  # as of BART
        self.component_mapping = components | self._head(hf_model)

    def _describe(self, config: Any) -> None:
        """What TransformerLens asks of an architecture, beside its sizes."""
        is_rms = config.norm_type == "rms_norm"
        self.cfg.normalization_type = "RMS" if is_rms else "LN"
        self.cfg.uses_rms_norm = self.cfg.final_rms = is_rms
        self.cfg.positional_embedding_type = "rotary" if config.position_type == "rotary" else "standard"
        self.cfg.gated_mlp = ACTIVATIONS[config.hidden_act][1]
        self.cfg.attn_only = False
        self.cfg.n_key_value_heads = config.num_key_value_heads
        is_encoder = not config.is_encoder_decoder and config.model_type == "scratch_encoder"
        self.cfg.attention_dir = "bidirectional" if is_encoder else "causal"
        self.supports_generation = self.supports_causal_loss = not is_encoder

    def _norm(self, path: str) -> Any:
        return NormalizationBridge(name=path, config=self.cfg, use_native_layernorm_autograd=True)

    def _stack(self, model: Any, path: str) -> Components:
        """Embeddings, blocks and final norm of a base model at this path."""
        inside = model.embeddings
        tables = {name: part for name, part in TABLES.items() if getattr(inside, part) is not None}
        components: Components = {"embed": Tokens(f"{path}embeddings.tokens", model.config)}
        components |= {name: EmbeddingBridge(name=f"{path}embeddings.{part}") for name, part in tables.items()}
        if not isinstance(inside.norm, nn.Identity):
            components["embed_ln"] = self._norm(f"{path}embeddings.norm")
        if not isinstance(inside.projection, nn.Identity):
            components["embed_proj"] = LinearBridge(name=f"{path}embeddings.projection")
        if len(model.stack.layers):
            components["blocks"] = self._block(model.stack.layers[0], f"{path}stack.layers", model.config.norm_position)
        if not isinstance(model.stack.norm, nn.Identity):
            components["ln_final"] = self._norm(f"{path}stack.norm")
        return components

    def _block(self, block: Any, path: str, norm_position: str) -> Any:
        """A block's attention, feed-forward and norms; where the norm follows, the feed-forward reads the residual."""
        after = "_post" if norm_position == "output" else ""
        parts: Components = {"attn": self._attention("attention", block.attention)}
        parts[f"ln1{after}"] = self._norm("attention_residual.norm")
        if block.cross_attention is not None:
            parts["cross_attn"] = self._attention("cross_attention", block.cross_attention)
            parts[f"ln_cross{after}"] = self._norm("cross_attention_residual.norm")
        is_gated = block.feed_forward.gate_proj is not None
        parts["mlp"] = self._gated_mlp("feed_forward") if is_gated else self._ungated_mlp("feed_forward")
        if block.feed_forward_residual is None:  # one norm for both, and no state between them
            return ParallelBlockBridge(name=path, submodules=parts)
        parts[f"ln2{after}"] = self._norm("feed_forward_residual.norm")
        reads_residual = norm_position != "pre"
        aliases = {"hook_resid_mid": "mlp.hook_in"} if norm_position == "post" else None
        return BlockBridge(
            name=path, submodules=parts, hook_alias_overrides=aliases, mlp_reads_resid_directly=reads_residual
        )

    def _attention(self, name: str, attention: Any) -> Any:
        projections = {short: LinearBridge(name=full) for short, full in PROJECTIONS.items()}
        is_cross = name == "cross_attention"
        options = {"is_cross_attention": is_cross, "is_causal": attention.is_causal}
        return Attention(name=name, config=self.cfg, submodules=projections, **options)

    def _head(self, model: Any) -> Components:
        """The last layer of the head is the unembedding, whatever it predicts; layers before it keep their names."""
        paths = {name for name, _ in model.named_modules()}
        last = next((path for path in HEADS if path in paths), None)
        if last is None:
            return {}
        components: Components = {"unembed": UnembeddingBridge(name=last, config=self.cfg)}
        room = last.rpartition(".")[0]
        if room and isinstance(model.get_submodule(room).dense, nn.Linear):
            components["head_dense"] = LinearBridge(name=f"{room}.dense")
        if room and not isinstance(model.get_submodule(room).norm, nn.Identity):
            components["head_ln"] = self._norm(f"{room}.norm")
        return components
