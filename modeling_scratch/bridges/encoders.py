# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables for BERT, RoBERTa, ELECTRA and DistilBERT, post-norm encoders with learned positions, and ModernBERT."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..configuration_scratch import ScratchEncoderConfig
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


def _heads(
    name: str, masked_lm: str, classifier: str, requires: Mapping[str, Any] | None = None, base: str = ""
) -> dict[str, Head]:
    """Return the five classes of an encoder. requires: fields that its MLM head fixes; base: the pooler's rows."""
    return {
        "ScratchEncoderModel": Head(f"{name}Model", rows(base)),
        "ScratchEncoderForMaskedLM": Head(f"{name}ForMaskedLM", rows(masked_lm), requires or {}),
        "ScratchEncoderForSequenceClassification": Head(f"{name}ForSequenceClassification", rows(classifier)),
        "ScratchEncoderForTokenClassification": Head(f"{name}ForTokenClassification", rows("classifier classifier")),
        "ScratchEncoderForQuestionAnswering": Head(f"{name}ForQuestionAnswering", rows("qa_outputs qa_outputs")),
    }


BERT = Family(
    "bert", ScratchEncoderConfig, "bert",
    renamed={
        "hidden_dropout_prob": "hidden_dropout", "attention_probs_dropout_prob": "attention_dropout",
        "layer_norm_eps": "norm_eps",
    },
    fixed={
        "norm_type": "layer_norm", "norm_position": "post", "position_type": "learned", "position_offset": 0,
        "embedding_norm": True, "embedding_scale": False, "attention_bias": True, "mlp_bias": True,
        "classifier_pooling": "first", "classifier_activation": "tanh", "classifier_norm": False,
        "activation_dropout": 0.0, "qa_dropout": 0.0, "sparse_prediction": False, "counted_tokens": "all",
    },
    groups=(Group(("type_vocab_size",), lambda native: {"type_vocab_size": native.type_vocab_size},
                  lambda config: {"type_vocab_size": max(config.type_vocab_size, 1)}),),  # its table has a row
    requires={"is_decoder": False, "add_cross_attention": False, "position_embedding_type": "absolute"},
    unused=("use_cache",),
    activations=ACTIVATION_NAMES,
    rows=rows("""
        embeddings.{word,position,token_type}_embeddings embeddings.{tokens,positions,token_types}
        embeddings.LayerNorm embeddings.norm
        encoder.layer.{}.attention.self.{query,key,value} stack.layers.{}.attention.{q,k,v}_proj
        encoder.layer.{}.attention.output.dense stack.layers.{}.attention.o_proj
        encoder.layer.{}.attention.output.LayerNorm stack.layers.{}.attention_residual.norm
        encoder.layer.{}.intermediate.dense stack.layers.{}.feed_forward.up_proj
        encoder.layer.{}.output.dense stack.layers.{}.feed_forward.down_proj
        encoder.layer.{}.output.LayerNorm stack.layers.{}.feed_forward_residual.norm
    """),
    heads=_heads("Bert", """
        cls.predictions.bias lm_head.decoder.bias
        cls.predictions.decoder lm_head.decoder
        cls.predictions.transform.{dense,LayerNorm} lm_head.{dense,norm}
    """, """
        bert.pooler.dense classifier.dense
        classifier classifier.out_proj
    """, base="pooler.dense pooler.dense"),
    also={"BertForPreTraining": "ScratchEncoderForMaskedLM", "BertForNextSentencePrediction": "ScratchEncoderModel"},
    copies={"cls.predictions.bias": "cls.predictions.decoder.bias"},
    left_out=(r"(bert\.)?pooler\.dense\..*", r"cls\.seq_relationship\..*", r"(bert\.)?embeddings\.position_ids"),
)  # fmt: skip

ROBERTA = replace(
    BERT, model_type="roberta", prefix="roberta", positions_after_padding=True,
    fixed={**without(BERT.fixed, "position_offset"), "counted_tokens": "not_pad_token_id"},
    heads=_heads("Roberta", """
        lm_head.bias lm_head.decoder.bias
        lm_head.{decoder,dense,layer_norm} lm_head.{decoder,dense,norm}
    """, """
        classifier.{dense,out_proj} classifier.{dense,out_proj}
    """, requires={"hidden_act": "gelu"}, base="pooler.dense pooler.dense"),
    also={}, copies={"lm_head.bias": "lm_head.decoder.bias"},
    left_out=(r"(roberta\.)?pooler\.dense\..*", r"(roberta\.)?embeddings\.position_ids"),
)  # fmt: skip

ELECTRA = replace(
    BERT, model_type="electra", prefix="electra",
    fixed={**BERT.fixed, "classifier_activation": "gelu", "pooler": False},
    unused=("use_cache", "summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"),
    rows=(*BERT.rows, *rows("embeddings_project embeddings.projection")),
    heads=_heads("Electra", """
        generator_lm_head lm_head.decoder
        generator_predictions.{dense,LayerNorm} lm_head.{dense,norm}
    """, """
        classifier.{dense,out_proj} classifier.{dense,out_proj}
    """, requires={"hidden_act": "gelu"}),
    also={"ElectraForPreTraining": "ScratchEncoderModel"},
    left_out=(r"discriminator_predictions\..*", r"(electra\.)?embeddings\.position_ids"),
)  # fmt: skip

DISTILBERT = replace(
    BERT, model_type="distilbert", prefix="distilbert",
    renamed={
        "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads", "dim": "hidden_size",
        "hidden_dim": "intermediate_size", "activation": "hidden_act", "dropout": "hidden_dropout",
        "seq_classif_dropout": "classifier_dropout",
    },
    fixed={
        **without(BERT.fixed, "qa_dropout"), "norm_eps": 1e-12, "type_vocab_size": 0, "classifier_activation": "relu",
        "pooler": False,
    },
    groups=(), requires={}, unused=("sinusoidal_pos_embds",),  # sinusoidal positions are stored, too
    rows=rows("""
        embeddings.{word,position}_embeddings embeddings.{tokens,positions}
        embeddings.LayerNorm embeddings.norm
        transformer.layer.{}.attention.{q,k,v,out}_lin stack.layers.{}.attention.{q,k,v,o}_proj
        transformer.layer.{}.sa_layer_norm stack.layers.{}.attention_residual.norm
        transformer.layer.{}.ffn.{lin1,lin2} stack.layers.{}.feed_forward.{up,down}_proj
        transformer.layer.{}.output_layer_norm stack.layers.{}.feed_forward_residual.norm
    """),
    heads=_heads("DistilBert", """
        vocab_{projector,transform,layer_norm} lm_head.{decoder,dense,norm}
    """, """
        pre_classifier classifier.dense
        classifier classifier.out_proj
    """),
    also={},
    left_out=(r"(distilbert\.)?embeddings\.position_ids",),
)  # fmt: skip


def _write_local_attention(config: Any) -> dict[str, Any]:
    window = 64 if config.sliding_window is None else config.sliding_window  # the default there, where no layer has one
    return {"local_attention": 2 * window, **write_layer_types(config)}


def _write_special_tokens(config: Any) -> dict[str, Any]:
    end = config.eos_token_id
    return {"cls_token_id": config.bos_token_id, "sep_token_id": end[0] if isinstance(end, list) else end}


_HIDDEN_LAYER = "the hidden layer of its head ends with a norm, norm(act(x W)), which no such head here has"

MODERNBERT = Family(
    "modernbert", ScratchEncoderConfig, "model",
    renamed={"hidden_activation": "hidden_act", "mlp_dropout": "activation_dropout"},
    groups=(
        Group(("local_attention", "layer_types", "rope_parameters"),
              lambda native: {"sliding_window": native.local_attention // 2, **read_layer_types(native)},
              _write_local_attention),
        Group(("cls_token_id", "sep_token_id"), lambda native: {}, _write_special_tokens),  # for tokenizers
    ),
    fixed={
        "norm_type": "layer_norm", "norm_position": "pre", "first_norm": False, "position_type": "rotary",
        "embedding_norm": True, "embedding_scale": False, "type_vocab_size": 0, "pooler": False, "hidden_dropout": 0.0,
        "position_offset": 0, "counted_tokens": "all",
    },
    requires={
        "norm_bias": False, "classifier_bias": False, "decoder_bias": True, "embedding_dropout": 0.0,
        "sparse_pred_ignore_index": -100,
    },
    unused=("initializer_cutoff_factor", "classifier_pooling", "classifier_dropout", "classifier_activation",
            "deterministic_flash_attn", "cls_token_id", "sep_token_id"),
    activations=GATED,
    rows=rows("""
        embeddings.{tok_embeddings,norm} embeddings.{tokens,norm}
        layers.{}.attn_norm stack.layers.{}.attention_residual.norm
        layers.{}.attn.Wqkv stack.layers.{}.attention.q_proj+k_proj+v_proj
        layers.{}.attn.Wo stack.layers.{}.attention.o_proj
        layers.{}.mlp_norm stack.layers.{}.feed_forward_residual.norm
        layers.{}.mlp.Wi stack.layers.{}.feed_forward.gate_proj+up_proj
        layers.{}.mlp.Wo stack.layers.{}.feed_forward.down_proj
        final_norm stack.norm
    """),
    heads={
        "ScratchEncoderModel": Head("ModernBertModel"),
        "ScratchEncoderForMaskedLM": Head("ModernBertForMaskedLM", rows("""
            head.{dense,norm} lm_head.{dense,norm}
            decoder lm_head.decoder
        """), {"hidden_activation": "gelu", "classifier_activation": "gelu"}),
    },
    other_heads=dict.fromkeys(
        ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice"),
        _HIDDEN_LAYER,
    ),
    left_out=(r"classifier\.(weight|bias)",),
    zeros=("norm.bias", "lm_head.dense.bias"),
)  # fmt: skip
