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

VOCAB, WIDTH, INNER, LAYERS, HEADS, LIMIT = 50, 24, 40, 3, 4, 16
SIZES = {
    "vocab_size": VOCAB, "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "max_position_embeddings": LIMIT,
}  # fmt: skip


@dataclass(frozen=True)
class Reference:
    """A model class of the library, its settings, and our class and preset."""

    model_class: type[PreTrainedModel]
    config_class: type[PreTrainedConfig]
    settings: dict[str, Any]
    ours: type[PreTrainedModel]
    preset: Callable[..., scratch.ScratchConfig]

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
        weights = scratch.convert_state_dict(reference.state_dict(), reference.config, self.ours)
        model.load_state_dict({name: weight for name, weight in weights.items() if name in model.state_dict()})
        return reference, model


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
BERT = Reference(BertModel, BertConfig, SIZES, _bert_model, presets.bert)
GPT2 = Reference(GPT2LMHeadModel, GPT2Config, _GPT2_SIZES, _causal_lm, _gpt2)
LLAMA = Reference(LlamaForCausalLM, LlamaConfig, {**SIZES, "num_key_value_heads": 2}, _causal_lm, _llama)
BART = Reference(BartForConditionalGeneration, BartConfig, _BART_SIZES, _seq2seq_lm, presets.bart)
MARIAN = Reference(MarianMTModel, MarianConfig, _MARIAN_SIZES, _seq2seq_lm, _marian)
