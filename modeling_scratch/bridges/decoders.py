# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables for decoders (GPT-2, Llama, Mistral, Qwen2) and encoder-decoders (BART, Marian)."""

from dataclasses import replace
from typing import Any

from .tables import ACTIVATION_NAMES, GATED, IDS, Family, Head, rows, same

GPT2 = Family(
    "gpt2", "ScratchDecoderConfig", "transformer",
    fields={
        **IDS, **same("vocab_size", "initializer_range", "use_cache", "tie_word_embeddings"),
        "n_positions": "max_position_embeddings", "n_embd": "hidden_size", "n_layer": "num_hidden_layers",
        "n_head": "num_attention_heads", "n_inner": "intermediate_size", "activation_function": "hidden_act",
        ("resid_pdrop", "embd_pdrop"): "hidden_dropout", "attn_pdrop": "attention_dropout",
        "layer_norm_epsilon": "norm_eps",
    },
    fixed={
        "norm_type": "layer_norm", "norm_position": "pre", "position_type": "learned", "position_offset": 0,
        "embedding_norm": False, "embedding_scale": False, "type_vocab_size": 0, "attention_bias": True,
        "mlp_bias": True, "lm_head_bias": False,
    },
    free={"activation_dropout": 0.0},
    requires={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False},
    unused=("reorder_and_upcast_attn", "summary_type", "summary_use_proj", "summary_activation",
            "summary_proj_to_labels", "summary_first_dropout"),
    activations=ACTIVATION_NAMES,
    rows=rows("""
        wte embeddings.tokens
        wpe embeddings.positions
        h.{}.ln_1 stack.layers.{}.attention_residual.norm
        h.{}.attn.c_attn stack.layers.{}.attention.q_proj+k_proj+v_proj
        h.{}.attn.c_proj stack.layers.{}.attention.o_proj
        h.{}.ln_2 stack.layers.{}.feed_forward_residual.norm
        h.{}.mlp.c_fc stack.layers.{}.feed_forward.up_proj
        h.{}.mlp.c_proj stack.layers.{}.feed_forward.down_proj
        ln_f stack.norm
    """, transposed=".c_"),
    heads={
        "ScratchDecoderModel": Head("GPT2Model"),
        "ScratchDecoderForCausalLM": Head("GPT2LMHeadModel", rows("lm_head lm_head")),
        "ScratchDecoderForSequenceClassification": Head("GPT2ForSequenceClassification", rows("score score")),
    },
    left_out=(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias",),
)  # fmt: skip

LLAMA = Family(
    "llama", "ScratchDecoderConfig", "model",
    fields={
        **IDS, **same("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "hidden_act", "max_position_embeddings", "initializer_range", "use_cache",
        "tie_word_embeddings", "rope_parameters", "attention_bias", "mlp_bias", "attention_dropout"),
        "rms_norm_eps": "norm_eps",
    },
    fixed={
        "norm_type": "rms_norm", "norm_position": "pre", "position_type": "rotary", "embedding_norm": False,
        "embedding_scale": False, "type_vocab_size": 0, "lm_head_bias": False,
    },
    free={"hidden_dropout": 0.0, "activation_dropout": 0.0, "position_offset": 0},
    unused=("pretraining_tp",),
    activations=GATED,
    rows=rows("""
        embed_tokens embeddings.tokens
        layers.{}.self_attn.q_proj stack.layers.{}.attention.q_proj
        layers.{}.self_attn.k_proj stack.layers.{}.attention.k_proj
        layers.{}.self_attn.v_proj stack.layers.{}.attention.v_proj
        layers.{}.self_attn.o_proj stack.layers.{}.attention.o_proj
        layers.{}.input_layernorm stack.layers.{}.attention_residual.norm
        layers.{}.mlp.gate_proj stack.layers.{}.feed_forward.gate_proj
        layers.{}.mlp.up_proj stack.layers.{}.feed_forward.up_proj
        layers.{}.mlp.down_proj stack.layers.{}.feed_forward.down_proj
        layers.{}.post_attention_layernorm stack.layers.{}.feed_forward_residual.norm
        norm stack.norm
    """),
    heads={
        "ScratchDecoderModel": Head("LlamaModel"),
        "ScratchDecoderForCausalLM": Head("LlamaForCausalLM", rows("lm_head lm_head")),
        "ScratchDecoderForSequenceClassification": Head("LlamaForSequenceClassification", rows("score score")),
    },
    left_out=(r"(model\.)?layers\.\d+\.self_attn\.rotary_emb\.inv_freq", r"(model\.)?rotary_emb\.inv_freq"),
)  # fmt: skip


def _like_llama(name: str, attention_bias: bool, without: tuple[str, ...] = (), **changes: Any) -> Family:
    """Return a family with Llama's weights and fixed bias settings."""
    missing = {"attention_bias", "mlp_bias", *without}
    return replace(
        LLAMA, model_type=name.lower(),
        fields={theirs: ours for theirs, ours in LLAMA.fields.items() if theirs not in missing},
        fixed={**LLAMA.fixed, "attention_bias": attention_bias, "mlp_bias": False},
        heads={ours: replace(head, theirs=head.theirs.replace("Llama", name)) for ours, head in LLAMA.heads.items()},
        **changes,
    )  # fmt: skip


MISTRAL = _like_llama("Mistral", attention_bias=False, requires={"sliding_window": None}, unused=())
QWEN2 = _like_llama(
    "Qwen2", attention_bias=True, without=("head_dim",), zeros=("stack.layers.{}.attention.o_proj.bias",),
    requires={"use_sliding_window": False, "layer_types": "full_attention"},
    unused=("sliding_window", "max_window_layers"),
)  # fmt: skip


def _coder(side: str, embeddings: str) -> str:
    """Return the rows of the encoder or the decoder of an encoder-decoder."""
    layer, ours = f"{side}.layers.{{}}", f"{side}.stack.layers.{{}}"
    attentions = {"self_attn": "attention", "encoder_attn": "cross_attention"}
    return embeddings.format(side=side) + "".join(
        f"""
        {layer}.{theirs}.q_proj {ours}.{here}.q_proj
        {layer}.{theirs}.k_proj {ours}.{here}.k_proj
        {layer}.{theirs}.v_proj {ours}.{here}.v_proj
        {layer}.{theirs}.out_proj {ours}.{here}.o_proj
        {layer}.{theirs}_layer_norm {ours}.{here}_residual.norm"""
        for theirs, here in attentions.items()
    ) + f"""
        {layer}.fc1 {ours}.feed_forward.up_proj
        {layer}.fc2 {ours}.feed_forward.down_proj
        {layer}.final_layer_norm {ours}.feed_forward_residual.norm
    """  # fmt: skip


_TOKENS = """
        {side}.embed_tokens {side}.embeddings.tokens"""

_LEARNED = _TOKENS + """
        {side}.embed_positions {side}.embeddings.positions
        {side}.layernorm_embedding {side}.embeddings.norm"""  # fmt: skip

_SHARED = rows("shared encoder.embeddings.tokens")
_GENERATION = rows("""
    lm_head lm_head
    final_logits_bias lm_head.bias
""")

BART = Family(
    "bart", "ScratchSeq2SeqConfig", "model",
    fields={
        **IDS, **same("vocab_size", "max_position_embeddings", "decoder_layers", "attention_dropout",
        "activation_dropout", "use_cache", "decoder_start_token_id", "tie_word_embeddings"),
        "encoder_layers": "num_hidden_layers", "d_model": "hidden_size", "activation_function": "hidden_act",
        ("encoder_ffn_dim", "decoder_ffn_dim"): "intermediate_size",
        ("encoder_attention_heads", "decoder_attention_heads"): "num_attention_heads",
        "dropout": "hidden_dropout", "init_std": "initializer_range", "scale_embedding": "embedding_scale",
    },
    fixed={
        "norm_type": "layer_norm", "norm_position": "post", "norm_eps": 1e-5, "position_type": "learned",
        "position_offset": 2, "embedding_norm": True, "type_vocab_size": 0, "attention_bias": True, "mlp_bias": True,
        "share_encoder_decoder_embeddings": True,
    },
    free={"lm_head_bias": True, "sparse_prediction": False},
    requires={"is_decoder": False},
    unused=("encoder_layerdrop", "decoder_layerdrop", "classifier_dropout", "forced_eos_token_id"),
    activations=ACTIVATION_NAMES,
    rows=_SHARED + rows(_coder("encoder", _LEARNED)) + rows(_coder("decoder", _LEARNED)),
    heads={
        "ScratchSeq2SeqModel": Head("BartModel"),
        "ScratchSeq2SeqForConditionalGeneration": Head("BartForConditionalGeneration", _GENERATION),
    },
    zeros=("lm_head.bias",),
)  # fmt: skip

MARIAN = replace(
    BART, model_type="marian",
    fields={**BART.fields, **same("decoder_vocab_size", "share_encoder_decoder_embeddings")},
    fixed={
        **{name: value for name, value in BART.fixed.items() if name != "share_encoder_decoder_embeddings"},
        "position_type": "sinusoidal_halves", "position_offset": 0, "embedding_norm": False,
    },
    unused=("encoder_layerdrop", "decoder_layerdrop", "forced_eos_token_id"),
    rows=_SHARED + rows(_coder("encoder", _TOKENS)) + rows(_coder("decoder", _TOKENS)),
    heads={
        "ScratchSeq2SeqModel": Head("MarianModel"),
        "ScratchSeq2SeqForConditionalGeneration": Head("MarianMTModel", _GENERATION),
    },
    left_out=(r"(model\.)?(en|de)coder\.embed_positions\.weight",),  # sinusoids, stored
)  # fmt: skip
