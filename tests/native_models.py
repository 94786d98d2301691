# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Small models of every native family and head that has a bridge, all parameters drawn anew."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from shared import redraw
from torch import Tensor
from transformers import PreTrainedModel

from modeling_scratch import convert_config, convert_state_dict
from modeling_scratch.bridges.configs import FAMILIES
from modeling_scratch.bridges.conversion import MODELS

VOCAB, LIMIT, PAD = 50, 16, 1
_ENCODER: dict[str, Any] = {
    "vocab_size": VOCAB, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": LIMIT, "pad_token_id": PAD, "num_labels": 3,
}  # fmt: skip
_DECODER = {**_ENCODER, "num_key_value_heads": 2}
_SEQ2SEQ = {
    "vocab_size": VOCAB, "d_model": 24, "max_position_embeddings": LIMIT, "decoder_layers": 2, "encoder_layers": 2,
    "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "pad_token_id": PAD, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": None,
}  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "bert": {**_ENCODER, "layer_norm_eps": 1e-6},
    "roberta": {**_ENCODER, "max_position_embeddings": LIMIT + 2},
    "distilbert": {
        "vocab_size": VOCAB, "dim": 24, "hidden_dim": 40, "n_layers": 2, "n_heads": 4, "activation": "relu",
        "max_position_embeddings": LIMIT, "pad_token_id": PAD, "num_labels": 3,
    },
    "electra": {**_ENCODER, "embedding_size": 16},
    "modernbert": {
        **_ENCODER, "local_attention": 6, "bos_token_id": 3, "cls_token_id": 3, "eos_token_id": 2, "sep_token_id": 2,
        "layer_types": ["full_attention", "sliding_attention"], "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 500.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
        },
    },
    "gpt2": {
        "vocab_size": VOCAB, "n_embd": 24, "n_layer": 2, "n_head": 4, "n_positions": LIMIT, "pad_token_id": PAD,
        "bos_token_id": 3, "eos_token_id": 3, "num_labels": 3,
    },
    "llama": {**_DECODER, "head_dim": 8, "attention_bias": True, "mlp_bias": True},
    "mistral": {**_DECODER, "sliding_window": 4, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
    "qwen2": {**_DECODER, "tie_word_embeddings": True},
    "qwen3": {
        **_DECODER, "head_dim": 8, "attention_bias": True, "use_sliding_window": True, "sliding_window": 4,
        "max_window_layers": 1,
    },
    "gemma3_text": {
        **_DECODER, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "phi": {**_DECODER, "rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 0.67}, "hidden_act": "relu"},
    "mpt": {
        "vocab_size": VOCAB, "d_model": 24, "n_layers": 2, "n_heads": 6, "max_seq_len": LIMIT, "pad_token_id": PAD,
        "num_labels": 3,
    },
    "bart": {**_SEQ2SEQ, "scale_embedding": True},
    "marian": {**_SEQ2SEQ, "activation_function": "silu"},
    "t5": {
        "vocab_size": VOCAB, "d_model": 24, "d_kv": 4, "d_ff": 40, "num_layers": 2, "num_decoder_layers": 1,
        "num_heads": 4, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6,
        "pad_token_id": PAD, "eos_token_id": 2, "decoder_start_token_id": 2,
    },
}  # fmt: skip
PAIRS = [(family.model_type, head) for family in FAMILIES.values() for head in family.heads]


@dataclass(frozen=True)
class Native:
    """A native class, by the family and by our class that answers to it."""

    model_type: str
    head: str

    @property
    def model_class(self) -> type[PreTrainedModel]:
        return getattr(transformers, FAMILIES[self.model_type].heads[self.head].theirs)

    def config(self, **changes: Any) -> Any:
        labels = {"num_labels": 2} if self.head.endswith("ForQuestionAnswering") else {}  # a start and an end
        return self.model_class.config_class(**{**SETTINGS[self.model_type], **labels, **changes})

    @torch.no_grad()
    def model(self, **changes: Any) -> Any:
        """In evaluation mode, every parameter far from where initialisation puts it."""
        model = redraw(self.model_class(self.config(**changes)))
        for name, module in model.named_modules():
            if self.model_type == "marian" and name.endswith("embed_positions"):
                module.weight.copy_(module.create_weight())  # sinusoids, not drawn
        if hasattr(model, "final_logits_bias"):
            bias = model.final_logits_bias
            bias.copy_(torch.randn(bias.shape[-1], generator=torch.Generator().manual_seed(9)))
        return model.eval()

    def texts(self) -> list[dict[str, Tensor]]:
        """Texts of 9 and 5 tokens, each a batch of its own; an encoder-decoder's target beside its source."""
        ids = torch.randint(4, VOCAB, (2, 9), generator=torch.Generator().manual_seed(3))
        batches = [{"input_ids": ids[:1]}, {"input_ids": ids[1:, :5]}]
        if self.is_seq2seq:
            for batch in batches:
                batch["decoder_input_ids"] = ids.flip(1)[:1, :7]
        return batches

    def batch(self, side: str) -> dict[str, Tensor]:
        """Both texts in one batch, the shorter one padded on a side."""
        texts = self.texts()
        longest = max(text["input_ids"].shape[1] for text in texts)
        missing = [longest - text["input_ids"].shape[1] for text in texts]
        ends = [(number, 0) if side == "left" else (0, number) for number in missing]
        ids = torch.cat([F.pad(text["input_ids"], end, value=PAD) for text, end in zip(texts, ends)])
        batch = {"input_ids": ids, "attention_mask": (ids != PAD).long()}
        if self.is_seq2seq:
            batch["decoder_input_ids"] = torch.cat([text["decoder_input_ids"] for text in texts])
        return batch

    @property
    def is_seq2seq(self) -> bool:
        return self.head.startswith("ScratchSeq2Seq")

    def __str__(self) -> str:
        return f"{self.model_type}-{self.head.removeprefix('Scratch')}"


NATIVES = [Native(*names) for names in PAIRS]
GENERATORS = [native for native in NATIVES if native.head.endswith(("ForCausalLM", "ForConditionalGeneration"))]


def converted(native: Native, reference: PreTrainedModel) -> Any:
    model = MODELS[native.head](convert_config(reference.config)).eval()
    model.load_state_dict(convert_state_dict(reference.state_dict(), reference.config, type(model)))
    return model


@cache
def pair(native: Native) -> tuple[Any, Any]:
    """The native model and ours, which all tests of a process share: copy what is changed."""
    reference = native.model()
    return reference, converted(native, reference)
