# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables for encoder-decoders: BART, Marian and T5."""

from dataclasses import replace

from .tables import ACTIVATION_NAMES, IDS, Family, Group, Head, rows, same


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
    free={"lm_head_bias": True, "sparse_prediction": False, "counted_tokens": "all"},
    requires={"is_decoder": False, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0},
    unused=("classifier_dropout", "forced_eos_token_id"),
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
    unused=("forced_eos_token_id",),
    rows=_SHARED + rows(_coder("encoder", _TOKENS)) + rows(_coder("decoder", _TOKENS)),
    heads={
        "ScratchSeq2SeqModel": Head("MarianModel"),
        "ScratchSeq2SeqForConditionalGeneration": Head("MarianMTModel", _GENERATION),
    },
    left_out=(r"(model\.)?(en|de)coder\.embed_positions\.weight",),  # sinusoids, stored
)  # fmt: skip


_DROPOUTS = "hidden_dropout", "attention_dropout", "activation_dropout"
_TOKENS_OF_T5 = "bos_token_id", "decoder_start_token_id"  # no fields there, but kept where they are given


def _t5_side(side: str, attentions: dict[str, str]) -> str:
    """Return the rows of T5's encoder or decoder, whose final norm is a row of the head."""
    ours = f"{side}.stack.layers.{{}}"
    table = f"""
        {side}.embed_tokens {side}.embeddings.tokens
        {side}.block.0.layer.0.SelfAttention.relative_attention_bias {side}.stack.position_bias.table"""
    for number, (theirs, here) in enumerate(attentions.items()):
        layer = f"{side}.block.{{}}.layer.{number}"
        table += f"""
        {layer}.{theirs}.q {ours}.{here}.q_proj w*sqrt(d_kv)
        {layer}.{theirs}.k {ours}.{here}.k_proj
        {layer}.{theirs}.v {ours}.{here}.v_proj
        {layer}.{theirs}.o {ours}.{here}.o_proj
        {layer}.layer_norm {ours}.{here}_residual.norm"""
    layer = f"{side}.block.{{}}.layer.{len(attentions)}"
    return (
        table
        + f"""
        {layer}.DenseReluDense.wi {ours}.feed_forward.up_proj
        {layer}.DenseReluDense.wi_0 {ours}.feed_forward.gate_proj
        {layer}.DenseReluDense.wi_1 {ours}.feed_forward.up_proj
        {layer}.DenseReluDense.wo {ours}.feed_forward.down_proj
        {layer}.layer_norm {ours}.feed_forward_residual.norm"""
    )


T5 = Family(
    "t5", "ScratchSeq2SeqConfig", "transformer",
    fields={
        **same("vocab_size", "pad_token_id", "eos_token_id", "use_cache", "relative_attention_num_buckets",
        "relative_attention_max_distance"),
        "d_model": "hidden_size", "d_kv": "head_dim", "d_ff": "intermediate_size", "num_layers": "num_hidden_layers",
        "num_decoder_layers": "decoder_layers", "num_heads": "num_attention_heads",
        "layer_norm_epsilon": "norm_eps", "feed_forward_proj": "hidden_act",
    },
    groups=(
        Group(("dropout_rate",), lambda native: dict.fromkeys(_DROPOUTS, native.dropout_rate),
              lambda config: {"dropout_rate": config.hidden_dropout}),
        # T5 ties its head where it scales the states before it; other versions do neither (T5 1.1, Flan-T5).
        Group((), lambda native: {"tie_word_embeddings": native.scale_decoder_outputs},
              lambda config: {"tie_word_embeddings": config.tie_word_embeddings}),
        Group((), lambda native: {name: getattr(native, name, None) for name in _TOKENS_OF_T5},
              lambda config: {name: token for name in _TOKENS_OF_T5 if (token := getattr(config, name)) is not None}),
    ),
    fixed={
        "norm_type": "rms_norm", "norm_position": "pre", "position_type": "relative", "embedding_norm": False,
        "embedding_scale": False, "type_vocab_size": 0, "attention_bias": False, "mlp_bias": False,
        "share_encoder_decoder_embeddings": True, "lm_head_bias": False,
    },
    free={"sparse_prediction": False, "position_offset": 0, "counted_tokens": "all", "float16_guards": True},
    requires={"is_decoder": False},
    unused=("classifier_dropout", "initializer_factor", "is_encoder_decoder"),
    activations={
        "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "silu": "silu", "gated-gelu": "geglu_tanh",
        "gated-silu": "swiglu", "gated-relu": "reglu",
    },
    rows=(
        *_SHARED, *rows(_t5_side("encoder", {"SelfAttention": "attention"})),
        *rows(_t5_side("decoder", {"SelfAttention": "attention", "EncDecAttention": "cross_attention"})),
        *rows("encoder.final_layer_norm encoder.stack.norm"),
    ),
    heads={
        "ScratchSeq2SeqModel": Head("T5Model", rows("decoder.final_layer_norm decoder.stack.norm")),
        "ScratchSeq2SeqForConditionalGeneration": Head("T5ForConditionalGeneration", rows("""
            lm_head lm_head
            decoder.final_layer_norm model.decoder.stack.norm w/sqrt(d_model)
        """)),
    },
    unties_head=True,
)  # fmt: skip
