# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Small models of the library's own, all parameters drawn anew, each with ours of the same weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from conftest import redraw
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MarianConfig,
    MarianMTModel,
    PreTrainedConfig,
    PreTrainedModel,
)

import modeling_scratch as scratch
from modeling_scratch import presets

Weights = dict[str, Tensor]
VOCAB, WIDTH, INNER, LAYERS, HEADS, LIMIT = 50, 24, 40, 3, 4, 16
SIZES = {
    "vocab_size": VOCAB, "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "max_position_embeddings": LIMIT,
}  # fmt: skip

BERT_NAMES = {
    "embeddings.word_embeddings": "embeddings.tokens",
    "embeddings.position_embeddings": "embeddings.positions",
    "embeddings.token_type_embeddings": "embeddings.token_types",
    "embeddings.LayerNorm": "embeddings.norm",
    "encoder.layer.": "stack.layers.",
    "attention.self.query": "attention.q_proj",
    "attention.self.key": "attention.k_proj",
    "attention.self.value": "attention.v_proj",
    "attention.output.dense": "attention.o_proj",
    "attention.output.LayerNorm": "attention_residual.norm",
    "intermediate.dense": "feed_forward.up_proj",
    "output.dense": "feed_forward.down_proj",
    "output.LayerNorm": "feed_forward_residual.norm",
}
GPT2_NAMES = {
    "transformer.wte": "model.embeddings.tokens",
    "transformer.wpe": "model.embeddings.positions",
    "transformer.h.": "model.stack.layers.",
    "transformer.ln_f": "model.stack.norm",
    "ln_1": "attention_residual.norm",
    "attn.c_proj": "attention.o_proj",
    "attn.": "attention.",
    "ln_2": "feed_forward_residual.norm",
    "mlp.c_fc": "feed_forward.up_proj",
    "mlp.c_proj": "feed_forward.down_proj",
}
LLAMA_NAMES = {
    "model.embed_tokens": "model.embeddings.tokens",
    "model.layers.": "model.stack.layers.",
    "model.norm": "model.stack.norm",
    "self_attn.": "attention.",
    "input_layernorm": "attention_residual.norm",
    "mlp.": "feed_forward.",
    "post_attention_layernorm": "feed_forward_residual.norm",
}
BART_NAMES = {
    "embed_tokens": "embeddings.tokens",
    "embed_positions": "embeddings.positions",
    "layernorm_embedding": "embeddings.norm",
    "coder.layers.": "coder.stack.layers.",
    "self_attn_layer_norm": "attention_residual.norm",
    "encoder_attn_layer_norm": "cross_attention_residual.norm",
    "self_attn.": "attention.",
    "encoder_attn.": "cross_attention.",
    "out_proj": "o_proj",
    "fc1": "feed_forward.up_proj",
    "fc2": "feed_forward.down_proj",
    "final_layer_norm": "feed_forward_residual.norm",
}


def _as_they_are(weights: Weights) -> Weights:
    return weights


def _split_queries_keys_and_values(weights: Weights) -> Weights:
    """GPT-2 has one layer for the three, and weights that stand upside down."""
    found = {}
    for name, weight in weights.items():
        weight = weight.T if weight.ndim == 2 and ".c_" in name else weight
        if "c_attn" in name:
            parts = zip(("q_proj", "k_proj", "v_proj"), weight.chunk(3))
            found |= {name.replace("c_attn", part): value for part, value in parts}
        else:
            found[name] = weight
    return found


def _without_copies(weights: Weights) -> Weights:
    """BART and Marian name the shared table thrice; Marian stores its sinusoids, and a bias of the logits."""
    bias = weights.pop("final_logits_bias")
    found = {name: weight for name, weight in weights.items() if name != "model.shared.weight"}
    if bias.any():
        found["lm_head.bias"] = bias[0]
        found = {name: weight for name, weight in found.items() if "embed_positions" not in name}
    return found


@dataclass(frozen=True)
class Reference:
    """A model class of the library, its settings, our class and preset, and what its weights are called there."""

    model_class: type[PreTrainedModel]
    config_class: type[PreTrainedConfig]
    settings: dict[str, Any]
    ours: type[PreTrainedModel]
    preset: Callable[..., scratch.ScratchConfig]
    names: dict[str, str]
    sort: Callable[[Weights], Weights] = _as_they_are

    @torch.no_grad()
    def pair(
        self, backend: str = "sdpa", theirs: Any = None, draw: Callable = redraw, **ours: Any
    ) -> tuple[PreTrainedModel, PreTrainedModel]:
        """Both models; settings beside the sizes as each of them calls them, and how to draw all weights."""
        config = self.config_class(**{**self.settings, "attn_implementation": backend, **(theirs or {})})
        reference = draw(self.model_class(config)).eval()
        if self.model_class is MarianMTModel:
            for coder in reference.model.encoder, reference.model.decoder:
                coder.embed_positions.weight.copy_(coder.embed_positions.create_weight())
            redraw_tensor(reference.final_logits_bias)
        model = self.ours(self.preset(**{**SIZES, "attn_implementation": backend, **ours})).eval()
        model.load_state_dict(self.renamed(reference.state_dict()))
        return reference, model

    def renamed(self, weights: Weights) -> Weights:
        found = {}
        for name, weight in self.sort(dict(weights)).items():
            for theirs, ours in self.names.items():
                name = name.replace(theirs, ours)
            found[name] = weight
        return found


def redraw_tensor(values: Tensor) -> None:
    values.copy_(torch.randn(values.shape, generator=torch.Generator().manual_seed(9)))


_GPT2_SIZES = {
    "vocab_size": VOCAB, "n_embd": WIDTH, "n_inner": INNER, "n_layer": LAYERS, "n_head": HEADS, "n_positions": LIMIT,
    "bos_token_id": 3, "eos_token_id": 3,
}  # fmt: skip
_BART_SIZES = {
    "vocab_size": VOCAB, "d_model": WIDTH, "max_position_embeddings": LIMIT,
    **{f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in (
        ("layers", LAYERS), ("ffn_dim", INNER), ("attention_heads", HEADS),
    )},
}  # fmt: skip
_MARIAN_SIZES = {
    **_BART_SIZES, "activation_function": "swish", "scale_embedding": True, "pad_token_id": VOCAB - 1,
    "decoder_start_token_id": VOCAB - 1, "eos_token_id": 0,
}  # fmt: skip


def _gpt2(**settings: Any) -> scratch.ScratchDecoderConfig:
    return presets.gpt2(bos_token_id=3, eos_token_id=3, **settings)


def _llama(**settings: Any) -> scratch.ScratchDecoderConfig:
    return presets.llama(num_key_value_heads=2, **settings)


def _marian(**settings: Any) -> scratch.ScratchSeq2SeqConfig:
    return presets.marian(pad_token_id=VOCAB - 1, decoder_start_token_id=VOCAB - 1, **settings)


_bert_model, _causal_lm = scratch.ScratchEncoderModel, scratch.ScratchDecoderForCausalLM
_seq2seq_lm = scratch.ScratchSeq2SeqForConditionalGeneration
BERT = Reference(BertModel, BertConfig, SIZES, _bert_model, presets.bert, BERT_NAMES, lambda weights: {
    name: weight for name, weight in weights.items() if not name.startswith("pooler")
})  # fmt: skip
GPT2 = Reference(
    GPT2LMHeadModel, GPT2Config, _GPT2_SIZES, _causal_lm, _gpt2, GPT2_NAMES, _split_queries_keys_and_values
)
LLAMA = Reference(LlamaForCausalLM, LlamaConfig, {**SIZES, "num_key_value_heads": 2}, _causal_lm, _llama, LLAMA_NAMES)
BART = Reference(
    BartForConditionalGeneration, BartConfig, _BART_SIZES, _seq2seq_lm, presets.bart, BART_NAMES, _without_copies
)
MARIAN = Reference(MarianMTModel, MarianConfig, _MARIAN_SIZES, _seq2seq_lm, _marian, BART_NAMES, _without_copies)
