# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables for decoders: GPT-2, Llama, Mistral, Qwen2, Qwen3, Gemma 3, Phi and MPT."""

from dataclasses import replace
from typing import Any

from ..configuration_scratch import ScratchDecoderConfig
from .tables import (
    ACTIVATION_NAMES,
    GATED,
    Family,
    Group,
    Head,
    read_layer_types,
    rows,
    without,
    write_layer_types,
)


def _heads(base: str, causal_lm: str, classifier: str) -> dict[str, Head]:
    return {
        "ScratchDecoderModel": Head(base),
        "ScratchDecoderForCausalLM": Head(causal_lm, rows("lm_head lm_head")),
        "ScratchDecoderForSequenceClassification": Head(classifier, rows("score score")),
    }


# Pre-norm with a plain table of tokens, which ends in logits without bias.
_FIXED = {
    "norm_type": "layer_norm", "norm_position": "pre", "embedding_norm": False, "embedding_scale": False,
    "type_vocab_size": 0, "position_offset": 0, "lm_head_bias": False, "activation_dropout": 0.0,
    "counted_tokens": "all",
}  # fmt: skip

GPT2 = Family(
    "gpt2", ScratchDecoderConfig, "transformer",
    renamed={
        "n_positions": "max_position_embeddings", "n_embd": "hidden_size", "n_layer": "num_hidden_layers",
        "n_head": "num_attention_heads", "n_inner": "intermediate_size", "activation_function": "hidden_act",
        ("resid_pdrop", "embd_pdrop"): "hidden_dropout", "attn_pdrop": "attention_dropout",
        "layer_norm_epsilon": "norm_eps",
    },
    fixed={**_FIXED, "position_type": "learned", "attention_bias": True, "mlp_bias": True},
    requires={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False},
    unused=("reorder_and_upcast_attn", "summary_type", "summary_use_proj", "summary_activation",
            "summary_proj_to_labels", "summary_first_dropout"),
    activations=ACTIVATION_NAMES,
    rows=rows("""
        {wte,wpe} embeddings.{tokens,positions}
        h.{}.ln_1 stack.layers.{}.attention_residual.norm
        h.{}.attn.c_attn stack.layers.{}.attention.q_proj+k_proj+v_proj
        h.{}.attn.c_proj stack.layers.{}.attention.o_proj
        h.{}.ln_2 stack.layers.{}.feed_forward_residual.norm
        h.{}.mlp.{c_fc,c_proj} stack.layers.{}.feed_forward.{up,down}_proj
        ln_f stack.norm
    """, transposed=".c_"),
    heads=_heads("GPT2Model", "GPT2LMHeadModel", "GPT2ForSequenceClassification"),
    left_out=(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias",),
)  # fmt: skip

LLAMA = Family(
    "llama", ScratchDecoderConfig, "model",
    renamed={"rms_norm_eps": "norm_eps"},
    fixed={**_FIXED, "norm_type": "rms_norm", "position_type": "rotary", "hidden_dropout": 0.0},
    unused=("pretraining_tp",),
    activations=GATED,
    rows=rows("""
        embed_tokens embeddings.tokens
        layers.{}.self_attn.{q,k,v,o}_proj stack.layers.{}.attention.{q,k,v,o}_proj
        layers.{}.input_layernorm stack.layers.{}.attention_residual.norm
        layers.{}.mlp.{gate,up,down}_proj stack.layers.{}.feed_forward.{gate,up,down}_proj
        layers.{}.post_attention_layernorm stack.layers.{}.feed_forward_residual.norm
        norm stack.norm
    """),
    heads=_heads("LlamaModel", "LlamaForCausalLM", "LlamaForSequenceClassification"),
    left_out=(r"(model\.)?layers\.\d+\.self_attn\.rotary_emb\.inv_freq", r"(model\.)?rotary_emb\.inv_freq"),
)  # fmt: skip


def _like_llama(name: str, attention_bias: bool, **changes: Any) -> Family:
    """Return a family with Llama's weights and fixed bias settings."""
    return replace(
        LLAMA, model_type=name.lower(),
        fixed={**LLAMA.fixed, "attention_bias": attention_bias, "mlp_bias": False},
        heads=_heads(f"{name}Model", f"{name}ForCausalLM", f"{name}ForSequenceClassification"),
        **changes,
    )  # fmt: skip


def _has_windows(config: Any) -> bool:
    return "sliding_attention" in config.attention_types(config.num_hidden_layers)


ONE_WINDOW = Group(
    ("sliding_window",),
    read=lambda native: {"sliding_window": native.sliding_window},
    write=lambda config: {"sliding_window": config.sliding_window if _has_windows(config) else None},
)


def _write_windows(config: Any) -> dict[str, Any]:
    kinds = config.attention_types(config.num_hidden_layers)
    if not _has_windows(config):
        return {"use_sliding_window": False, "sliding_window": None, "layer_types": kinds}
    window = {"use_sliding_window": True, "sliding_window": config.sliding_window}
    return {**window, "layer_types": kinds, "max_window_layers": kinds.index("sliding_attention")}


WINDOWS_BY_LAYER = Group(
    ("use_sliding_window", "sliding_window", "max_window_layers", "layer_types"),
    read=lambda native: {
        "sliding_window": native.sliding_window if native.use_sliding_window else None,
        "layer_types": native.layer_types if "sliding_attention" in native.layer_types else None,
    },
    write=_write_windows,
)

MISTRAL = _like_llama("Mistral", attention_bias=False, groups=(ONE_WINDOW,), unused=())
QWEN2 = _like_llama(
    "Qwen2", attention_bias=True, zeros=("o_proj.bias",), groups=(WINDOWS_BY_LAYER,), unused=("max_window_layers",),
)  # fmt: skip
QWEN3 = replace(
    QWEN2, model_type="qwen3", zeros=(),
    fixed={**without(QWEN2.fixed, "attention_bias"), "query_key_norm": True},
    rows=(*LLAMA.rows, *rows("layers.{}.self_attn.{q,k}_norm stack.layers.{}.attention.{q,k}_norm")),
    heads=_heads("Qwen3Model", "Qwen3ForCausalLM", "Qwen3ForSequenceClassification"),
)  # fmt: skip


GEMMA3 = replace(
    LLAMA, model_type="gemma3_text",
    renamed={**LLAMA.renamed, "hidden_activation": "hidden_act"},
    groups=(
        Group(("sliding_window", "layer_types", "rope_parameters"),
              lambda native: {"sliding_window": native.sliding_window, **read_layer_types(native)},
              lambda config: {"sliding_window": config.sliding_window, **write_layer_types(config)}),
        Group(("query_pre_attn_scalar",), lambda native: {},  # is in the weights
              lambda config: {"query_pre_attn_scalar": config.head_dim}),
    ),
    fixed={
        **LLAMA.fixed, "norm_position": "sandwich", "embedding_scale": True, "mlp_bias": False, "query_key_norm": True,
        "float32_norms": True,
    },
    requires={"final_logit_softcapping": None, "attn_logit_softcapping": None, "use_bidirectional_attention": False},
    unused=(),
    activations={"gelu_pytorch_tanh": "geglu_tanh", **GATED},
    rows=(*(row for row in LLAMA.rows if "norm" not in row.theirs), *rows("""
        layers.{}.{input,post_attention}_layernorm stack.layers.{}.attention_residual.{norm,output_norm} w+1
        layers.{}.{pre,post}_feedforward_layernorm stack.layers.{}.feed_forward_residual.{norm,output_norm} w+1
        layers.{}.self_attn.q_norm stack.layers.{}.attention.q_norm (w+1)*sqrt(head_dim/scalar)
        layers.{}.self_attn.k_norm stack.layers.{}.attention.k_norm w+1
        norm stack.norm w+1
    """)),
    heads=_heads("Gemma3TextModel", "Gemma3ForCausalLM", "Gemma3TextForSequenceClassification"),
)  # fmt: skip

PHI = replace(
    LLAMA, model_type="phi", partial_rotary=True,
    renamed={
        ("resid_pdrop", "embd_pdrop"): "hidden_dropout", "layer_norm_eps": "norm_eps", "qk_layernorm": "query_key_norm",
    },
    fixed={
        **_FIXED, "position_type": "rotary", "block_type": "parallel", "attention_bias": True, "mlp_bias": True,
        "lm_head_bias": True,
    },
    unused=(),
    activations=ACTIVATION_NAMES,
    rows=rows("""
        embed_tokens embeddings.tokens
        layers.{}.self_attn.{q_proj,k_proj,v_proj,dense} stack.layers.{}.attention.{q,k,v,o}_proj
        layers.{}.self_attn.{q,k}_layernorm stack.layers.{}.attention.{q,k}_norm
        layers.{}.input_layernorm stack.layers.{}.attention_residual.norm
        layers.{}.mlp.{fc1,fc2} stack.layers.{}.feed_forward.{up,down}_proj
        final_layernorm stack.norm
    """),
    heads=_heads("PhiModel", "PhiForCausalLM", "PhiForSequenceClassification"),
)  # fmt: skip

_DROPOUTS = "hidden_dropout", "attention_dropout"

MPT = Family(
    "mpt", ScratchDecoderConfig, "transformer",
    renamed={
        "max_seq_len": "max_position_embeddings", "d_model": "hidden_size", "n_layers": "num_hidden_layers",
        "n_heads": "num_attention_heads", "layer_norm_epsilon": "norm_eps",
    },
    groups=(
        Group(("attn_config",), lambda native: dict.fromkeys(_DROPOUTS, native.attn_config.attn_pdrop),
              lambda config: {}),  # where it is an integer
        Group(("expansion_ratio",), lambda native: {"intermediate_size": None, "hidden_act": "gelu"},  # whatever it is
              lambda config: {}),
    ),
    fixed={**_FIXED, "position_type": "alibi", "attention_bias": False, "mlp_bias": False},
    requires={
        "attn_config.clip_qkv": None, "attn_config.softmax_scale": None, "attn_config.alibi": True,
        "attn_config.alibi_bias_max": 8, "attn_config.qk_ln": False, "attn_config.prefix_lm": False,
        "logit_scale": None,
    },
    unused=("resid_pdrop", "emb_pdrop", "learned_pos_emb", "init_device", "no_bias", "embedding_fraction", "norm_type",
            "expansion_ratio"),
    activations={"gelu": "gelu"},
    rows=rows("""
        wte embeddings.tokens
        blocks.{}.norm_1 stack.layers.{}.attention_residual.norm
        blocks.{}.attn.Wqkv stack.layers.{}.attention.q_proj+k_proj+v_proj
        blocks.{}.attn.out_proj stack.layers.{}.attention.o_proj
        blocks.{}.norm_2 stack.layers.{}.feed_forward_residual.norm
        blocks.{}.ffn.{up,down}_proj stack.layers.{}.feed_forward.{up,down}_proj
        norm_f stack.norm
    """),
    heads=_heads("MptModel", "MptForCausalLM", "MptForSequenceClassification"),
    zeros=("norm.bias",),
)  # fmt: skip
