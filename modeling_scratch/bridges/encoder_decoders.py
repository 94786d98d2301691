# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables for encoder-decoders: BART, Marian and T5."""

from dataclasses import replace

from ..configuration_scratch import ScratchSeq2SeqConfig
from .tables import ACTIVATION_NAMES, Family, Group, Head, rows, without

_SIDES = """
    {encoder,decoder}.layers.{}.self_attn.{q,k,v,out}_proj {encoder,decoder}.stack.layers.{}.attention.{q,k,v,o}_proj
    {encoder,decoder}.layers.{}.self_attn_layer_norm {encoder,decoder}.stack.layers.{}.attention_residual.norm
    decoder.layers.{}.encoder_attn.{q,k,v,out}_proj decoder.stack.layers.{}.cross_attention.{q,k,v,o}_proj
    decoder.layers.{}.encoder_attn_layer_norm decoder.stack.layers.{}.cross_attention_residual.norm
    {encoder,decoder}.layers.{}.{fc1,fc2} {encoder,decoder}.stack.layers.{}.feed_forward.{up,down}_proj
    {encoder,decoder}.layers.{}.final_layer_norm {encoder,decoder}.stack.layers.{}.feed_forward_residual.norm
"""
_TOKENS = """
    shared encoder.embeddings.tokens
    {encoder,decoder}.embed_tokens {encoder,decoder}.embeddings.tokens
"""
_LEARNED = """
    {encoder,decoder}.embed_positions {encoder,decoder}.embeddings.positions
    {encoder,decoder}.layernorm_embedding {encoder,decoder}.embeddings.norm
"""
_GENERATION = rows("""
    lm_head lm_head
    final_logits_bias lm_head.bias
""")

BART = Family(
    "bart", ScratchSeq2SeqConfig, "model",
    renamed={
        "encoder_layers": "num_hidden_layers", "d_model": "hidden_size", "activation_function": "hidden_act",
        ("encoder_ffn_dim", "decoder_ffn_dim"): "intermediate_size",
        ("encoder_attention_heads", "decoder_attention_heads"): "num_attention_heads",
        "dropout": "hidden_dropout", "init_std": "initializer_range", "scale_embedding": "embedding_scale",
    },
    fixed={
        "norm_type": "layer_norm", "norm_position": "post", "norm_eps": 1e-5, "position_type": "learned",
        "position_offset": 2, "embedding_norm": True, "type_vocab_size": 0, "attention_bias": True, "mlp_bias": True,
        "share_encoder_decoder_embeddings": True, "lm_head_bias": True, "sparse_prediction": False,
        "counted_tokens": "all",
    },
    requires={"is_decoder": False, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0},
    unused=("classifier_dropout", "forced_eos_token_id"),
    activations=ACTIVATION_NAMES,
    rows=rows(_TOKENS) + rows(_LEARNED) + rows(_SIDES),
    heads={
        "ScratchSeq2SeqModel": Head("BartModel"),
        "ScratchSeq2SeqForConditionalGeneration": Head("BartForConditionalGeneration", _GENERATION),
    },
    zeros=("lm_head.bias",),
)  # fmt: skip

MARIAN = replace(
    BART, model_type="marian",
    fixed={
        **without(BART.fixed, "share_encoder_decoder_embeddings"), "position_type": "sinusoidal_halves",
        "position_offset": 0, "embedding_norm": False,
    },
    unused=("forced_eos_token_id",),
    rows=rows(_TOKENS) + rows(_SIDES),
    heads={
        "ScratchSeq2SeqModel": Head("MarianModel"),
        "ScratchSeq2SeqForConditionalGeneration": Head("MarianMTModel", _GENERATION),
    },
    left_out=(r"(model\.)?(en|de)coder\.embed_positions\.weight",),  # sinusoids, stored
)  # fmt: skip


_DROPOUTS = "hidden_dropout", "attention_dropout", "activation_dropout"
_TOKENS_OF_T5 = "bos_token_id", "decoder_start_token_id"  # no fields there, but kept where they are given
_SIDES_OF_T5 = """
    {encoder,decoder}.block.0.layer.0.SelfAttention.relative_attention_bias {encoder,decoder}.stack.position_bias.table
    {encoder,decoder}.block.{}.layer.0.layer_norm {encoder,decoder}.stack.layers.{}.attention_residual.norm
    {encoder,decoder}.block.{}.layer.0.SelfAttention.q {encoder,decoder}.stack.layers.{}.attention.q_proj w*sqrt(d_kv)
    encoder.block.{}.layer.0.SelfAttention.{k,v,o} encoder.stack.layers.{}.attention.{k,v,o}_proj
    decoder.block.{}.layer.0.SelfAttention.{k,v,o} decoder.stack.layers.{}.attention.{k,v,o}_proj
    decoder.block.{}.layer.1.layer_norm decoder.stack.layers.{}.cross_attention_residual.norm
    decoder.block.{}.layer.1.EncDecAttention.q decoder.stack.layers.{}.cross_attention.q_proj w*sqrt(d_kv)
    decoder.block.{}.layer.1.EncDecAttention.{k,v,o} decoder.stack.layers.{}.cross_attention.{k,v,o}_proj
    encoder.block.{}.layer.1.layer_norm encoder.stack.layers.{}.feed_forward_residual.norm
    encoder.block.{}.layer.1.DenseReluDense.wi encoder.stack.layers.{}.feed_forward.up_proj
    encoder.block.{}.layer.1.DenseReluDense.{wi_0,wi_1,wo} encoder.stack.layers.{}.feed_forward.{gate,up,down}_proj
    decoder.block.{}.layer.2.layer_norm decoder.stack.layers.{}.feed_forward_residual.norm
    decoder.block.{}.layer.2.DenseReluDense.wi decoder.stack.layers.{}.feed_forward.up_proj
    decoder.block.{}.layer.2.DenseReluDense.{wi_0,wi_1,wo} decoder.stack.layers.{}.feed_forward.{gate,up,down}_proj
    encoder.final_layer_norm encoder.stack.norm
"""

T5 = Family(
    "t5", ScratchSeq2SeqConfig, "transformer",
    renamed={
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
        "share_encoder_decoder_embeddings": True, "lm_head_bias": False, "sparse_prediction": False,
        "position_offset": 0, "counted_tokens": "all", "float16_guards": True,
    },
    requires={"is_decoder": False},
    unused=("classifier_dropout", "initializer_factor", "is_encoder_decoder"),
    activations={
        "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "silu": "silu", "gated-gelu": "geglu_tanh",
        "gated-silu": "swiglu", "gated-relu": "reglu",
    },
    rows=rows(_TOKENS) + rows(_SIDES_OF_T5),
    heads={
        "ScratchSeq2SeqModel": Head("T5Model", rows("decoder.final_layer_norm decoder.stack.norm")),
        "ScratchSeq2SeqForConditionalGeneration": Head("T5ForConditionalGeneration", rows("""
            lm_head lm_head
            decoder.final_layer_norm model.decoder.stack.norm w/sqrt(d_model)
        """)),
    },
    unties_head=True,
)  # fmt: skip
