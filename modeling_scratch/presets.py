# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Configurations from the literature, and small ones of our own, as functions that return a config.

Each takes keyword overrides: presets.bert(hidden_size=384, num_hidden_layers=4). They say only what differs from the
defaults.

    >>> from modeling_scratch import presets
    >>> presets.gpt2(num_hidden_layers=4).norm_position
    'pre'
    >>> presets.bert(hidden_sizes=384)
    Traceback (most recent call last):
        ...
    ValueError: ...
"""

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, TypeVar

from .configuration_scratch import ScratchConfig, ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig
from .utils.field_names import likely_field

Config = TypeVar("Config", bound=ScratchConfig)


def vaswani(family: type[ScratchConfig] = ScratchSeq2SeqConfig, **overrides: Any) -> Any:
    """The base model (Vaswani et al. 2017, table 3); vaswani(ScratchEncoderConfig) is its encoder alone."""
    return _preset(family, overrides, embedding_scale=True)


def bert(**overrides: Any) -> ScratchEncoderConfig:
    """BERT base (Devlin et al. 2019)."""
    return _preset(
        ScratchEncoderConfig, overrides, vocab_size=30_522, hidden_size=768, num_hidden_layers=12,
        num_attention_heads=12, intermediate_size=3072, hidden_act="gelu", norm_eps=1e-12, position_type="learned",
        embedding_norm=True, type_vocab_size=2, attention_dropout=0.1, classifier_activation="tanh",
    )  # fmt: skip


def roberta(**overrides: Any) -> ScratchEncoderConfig:
    """RoBERTa base (Liu et al. 2019), whose positions start after the pad token's index."""
    pad = overrides.get("pad_token_id", 1)
    return bert(**{
        "vocab_size": 50_265, "norm_eps": 1e-5, "position_offset": 2 if pad is None else pad + 1,
        "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, **overrides,
    })  # fmt: skip


def distilbert(**overrides: Any) -> ScratchEncoderConfig:
    """DistilBERT base (Sanh et al. 2019)."""
    switches = {
        "num_hidden_layers": 6,
        "type_vocab_size": 0,
        "classifier_activation": "relu",
        "classifier_dropout": 0.2,
        "qa_dropout": 0.1,
    }
    return bert(**{**switches, **overrides})


def tutorial(**overrides: Any) -> ScratchEncoderConfig:
    """A tutorial-size encoder for SST-2: 4 heads of size 16, 868 k parameters with a vocabulary of 12 k."""
    return _preset(
        ScratchEncoderConfig, overrides, vocab_size=12_000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, hidden_act="gelu",
    )  # fmt: skip


def reviews(**overrides: Any) -> ScratchEncoderConfig:
    """For sentiment of short texts: mean pooling, strong dropout. Sinusoidal positions outweigh the tokens at first."""
    return _preset(
        ScratchEncoderConfig, overrides, vocab_size=16_000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, hidden_dropout=0.3, classifier_pooling="mean",
    )  # fmt: skip


def demo(**overrides: Any) -> ScratchEncoderConfig:
    """For texts whose structure determines the label: strong positional signal by fast rotary positions."""
    return _preset(
        ScratchEncoderConfig, overrides, vocab_size=1_000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, hidden_act="gelu", position_type="rotary", rope_parameters={"rope_theta": 100.0},
        embedding_norm=True, initializer_range=0.12, classifier_pooling="mean",
    )  # fmt: skip


def gpt2(**overrides: Any) -> ScratchDecoderConfig:
    """GPT-2 of 124 M parameters (Radford et al. 2019)."""
    return _preset(
        ScratchDecoderConfig, overrides, vocab_size=50_257, hidden_size=768, num_hidden_layers=12,
        num_attention_heads=12, intermediate_size=3072, hidden_act="gelu_tanh", norm_position="pre",
        position_type="learned", max_position_embeddings=1024, attention_dropout=0.1, pad_token_id=None,
        bos_token_id=50_256, eos_token_id=50_256,
    )  # fmt: skip


def llama(**overrides: Any) -> ScratchDecoderConfig:
    """Llama of 7 B parameters (Touvron et al. 2023)."""
    return _preset(
        ScratchDecoderConfig, overrides, hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
        intermediate_size=11_008, hidden_act="swiglu", norm_type="rms_norm", norm_position="pre", norm_eps=1e-6,
        position_type="rotary", max_position_embeddings=2048, attention_bias=False, mlp_bias=False, hidden_dropout=0.0,
        tie_word_embeddings=False, pad_token_id=None, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip


def characters(**overrides: Any) -> ScratchDecoderConfig:
    """For character-level text: a minimal GPT-2 without dropout and biases, with a context of 64."""
    return _preset(
        ScratchDecoderConfig, overrides, vocab_size=100, hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=512, hidden_act="gelu", norm_position="pre", position_type="learned",
        max_position_embeddings=64, attention_bias=False, mlp_bias=False, hidden_dropout=0.0,
    )  # fmt: skip


def bart(**overrides: Any) -> ScratchSeq2SeqConfig:
    """BART base (Lewis et al. 2020)."""
    return _preset(
        ScratchSeq2SeqConfig, overrides, vocab_size=50_265, hidden_size=768, num_hidden_layers=6,
        num_attention_heads=12, intermediate_size=3072, hidden_act="gelu", position_type="learned", position_offset=2,
        max_position_embeddings=1024, embedding_norm=True, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2,
    )  # fmt: skip


def marian(**overrides: Any) -> ScratchSeq2SeqConfig:
    """The models of OPUS-MT (Junczys-Dowmunt et al. 2018; Tiedemann and Thottingal 2020)."""
    return _preset(
        ScratchSeq2SeqConfig, overrides, vocab_size=58_101, hidden_act="silu", position_type="sinusoidal_halves",
        embedding_scale=True, lm_head_bias=True, pad_token_id=58_100, eos_token_id=0, decoder_start_token_id=58_100,
    )  # fmt: skip


def plays(**overrides: Any) -> ScratchDecoderConfig:
    """The size of `characters` with modern components: fast rotary positions, RMSNorm and SwiGLU."""
    return _preset(
        ScratchDecoderConfig, overrides, vocab_size=100, hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=344, hidden_act="swiglu", norm_type="rms_norm", norm_position="pre", position_type="rotary",
        rope_parameters={"rope_theta": 100.0}, max_position_embeddings=64, attention_bias=False, mlp_bias=False,
        hidden_dropout=0.0, initializer_range=0.05,
    )  # fmt: skip


def captions(**overrides: Any) -> ScratchSeq2SeqConfig:
    """Transformer-Tiny of Wu et al. 2021 for 29 thousand image captions, with pre-norm, which needs less warm-up."""
    return _preset(
        ScratchSeq2SeqConfig, overrides, vocab_size=6_000, hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=256, norm_position="pre", embedding_scale=True, hidden_dropout=0.3, initializer_range=0.09,
    )  # fmt: skip


ENCODERS: dict[str, Callable[..., ScratchEncoderConfig]] = {
    "vaswani": partial(vaswani, ScratchEncoderConfig),
    **{preset.__name__: preset for preset in (bert, roberta, distilbert, tutorial, reviews, demo)},
}
DECODERS: dict[str, Callable[..., ScratchDecoderConfig]] = {
    preset.__name__: preset for preset in (gpt2, llama, characters, plays)
}
SEQ2SEQS: dict[str, Callable[..., ScratchSeq2SeqConfig]] = {
    preset.__name__: preset for preset in (vaswani, bart, marian, captions)
}


def _preset(config_class: type[Config], overrides: dict[str, Any], **settings: Any) -> Config:
    """Build a config; overrides take precedence. Raises ValueError for fields that it would ignore, or drop."""
    known = {field.name for field in fields(config_class)} | {"num_labels", "attn_implementation"}
    for name in overrides.keys() - known:
        hint = likely_field(name, config_class, similarity=0.6)
        raise ValueError(
            f"{config_class.__name__} has no field {name!r}" + (f", did you mean {hint!r}?" if hint else ".")
            + f" The fields are: {', '.join(sorted(known))}."
        )  # fmt: skip
    config = config_class(**{**settings, **overrides})
    given = {name: value for name, value in overrides.items() if value is not None}
    if dropped := [name for name, value in given.items() if getattr(config, name, value) is None]:
        raise ValueError(f"{dropped[0]} has no effect with position_type={config.position_type!r}: leave it out.")
    return config
