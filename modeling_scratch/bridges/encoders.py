# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables for BERT, RoBERTa, ELECTRA and DistilBERT: post-norm encoders with learned positions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .tables import ACTIVATION_NAMES, IDS, Family, Head, WeightRow, rows, same


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
    "bert", "ScratchEncoderConfig", "bert",
    fields={
        **IDS, **same("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "hidden_act", "max_position_embeddings", "type_vocab_size", "initializer_range", "classifier_dropout",
        "tie_word_embeddings"),
        "hidden_dropout_prob": "hidden_dropout", "attention_probs_dropout_prob": "attention_dropout",
        "layer_norm_eps": "norm_eps",
    },
    fixed={
        "norm_type": "layer_norm", "norm_position": "post", "position_type": "learned", "position_offset": 0,
        "embedding_norm": True, "embedding_scale": False, "attention_bias": True, "mlp_bias": True,
        "classifier_pooling": "first", "classifier_activation": "tanh", "classifier_norm": False, "ngram_vocab_size": 0,
    },
    free={"activation_dropout": 0.0, "sparse_prediction": False},
    requires={"is_decoder": False, "add_cross_attention": False, "position_embedding_type": "absolute"},
    unused=("use_cache",),
    activations=ACTIVATION_NAMES,
    rows=rows("""
        embeddings.word_embeddings embeddings.tokens
        embeddings.position_embeddings embeddings.positions
        embeddings.token_type_embeddings embeddings.token_types
        embeddings.LayerNorm embeddings.norm
        encoder.layer.{}.attention.self.query stack.layers.{}.attention.q_proj
        encoder.layer.{}.attention.self.key stack.layers.{}.attention.k_proj
        encoder.layer.{}.attention.self.value stack.layers.{}.attention.v_proj
        encoder.layer.{}.attention.output.dense stack.layers.{}.attention.o_proj
        encoder.layer.{}.attention.output.LayerNorm stack.layers.{}.attention_residual.norm
        encoder.layer.{}.intermediate.dense stack.layers.{}.feed_forward.up_proj
        encoder.layer.{}.output.dense stack.layers.{}.feed_forward.down_proj
        encoder.layer.{}.output.LayerNorm stack.layers.{}.feed_forward_residual.norm
    """),
    heads=_heads("Bert", """
        cls.predictions.bias lm_head.decoder.bias
        cls.predictions.decoder lm_head.decoder
        cls.predictions.transform.dense lm_head.dense
        cls.predictions.transform.LayerNorm lm_head.norm
    """, """
        bert.pooler.dense classifier.dense
        classifier classifier.out_proj
    """, base="pooler.dense pooler.dense"),
    also={"BertForPreTraining": "ScratchEncoderForMaskedLM", "BertForNextSentencePrediction": "ScratchEncoderModel"},
    left_out=(r"(bert\.)?pooler\.dense\..*", r"cls\.seq_relationship\..*", r"(bert\.)?embeddings\.position_ids"),
)  # fmt: skip

ROBERTA = replace(
    BERT, model_type="roberta", prefix="roberta", positions_after_padding=True,
    fixed={name: value for name, value in BERT.fixed.items() if name != "position_offset"},
    heads=_heads("Roberta", """
        lm_head.bias lm_head.decoder.bias
        lm_head.decoder lm_head.decoder
        lm_head.dense lm_head.dense
        lm_head.layer_norm lm_head.norm
    """, """
        classifier.dense classifier.dense
        classifier.out_proj classifier.out_proj
    """, requires={"hidden_act": "gelu"}, base="pooler.dense pooler.dense"),
    also={},
    left_out=(r"(roberta\.)?pooler\.dense\..*", r"(roberta\.)?embeddings\.position_ids"),
)  # fmt: skip

ELECTRA = replace(
    BERT, model_type="electra", prefix="electra",
    fields={**BERT.fields, "embedding_size": "embedding_size"},
    fixed={**BERT.fixed, "classifier_activation": "gelu", "pooler": False},
    unused=("use_cache", "summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"),
    rows=(*BERT.rows, WeightRow("embeddings_project", "embeddings.projection")),
    heads=_heads("Electra", """
        generator_lm_head lm_head.decoder
        generator_predictions.dense lm_head.dense
        generator_predictions.LayerNorm lm_head.norm
    """, """
        classifier.dense classifier.dense
        classifier.out_proj classifier.out_proj
    """, requires={"hidden_act": "gelu"}),
    also={"ElectraForPreTraining": "ScratchEncoderModel"},
    left_out=(r"discriminator_predictions\..*", r"(electra\.)?embeddings\.position_ids"),
)  # fmt: skip

DISTILBERT = replace(
    BERT, model_type="distilbert", prefix="distilbert",
    fields={
        **IDS, **same("vocab_size", "max_position_embeddings", "attention_dropout", "initializer_range",
        "tie_word_embeddings"),
        "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads", "dim": "hidden_size",
        "hidden_dim": "intermediate_size", "activation": "hidden_act", "dropout": "hidden_dropout",
        "seq_classif_dropout": "classifier_dropout",
    },
    fixed={**BERT.fixed, "norm_eps": 1e-12, "type_vocab_size": 0, "classifier_activation": "relu", "pooler": False},
    requires={},
    unused=("qa_dropout", "sinusoidal_pos_embds"),  # sinusoidal positions are stored, too
    rows=rows("""
        embeddings.word_embeddings embeddings.tokens
        embeddings.position_embeddings embeddings.positions
        embeddings.LayerNorm embeddings.norm
        transformer.layer.{}.attention.q_lin stack.layers.{}.attention.q_proj
        transformer.layer.{}.attention.k_lin stack.layers.{}.attention.k_proj
        transformer.layer.{}.attention.v_lin stack.layers.{}.attention.v_proj
        transformer.layer.{}.attention.out_lin stack.layers.{}.attention.o_proj
        transformer.layer.{}.sa_layer_norm stack.layers.{}.attention_residual.norm
        transformer.layer.{}.ffn.lin1 stack.layers.{}.feed_forward.up_proj
        transformer.layer.{}.ffn.lin2 stack.layers.{}.feed_forward.down_proj
        transformer.layer.{}.output_layer_norm stack.layers.{}.feed_forward_residual.norm
    """),
    heads=_heads("DistilBert", """
        vocab_projector lm_head.decoder
        vocab_transform lm_head.dense
        vocab_layer_norm lm_head.norm
    """, """
        pre_classifier classifier.dense
        classifier classifier.out_proj
    """),
    also={},
    left_out=(r"(distilbert\.)?embeddings\.position_ids",),
)  # fmt: skip
