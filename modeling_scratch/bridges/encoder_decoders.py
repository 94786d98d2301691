# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables for encoder-decoders: BART and Marian."""

from dataclasses import replace

from .tables import ACTIVATION_NAMES, IDS, Family, Head, rows, same


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
