# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which config field an unknown name probably stands for."""

from dataclasses import fields
from difflib import get_close_matches

# Our fields, and their names in BERT, ModernBERT, DistilBERT, GPT-2, BART, T5, Llama, Phi and MPT.
OTHER_NAMES = {
    "hidden_size": "d_model dim n_embd",
    "num_hidden_layers": "encoder_layers n_layer n_layers num_layers",
    "num_attention_heads": "decoder_attention_heads encoder_attention_heads n_head n_heads num_heads",
    "head_dim": "d_kv",
    "decoder_layers": "num_decoder_layers",
    "intermediate_size": "d_ff decoder_ffn_dim encoder_ffn_dim hidden_dim n_inner",
    "max_position_embeddings": "max_seq_len n_ctx n_positions",
    "hidden_act": "activation activation_function feed_forward_proj hidden_activation",
    "norm_eps": "layer_norm_eps layer_norm_epsilon rms_norm_eps",
    "hidden_dropout": "dropout dropout_rate embd_pdrop hidden_dropout_prob resid_pdrop",
    "attention_dropout": "attention_probs_dropout_prob attn_pdrop",
    "activation_dropout": "mlp_dropout",
    "classifier_dropout": "classif_dropout seq_classif_dropout",
    "initializer_range": "init_std",
    "query_key_norm": "qk_layernorm",
    "embedding_scale": "scale_embedding",
}
_FIELD_OF = {name: field for field, names in OTHER_NAMES.items() for name in names.split()}


def likely_field(name: str, config_class: type, similarity: float = 0.9) -> str | None:
    """Return the field that an unknown name stands for: in other models, or by its spelling."""
    known = [field.name for field in fields(config_class)]
    if (field := _FIELD_OF.get(name)) in known:
        return field
    return next(iter(get_close_matches(name, known, n=1, cutoff=similarity)), None)
